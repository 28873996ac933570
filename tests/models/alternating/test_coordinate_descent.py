"""Coordinate descent: the optimum of the rows, the objective of ALS, residuals that stay in step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

import rankfill as rf
from rankfill.kernels import residuals, shift_residuals


def random_ratings(seed, n_users=30, n_items=17):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n_users, n_items)) < 0.5, rng.integers(0, 6, (n_users, n_items)), np.nan)
    dense[0, 0] = 3.0
    dense[-1], dense[:, 2] = np.nan, np.nan
    return rf.Ratings.from_dense(dense)


@pytest.fixture
def ratings():
    return random_ratings(0)


@pytest.mark.parametrize("nonnegative", ["none", "both"])
@pytest.mark.parametrize("weighting", ["constant", "count"])
@pytest.mark.parametrize("biases", [True, False])
def test_objective_in_the_history_is_the_dense_one(
    ratings, dense_of, explicit_objective, weighting, biases, nonnegative
):
    model = rf.CoordinateDescent(
        rank=3, penalty=0.7, weighting=weighting, biases=biases, nonnegative=nonnegative, passes=4
    ).fit(ratings)
    expected = explicit_objective(model, dense_of(ratings), 0.7, 0.7, by_count=weighting == "count")
    assert model.history_[-1].objective == pytest.approx(expected, rel=1e-5)


def test_gradient_vanishes(ratings, dense_of):
    model = rf.CoordinateDescent(rank=2, penalty=3.0, passes=500, tol=None).fit(ratings)
    dense = dense_of(ratings)
    P, Q = model.user_factors_.astype(float), model.item_factors_.astype(float)
    fitted = model.offset_ + model.user_biases_[:, None] + model.item_biases_ + P @ Q.T
    errors = np.where(np.isnan(dense), 0.0, dense - fitted)
    assert np.abs(errors @ Q - 3.0 * P).max() < 2e-3
    assert np.abs(errors.T @ P - 3.0 * Q).max() < 2e-3
    assert np.abs(errors.sum(axis=1) - 3.0 * model.user_biases_).max() < 2e-3
    assert np.abs(errors.sum(axis=0) - 3.0 * model.item_biases_).max() < 2e-3


def test_nonnegative_factors_satisfy_the_optimality_conditions(ratings, dense_of):
    model = rf.CoordinateDescent(rank=3, penalty=1.0, biases=False, nonnegative="both", passes=2000, tol=None).fit(
        ratings
    )
    P, Q = model.user_factors_.astype(float), model.item_factors_.astype(float)
    dense = dense_of(ratings)
    errors = np.where(np.isnan(dense), 0.0, dense - P @ Q.T)
    for factors, gradient in ((P, P - errors @ Q), (Q, Q - errors.T @ P)):
        assert (factors >= 0).all()
        assert gradient.min() > -5e-3
        assert np.abs(gradient[factors > 1e-6]).max() < 5e-3
        assert (factors == 0).any()


@pytest.mark.parametrize("nonnegative", ["none", "both"])
@pytest.mark.parametrize("weighting", ["constant", "count"])
def test_optimum_is_that_of_als(ratings, weighting, nonnegative):
    """From where the other ended, neither finds anything better: one objective, one stationary point."""
    common = {"rank": 2, "penalty": 2.0 if weighting == "constant" else 0.2, "tol": None, "nonnegative": nonnegative}
    als = rf.ALS(**common, weighting=weighting, passes=400).fit(ratings)
    descent = rf.CoordinateDescent(**common, weighting=weighting, passes=1)
    descent.fit(ratings)
    descent._users, descent._items = als._users, als._items
    after = rf.CoordinateDescent(**common, weighting=weighting, passes=1).fit(ratings, init=descent)
    assert after.history_[0].objective == pytest.approx(als.history_[-1].objective, rel=1e-5)


def test_with_the_items_fixed_users_reach_the_normal_equations(ratings):
    """Sweeps over the factors of one side alone are coordinate descent on its ridge problems."""
    from rankfill.kernels import Ridge, move_factor, padded_copy, solve_rows

    rng = np.random.default_rng(1)
    items, users = padded_copy(rng.normal(size=(17, 4))), padded_copy(np.zeros((30, 4)))
    rows, exact = ratings.by_user, users.copy()
    solve_rows(rows, exact, items, Ridge(rank=4, penalty=1.0))
    left_over = residuals(rows, users, items, 0.0)
    for _ in range(200):
        for k in range(4):
            own, other = users[:, k].copy(), items[:, k].copy()
            shift_residuals(rows, left_over, own, other, 1.0)
            move_factor(rows, left_over, own, other, 1.0, by_count=False, nonnegative=False)
            shift_residuals(rows, left_over, own, other, -1.0)
            users[:, k] = own
    np.testing.assert_allclose(users, exact, rtol=1e-3, atol=1e-4)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(1, 20),
    st.sampled_from([0.01, 1.0, 30.0]),
    st.sampled_from(["count", "constant"]),
    st.booleans(),
    st.sampled_from(["none", "both", "items", "users"]),
    st.integers(1, 3),
)
def test_objective_never_rises(seed, rank, penalty, weighting, biases, nonnegative, inner):
    model = rf.CoordinateDescent(
        rank=rank,
        penalty=penalty,
        weighting=weighting,
        biases=biases,
        nonnegative=nonnegative,
        inner=inner,
        passes=8,
        tol=None,
    ).fit(random_ratings(seed, 12, 9))
    objectives = np.array([report.objective for report in model.history_])
    assert (np.diff(objectives) <= 1e-5 * objectives[:-1]).all()


def test_residuals_of_both_sides_stay_in_step_to_the_bit(ratings):
    rng = np.random.default_rng(0)
    model = rf.CoordinateDescent(rank=5, passes=1).fit(ratings)
    by_user = residuals(ratings.by_user, model._users.array, model._items.array, model.offset_)
    by_item = residuals(ratings.by_item, model._items.array, model._users.array, model.offset_)
    for sign in (1.0, -1.0, 1.0):
        p, q = rng.normal(size=30).astype(np.float32), rng.normal(size=17).astype(np.float32)
        shift_residuals(ratings.by_user, by_user, p, q, sign)
        shift_residuals(ratings.by_item, by_item, q, p, sign)
    order = np.lexsort((ratings.by_item.row_of_entry(), ratings.by_item.indices))
    np.testing.assert_array_equal(by_item[order], by_user)


def test_inner_must_be_a_whole_number(ratings):
    with pytest.raises(ValueError, match="inner must be a whole number of at least 1, found 0"):
        rf.CoordinateDescent(inner=0).fit(ratings)


@pytest.mark.parametrize("nonnegative", ["none", "both"])
@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("weighting", ["constant", "count"])
def test_by_rows_each_row_reaches_its_dense_problem(ratings, dense_of, weighting, biases, nonnegative):
    model = rf.CoordinateDescent(
        rank=3,
        penalty=0.7,
        weighting=weighting,
        biases=biases,
        nonnegative=nonnegative,
        order="rows",
        inner=300,
        passes=2,
    ).fit(ratings)
    dense = dense_of(ratings)
    for item in np.flatnonzero(~np.isnan(dense).all(axis=0)):
        users = np.flatnonzero(~np.isnan(dense[:, item]))
        design = np.column_stack([model.user_factors_[users], np.ones((len(users), int(biases)))]).astype(float)
        targets = dense[users, item] - model.offset_ - model.user_biases_[users]
        root = np.sqrt(0.7 * (len(users) if weighting == "count" else 1))
        lower = np.append(np.full(3, 0.0 if nonnegative == "both" else -np.inf), [-np.inf] * biases)
        stacked = np.vstack([design, root * np.eye(3 + biases)])
        expected = lsq_linear(stacked, np.append(targets, np.zeros(3 + biases)), (lower, np.inf), tol=1e-12).x
        ours = np.append(model.item_factors_[item], [model.item_biases_[item]] * biases)
        np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=1e-3)


def test_by_rows_the_objective_is_that_of_any_order_and_falls(ratings, dense_of, explicit_objective):
    model = rf.CoordinateDescent(rank=3, penalty=0.7, order="rows", passes=300, tol=None).fit(ratings)
    objectives = np.array([report.objective for report in model.history_])
    assert (np.diff(objectives) <= 1e-5 * objectives[:-1]).all()
    assert objectives[-1] == pytest.approx(
        explicit_objective(model, dense_of(ratings), 0.7, 0.7, by_count=False), rel=1e-5
    )
    again = rf.CoordinateDescent(rank=3, penalty=0.7, passes=1).fit(ratings, init=model)
    assert again.history_[0].objective == pytest.approx(objectives[-1], rel=1e-4)


def test_by_rows_a_store_teaches_the_bits_of_memory(ratings, tmp_path):
    ratings.to_frame("pandas").to_csv(tmp_path / "ratings.csv", index=False)
    store = rf.convert(tmp_path / "ratings.csv", tmp_path / "ratings.store")
    make = lambda: rf.CoordinateDescent(rank=3, order="rows", passes=3)  # noqa: E731
    assert np.array_equal(make().fit(store).item_factors_, make().fit(store.load()).item_factors_)


def test_an_order_there_is_not_is_refused(ratings):
    with pytest.raises(ValueError, match="order must be one of factors, rows, found 'columns'"):
        rf.CoordinateDescent(order="columns").fit(ratings)
