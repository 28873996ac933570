"""Products of tall blocks against NumPy's own, with the same bits for any number of threads."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.linalg import tall
from rankfill.linalg.tall import beside, tall_gram, tall_times


@pytest.fixture
def threads():
    before = rf.get_threads()
    yield rf.set_threads
    rf.set_threads(before)


@pytest.mark.parametrize("height", [0, 1, 511, 512, 513, 20_000])
def test_products_are_those_of_numpy_on_any_number_of_threads(height, threads, monkeypatch):
    monkeypatch.setattr(tall, "_WORTH_THREADS", 0)
    rng = np.random.default_rng(height)
    one, other, small = (rng.standard_normal(shape) for shape in ((height, 7), (height, 3), (7, 5)))
    bits = set()
    for n in (1, 2, 5):
        threads(n)
        times, gram = tall_times(one, small), tall_gram(one, other)
        np.testing.assert_allclose(times, one @ small, atol=1e-12)
        np.testing.assert_allclose(gram, one.T @ other, atol=1e-10)
        bits.add(times.tobytes() + gram.tobytes())
    assert len(bits) == 1


def test_what_is_beside_a_basis_is_orthogonal_to_it():
    rng = np.random.default_rng(0)
    basis, _ = np.linalg.qr(rng.standard_normal((900, 4)))
    block = rng.standard_normal((900, 3))
    rest = beside(basis, block)
    np.testing.assert_allclose(basis.T @ rest, 0.0, atol=1e-13)
    np.testing.assert_allclose(rest + basis @ (basis.T @ block), block, atol=1e-13)


def test_a_basis_without_columns_takes_nothing_away():
    block = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(beside(np.zeros((3, 0)), block), block)
