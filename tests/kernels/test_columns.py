"""Steps on columns against their NumPy twins, to the bit: ranks, biases, missing rows, few entries, batches."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from rankfill.kernels import Ridge, Rows, _native, padded_copy
from rankfill.kernels.columns import ColumnRule, DictionaryGram
from rankfill.kernels.reference import columns as reference

SETS = _native.instruction_sets()
N_ROWS = 300


def some_columns(rng, rank, n_rows=N_ROWS):
    """Full, nearly full, half, empty, single, and about as many entries as factors: rows ascend."""
    sizes = [n_rows, n_rows - 40, n_rows // 2 + 5, 0, 1, max(rank - 1, 1), rank + 3, 140]
    rows = [np.sort(rng.permutation(n_rows)[:n]) for n in sizes]
    values = rng.choice([0.0, 1.0, 2.5, 5.0], sum(sizes)).astype(np.float32)
    return Rows(np.concatenate([[0], np.cumsum(sizes)]), np.concatenate(rows).astype(np.int32), values)


def rules(rank):
    plain = Ridge(rank=rank, penalty=0.0)
    shrunken = Ridge(rank=rank, penalty=0.7, bias_penalty=0.3, offset=2.2)
    yield "plain", ColumnRule(plain, penalty=2.0)
    yield "many iterations", ColumnRule(replace(plain, offset=1.5), penalty=0.5, inner=5)
    yield "users", ColumnRule(shrunken.of_users(), penalty=3.0, unit=0.8)
    yield "items", ColumnRule(shrunken.of_items(), penalty=3.0, unit=1.3)
    yield "biases, no shrinkage", ColumnRule(replace(plain, offset=2.0).of_users(), penalty=3.0, unit=0.8)
    yield "goes on", ColumnRule(shrunken.of_users(), penalty=3.0, unit=0.8, from_row=True)
    yield "goes on, no shrinkage", ColumnRule(plain, penalty=3.0, from_row=True)


NAMES = [name for name, _ in rules(1)]


def problem(rank, rule, seed=0):
    rng = np.random.default_rng(seed + rank)
    biased = rule.ridge.bias_column >= 0
    columns = some_columns(rng, rank)
    moving, dictionary = (rng.normal(0, 0.5, (n, rank + 2 * biased)) for n in (8, N_ROWS))
    if biased:
        moving[:, rule.ridge.held_column] = dictionary[:, rule.ridge.bias_column] = 1
    order = np.array([2, 0, 4, 3, 1, 7, 6, 5], np.int32)
    return columns, order, padded_copy(moving), padded_copy(dictionary)


def steps(native, columns, order, start, dictionary, rule, batch, threads=1, isa=None):
    moving, c = start.copy(), dictionary.copy()
    gram = DictionaryGram.of_unknowns(rule.ridge.order, N_ROWS)
    if native:
        arguments = (
            columns.pattern,
            columns.values,
            order,
            moving,
            c,
            rule.native(),
            gram.sums,
            gram.age,
            batch,
            threads,
            isa,
        )
        sums = _native.broyden_columns(*arguments)
    else:
        sums = tuple(reference.broyden_columns(columns, order, moving, c, rule, gram, batch))
    return moving.tobytes(), c.tobytes(), sums, gram.sums.tobytes() if gram.age[0] >= 0 else b"", int(gram.age[0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rank", [1, 5, 16, 33])
def test_steps_are_the_twins(rank, name):
    rule = dict(rules(rank))[name]
    expected = steps(False, *problem(rank, rule), rule, 1)
    for isa in SETS:
        assert steps(True, *problem(rank, rule), rule, 1, isa=isa) == expected
    assert expected[4] >= 0 or rule.ridge.penalty == 0  # rows were taken out of the Gram matrix of all


@pytest.mark.parametrize("name", ["plain", "users", "items"])
@pytest.mark.parametrize(("rank", "batch"), [(1, 4), (5, 3), (5, 8), (16, 2)])
def test_batches_are_the_twins_for_any_number_of_threads(rank, batch, name):
    rule = dict(rules(rank))[name]
    expected = steps(False, *problem(rank, rule), rule, batch)
    for isa, threads in itertools.product(SETS, (1, 2, 5)):
        assert steps(True, *problem(rank, rule), rule, batch, threads, isa) == expected


@pytest.mark.parametrize("name", NAMES)
def test_columns_solved_with_the_dictionary_fixed_are_the_twins(name):
    rule = dict(rules(7))[name]
    columns, _, start, dictionary = problem(7, rule)
    expected = start.copy()
    reference.solve_columns(columns, expected, dictionary, rule)
    for isa, threads in itertools.product(SETS, (1, 3)):
        ours = start.copy()
        _native.solve_columns(
            columns.pattern, columns.values, np.arange(8, dtype=np.int32), ours, dictionary, rule.native(), threads, isa
        )
        assert ours.tobytes() == expected.tobytes()
    assert expected[3].tobytes() == start[3].tobytes()


@pytest.mark.parametrize("name", ["plain", "users", "items"])
@pytest.mark.parametrize("rank", [1, 16, 33])
def test_gradient_steps_are_the_twins(rank, name):
    rule = replace(dict(rules(rank))[name], rate=0.1)
    columns, order, start, dictionary = problem(rank, rule)
    moving, c = start.copy(), dictionary.copy()
    sums = tuple(reference.gradient_columns(columns, order, moving, c, rule))
    for isa in SETS:
        ours, d = start.copy(), dictionary.copy()
        assert _native.gradient_columns(columns.pattern, columns.values, order, ours, d, rule.native(), isa) == sums
        assert (ours.tobytes(), d.tobytes()) == (moving.tobytes(), c.tobytes())


def test_batch_of_one_is_a_single_step():
    """The other column of the batch is empty."""
    for name in ("plain", "users"):
        rule = dict(rules(5))[name]
        columns, _, start, dictionary = problem(5, rule)
        results = []
        for batch in (1, 2):
            moving, c, gram = start.copy(), dictionary.copy(), DictionaryGram.of_unknowns(rule.ridge.order, N_ROWS)
            order = np.array([1, 3], np.int32)
            sums = _native.broyden_columns(
                columns.pattern,
                columns.values,
                order,
                moving,
                c,
                rule.native(),
                gram.sums,
                gram.age,
                batch,
                1,
                SETS[-1],
            )
            results.append((moving, c, np.array(sums)))
        for one, two in zip(*results, strict=True):
            np.testing.assert_allclose(one, two, rtol=2e-4, atol=2e-5)


def test_solution_of_a_singular_system_is_the_one_of_least_norm():
    rng = np.random.default_rng(0)
    for order, rank in ((2, 0), (4, 2), (9, 8), (20, 3)):
        half = rng.normal(size=(order, rank))
        matrix, side = half @ half.T, half @ rng.normal(size=rank)
        system = np.zeros((order, order // 16 * 16 + 16))
        system[:, :order], system[:, order] = matrix, side
        expected = np.linalg.pinv(matrix, rcond=1e-9) @ side
        np.testing.assert_allclose(reference.least_norm(system), expected, rtol=1e-8, atol=1e-10)


def test_columns_that_observe_equal_rows_take_the_solution_of_least_norm():
    """Three equal rows with different values, and a factor that is zero everywhere: CᵀC is singular twice over."""
    dictionary = padded_copy(np.array([[1.0, 2, 0], [1, 2, 0], [1, 2, 0], [0.5, -1, 0], [1, 1, 0]]))
    values = np.array([1.0, 2, 3, 1, 1, 2, 3, 4, 5], np.float32)
    columns = Rows(np.array([0, 4, 9]), np.array([0, 1, 2, 3, 0, 1, 2, 3, 4], np.int32), values)
    moving = padded_copy(np.zeros((2, 3)))
    rule = ColumnRule(Ridge(rank=3, penalty=0.0))
    _native.solve_columns(
        columns.pattern, columns.values, np.arange(2, dtype=np.int32), moving, dictionary, rule.native(), 1, SETS[-1]
    )
    for column, entries in enumerate((slice(0, 4), slice(4, 9))):
        c = dictionary[columns.indices[entries], :3].astype(float)
        expected = np.linalg.pinv(c, rcond=1e-5) @ values[entries]
        np.testing.assert_allclose(moving[column, :3], expected, rtol=1e-5, atol=1e-6)
        assert moving[column, 2] == 0
