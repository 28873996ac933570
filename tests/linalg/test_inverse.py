"""The inverse in its own memory against NumPy's, and its bits on any number of threads."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.linalg.inverse import invert_positive


def positive(n, dtype, seed=0):
    tall = np.random.default_rng(seed).standard_normal((2 * n + 3, n))
    return (tall.T @ tall / n + np.eye(n)).astype(dtype)


@pytest.mark.parametrize(("dtype", "close"), [(np.float32, 1e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize("n", [1, 2, 383, 384, 385, 900])
def test_inverse_is_numpys_and_the_upper_triangle_is_never_read(n, dtype, close):
    matrix = positive(n, dtype)
    found = np.tril(matrix) + np.triu(np.full_like(matrix, 99), 1)
    invert_positive(found)
    np.testing.assert_allclose(found, np.linalg.inv(matrix.astype(np.float64)), atol=close)
    np.testing.assert_array_equal(found, found.T)


def test_same_bits_on_any_number_of_threads():
    before, found = rf.get_threads(), []
    try:
        for threads in (1, 2, 7):
            rf.set_threads(threads)
            found.append(positive(1000, np.float32))
            invert_positive(found[-1])
    finally:
        rf.set_threads(before)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


@pytest.mark.parametrize("place", [0, 500, 899])
def test_what_is_not_positive_definite_is_refused(place):
    matrix = positive(900, np.float64)
    matrix[place, place] = -1
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        invert_positive(matrix)
