"""The kernels of least squares and descent against their NumPy twins, to the bit: ranks, words, threads, sets.

Bits can be asked for because every element of a sum has an order of its own that the twins follow.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from rankfill import kernels
from rankfill.kernels import Ridge, Rows, _native, padded, padded_copy
from rankfill.kernels.reference import descent as descent_twins
from rankfill.kernels.reference import least_squares as reference

SETS = _native.instruction_sets()
RANKS = (1, 2, 7, 15, 16, 17, 30, 32, 33, 48, 65)
NO_GRAM = np.zeros((1, 1), np.float32)


def random_rows(rng, n_rows=9, n_columns=150, density=0.4):
    """A row beyond a chunk of 128 entries, an empty one, a single entry, an observed zero."""
    filled = rng.random((n_rows, n_columns)) < density
    filled[0], filled[1], filled[-1] = True, False, np.arange(n_columns) == 3
    row, column = np.nonzero(filled)
    values = rng.choice([0.0, 1.0, 2.5, 5.0], len(row)).astype(np.float32)
    return Rows(np.concatenate([[0], np.cumsum(filled.sum(axis=1))]), column.astype(np.int32), values)


def factors(rng, n_rows, rank, *, biased=False, ones=None, signed=True):
    numbers = rng.normal(0, 0.5, (n_rows, rank + 2 * biased))
    if biased:
        numbers[:, ones] = 1
    return padded_copy(numbers if signed else np.abs(numbers))


def same_bits(ours, theirs):
    assert ours.dtype == theirs.dtype
    assert ours.tobytes() == theirs.tobytes(), f"differ by {np.abs(ours - theirs).max()}"


def problem(rank, ridge, seed=0):
    rng = np.random.default_rng(seed + rank)
    biased = ridge.bias_column >= 0
    rows = random_rows(rng)
    fixed = factors(rng, 150, rank, biased=biased, ones=ridge.bias_column)
    moving = factors(rng, 9, rank, biased=biased, ones=ridge.held_column, signed=not ridge.nonnegative)
    return rows, moving, fixed


def ridges(rank):
    plain = Ridge(rank=rank, penalty=0.3, bias_penalty=0.7, offset=2.2)
    yield "plain", plain
    yield "by count", replace(plain, by_count=True)
    yield "users", plain.of_users()
    yield "items", replace(plain, by_count=True).of_items()
    yield "non-negative", replace(plain, nonnegative=True).of_users()
    yield "implicit", replace(plain, confidence=1.5, offset=0.0)
    yield "implicit, non-negative", replace(plain, confidence=1.5, offset=0.0, nonnegative=True)
    yield "by frequency", replace(plain, by_count=True, exponent=0.7, base=40.0, confidence=1.5, offset=0.0)
    yield "blocks", replace(plain, block=16)
    yield "blocks, items", replace(plain, block=16, by_count=True, exponent=0.5).of_items()
    yield "blocks, non-negative", replace(plain, block=32, nonnegative=True).of_users()
    yield "blocks, implicit", replace(plain, block=32, confidence=1.5, offset=0.0)
    yield "gradient", replace(plain, steps=3)
    yield "gradient, items", replace(plain, steps=3, by_count=True, exponent=0.3, base=2.0).of_items()
    yield "gradient, implicit", replace(plain, steps=2, confidence=0.5, offset=0.0)


@pytest.mark.parametrize("name", [name for name, _ in ridges(1)])
@pytest.mark.parametrize("rank", RANKS)
def test_solved_rows_are_the_twins(rank, name):
    ridge = dict(ridges(rank))[name]
    rows, start, fixed = problem(rank, ridge)
    expected = start.copy()
    reference.solve_rows(rows, expected, fixed, ridge)
    gram = NO_GRAM if ridge.confidence is None else reference.gram_matrix(fixed)
    for isa, threads in itertools.product(SETS, (1, 2, 5)):
        ours = start.copy()
        _native.solve_rows(rows.pattern, rows.values, ours, fixed, ridge.native(), gram, threads, isa)
        same_bits(ours, expected)
    same_bits(expected[1], start[1])
    assert (expected[0] != start[0]).any()
    assert (expected[:, rank + 2 * (ridge.bias_column >= 0) :] == 0).all()


@pytest.mark.parametrize("penalty", [0.3, 0.0])
@pytest.mark.parametrize("name", ["plain", "items", "implicit"])
@pytest.mark.parametrize("rank", [66, 96, 103, 170])
def test_high_ranks_eliminated_in_panels_are_the_twins(rank, name, penalty):
    """Without a penalty there are more unknowns than ratings: pivots are left out in the middle of a panel."""
    ridge = replace(dict(ridges(rank))[name], penalty=penalty)
    rows, start, fixed = problem(rank, ridge)
    expected = start.copy()
    reference.solve_rows(rows, expected, fixed, ridge)
    gram = NO_GRAM if ridge.confidence is None else reference.gram_matrix(fixed)
    for isa in SETS:
        ours = start.copy()
        _native.solve_rows(rows.pattern, rows.values, ours, fixed, ridge.native(), gram, 2, isa)
        same_bits(ours, expected)


@pytest.mark.parametrize("rank", RANKS)
def test_errors_and_residuals_are_the_twins(rank):
    for name, ridge in ridges(rank):
        rows, moving, fixed = problem(rank, ridge)
        expected = reference.squared_errors(rows, moving, fixed, ridge)
        left_over = descent_twins.residuals(rows, moving, fixed, 2.2)
        for isa, threads in itertools.product(SETS, (1, 3)):
            assert (
                _native.squared_errors(rows.pattern, rows.values, moving, fixed, ridge.native(), threads, isa)
                == expected
            ), name
            same_bits(_native.residuals(rows.pattern, rows.values, moving, fixed, 2.2, threads, isa), left_over)


@pytest.mark.parametrize("rank", [1, 16, 33])
def test_gram_matrix_is_the_twins(rank):
    """Beyond 4,096 rows the work is cut into tasks."""
    factors_ = padded_copy(np.random.default_rng(rank).normal(size=(5000, rank)))
    expected = reference.gram_matrix(factors_)
    for isa, threads in itertools.product(SETS, (1, 3)):
        same_bits(_native.gram_matrix(factors_, threads, isa), expected)
    wide = factors_.astype(np.float64)
    np.testing.assert_allclose(expected, wide.T @ wide, rtol=1e-5, atol=1e-2)


@pytest.mark.parametrize("by_count", [True, False])
@pytest.mark.parametrize("nonnegative", [True, False])
def test_steps_of_coordinate_descent_are_the_twins(nonnegative, by_count):
    rng = np.random.default_rng(0)
    rows = random_rows(rng)
    own, other = rng.normal(size=9).astype(np.float32), rng.normal(size=150).astype(np.float32)
    left_over = rng.normal(size=len(rows.values)).astype(np.float32)
    expected, shifted = own.copy(), left_over.copy()
    descent_twins.move_factor(rows, left_over, expected, other, 0.4, by_count=by_count, nonnegative=nonnegative)
    descent_twins.shift_residuals(rows, shifted, own, other, -1.0)
    for isa, threads in itertools.product(SETS, (1, 3)):
        ours, moved = own.copy(), left_over.copy()
        _native.move_factor(rows.pattern, moved, ours, other, 0.4, by_count, nonnegative, threads, isa)
        same_bits(ours, expected)
        same_bits(moved, left_over)
        _native.shift_residuals(rows.pattern, moved, own, other, -1.0, threads, isa)
        same_bits(moved, shifted)
    assert not nonnegative or (np.delete(expected, 1) >= 0).all()


@pytest.mark.parametrize("rank", RANKS)
def test_multiplicative_updates_are_the_twins(rank):
    rng = np.random.default_rng(rank)
    rows = random_rows(rng)
    start, fixed = factors(rng, 9, rank, signed=False), factors(rng, 150, rank, signed=False)
    fixed[:, 0] = 0  # a denominator of zero where there is no penalty
    towards = factors(rng, 9, rank, signed=False)
    for penalty, shrinkage in ((0.0, 0.0), (0.5, 0.0), (0.1, 2.0)):
        expected = start.copy()
        descent_twins.multiplicative_rows(rows, expected, fixed, towards, penalty, shrinkage)
        for isa, threads in itertools.product(SETS, (1, 3)):
            ours = start.copy()
            _native.multiplicative_rows(
                rows.pattern, rows.values, ours, fixed, towards, penalty, shrinkage, threads, isa
            )
            same_bits(ours, expected)
        if shrinkage == 0:
            assert (expected[[0, 2], 0] == (start[[0, 2], 0] if penalty == 0 else 0)).all()


def test_public_kernels_hand_on_what_the_compiled_ones_compute():
    rng = np.random.default_rng(3)
    rows = random_rows(rng)
    moving, fixed = factors(rng, 9, 5, signed=False), factors(rng, 150, 5, signed=False)
    for ridge in (Ridge(rank=5, penalty=1.0), Ridge(rank=5, penalty=1.0, confidence=2.0)):
        ours, theirs = moving.copy(), moving.copy()
        kernels.solve_rows(rows, ours, fixed, ridge)
        reference.solve_rows(rows, theirs, fixed, ridge)
        same_bits(ours, theirs)
        assert kernels.squared_errors(rows, ours, fixed, ridge) == reference.squared_errors(rows, ours, fixed, ridge)
    same_bits(kernels.gram_matrix(fixed), reference.gram_matrix(fixed))
    same_bits(kernels.residuals(rows, moving, fixed, 1.5), descent_twins.residuals(rows, moving, fixed, 1.5))
    ours, theirs = moving.copy(), moving.copy()
    kernels.multiplicative_rows(rows, ours, fixed, moving, 0.1, 0.2)
    descent_twins.multiplicative_rows(rows, theirs, fixed, moving, 0.1, 0.2)
    same_bits(ours, theirs)


def test_rows_that_cannot_be_are_refused_in_words():
    rows, moving, fixed = problem(4, Ridge(rank=4, penalty=1.0))
    with pytest.raises(ValueError, match="one row for each of the 9 rows"):
        kernels.solve_rows(rows, padded(3, 4), fixed, Ridge(rank=4, penalty=1.0))
    with pytest.raises(ValueError, match="room for the rank and the biases"):
        kernels.solve_rows(rows, moving, fixed, Ridge(rank=15, penalty=1.0).of_users())
