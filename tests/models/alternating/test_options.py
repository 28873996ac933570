"""Every option of the alternating models: after the last half pass each item row solves its own dense problem."""

import itertools

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import rankfill as rf

NONNEGATIVE = ("none", "both", "items", "users")
WEIGHTINGS = ("constant", "count")


@pytest.fixture(scope="module")
def ratings():
    """30 users by 17 items with ratings 0 … 5; one user and one item without any."""
    rng = np.random.default_rng(4)
    dense = np.where(rng.random((30, 17)) < 0.4, rng.integers(0, 6, (30, 17)), np.nan)
    dense[7], dense[:, 5] = np.nan, np.nan
    return rf.Ratings.from_dense(dense)


def best_row(design, targets, weights, penalties, lower):
    """argmin ½ Σ w (y − x·row)² + ½ Σ λ_k row_k², each unknown at least its bound: one of SciPy's solvers."""
    roots = np.sqrt(weights)
    stacked = np.vstack([roots[:, None] * design, np.diag(np.sqrt(penalties))])
    return lsq_linear(stacked, np.append(roots * targets, np.zeros(len(penalties))), (lower, np.inf), tol=1e-12).x


@pytest.mark.parametrize(("weighting", "biases"), list(itertools.product(WEIGHTINGS, (True, False))))
@pytest.mark.parametrize("nonnegative", NONNEGATIVE)
def test_explicit_item_rows_solve_the_dense_problem(ratings, dense_of, nonnegative, weighting, biases):
    model = rf.ALS(rank=3, penalty=0.6, passes=3, weighting=weighting, biases=biases, nonnegative=nonnegative)
    model.fit(ratings)
    dense = dense_of(ratings)
    free = nonnegative in ("none", "users")
    for item in np.flatnonzero(~np.isnan(dense).all(axis=0)):
        users = np.flatnonzero(~np.isnan(dense[:, item]))
        design = np.column_stack([model.user_factors_[users], np.ones((len(users), int(biases)))]).astype(float)
        targets = dense[users, item] - model.offset_ - model.user_biases_[users]
        penalty = 0.6 * (len(users) if weighting == "count" else 1)
        lower = np.append(np.full(3, -np.inf if free else 0.0), [-np.inf] * biases)
        expected = best_row(design, targets, np.ones(len(users)), np.full(3 + biases, penalty), lower)
        ours = np.append(model.item_factors_[item], [model.item_biases_[item]] * biases)
        np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=1e-4)
    assert free or model.item_factors_.min() == 0
    assert nonnegative not in ("both", "users") or model.user_factors_.min() >= 0


def scale(weighting, exponent, n, n_others, confidence):
    """What the penalty of a row is multiplied by, written out."""
    base = n + n_others / confidence if weighting == "frequency" else n
    return 1.0 if weighting == "constant" else float(base) ** exponent


@pytest.mark.parametrize(
    ("weighting", "exponent"),
    [("constant", 1.0), ("count", 1.0), ("count", 0.4), ("frequency", 1.0), ("frequency", 0.6)],
)
@pytest.mark.parametrize("nonnegative", NONNEGATIVE)
def test_implicit_item_rows_solve_the_dense_problem(ratings, dense_of, nonnegative, weighting, exponent):
    model = rf.ALS(rank=3, penalty=0.6, passes=3, weighting=weighting, nonnegative=nonnegative, feedback="implicit")
    model.set_params(confidence=2.0, exponent=exponent, solver="cholesky").fit(ratings)
    dense = dense_of(ratings)
    used = ~np.isnan(dense)
    for item in np.flatnonzero(used.any(axis=0)):
        weights = 1 + 2.0 * np.where(used[:, item], dense[:, item], 0.0)
        penalty = 0.6 * scale(weighting, exponent, used[:, item].sum(), used.any(axis=1).sum(), 2.0)
        lower = np.full(3, -np.inf if nonnegative in ("none", "users") else 0.0)
        expected = best_row(model.user_factors_.astype(float), used[:, item], weights, np.full(3, penalty), lower)
        np.testing.assert_allclose(model.item_factors_[item], expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_the_optimum_is_that_of_ials_with_a_weight_of_the_unobserved(ratings, dense_of, exponent):
    """The gradient of Σ_Ω (1 − p·q)² + α₀ Σ (p·q)² + λ (Σ (n_u + α₀ n_items)^ν ‖p_u‖² + …), Rendle et al. (2021)."""
    unobserved, penalty = 0.2, 0.05
    model = rf.ALS(rank=2, feedback="implicit", weighting="frequency", exponent=exponent, confidence=1 / unobserved)
    model.set_params(penalty=penalty * (1 + unobserved) / unobserved, solver="cholesky", passes=800, tol=None)
    model.fit(ratings.with_values(np.ones_like))
    used = ~np.isnan(dense_of(ratings))
    shrink = (1 + unobserved) ** -0.5
    P, Q = shrink * model.user_factors_.astype(float), shrink * model.item_factors_.astype(float)
    n_users, n_items = used.any(axis=1).sum(), used.any(axis=0).sum()
    errors = np.where(used, P @ Q.T - 1, 0.0) + unobserved * P @ Q.T
    by_user, by_item = (
        (used.sum(axis=1) + unobserved * n_items) ** exponent,
        (used.sum(axis=0) + unobserved * n_users) ** exponent,
    )
    assert np.abs(P).max() > 0.1
    assert np.abs(errors @ Q + penalty * by_user[:, None] * P)[used.any(axis=1)].max() < 1e-4
    assert np.abs(errors.T @ P + penalty * by_item[:, None] * Q)[used.any(axis=0)].max() < 1e-4


@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
@pytest.mark.parametrize("nonnegative", ["none", "both"])
def test_blocks_of_factors_lower_the_objective_to_that_of_whole_rows(feedback, nonnegative):
    """Rank 70 is two blocks."""
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((110, 90)) < 0.6, rng.integers(1, 6, (110, 90)), np.nan)
    common = {
        "rank": 70,
        "penalty": 8.0,
        "tol": None,
        "feedback": feedback,
        "nonnegative": nonnegative,
        "confidence": 1.0,
    }
    exact = rf.ALS(solver="cholesky", passes=60, **common).fit(rf.Ratings.from_dense(dense))
    blocks = rf.ALS(solver="block", passes=60, **common).fit(rf.Ratings.from_dense(dense))
    objectives = np.array([report.objective for report in blocks.history_])
    assert (np.diff(objectives) <= 1e-6 * objectives[:-1]).all()
    assert objectives[-1] == pytest.approx(exact.history_[-1].objective, rel=2e-3)


def test_ratings_that_are_not_liked_count_as_pairs_without_a_rating(ratings):
    settings = {"rank": 3, "feedback": "implicit", "penalty": 1.0, "confidence": 2.0}
    liked = rf.ALS(liked=3, **settings).fit(ratings)
    alone = rf.ALS(**settings).fit(ratings.select(ratings.values >= 3))
    np.testing.assert_array_equal(liked.user_factors_, alone.user_factors_)
    np.testing.assert_array_equal(liked.item_factors_, alone.item_factors_)
    np.testing.assert_array_equal(liked.fold_in(ratings), alone.fold_in(ratings.select(ratings.values >= 3)))
    seen = {(int(u), int(i)) for u, i in zip(ratings.user_indices, ratings.item_indices, strict=True)}
    lists = liked.recommend(np.arange(30), n=17).items
    assert not any((user, int(item)) in seen for user in range(30) for item in lists[user])
    own = ratings.values >= np.nan_to_num(np.nanmean(_dense(ratings), axis=1)).astype(np.float32)[ratings.user_indices]
    by_user = rf.ALS(liked="above-user-mean", **settings).fit(ratings)
    np.testing.assert_array_equal(by_user.item_factors_, rf.ALS(**settings).fit(ratings.select(own)).item_factors_)


def _dense(ratings):
    dense = np.full(ratings.shape, np.nan)
    dense[ratings.user_indices, ratings.item_indices] = ratings.values
    dense[np.isnan(dense).all(axis=1), 0] = 0
    return dense


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
def test_conjugate_gradients_lower_the_objective_to_that_of_cholesky(ratings, feedback, weighting):
    common = {"rank": 2, "penalty": 2.0, "passes": 200, "tol": None, "feedback": feedback, "weighting": weighting}
    exact, steps = (rf.ALS(solver=word, **common).fit(ratings) for word in ("cholesky", "conjugate-gradient"))
    objectives = np.array([report.objective for report in steps.history_])
    assert (np.diff(objectives) <= 1e-6 * objectives[:-1]).all()
    assert objectives[-1] == pytest.approx(exact.history_[-1].objective, rel=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        rf.ALS(rank=3),
        rf.ALS(rank=3, feedback="implicit"),
        rf.CoordinateDescent(rank=3),
        rf.PassiveAggressive(rank=3),
        rf.PassiveAggressive(rank=3, recipe="paper"),
    ],
    ids=repr,
)
def test_settings_changed_after_a_fit_change_no_answer(model, ratings, tmp_path):
    model.fit(ratings)
    before = model.predict_all(), model.fold_in(ratings), model.recommend(np.arange(5)).items
    model.set_params(rank=40)
    model.save(tmp_path / "m.rankfill")
    for each in (model, rf.load(tmp_path / "m.rankfill")):
        np.testing.assert_array_equal(each.predict_all(), before[0])
        np.testing.assert_array_equal(each.fold_in(ratings), before[1])
        np.testing.assert_array_equal(each.recommend(np.arange(5)).items, before[2])
