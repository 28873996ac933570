"""Primal–dual completion against cvxpy, its own guarantees, and other solvers."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankfill as rf
from rankfill.objectives.losses import loss_values

LOSSES = ("squared", "absolute", "epsilon-insensitive", "huber", "logistic")
SCHEDULES = ("newest", "full", "retighten")


def small_ratings(seed=0, n_users=15, n_items=10, share=1 / 3, signs=False):
    """A third of the entries of a matrix of rank 3; one row and one column without any."""
    rng = np.random.default_rng(seed)
    dense = (
        2.5 + rng.normal(size=(n_users, 3)) @ rng.normal(size=(3, n_items)) + 0.3 * rng.normal(size=(n_users, n_items))
    )
    dense = np.where(dense > 2.5, 1.0, -1.0) if signs else np.clip(np.round(dense), 0, 6)
    dense[rng.random(dense.shape) > share] = np.nan
    dense[4], dense[:, 7] = np.nan, np.nan
    dense[0, 0] = 1.0
    return rf.Ratings.from_dense(dense)


def optimum(ratings, penalty, loss="squared", width=0.5, weights=None):
    """The best value of Σ loss + penalty · trace norm, by an interior-point method."""
    W = cp.Variable(ratings.shape)
    predicted = W[ratings.user_indices, ratings.item_indices]
    errors = ratings.values.astype(float) - predicted
    costs = {
        "squared": lambda: 0.5 * cp.sum_squares(errors),
        "absolute": lambda: cp.norm1(errors),
        "epsilon-insensitive": lambda: cp.sum(cp.pos(cp.abs(errors) - width)),
        "huber": lambda: 0.5 * cp.sum(cp.huber(errors, width)),
        "logistic": lambda: cp.sum(cp.logistic(-cp.multiply(ratings.values.astype(float), predicted))),
    }
    trace = W if weights is None else cp.multiply(np.outer(*weights), W)
    problem = cp.Problem(cp.Minimize(costs[loss]() + penalty * cp.normNuc(trace)))
    return problem.solve(solver=cp.CLARABEL)


def value(model, ratings, penalty, loss="squared", width=0.5):
    """The same of a fitted model, from its public attributes."""
    W = model.user_factors_.astype(float) @ model.item_factors_.T.astype(float)
    errors = ratings.values - W[ratings.user_indices, ratings.item_indices]
    return loss_values(loss, ratings.values, errors, width).sum() + penalty * np.linalg.svd(W, compute_uv=False).sum()


@pytest.mark.parametrize("penalty", [0.3, 2.0])
def test_objective_is_the_optimum_of_cvxpy(penalty):
    ratings = small_ratings()
    model = rf.PrimalDual(penalty=penalty, offset="none", gap=1e-6, tol=None, passes=400).fit(ratings)
    best = optimum(ratings, penalty)
    assert value(model, ratings, penalty) == pytest.approx(best, rel=1e-5)
    assert model.history_[-1].objective == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        ("absolute", 0.7),
        ("absolute", 0.3),
        ("epsilon-insensitive", 0.7),
        ("epsilon-insensitive", 0.3),
        ("huber", 0.4),
        ("logistic", 0.35),
    ],
)
def test_other_losses_reach_the_optimum_of_cvxpy_with_a_proof(loss, penalty):
    ratings, gap = small_ratings(signs=loss == "logistic"), 1e-5
    model = rf.PrimalDual(penalty=penalty, loss=loss, offset="none", gap=gap, tol=None, passes=200).fit(ratings)
    best = optimum(ratings, penalty, loss)
    assert best <= value(model, ratings, penalty, loss) * (1 + 1e-6)
    assert value(model, ratings, penalty, loss) == pytest.approx(best, rel=gap)
    assert model.history_[-1].gap <= gap
    assert model.history_[-1].objective * (1 - model.history_[-1].gap) <= best * (1 + 1e-6)
    assert 0 < model.rank_ < 9
    assert rf.certificate(model, ratings).relative_gap <= 1.1 * gap


def test_weighting_by_count_is_the_weighted_trace_norm():
    ratings = small_ratings()
    model = rf.PrimalDual(penalty=1.0, weighting="count", offset="none", gap=1e-6, tol=None, passes=300).fit(ratings)
    counts = ratings.by_user.counts(), ratings.by_item.counts()
    weights = [np.sqrt(each / each[each > 0].mean()) for each in counts]
    assert model.history_[-1].objective == pytest.approx(optimum(ratings, 1.0, weights=weights), rel=1e-5)


@settings(deadline=None, max_examples=30)
@given(
    st.integers(0, 10**6),
    st.sampled_from(SCHEDULES),
    st.sampled_from(LOSSES),
    st.booleans(),
    st.sampled_from([0.05, 0.6, 3.0]),
    st.sampled_from(["constant", "count"]),
)
def test_objective_never_rises_and_the_gap_is_a_bound(seed, schedule, loss, nonnegative, penalty, weighting):
    nonnegative = nonnegative and loss != "logistic"
    ratings = small_ratings(seed, 12, 9, signs=loss == "logistic")
    model = rf.PrimalDual(
        penalty=penalty,
        schedule=schedule,
        loss=loss,
        nonnegative=nonnegative,
        weighting=weighting,
        offset="none",
        tol=None,
        passes=8,
    ).fit(ratings)
    objectives = np.array([report.objective for report in model.history_])
    assert (np.diff(objectives) <= 1e-9 * objectives[:-1]).all()
    bounds = [report.objective * (1 - report.gap) for report in model.history_]
    assert max(bounds) <= objectives[-1] * (1 + 1e-9)
    if nonnegative:
        assert (model.user_factors_ >= 0).all()
        assert (model.item_factors_ >= 0).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("loss", LOSSES)
def test_from_the_largest_penalty_on_the_solution_is_zero(loss, schedule):
    """That is the spectral norm of the slopes of the loss at zero."""
    ratings = small_ratings(signs=loss == "logistic").with_values(lambda values: np.where(values == 0, 0.5, values))
    values = ratings.values.astype(float)
    slopes = {
        "squared": values,
        "absolute": np.sign(values),
        "epsilon-insensitive": np.where(np.abs(values) > 0.5, np.sign(values), 0.0),
        "huber": np.clip(values, -0.5, 0.5),
        "logistic": values / 2,
    }
    dense = np.zeros(ratings.shape)
    dense[ratings.user_indices, ratings.item_indices] = slopes[loss]
    model = rf.PrimalDual(loss=loss, schedule=schedule, offset="none", passes=20)
    largest = model.largest_penalty(ratings)
    assert largest == pytest.approx(np.linalg.norm(dense, 2), rel=1e-9)
    zero = model.set_params(penalty=largest * (1 + 1e-9)).fit(ratings)
    assert zero.rank_ == 0
    assert zero.history_[-1].gap <= 1e-8
    assert model.set_params(penalty=largest * 0.99).fit(ratings).rank_ > 0


def test_newest_ends_above_the_optimum_and_says_so():
    ratings = small_ratings(share=0.6)
    common = {"penalty": 0.5, "offset": "none", "tol": None, "passes": 40}
    newest, tightened = (
        rf.PrimalDual(schedule=schedule, **common).fit(ratings) for schedule in ("newest", "retighten")
    )
    assert tightened.history_[-1].gap < 1e-5
    assert newest.history_[-1].objective > 1.01 * tightened.history_[-1].objective
    assert newest.history_[-1].gap > 0.01


def test_full_comes_as_near_as_its_theorem_says():
    """One direction a pass, and an excess over the optimum of at most a constant over the passes."""
    ratings = small_ratings(share=0.6)
    model = rf.PrimalDual(penalty=0.5, schedule="full", offset="none", tol=None, passes=60).fit(ratings)
    excess = np.array([report.objective for report in model.history_]) - optimum(ratings, 0.5)
    passes = np.arange(1, 61)
    assert (excess > 0).all()
    assert (passes * excess)[5:].max() <= 6 * excess[5]
    assert rf.PrimalDual(penalty=0.5, schedule="full", offset="none", tol=None, passes=3).fit(ratings).rank_ <= 3


def test_full_reaches_the_optimum_where_directions_are_few():
    ratings = small_ratings(n_items=8, share=0.6)
    ratings = ratings.select(ratings.item_indices < 3)
    model = rf.PrimalDual(penalty=0.5, schedule="full", offset="none", gap=1e-4, tol=None, passes=60).fit(ratings)
    assert model.history_[-1].gap <= 1e-4
    assert model.history_[-1].objective == pytest.approx(optimum(ratings, 0.5), rel=1e-6)


def test_tightening_as_published_can_raise_the_objective_and_its_gap_says_so():
    """Ours, from the same terms, never does, and ends at the optimum."""
    ratings = small_ratings(share=0.6)
    common = {"penalty": 0.5, "offset": "none", "tol": None, "passes": 30}
    published, ours = (
        rf.PrimalDual(schedule=schedule, **common).fit(ratings) for schedule in ("published-tightening", "retighten")
    )
    objectives = np.array([[report.objective for report in model.history_] for model in (published, ours)])
    assert np.diff(objectives[0]).max() > 0.5 * objectives[1, -1]
    assert np.diff(objectives[1]).max() <= 1e-9 * objectives[1, 0]
    best = optimum(ratings, 0.5)
    assert objectives[1, -1] == pytest.approx(best, rel=1e-5)
    lower = [report.objective * (1 - report.gap) for report in published.history_]
    assert max(lower) <= best * (1 + 1e-6)
    assert published.history_[-1].gap > 0.1


def test_weights_as_published_are_found_by_equation_30():
    """The condition on the term moved last: ω = (Σ e a b − λ)/Σ (a b)², e without it."""
    ratings, penalty = small_ratings(share=0.6), 0.5
    common = {"penalty": penalty, "nonnegative": True, "offset": "none", "tol": None, "passes": 2}
    model = rf.PrimalDual(schedule="published-weights", **common).fit(ratings)
    assert model.rank_ == 2
    P, Q = model.user_factors_.astype(float), model.item_factors_.astype(float)
    known = np.zeros(ratings.shape)
    known[ratings.user_indices, ratings.item_indices] = 1
    rest = -np.outer(P[:, 0], Q[:, 0]) * known
    rest[ratings.user_indices, ratings.item_indices] += ratings.values
    weight = np.linalg.norm(P[:, 1]) * np.linalg.norm(Q[:, 1])
    term = np.outer(P[:, 1], Q[:, 1]) / weight
    assert weight == pytest.approx(((rest * term).sum() - penalty) / (known * term**2).sum(), rel=1e-5)


def test_weights_alone_never_raise_the_objective_and_end_above_our_tightening():
    ratings = small_ratings(2, share=0.5)
    common = {"penalty": 1.0, "nonnegative": True, "offset": "none", "tol": None, "passes": 60}
    published, ours = (
        rf.PrimalDual(schedule=schedule, **common).fit(ratings) for schedule in ("published-weights", "retighten")
    )
    objectives = np.array([report.objective for report in published.history_])
    assert (np.diff(objectives) <= 1e-9 * objectives[:-1]).all()
    assert objectives[-1] > 1.01 * ours.history_[-1].objective
    assert min(published.user_factors_.min(), published.item_factors_.min()) >= 0


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rank_stays_within_its_bound(schedule):
    model = rf.PrimalDual(penalty=0.1, schedule=schedule, max_rank=2, offset="none", passes=20, tol=None)
    assert model.fit(small_ratings()).rank_ == 2


@pytest.mark.parametrize(("seed", "penalty"), [(2, 1.0), (3, 2.0), (6, 0.3)])
def test_nonnegative_is_not_worse_than_multiplicative_updates_and_above_the_free_optimum(seed, penalty):
    ratings = small_ratings(seed, share=0.5)
    model = rf.PrimalDual(penalty=penalty, nonnegative=True, offset="none", tol=None, passes=200).fit(ratings)
    rivals = [
        rf.MultiplicativeNMF(rank=9, penalty=penalty, shrinkage=0, passes=500, tol=None, seed=start)
        .fit(ratings)
        .history_[-1]
        .objective
        for start in range(20)
    ]
    ours = model.history_[-1].objective
    assert len(set(np.round(rivals, 3))) > 1  # the problem has local optima, or this proves little
    assert ours <= min(rivals)
    assert ours >= optimum(ratings, penalty) * (1 - 1e-6)
    P, Q = model.user_factors_.astype(float), model.item_factors_.astype(float)
    errors = ratings.values - (P @ Q.T)[ratings.user_indices, ratings.item_indices]
    assert ours == pytest.approx(0.5 * (errors**2).sum() + penalty * (P**2).sum() / 2 + penalty * (Q**2).sum() / 2)
    assert len(model.agreement_) == 200
    assert all(0 < share <= 1 for share in model.agreement_)


def test_nonnegative_factors_have_zeros():
    """Where free factors have none."""
    ratings = small_ratings(2, n_users=40, n_items=20, share=0.5)
    model = rf.PrimalDual(penalty=1.0, nonnegative=True, offset="none", tol=None, passes=60).fit(ratings)
    assert (model.item_factors_ == 0).mean() > 0.05


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_nonnegative_factors_stay_so_along_a_path(schedule):
    """Each step starts from the terms of the one before; in singular vectors they would have both signs."""
    ratings = rf.synthetic.low_rank(60, 40, 900, seed=0)
    model = rf.PrimalDual(nonnegative=True, schedule=schedule, offset="none", passes=20)
    found = rf.path(model, ratings, steps=4)
    assert found[-1].rank > 5
    for factors in (found.model.user_factors_, found.model.item_factors_):
        assert factors.min() >= 0


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("loss", ["squared", "absolute", "huber"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_restart_from_its_own_solution_goes_down_from_there(schedule, loss, nonnegative):
    ratings = rf.synthetic.low_rank(60, 40, 900, seed=0)
    settings = {"penalty": 2.0, "loss": loss, "schedule": schedule, "offset": "none", "tol": None}
    settings["nonnegative"] = nonnegative
    first = rf.PrimalDual(**settings, passes=10).fit(ratings)
    again = rf.PrimalDual(**settings, passes=5).fit(ratings, init=first)
    objectives = [report.objective for report in (first.history_[-1], *again.history_)]
    assert (np.diff(objectives) <= 1e-7 * objectives[0]).all()
    if nonnegative or schedule == "retighten":  # other terms overlap, and their sum is above the trace norm
        assert rf.certificate(first, ratings).primal == pytest.approx(first.history_[-1].objective, rel=1e-6)


def test_nonnegative_start_from_free_factors_is_projected():
    ratings = rf.synthetic.low_rank(60, 40, 900, seed=0)
    free = rf.PrimalDual(penalty=2.0, offset="none", passes=10).fit(ratings)
    assert free.item_factors_.min() < 0
    model = rf.PrimalDual(penalty=2.0, nonnegative=True, schedule="newest", offset="none").fit(ratings, init=free)
    assert min(model.item_factors_.min(), model.user_factors_.min()) >= 0


def test_warm_start_from_another_penalty_saves_passes():
    ratings = small_ratings(share=0.6)
    common = {"offset": "none", "gap": 1e-5, "tol": None, "passes": 200}
    first = rf.PrimalDual(penalty=1.0, **common).fit(ratings)
    cold, warm = (rf.PrimalDual(penalty=0.95, **common).fit(ratings, init=init) for init in (None, first))
    assert warm.history_[-1].objective == pytest.approx(cold.history_[-1].objective, rel=1e-4)
    assert len(warm.history_) < len(cold.history_)


@pytest.mark.parametrize("loss", LOSSES)
def test_folding_in_the_training_ratings_gives_back_the_factors(loss):
    """At the optimum each row is the best one for the items as they are."""
    ratings = small_ratings(share=0.6, signs=loss == "logistic")
    model = rf.PrimalDual(penalty=0.8, loss=loss, offset="none", gap=1e-4, tol=None, passes=300).fit(ratings)
    rows, rated = model.fold_in(ratings), ratings.by_user.counts() > 0
    np.testing.assert_allclose(rows[rated], model.user_factors_[rated], atol=0.02)


def test_nonnegative_rows_stay_so_when_folded_in():
    ratings = small_ratings(share=0.6)
    model = rf.PrimalDual(penalty=0.5, nonnegative=True, offset="none").fit(ratings)
    rows = model.fold_in(ratings)
    assert (rows >= 0).all()
    assert (rows > 0).any()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"penalty": 0.0}, "penalty must be a positive number, found 0.0"),
        ({"loss": "hinge"}, "loss must be one of squared, absolute, epsilon-insensitive, huber, logistic, found"),
        ({"schedule": "oldest"}, "schedule must be one of newest, full, retighten, .*, found 'oldest'"),
        ({"schedule": "published-weights"}, 'is for loss="squared" and nonnegative=True, found .*False; set these'),
        ({"schedule": "published-tightening", "loss": "huber"}, "found loss='huber' and nonnegative=False; set these"),
        ({"max_rank": 0}, "max_rank must be a whole number of at least 1, found 0"),
        ({"epsilon": 0.0}, "epsilon must be a positive number, found 0.0"),
        ({"nonnegative": True}, "nonnegative=True learns the ratings as they are, found offset='bias'; use offset="),
        ({"loss": "logistic", "offset": "none"}, r"needs ratings of -1 and \+1, found"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_words(parameters, words):
    with pytest.raises(ValueError, match=words):
        rf.PrimalDual(**parameters).fit(small_ratings())


def test_nonnegative_refuses_negative_ratings():
    with pytest.raises(ValueError, match=r"nonnegative=True needs ratings >= 0, found -1 .*ratings\.shifted"):
        rf.PrimalDual(nonnegative=True, offset="none").fit(small_ratings(signs=True))


@pytest.mark.data
def test_agrees_with_soft_impute_on_movielens(data_folder):
    ratings = rf.datasets.movielens("100k").ratings
    ours = theirs = None
    for penalty in (80.0, 60.0, 40.0):
        common = {"penalty": penalty, "offset": "none", "gap": 3e-5, "tol": None}
        ours = rf.PrimalDual(**common).fit(ratings, init=ours)
        theirs = rf.SoftImpute(**common, passes=2000).fit(ratings, init=theirs)
        assert ours.history_[-1].gap <= 1e-4
        assert theirs.history_[-1].gap <= 1e-4
        assert ours.history_[-1].objective == pytest.approx(theirs.history_[-1].objective, rel=1e-5)
