"""SAG, SAGA and SVRG: the ridge solution of every row, linear convergence, and the kernel against its twin."""

import itertools

import numpy as np
import pytest

import rankfill as rf
from rankfill.kernels import GradientRule, _native, get_threads, gradients, padded, padded_copy, set_threads
from rankfill.kernels import reference_row_gradients as twins
from rankfill.kernels import row_gradients as compiled
from rankfill.kernels.rows import Rows
from rankfill.models.variance_reduced import STEPS

METHODS = ("sag", "saga", "svrg")


def problem(n_rows=9, n_columns=25, rank=5, seed=0, dtype=np.float32):
    """Rows of all lengths from 0, their fixed side, and room to move in."""
    rng = np.random.default_rng(seed)
    filled = np.arange(n_columns)[None, :] < np.linspace(0, n_columns, n_rows)[:, None]
    row, column = np.nonzero(filled)
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))]).astype(np.int64)
    rows = Rows(indptr, column.astype(np.int32), rng.normal(3, 1, len(row)).astype(np.float32))
    fixed = padded_copy(rng.normal(0, 1, (n_columns, rank))).astype(dtype)
    return rows, fixed, padded(n_rows, rank).astype(dtype), np.zeros(len(row), dtype)


def solutions(rows, fixed, penalty, rank):
    """By the normal equations."""
    found = np.zeros((rows.n_rows, rank))
    for row, (begin, end) in enumerate(itertools.pairwise(rows.indptr)):
        x, r = fixed[rows.indices[begin:end], :rank].astype(float), rows.values[begin:end].astype(float)
        found[row] = np.linalg.solve(x.T @ x + (penalty * (end - begin) + 0.5) * np.eye(rank), x.T @ r)
    return found


@pytest.mark.parametrize("method", METHODS)
def test_rows_reach_the_normal_equations(method):
    rows, fixed, moving, memory = problem()
    compiled.variance_reduced_pass(rows, moving, fixed, memory, method, 0.1, 0.5, STEPS[method], 1000, -1, 7)
    expected = solutions(rows, fixed, 0.1, 5)
    np.testing.assert_allclose(moving[:, :5], expected, rtol=1e-3, atol=1e-4)
    assert (moving[0] == 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_twin_reaches_the_normal_equations_in_double_precision(method):
    rows, fixed, moving, memory = problem(n_rows=4, n_columns=12, dtype=np.float64)
    twins.variance_reduced_pass(rows, moving, fixed, memory, method, 0.1, 0.5, STEPS[method], 1500, -1, 7)
    np.testing.assert_allclose(moving[:, :5], solutions(rows, fixed, float(np.float32(0.1)), 5), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_convergence_is_linear_where_that_of_plain_rounds_is_not(method):
    """On one strongly convex row: the error falls by a factor every so many turns, down to rounding."""
    rows, fixed, moving, memory = problem(n_rows=2, n_columns=20, rank=3, dtype=np.float64)
    expected = solutions(rows, fixed, float(np.float32(0.2)), 3)[1]
    errors = []
    for turn in range(6):
        twins.variance_reduced_pass(rows, moving, fixed, memory, method, 0.2, 0.5, STEPS[method], 10, -1, 100 * turn)
        errors.append(np.linalg.norm(moving[1, :3] - expected))
    ratios = np.array(errors[1:]) / np.array(errors[:-1])
    above_rounding = np.array(errors[1:]) > 1e-12
    assert above_rounding.sum() >= 3
    assert (ratios[above_rounding] < 0.25).all()
    assert errors[-1] < 1e-6

    p, q = padded(1, 3), fixed.astype(np.float32)
    rule = GradientRule(rank=3, step="constant", rate=0.02, penalty=0.2, biased=False)
    items, still = rows.indices, np.full(len(q), np.inf, np.float32)
    plain, held = [], np.float32([0.2 + 0.5 / len(items)])
    for _ in range(6):
        for _ in range(10):
            for k in range(len(items)):  # the fixed side is put back, as the other methods keep it
                gradients.gradient_online(
                    np.zeros(1, np.int32), items[k : k + 1], rows.values[k : k + 1], 0, p, q,
                    np.ones(1, np.float32), still, held, 0 * held, rule,
                )  # fmt: skip
                q[items[k]] = fixed[items[k]]
        plain.append(np.linalg.norm(p[0, :3] - expected))
    assert plain[-1] > 100 * errors[-1]
    assert plain[-1] > 0.5 * plain[1]


@pytest.mark.parametrize(("method", "rank"), list(itertools.product(METHODS, (1, 5, 16, 33, 65))))
def test_kernel_is_the_twin_on_every_instruction_set_and_any_number_of_threads(method, rank, monkeypatch):
    rows, fixed, start, _ = problem(rank=rank)
    if rank > 1:
        start[:, rank - 1] = 1
    for still in (-1, rank - 1):
        expected, remembered = start.copy(), np.zeros(len(rows.values), np.float32)
        twins.variance_reduced_pass(rows, expected, fixed, remembered, method, 0.1, 0.5, 0.3, 2, still, 3)
        before = get_threads()
        for isa, threads in itertools.product(_native.instruction_sets(), (1, 2, 8)):
            monkeypatch.setattr(compiled, "instruction_set", lambda isa=isa: isa)
            set_threads(threads)
            moving, memory = start.copy(), np.zeros(len(rows.values), np.float32)
            compiled.variance_reduced_pass(rows, moving, fixed, memory, method, 0.1, 0.5, 0.3, 2, still, 3)
            assert moving.tobytes() == expected.tobytes()
            assert memory.tobytes() == remembered.tobytes()
        set_threads(before)


@pytest.mark.parametrize("method", METHODS)
def test_objective_falls_and_factors_are_found(method):
    ratings = rf.synthetic.low_rank(60, 40, 1500, rank=2, noise=0.05, step=None, seed=0)
    model = rf.VarianceReduced(method=method, rank=3, penalty=0.005, shrinkage=0.0, passes=60, inner=5, tol=None).fit(
        ratings
    )
    objectives = [report.objective for report in model.history_]
    assert (np.diff(objectives) < 1e-3 * objectives[0]).all()
    assert model.history_[-1].train < 0.5 * rf.Bias().fit(ratings).history_[-1].train


def test_words_are_checked(tmp_path):
    ratings = rf.Ratings.from_dense([[4.0, 1.0]])
    with pytest.raises(ValueError, match=r"method must be one of sag, saga, svrg, found 'svg'"):
        rf.VarianceReduced(method="svg").fit(ratings)
    with pytest.raises(ValueError, match=r"inner must be a whole number of at least 1, found 0"):
        rf.VarianceReduced(inner=0).fit(ratings)
