"""SAG, SAGA and SVRG: the ridge solution of every row, linear convergence, and the kernel against its twin."""

import itertools

import numpy as np
import pytest

import rankfill as rf
from rankfill.kernels import GradientRule, _native, get_threads, gradients, padded, padded_copy, set_threads
from rankfill.kernels import row_gradients as compiled
from rankfill.kernels.reference import row_gradients as twins
from rankfill.kernels.rows import Rows
from rankfill.models.gradient.variance_reduced import STEPS

METHODS = ("sag", "saga", "svrg")


def problem(n_rows=9, n_columns=25, rank=5, seed=0, dtype=np.float32):
    """Rows of all lengths from 0, entries anywhere, a fixed side of rows of many sizes, and room to move in."""
    rng = np.random.default_rng(seed)
    filled = np.arange(n_columns)[None, :] < np.linspace(0, n_columns, n_rows)[:, None]
    filled = rng.permuted(filled, axis=1)
    row, column = np.nonzero(filled)
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))]).astype(np.int64)
    rows = Rows(indptr, column.astype(np.int32), rng.normal(3, 1, len(row)).astype(np.float32))
    sizes = rng.uniform(0.5, 1.5, (n_columns, 1))
    fixed = padded_copy(sizes * rng.normal(0, 1, (n_columns, rank))).astype(dtype)
    return rows, fixed, padded(n_rows, rank).astype(dtype)


def solutions(rows, fixed, penalty, rank):
    """By the normal equations."""
    found = np.zeros((rows.n_rows, rank))
    for row, (begin, end) in enumerate(itertools.pairwise(rows.indptr)):
        x, r = fixed[rows.indices[begin:end], :rank].astype(float), rows.values[begin:end].astype(float)
        found[row] = np.linalg.solve(x.T @ x + (penalty * (end - begin) + 0.5) * np.eye(rank), x.T @ r)
    return found


@pytest.mark.parametrize("method", METHODS)
def test_rows_reach_the_normal_equations(method):
    rows, fixed, moving = problem()
    compiled.variance_reduced_pass(rows, moving, fixed, method, 0.1, 0.5, STEPS[method], 5000, -1, -1, 1.0, 7)
    expected = solutions(rows, fixed, 0.1, 5)
    np.testing.assert_allclose(moving[:, :5], expected, rtol=1e-3, atol=1e-4)
    assert (moving[0] == 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_twin_reaches_the_normal_equations_in_double_precision(method):
    rows, fixed, moving = problem(n_rows=4, n_columns=12, dtype=np.float64)
    twins.variance_reduced_pass(rows, moving, fixed, method, 0.1, 0.5, STEPS[method], 2000, -1, -1, 1.0, 7)
    np.testing.assert_allclose(moving[:, :5], solutions(rows, fixed, float(np.float32(0.1)), 5), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_convergence_is_linear_where_that_of_plain_rounds_is_not(method):
    """On one strongly convex row: the error falls by a factor every so many turns, down to rounding."""
    rows, fixed, moving = problem(n_rows=2, n_columns=20, rank=3, dtype=np.float64)
    expected = solutions(rows, fixed, float(np.float32(0.2)), 3)[1]
    errors, turns = [], {"sag": 40}.get(method, 10)
    for turn in range(6):
        twins.variance_reduced_pass(
            rows, moving, fixed, method, 0.2, 0.5, STEPS[method], turns, -1, -1, 1.0, 100 * turn
        )
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
        for _ in range(turns):
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
    rows, fixed, start = problem(rank=rank)
    if rank > 1:
        start[:, rank - 1] = 1
    for still in (-1, rank - 1) if rank > 1 else (-1,):
        expected = start.copy()
        twins.variance_reduced_pass(rows, expected, fixed, method, 0.1, 0.5, 0.3, 2, still, max(still - 1, -1), 0.25, 3)
        before = get_threads()
        for isa, threads in itertools.product(_native.instruction_sets(), (1, 2, 8)):
            monkeypatch.setattr(compiled, "instruction_set", lambda isa=isa: isa)
            set_threads(threads)
            moving = start.copy()
            compiled.variance_reduced_pass(
                rows, moving, fixed, method, 0.1, 0.5, 0.3, 2, still, max(still - 1, -1), 0.25, 3
            )
            assert moving.tobytes() == expected.tobytes()
        set_threads(before)


@pytest.mark.parametrize(
    ("method", "rate"), [("sag", (1 / 16, 1 / 8)), ("saga", (1 / 3, 1 / 4)), ("svrg", (1 / 6, 1 / 2))]
)
@pytest.mark.parametrize(("spread", "penalty"), [(0.01, 0.1), (0.1, 0.01), (1.0, 0.01)])
def test_rate_is_at_least_the_proven_one_on_rows_nearly_parallel(method, rate, spread, penalty):
    """Mean gaps of 60 rows of 30 entries stay below C (1 − min(a μ/L, b/n))^k after k rounds, as the theorems have it.

    C is that of Schmidt, Le Roux, Bach (2017), theorem 1; a and b are theirs for SAG, those of Defazio et al. (2014),
    corollary 1, for SAGA, and of Kovalev et al. (2020), corollary 9, for SVRG.
    """
    rng, n_rows, n, rank = np.random.default_rng(1), 60, 30, 5
    fixed = padded_copy(rng.normal(0, 1, rank) + spread * rng.normal(0, 1, (n, rank)))
    indices = np.tile(np.arange(n, dtype=np.int32), n_rows)
    rows = Rows(np.arange(n_rows + 1) * n, indices, rng.normal(3, 1, n_rows * n).astype(np.float32))
    x, r = fixed[:, :rank].astype(float), rows.values.reshape(n_rows, n).astype(float)
    curvature = x.T @ x / n + penalty * np.eye(rank)
    best = np.linalg.solve(curvature, x.T @ r.T / n).T

    def gap(w):
        away = w[:, :rank] - best
        return 0.5 * ((away @ curvature) * away).sum() / n_rows

    strong, smooth = np.linalg.eigvalsh(curvature)[0], np.square(x).sum(axis=1).max() + penalty
    falls = 1 - min(rate[0] * strong / smooth, rate[1] / n)
    moving = padded(n_rows, rank)
    largest = 1.5 * gap(moving) + 4 * smooth / n * np.square(best).sum() / n_rows
    for turn in range(1, 40):
        compiled.variance_reduced_pass(
            rows, moving, fixed, method, penalty, 0.0, STEPS[method], 20, -1, -1, 1.0, 1000 + turn
        )
        assert gap(moving) <= largest * falls ** (20 * n * turn) + 1e-10 * largest  # rounding in single precision
    assert gap(moving) < 0.01 * largest


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "inner"), [(30, 1), (500, 1), (500, 2)])
def test_long_rows_nearly_parallel_do_not_overshoot_when_turns_are_few(method, n, inner):
    """Memory begins anew at every turn.

    SAG that follows the whole gradient from the start swings √(1 + n/16) times as far from the minimum as it began.
    """
    rng, n_rows, rank, penalty = np.random.default_rng(2), 12, 3, 0.05
    fixed = padded_copy(1 + 0.01 * rng.normal(0, 1, (n, rank)))
    indices = np.tile(np.arange(n, dtype=np.int32), n_rows)
    rows = Rows(np.arange(n_rows + 1) * n, indices, rng.normal(3, 0.1, n_rows * n).astype(np.float32))
    x, r = fixed[:, :rank].astype(float), rows.values.reshape(n_rows, n).astype(float)
    curvature = x.T @ x / n + penalty * np.eye(rank)
    best = np.linalg.solve(curvature, x.T @ r.T / n).T
    moving = padded(n_rows, rank)
    gaps = []
    for turn in range(12):
        away = moving[:, :rank] - best
        gaps.append(0.5 * ((away @ curvature) * away).sum())
        compiled.variance_reduced_pass(
            rows, moving, fixed, method, penalty, 0.0, STEPS[method], inner, -1, -1, 1.0, 100 + turn
        )
    assert (np.diff(gaps) < 1e-4 * gaps[0]).all()
    assert gaps[-1] < 0.02 * gaps[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("biases", "shrinkage"), [(True, 0.5), (True, 16.0), (False, 0.5)])
def test_a_pass_is_a_ridge_regression_of_every_user_then_of_every_item(method, biases, shrinkage):
    """Enough turns end where the normal equations say, with biases as one more column, held by a shrinkage up to 5."""
    ratings = rf.synthetic.low_rank(25, 15, 200, rank=2, noise=0.3, step=None, seed=0)
    settings = {"rank": 2, "penalty": 0.1, "shrinkage": shrinkage, "biases": biases, "inner": 1000, "tol": None}
    before = rf.VarianceReduced(method=method, passes=1, **settings).fit(ratings)
    model = rf.VarianceReduced(method=method, passes=2, **settings).fit(ratings)
    assert model._scale == 1
    for side, counts in enumerate((ratings.by_user.counts(), ratings.by_item.counts())):
        own, other = (ratings.user_indices, ratings.item_indices)[:: 1 - 2 * side]
        others = (before.item_factors_, model.user_factors_)[side].astype(float)
        other_biases = (before.item_biases_, model.user_biases_)[side].astype(float)
        for row in np.flatnonzero(counts):
            rated = own == row
            x = np.column_stack([others[other[rated]], np.ones((rated.sum(), int(biases)))])
            y = ratings.values[rated] - model.offset_ - other_biases[other[rated]]
            held = (0.1 * rated.sum() + shrinkage) * np.append([1.0, 1.0], [min(1, 5 / shrinkage)] * biases)
            expected = np.linalg.solve(x.T @ x + np.diag(held), x.T @ y)
            found = (model.user_factors_, model.item_factors_)[side][row]
            bias = (model.user_biases_, model.item_biases_)[side][row]
            np.testing.assert_allclose(np.append(found, bias)[: len(expected)], expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("method", METHODS)
def test_objective_falls_and_factors_are_found(method):
    """Noise of 0.05 is all that is left of ratings whose effects alone leave more than nine times as much."""
    ratings = rf.synthetic.low_rank(60, 40, 1500, rank=2, noise=0.05, step=None, seed=0)
    model = rf.VarianceReduced(method=method, rank=3, penalty=1e-4, shrinkage=0.0, passes=60, inner=20, tol=None).fit(
        ratings
    )
    objectives = [report.objective for report in model.history_]
    assert (np.diff(objectives) < 1e-4 * objectives[0]).all()
    assert model.history_[-1].train < 0.07 < 0.15 * rf.Bias().fit(ratings).history_[-1].train


def test_words_are_checked(tmp_path):
    ratings = rf.Ratings.from_dense([[4.0, 1.0]])
    with pytest.raises(ValueError, match=r"method must be one of sag, saga, svrg, found 'svg'"):
        rf.VarianceReduced(method="svg").fit(ratings)
    with pytest.raises(ValueError, match=r"inner must be a whole number of at least 1, found 0"):
        rf.VarianceReduced(inner=0).fit(ratings)
