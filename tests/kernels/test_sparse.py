"""Products of a sparse matrix against their NumPy twins, to the bit, and against dense matrices."""

import numpy as np
import pytest

import rankfill as rf
from rankfill import kernels
from rankfill.kernels import Rows, _native, sort_into_rows
from rankfill.kernels.reference import sparse as reference

SETS = _native.instruction_sets()
WIDTHS = (1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 48, 65, 100)


@pytest.fixture(params=SETS)
def isa(request, monkeypatch):
    monkeypatch.setattr(kernels.sparse, "instruction_set", lambda: request.param)
    return request.param


@pytest.fixture
def threads():
    before = rf.get_threads()
    yield rf.set_threads
    rf.set_threads(before)


def pattern(rng, n_rows=37, n_columns=53):
    filled = rng.random((n_rows, n_columns)) < 0.3
    filled[0], filled[1] = True, False
    row, column = np.nonzero(filled)
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    return Rows(indptr, column.astype(np.int32), np.zeros(len(row), np.float32)), row, column


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("width", WIDTHS)
def test_products_equal_their_twins(isa, real, width, threads):
    rng = np.random.default_rng(width)
    rows, _, column = pattern(rng)
    left, right = rng.standard_normal((37, width)).astype(real), rng.standard_normal((53, width)).astype(real)
    values = rng.standard_normal(len(column)).astype(real)
    for n in (1, 3):
        threads(n)
        for name, arguments in (("sparse_entries", (left, right)), ("sparse_times", (values, right))):
            ours, theirs = getattr(kernels, name)(rows, *arguments), getattr(reference, name)(rows, *arguments)
            assert ours.dtype == theirs.dtype == real
            assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_gram_matrix_equals_its_twin_and_the_dense_product(isa, threads, real):
    rng = np.random.default_rng(1)
    rows, row, column = pattern(rng)
    values = rng.standard_normal(len(row)).astype(real)
    columns, order = sort_into_rows(rows.indices, row.astype(np.int32), rows.values, 53, with_order=True)
    dense = np.zeros((37, 53))
    dense[row, column] = values
    for n in (1, 3):
        threads(n)
        ours = kernels.sparse_gram(rows, values, columns, values[order])
        assert ours.tobytes() == reference.sparse_gram(rows, values, columns, values[order]).tobytes()
        assert ours.dtype == real
        np.testing.assert_allclose(ours, np.tril(dense @ dense.T), rtol=np.finfo(real).eps, atol=1e-12)


def test_shapes_that_do_not_fit_are_refused_in_words():
    rows, _, _ = pattern(np.random.default_rng(0))
    with pytest.raises(ValueError, match="left must have one row for each of the"):
        kernels.sparse_entries(rows, np.zeros((5, 2)), np.zeros((53, 2)))
    with pytest.raises(ValueError, match="same number of columns"):
        kernels.sparse_entries(rows, np.zeros((37, 2)), np.zeros((53, 20)))
    with pytest.raises(ValueError, match="one value for each entry"):
        kernels.sparse_times(rows, np.zeros(3), np.zeros((53, 3)))
