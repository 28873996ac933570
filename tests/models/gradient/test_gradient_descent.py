"""Gradient descent: its gradient against finite differences, where it ends, and the kernel against its twin."""

import itertools

import numpy as np
import pytest
from scipy.optimize import nnls

import rankfill as rf
from rankfill.kernels import _native, get_threads, padded_copy, set_threads
from rankfill.kernels import row_gradients as compiled
from rankfill.kernels.reference import row_gradients as twins
from rankfill.models.gradient.gradient_descent import _Problem

LOSSES = ("squared", "huber", "logistic")


def ratings_for(loss, n_users=14, n_items=9, seed=0, n_ratings=80):
    ratings = rf.synthetic.low_rank(n_users, n_items, n_ratings, rank=2, noise=0.3, step=None, seed=seed)
    return ratings.with_values(lambda values: np.where(values > 3, 1.0, -1.0)) if loss == "logistic" else ratings


def objective(model, rows, ratings):
    """The formula of the docstring, in double precision."""
    from rankfill.objectives.losses import loss_values

    users, items = (each.astype(np.float64) for each in rows)
    rank, s, width = model.rank, model._scale, model.epsilon / model._scale
    targets = (ratings.values.astype(np.float64) - model.offset_) / s
    predicted = (users[ratings.user_indices] * items[ratings.item_indices]).sum(axis=1)
    share = min(1.0, 5 / model.shrinkage_)  # biases are held by a shrinkage of at most 5
    squares = [
        (rows[:, :rank] ** 2).sum(axis=1) + share * rows[:, rank + side] ** 2
        for side, rows in enumerate((users, items))
    ]
    counts = ratings.by_user.counts(), ratings.by_item.counts()
    held = [
        model.penalty * n @ each + model.shrinkage_ * (each @ (n > 0)) for n, each in zip(counts, squares, strict=True)
    ]
    return loss_values(model.loss, targets, targets - predicted, width).sum() + 0.5 * sum(held)


@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_is_that_of_the_objective(loss):
    ratings = ratings_for(loss)
    model = rf.GradientDescent(rank=3, loss=loss, penalty=0.07, passes=2).fit(ratings)
    rows = [each.astype(np.float64) for each in model._to_units()]
    problem = _Problem(model, ratings)
    point = problem.at(tuple(each.astype(np.float32) for each in rows))
    assert point.objective == pytest.approx(objective(model, rows, ratings), rel=1e-5)
    for side in (0, 1):
        gradient = problem.gradient(point.rows, side)[0]
        for row, column in itertools.product(range(4), range(5)):
            if column == model.rank + 1 - side:
                assert gradient[row, column] == 0
                continue
            ends = []
            for h in (1e-4, -1e-4):
                moved = [each.copy() for each in rows]
                moved[side][row, column] += h
                ends.append(objective(model, moved, ratings))
            assert gradient[row, column] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-3, abs=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("momentum", ["none", "nesterov"])
def test_objective_never_increases_and_is_the_formula(loss, momentum):
    ratings = ratings_for(loss)
    model = rf.GradientDescent(rank=3, loss=loss, momentum=momentum, passes=30, tol=None).fit(ratings)
    objectives = np.array([report.objective for report in model.history_])
    assert (np.diff(objectives) <= 0).all()
    assert objectives[-1] == pytest.approx(model._scale**2 * objective(model, model._to_units(), ratings), rel=1e-5)


@pytest.mark.parametrize("momentum", ["none", "nesterov"])
def test_gradient_vanishes_at_the_end(momentum):
    ratings = ratings_for("squared")
    model = rf.GradientDescent(rank=2, penalty=0.05, momentum=momentum, passes=3000, tol=None).fit(ratings)
    problem = _Problem(model, ratings)
    for side in (0, 1):
        assert np.abs(problem.gradient(model._to_units(), side)[0]).max() < 5e-3


def test_momentum_gets_there_in_fewer_passes():
    ratings = ratings_for("squared")
    ends = [
        rf.GradientDescent(rank=3, penalty=0.02, momentum=momentum, passes=60, tol=None).fit(ratings)
        for momentum in ("none", "nesterov")
    ]
    assert ends[1].history_[-1].objective < ends[0].history_[-1].objective


def test_folded_in_rows_are_the_normal_equations():
    ratings = ratings_for("squared")
    model = rf.GradientDescent(rank=3, penalty=0.05, shrinkage=3.0, passes=500, tol=None).fit(ratings)
    rows = model.fold_in(ratings)
    for user in range(ratings.n_users):
        rated = ratings.user_indices == user
        if not rated.any():
            continue
        x = np.column_stack([model.item_factors_[ratings.item_indices[rated]], np.ones(rated.sum())]).astype(float)
        y = ratings.values[rated] - model.offset_ - model.item_biases_[ratings.item_indices[rated]]
        expected = np.linalg.solve(x.T @ x + (0.05 * rated.sum() + 3) * np.eye(4), x.T @ y)
        np.testing.assert_allclose(rows[user, :4], expected, rtol=1e-3, atol=1e-3)


def test_nonnegative_rows_are_those_of_an_independent_solver():
    ratings = ratings_for("squared").with_values(lambda values: values - 1)
    model = rf.GradientDescent(
        rank=3, penalty=0.05, shrinkage=0.1, nonnegative="both", biases=False, passes=800, tol=None, momentum="none"
    ).fit(ratings)
    rows, at_zero = model.fold_in(ratings), 0
    for user in range(ratings.n_users):
        rated = ratings.user_indices == user
        x = model.item_factors_[ratings.item_indices[rated]].astype(float)
        ridge = np.sqrt((0.05 * rated.sum() + 0.1) * model._scale) * np.eye(3)
        expected = nnls(np.vstack([x, ridge]), np.append(ratings.values[rated], np.zeros(3)))[0]
        np.testing.assert_allclose(rows[user], expected, rtol=1e-2, atol=5e-3)
        at_zero += (expected == 0).sum()
    assert at_zero > 0


@pytest.mark.parametrize("loss", ["squared", "absolute", "epsilon-insensitive", "huber", "logistic"])
def test_kernel_is_the_twin_on_every_instruction_set_and_any_number_of_threads(loss, monkeypatch):
    rng, before = np.random.default_rng(0), get_threads()
    for rank in (1, 5, 16, 30, 33, 65):
        ratings = ratings_for(loss, n_users=150, n_items=20, seed=rank, n_ratings=400)
        rows = ratings.by_item  # of more entries than a register has lanes
        assert rows.counts().max() > 33
        moving, fixed = (padded_copy(rng.normal(0, 0.5, (n, rank))) for n in (20, 150))
        expected = np.full_like(moving, np.nan)
        sums = twins.full_gradient(rows, moving, fixed, expected, loss, 0.5, 0.1, 0.7)
        for isa, threads in itertools.product(_native.instruction_sets(), (1, 2, 8)):
            monkeypatch.setattr(compiled, "instruction_set", lambda isa=isa: isa)
            set_threads(threads)
            gradient = np.empty_like(moving)
            assert compiled.full_gradient(rows, moving, fixed, gradient, loss, 0.5, 0.1, 0.7) == sums
            assert gradient.tobytes() == expected.tobytes()
    set_threads(before)


def test_losses_with_a_kink_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"have a slope everywhere, found 'absolute'; use SGD for the others"):
        rf.GradientDescent(loss="absolute").fit(rf.Ratings.from_dense([[4.0, 1.0]]))


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("size", [2.0**40, 2.0**66, 2.0**90])
def test_people_whose_ratings_are_huge_are_learned_like_others(loss, size):
    ratings = ratings_for(loss)
    model = rf.GradientDescent(rank=3, loss=loss, epsilon=1e30, passes=20, seed=1).fit(ratings)
    some, huge = (
        model.fold_in(rf.Ratings.from_arrays([1, 1, 1], [0, 1, 2], np.array([5.0, 1.0, 3.0]) * times))[0, :4] / times
        for times in (2.0**30, size)
    )  # beside either the mean rating is nothing
    assert (some != 0).all()
    np.testing.assert_allclose(huge, some, rtol=1e-3)


def test_people_whose_ratings_are_beyond_single_precision_are_refused():
    model = rf.GradientDescent(rank=3, passes=20).fit(ratings_for("squared"))
    with pytest.raises(ValueError, match="do not fit into 32-bit numbers"):
        model.fold_in(rf.Ratings.from_arrays([1, 1], [0, 1], [3e38, 3e38]))
