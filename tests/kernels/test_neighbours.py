"""Neighbours against their definitions on dense tables with gaps: ties, rows without common columns, constant rows."""

import numpy as np
import pytest

from rankfill.kernels import Rows, get_threads, set_threads
from rankfill.kernels import neighbours as kernels
from rankfill.kernels.neighbours import Near, Voices
from rankfill.kernels.reference import neighbours as reference

SIMILARITIES = ["cosine", "pearson", "inverse-euclidean"]


def matrix(n_rows=23, n_columns=17, density=0.4, seed=0):
    """Whole ratings, so that there are ties; a constant row, an empty one and two that share nothing."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n_rows, n_columns)) < density, rng.integers(1, 6, (n_rows, n_columns)), np.nan)
    dense[3, ~np.isnan(dense[3])] = 4
    dense[5] = np.nan
    dense[7, 8:], dense[8, :8] = np.nan, np.nan
    dense[10] = dense[11]
    return dense


def rows_of(dense):
    filled = ~np.isnan(dense)
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))]).astype(np.int64)
    return Rows(indptr, np.nonzero(filled)[1].astype(np.int32), dense[filled].astype(np.float32))


def sides(dense):
    return rows_of(dense), rows_of(dense.T)


def everything(dense):
    return np.arange(len(dense), dtype=np.int32)


def find(module, dense, similarity="cosine", keep=30, min_support=1, shrinkage=0.0, rows=None):
    chosen = everything(dense) if rows is None else rows
    return module.similar_rows(
        *sides(dense), chosen, similarity=similarity, min_support=min_support, shrinkage=shrinkage, keep=keep
    )


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize(("min_support", "shrinkage"), [(1, 0.0), (3, 0.0), (2, 7.5)])
@pytest.mark.parametrize("keep", [1, 4, 30])
def test_similarities_are_those_of_the_definition(similarity, min_support, shrinkage, keep):
    for seed in range(3):
        dense = matrix(seed=seed)
        ours, theirs = (find(each, dense, similarity, keep, min_support, shrinkage) for each in (kernels, reference))
        np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-6, atol=1e-7)
        apart = np.abs(np.diff(theirs.weights, axis=1, append=-1.0, prepend=2.0)) > 1e-6
        unique = apart[:, 1:] & apart[:, :-1]  # rounding may change the order of ties
        unique[:, -1] = False
        np.testing.assert_array_equal(ours.indices[unique], theirs.indices[unique])


def test_exact_ties_are_in_the_order_of_rows():
    near = find(kernels, np.array([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0], [3.0, 6.0]]))
    assert near.indices[0].tolist()[:3] == [1, 2, 3]
    np.testing.assert_allclose(near.weights[0, :3], 1.0, rtol=1e-6)


def test_constant_rows_have_no_correlation_and_empty_rows_no_neighbours():
    near = find(kernels, matrix(), "pearson")
    assert (near.indices[3] == -1).all()
    assert 3 not in near.indices
    for similarity in SIMILARITIES:
        near = find(kernels, matrix(), similarity)
        assert (near.indices[5] == -1).all()
        assert 5 not in near.indices
        assert 8 not in near.indices[7]


def test_nothing_is_its_own_neighbour_and_some_rows_are_found_as_all_are():
    dense = matrix()
    whole, some = find(kernels, dense), find(kernels, dense, rows=np.array([9, 2, 9], np.int32))
    assert not (whole.indices == np.arange(len(dense))[:, None]).any()
    for one, part in zip(whole, some, strict=True):
        np.testing.assert_array_equal(part, one[[9, 2, 9]])


@pytest.mark.parametrize("k", [1, 3, 30])
@pytest.mark.parametrize("penalty", [0.5, 20.0])
def test_learned_weights_solve_their_regressions(k, penalty):
    dense = matrix() - 3.0
    near = find(kernels, dense, keep=12)
    ours = kernels.neighbour_weights(*sides(dense), near, k, penalty)
    np.testing.assert_allclose(ours, reference.neighbour_weights(*sides(dense), near, k, penalty), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("voices", [Voices(2, "similarity", 0.0), Voices(30, "equal", 1.5), Voices(4, "learned", 9.0)])
def test_what_neighbours_say_is_the_same_for_pairs_rows_and_columns(voices):
    dense = matrix() - 3.0
    by_own, by_other = sides(dense)
    near = find(kernels, dense, keep=12)
    rows, columns = (each.ravel().astype(np.int32) for each in np.indices(dense.shape))
    order = np.random.default_rng(0).permutation(len(rows))
    expected = reference.neighbour_sums(by_other, near, voices, rows, columns).reshape(dense.shape)
    assert np.isnan(expected).any()
    assert np.isfinite(expected).any()
    pairs = kernels.neighbour_sums(by_other, near, voices, rows[order], columns[order])
    np.testing.assert_allclose(pairs, expected.ravel()[order], rtol=1e-5, atol=1e-6)
    by_row = kernels.neighbour_sums_of_rows(by_other, near, voices, by_own, everything(dense))
    np.testing.assert_allclose(by_row, expected, rtol=1e-5, atol=1e-6)
    there = near.indices >= 0
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    speaks_to = Rows(indptr, near.indices[there], near.weights[there]).transposed(len(dense))
    by_column = kernels.neighbour_sums_of_columns(by_other, near, voices, speaks_to, everything(dense.T))
    np.testing.assert_allclose(by_column, expected.T, rtol=1e-5, atol=1e-6)


def test_any_number_of_threads_gives_the_same_bits():
    dense = matrix(90, 60, seed=4) - 2.7
    before, found = get_threads(), []
    try:
        for threads in (1, 2, 5):
            set_threads(threads)
            near = find(kernels, dense, "pearson", keep=9)
            weights = kernels.neighbour_weights(*sides(dense), near, 5, 2.0)
            sums = kernels.neighbour_sums_of_rows(
                sides(dense)[1],
                Near(near.indices, weights),
                Voices(5, "learned", 0.0),
                sides(dense)[0],
                everything(dense),
            )
            found.append([each.tobytes() for each in (*near, weights, sums)])
    finally:
        set_threads(before)
    assert found[0] == found[1] == found[2]
