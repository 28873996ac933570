"""Multiplicative updates: the formula, a falling objective, zeros that are observed and zeros that divide."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankfill as rf


def random_ratings(seed, n_users=30, n_items=17):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n_users, n_items)) < 0.5, rng.integers(0, 6, (n_users, n_items)), np.nan)
    dense[0, 0] = 3.0
    dense[-1], dense[:, 2] = np.nan, np.nan
    return rf.Ratings.from_dense(dense)


@pytest.fixture
def ratings():
    return random_ratings(0)


@pytest.mark.parametrize(("penalty", "shrinkage"), [(0.0, 0.0), (0.8, 0.0), (0.3, 2.0)])
def test_pass_is_the_formula_on_dense_matrices(ratings, dense_of, penalty, shrinkage):
    start, before, after = (
        rf.MultiplicativeNMF(rank=3, penalty=penalty, shrinkage=strength, passes=passes).fit(ratings)
        for strength, passes in ((1e30, 1), (shrinkage, 2), (shrinkage, 3))  # a pull without end keeps the start
    )
    known = ~np.isnan(dense_of(ratings))
    R = np.where(known, dense_of(ratings), 0.0)
    P, Q = before.user_factors_.astype(float), before.item_factors_.astype(float)
    pull = shrinkage * ratings.mean()
    P0, Q0 = pull * start.user_factors_.astype(float), pull * start.item_factors_.astype(float)
    total = penalty + pull
    with np.errstate(invalid="ignore"):
        P = np.nan_to_num(P * (R @ Q + P0) / ((known * (P @ Q.T)) @ Q + total * P))
        Q = np.nan_to_num(Q * (R.T @ P + Q0) / ((known * (P @ Q.T)).T @ P + total * Q))
    rated_users, rated_items = known.any(axis=1), known.any(axis=0)
    np.testing.assert_allclose(after.user_factors_[rated_users], P[rated_users], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(after.item_factors_[rated_items], Q[rated_items], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("penalty", "shrinkage"), [(0.0, 0.0), (0.8, 0.0), (0.3, 2.0)])
def test_objective_in_the_history_is_the_dense_one(ratings, dense_of, explicit_objective, penalty, shrinkage):
    start = rf.MultiplicativeNMF(rank=3, shrinkage=1e30, passes=1).fit(ratings)
    model = rf.MultiplicativeNMF(rank=3, penalty=penalty, shrinkage=shrinkage, passes=5).fit(ratings)
    expected = explicit_objective(model, dense_of(ratings), penalty, 0.0, by_count=False)
    for ours, theirs in (
        (model.user_factors_, start.user_factors_),
        (model.item_factors_, start.item_factors_),
    ):
        expected += 0.5 * shrinkage * ratings.mean() * np.square(ours.astype(float) - theirs).sum()
    assert model.history_[-1].objective == pytest.approx(expected, rel=1e-5)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 20), st.sampled_from([0.0, 0.1, 5.0]), st.sampled_from([0.0, 0.5, 60.0]))
def test_objective_never_rises_and_factors_stay_nonnegative(seed, rank, penalty, shrinkage):
    model = rf.MultiplicativeNMF(rank=rank, penalty=penalty, shrinkage=shrinkage, passes=12, tol=None)
    model.fit(random_ratings(seed, 12, 9))
    objectives = np.array([report.objective for report in model.history_])
    assert (np.diff(objectives) <= 1e-5 * objectives[:-1]).all()
    assert model.user_factors_.min() >= 0
    assert model.item_factors_.min() >= 0


@pytest.mark.parametrize("rank", [1, 2, 3, 8])
def test_it_starts_from_the_effects_of_users_and_items(rank):
    ratings = random_ratings(0).with_values(lambda values: values + 4)  # effects small beside the mean
    start = rf.MultiplicativeNMF(rank=rank, shrinkage=1e30, passes=1, clip=False).fit(ratings)
    bias = rf.Bias(clip=False).fit(ratings)
    users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
    of_user, of_item = bias.user_effects_[ratings.user_indices], bias.item_effects_[ratings.item_indices]
    product = (bias.mean_ + of_item) * (1 + of_user / bias.mean_)
    expected = product if rank == 1 else bias.predict(users, items)
    np.testing.assert_allclose(start.predict(users, items), expected, rtol=1e-4)


def test_it_comes_near_the_optimum_of_coordinate_descent(ratings):
    slow = rf.MultiplicativeNMF(rank=2, penalty=1.0, shrinkage=0, passes=3000, tol=None).fit(ratings)
    common = {"rank": 2, "penalty": 1.0, "biases": False, "nonnegative": "both", "tol": None, "passes": 500}
    best = min(rf.CoordinateDescent(**common, seed=seed).fit(ratings).history_[-1].objective for seed in range(5))
    assert best * (1 - 1e-5) <= slow.history_[-1].objective <= 1.05 * best


def test_users_and_items_rated_zero_throughout_become_zero():
    dense = np.array([[0.0, 0.0, 0.0], [0.0, 4.0, 5.0], [0.0, 2.0, np.nan]])
    model = rf.MultiplicativeNMF(rank=2, shrinkage=0, passes=20).fit(rf.Ratings.from_dense(dense))
    assert (model.user_factors_[0] == 0).all()
    assert (model.item_factors_[0] == 0).all()
    assert np.isfinite(model.predict(np.arange(3)[:, None], np.arange(3))).all()


def test_folded_in_rows_are_the_best_nonnegative_ones(ratings, dense_of):
    from scipy.optimize import nnls

    model = rf.MultiplicativeNMF(rank=3, penalty=0.5, shrinkage=0, passes=30).fit(ratings)
    rows, dense = model.fold_in(ratings), dense_of(ratings)
    for u in range(29):
        rated = ~np.isnan(dense[u])
        stacked = np.vstack([model.item_factors_[rated].astype(float), np.sqrt(0.5) * np.eye(3)])
        expected = nnls(stacked, np.append(dense[u, rated], np.zeros(3)))[0]
        np.testing.assert_allclose(rows[u], expected, rtol=1e-3, atol=1e-4)


def test_negative_ratings_and_settings_are_refused_in_words(ratings):
    with pytest.raises(ValueError, match=r"MultiplicativeNMF needs ratings >= 0, found -[123] .*ratings\.shifted"):
        rf.MultiplicativeNMF().fit(ratings.with_values(lambda values: values - 3))
    with pytest.raises(ValueError, match="penalty must be zero or a positive number, found -1"):
        rf.MultiplicativeNMF(penalty=-1).fit(ratings)
    for shrinkage in (np.inf, 1e308, -1.0, np.nan):
        with pytest.raises(ValueError, match="shrinkage must be zero or"):
            rf.MultiplicativeNMF(shrinkage=shrinkage).fit(ratings)
    with pytest.raises(ValueError, match=r"passes must be a whole number of at most \d+, found"):
        rf.MultiplicativeNMF(passes=10**30).fit(ratings)


def test_folded_in_rows_with_shrinkage_are_the_optimum_near_the_mean_user(ratings, dense_of):
    """Against a quadratic program: ½ ‖r − Q p‖² + ½ λ ‖p‖² + ½ κ ‖p − p⁰‖² over p ≥ 0, which is a least-squares one."""
    from scipy.optimize import nnls

    model = rf.MultiplicativeNMF(rank=3, penalty=0.5, shrinkage=2.0, passes=4000, tol=None).fit(ratings)
    rows, dense, pull = model.fold_in(ratings), dense_of(ratings), 2.0 * ratings.mean()
    start = np.full(3, (ratings.mean() / 3) ** 0.5)
    for u in range(29):
        rated = ~np.isnan(dense[u])
        if rated.any():
            Q = model.item_factors_[rated].astype(float)
            stacked = np.vstack([Q, np.sqrt(0.5) * np.eye(3), np.sqrt(pull) * np.eye(3)])
            expected = nnls(stacked, np.concatenate([dense[u, rated], np.zeros(3), np.sqrt(pull) * start]))[0]
            np.testing.assert_allclose(rows[u], expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("shrinkage", [0.0, 5.0])
@pytest.mark.parametrize("exponent", [-132, -60, -20, 20, 60, 100, 120])
def test_ratings_may_be_of_any_size(ratings, shrinkage, exponent):
    """Powers of four change nothing but the units, down to 1e-40 and up to 1e36."""
    large = ratings.with_values(lambda values: np.ldexp(values, exponent))
    settings = {"rank": 3, "shrinkage": shrinkage, "passes": 15, "tol": None}
    plain, model = (rf.MultiplicativeNMF(**settings).fit(data) for data in (ratings, large))
    for name in ("user_factors_", "item_factors_"):
        found = np.ldexp(getattr(model, name), -exponent // 2)
        np.testing.assert_allclose(found, getattr(plain, name), rtol=1e-3, atol=1e-4)
    found = np.ldexp(model.fold_in(large), -exponent // 2)
    np.testing.assert_allclose(found, plain.fold_in(ratings), rtol=1e-3, atol=1e-4)
    objectives = [[report.objective for report in each.history_] for each in (plain, model)]
    np.testing.assert_allclose(np.ldexp(objectives[1], -2 * exponent), objectives[0], rtol=1e-3)


def test_what_single_precision_cannot_hold_is_refused_in_words(ratings):
    with pytest.raises(ValueError, match=r"between -1e\+37 and 1e\+37, found one of the size 5e\+37; divide them all"):
        rf.MultiplicativeNMF().fit(ratings.with_values(lambda values: values * 1e37))


@pytest.mark.parametrize("shrinkage", [0.0, 5.0])
def test_settings_changed_after_a_fit_do_not_change_its_answers(ratings, shrinkage):
    model = rf.MultiplicativeNMF(rank=3, penalty=0.5, shrinkage=shrinkage, passes=10).fit(ratings)
    before = model.fold_in(ratings), model.predict([1, -1], [3, 3]), model.recommend([1, 2], n=3).items
    model.set_params(rank=7, penalty=9.0, shrinkage=1.0 - bool(shrinkage), seed=5)
    after = model.fold_in(ratings), model.predict([1, -1], [3, 3]), model.recommend([1, 2], n=3).items
    for ours, theirs in zip(before, after, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_start_from_a_fitted_model_is_its_continuation_and_not_negative(ratings):
    settings = {"rank": 3, "shrinkage": 0.0, "tol": None}
    first = rf.MultiplicativeNMF(passes=10, **settings).fit(ratings)
    whole = rf.MultiplicativeNMF(passes=15, **settings).fit(ratings)
    rest = rf.MultiplicativeNMF(passes=5, **settings).fit(ratings, init=first)
    np.testing.assert_array_equal(rest.item_factors_, whole.item_factors_)
    first._items.array[:, 0] *= -1
    spoiled = rf.MultiplicativeNMF(passes=5, **settings).fit(ratings, init=first)
    assert min(spoiled.user_factors_.min(), spoiled.item_factors_.min()) >= 0
    assert (spoiled.item_factors_[:, 0] == 0).all()
