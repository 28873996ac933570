"""Rows drawn given the other side: the twins to the bit, and the distribution they are drawn from."""

import itertools

import numpy as np
import pytest

from rankfill import kernels
from rankfill.kernels import OtherSide, RowPosterior, Rows, ThirdSide, _native, padded_copy
from rankfill.kernels.reference import gibbs as reference

SETS = _native.instruction_sets()


def problem(rank, seed=0, n_rows=7, n_columns=150):
    """A row beyond a chunk of 128 entries, an empty one, a single entry."""
    rng = np.random.default_rng(seed + rank)
    filled = rng.random((n_rows, n_columns)) < 0.2
    filled[0], filled[1], filled[-1] = True, False, np.arange(n_columns) == 3
    row, column = np.nonzero(filled)
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    entries = Rows(indptr, column.astype(np.int32), rng.normal(size=len(row)).astype(np.float32))
    moving, fixed, more = (padded_copy(rng.normal(0, 0.5, (n, rank + 2))) for n in (n_rows, n_columns, 5))
    root = rng.normal(size=(rank + 1, rank + 4))
    prior = rng.normal(size=(n_rows, rank + 1)).astype(np.float32)
    posterior = RowPosterior(rank, rank, 1.7, root @ root.T / rank, prior)
    third = ThirdSide(OtherSide(more, rank + 1), rng.integers(0, 5, len(row)).astype(np.int32))
    return entries, moving, OtherSide(fixed, rank + 1), posterior, third


@pytest.fixture
def each_way(monkeypatch):
    """Every instruction set and several numbers of threads."""

    def ways():
        for isa, threads in itertools.product(SETS, (1, 2, 8)):
            monkeypatch.setattr("rankfill.kernels.gibbs.instruction_set", lambda isa=isa: isa)
            monkeypatch.setattr("rankfill.kernels.gibbs.get_threads", lambda threads=threads: threads)
            yield

    return ways


@pytest.mark.parametrize("with_third", [False, True])
@pytest.mark.parametrize("rank", [1, 4, 15, 16, 31, 33])
def test_drawn_rows_are_the_twins(rank, with_third, each_way):
    entries, start, other, posterior, third = problem(rank)
    expected, expected_means = start.copy(), np.zeros_like(start)
    more = {"third": third} if with_third else {}
    reference.draw_rows(entries, expected, other, posterior, 2**61 + 5, means=expected_means, **more)
    for _ in each_way():
        ours, means = start.copy(), np.zeros_like(start)
        kernels.draw_rows(entries, ours, other, posterior, 2**61 + 5, means=means, **more)
        assert ours.tobytes() == expected.tobytes()
        assert means.tobytes() == expected_means.tobytes()
    assert ours[1].tobytes() == start[1].tobytes()
    assert (ours[0] != start[0]).any()


def test_one_prior_for_all_is_that_prior_for_each(each_way):
    entries, start, other, posterior, _ = problem(5)
    one = RowPosterior(5, 5, 1.7, posterior.precision, posterior.prior[:1])
    each = RowPosterior(5, 5, 1.7, posterior.precision, np.repeat(posterior.prior[:1], 7, axis=0))
    found = [start.copy(), start.copy()]
    for rows, prior in zip(found, (one, each), strict=True):
        kernels.draw_rows(entries, rows, other, prior, 3)
    assert found[0].tobytes() == found[1].tobytes()


def test_some_rows_by_their_numbers_are_those_of_all_rows(each_way):
    entries, start, other, posterior, _ = problem(5)
    whole, chosen = start.copy(), np.array([6, 2, 0], np.int32)
    kernels.draw_rows(entries, whole, other, posterior, 3)
    some = RowPosterior(5, 5, 1.7, posterior.precision, posterior.prior[chosen])
    expected = start[chosen].copy()
    reference.draw_rows(entries.of_rows(chosen), expected, other, some, 3, numbers=chosen)
    for _ in each_way():
        found = start[chosen].copy()
        kernels.draw_rows(entries.of_rows(chosen), found, other, some, 3, numbers=chosen)
        assert found.tobytes() == whole[chosen].tobytes() == expected.tobytes()
    with pytest.raises(ValueError, match="one number for each moving row"):
        kernels.draw_rows(entries.of_rows(chosen), found, other, some, 3, numbers=chosen[:2])


def test_normal_numbers_are_the_twins_and_normal(each_way):
    expected = reference.normal_rows(77, 9, 7)
    for _ in each_way():
        assert kernels.normal_rows(77, 9, 7).tobytes() == expected.tobytes()
    many = kernels.normal_rows(5, 20_000, 10).astype(np.float64)
    assert abs(many.mean()) < 4 / np.sqrt(many.size)
    assert abs(many.var() - 1) < 4 * np.sqrt(2 / many.size)
    assert abs((many**4).mean() - 3) < 0.1
    assert np.abs(np.corrcoef(many.T) - np.eye(10)).max() < 0.03
    assert kernels.normal_rows(6, 2, 3).tobytes() != kernels.normal_rows(5, 2, 3).tobytes()


def test_philox_is_the_published_one():
    """Known answers of Random123, philox4x32-10."""
    assert reference.philox(0, 0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = 2**64 - 1
    assert reference.philox(ones, ones, ones) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@pytest.mark.parametrize("with_third", [False, True])
def test_rows_have_the_distribution_of_the_dense_gaussian(with_third):
    """Mean and covariance of 100 000 draws of one row, against the inverse of the dense precision."""
    rank, n_draws = 3, 100_000
    entries, _, other, posterior, third = problem(rank, seed=3)
    some = slice(entries.indptr[2], entries.indptr[3])
    n = some.stop - some.start
    fixed, target = other.rows[entries.indices[some]].astype(float), entries.values[some].astype(float)
    x, rest = fixed[:, :rank], target - fixed[:, rank + 1]
    if with_third:
        more = third.side.rows[third.indices[some]].astype(float)
        rest = rest - more[:, rank + 1] - (x * more[:, :rank]).sum(axis=1)
        x = x + more[:, :rank]
    x = np.column_stack([x, np.ones(n)])
    precision = posterior.precision + 1.7 * x.T @ x
    prior = posterior.prior[2].astype(float)
    mean = np.linalg.solve(precision, posterior.precision @ prior + 1.7 * x.T @ rest)
    same = Rows(
        n * np.arange(n_draws + 1), np.tile(entries.indices[some], n_draws), np.tile(entries.values[some], n_draws)
    )
    moving = padded_copy(np.zeros((n_draws, rank + 2)))
    one = RowPosterior(rank, rank, 1.7, posterior.precision, posterior.prior[2:3])
    many = ThirdSide(third.side, np.tile(third.indices[some], n_draws)) if with_third else None
    kernels.draw_rows(same, moving, other, one, 11, third=many)
    drawn, covariance = moving[:, : rank + 1].astype(float), np.linalg.inv(precision)
    deviations = np.sqrt(np.diag(covariance))
    assert (np.abs(drawn.mean(axis=0) - mean) < 4.5 * deviations / np.sqrt(n_draws)).all()
    assert (np.abs(np.cov(drawn.T) - covariance) < 0.02 * np.outer(deviations, deviations)).all()
