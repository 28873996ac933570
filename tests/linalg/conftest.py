"""Matrices to decompose, each as a sparse matrix and written out."""

import numpy as np
import pytest

from rankfill.kernels import Rows
from rankfill.linalg import LowRank, Pattern, SparseMatrix, start_block


def _of_dense(dense):
    """With an entry wherever there is a number, zeros too; NaN where there is none."""
    filled = ~np.isnan(dense)
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    columns = np.nonzero(filled)[1].astype(np.int32)
    rows = Rows(indptr, columns, np.zeros(len(columns), np.float32))
    return SparseMatrix(Pattern.of(rows, dense.shape[1]), dense[filled]), np.nan_to_num(dense)


@pytest.fixture
def of_dense():
    return _of_dense


@pytest.fixture
def matrix():
    """Random numbers at random places; row 3 and column 5 are empty."""

    def make(n=90, m=70, density=0.2, seed=0):
        rng = np.random.default_rng(seed)
        dense = np.where(rng.random((n, m)) < density, rng.standard_normal((n, m)), np.nan)
        dense[3], dense[:, 5] = np.nan, np.nan
        return _of_dense(dense)

    return make


@pytest.fixture
def low_rank():
    def make(n=90, m=70, rank=4):
        return LowRank(start_block(n, rank, seed=1), start_block(m, rank, seed=2))

    return make


def _with_values(values, n=90, m=80):
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.standard_normal((side, len(values))))[0] for side in (n, m))
    return (left * values) @ right.T


_PARTLY_EMPTY = np.full((75, 120), np.nan)
_PARTLY_EMPTY[10:60:7, 3:90:11] = np.arange(64.0).reshape(8, 8) - 20.0

HARD = {
    "clustered": _with_values(1 + 1e-9 * np.arange(70)),
    "side by side": _with_values(np.linspace(0.9, 1.0, 75)),
    "repeated": _with_values(np.ones(70)),
    "the identity": np.where(np.eye(200, 150) > 0, -2.0, np.nan),
    "mostly zero": _with_values(np.array([3.0, 2.0, 1.0])),
    "all zero": np.zeros((90, 80)),
    "no entries": np.full((90, 80), np.nan),
    "empty rows": _PARTLY_EMPTY,
    "one entry": np.array([[-3.0]]),
    "one row": np.arange(90.0)[None],
    "one column": np.arange(90.0)[:, None],
    "one giant": np.where(np.eye(90, 100) > 0, 1.0, np.nan) * np.append(1e9, np.ones(99)),
}


@pytest.fixture(params=HARD)
def hard(request):
    """Matrices whose singular values are equal, nearly equal or zero, and matrices with hardly anything in them."""
    return _of_dense(HARD[request.param])
