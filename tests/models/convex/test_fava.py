"""FAVA: its conditions of optimality, its start and its plain steps as published, and where its variances come from."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.data.folds import hashed_folds, stratified_folds
from rankfill.linalg import LowRank
from rankfill.models.convex import fava
from rankfill.models.convex.problem import problem_of
from rankfill.models.convex.solvers.steepest_start import steepest_start

VARIANCES = [0.3, 0.12, 0.05]


@pytest.fixture
def ratings():
    """40 × 25, with an empty row and an empty column."""
    dense = np.full((40, 25), np.nan)
    drawn = rf.synthetic.low_rank(40, 25, 420, seed=1)
    dense[drawn.user_indices, drawn.item_indices] = drawn.values
    dense[7], dense[:, 4] = np.nan, np.nan
    return rf.Ratings.from_dense(dense)


def solved(ratings, variances, **settings):
    return rf.FAVA(variances=variances, offset="mean", passes=1500, tol=1e-11, clip=False, **settings).fit(ratings)


def stacked(model):
    """Y = [P; Q] of those who have ratings; the others stay at zero."""
    return np.vstack([model.user_factors_, model.item_factors_]).astype(float)


def embedded(ratings, values):
    """[[0, M], [Mᵀ, 0]]."""
    n = ratings.n_users
    whole = np.zeros((sum(ratings.shape), sum(ratings.shape)))
    whole[ratings.user_indices, n + ratings.item_indices] = values
    return whole + whole.T


def rated(ratings):
    return len(np.unique(ratings.user_indices)) + len(np.unique(ratings.item_indices))


def gradient_of(model, ratings):
    """The gradient of ½ Σ e² in Y."""
    Y = stacked(model)
    errors = (
        ratings.values
        - model.mean_
        - np.sum(
            model.user_factors_[ratings.user_indices].astype(float) * model.item_factors_[ratings.item_indices], axis=1
        )
    )
    return -embedded(ratings, errors) @ Y


@pytest.mark.parametrize("variances", [VARIANCES, [0.3, 0.12, 0.05, 50.0]], ids=["all full", "one with room"])
def test_solution_meets_the_conditions_of_optimality(ratings, variances):
    """Eq. 23, and what it is short for: the gradient of a column points inwards, and is zero within the ball."""
    model = solved(ratings, variances)
    Y, G, N = stacked(model), gradient_of(model, ratings), rated(ratings)
    scale = np.abs(G).sum(axis=0).max()
    assert (np.sum(G * Y, axis=0) <= 1e-4 * scale).all()
    np.testing.assert_allclose(G, -Y * model.multipliers_, atol=2e-3)
    room = N * np.array(variances) - np.sum(Y**2, axis=0)
    assert (room >= -1e-4).all()
    full = room < 1e-3 * N * np.array(variances)
    assert full[:3].all()
    assert (model.multipliers_[~full] < 1e-2).all()
    assert (model.multipliers_[full] > 0.1).all()


def off_optimum(model, ratings):
    """The largest violation of eq. 23, relative to the gradient, and the fullest ball, relative to its bound."""
    at = ratings.user_indices, ratings.item_indices
    users, items = (side.astype(float) for side in (model.user_factors_, model.item_factors_))
    levels = model.offset_ + model.user_biases_.astype(float)[at[0]] + model.item_biases_[at[1]]
    errors = ratings.values - levels - np.sum(users[at[0]] * items[at[1]], axis=1)
    Y = np.vstack([users, items])
    G = -embedded(ratings, errors) @ Y
    full = np.sum(Y**2, axis=0) / (rated(ratings) * model.variances_)
    return np.abs(G + Y * model.multipliers_).max() / np.abs(G).max(), full.max()


@pytest.mark.parametrize("offset", ["none", "mean", "bias"])
@pytest.mark.parametrize("scale", [1e-28, 1e-3, 1.0, 1e6, 1e30])
def test_solution_meets_the_conditions_at_every_size_of_the_ratings_and_with_every_offset(ratings, scale, offset):
    scaled = ratings.with_values(lambda values: values * np.float32(scale))
    variances = scale * np.array(VARIANCES)
    model = rf.FAVA(variances=variances, offset=offset, passes=600, tol=1e-10, clip=False).fit(scaled)
    violation, full = off_optimum(model, scaled)
    assert violation < 1e-3
    assert 0.999 < full < 1 + 1e-6
    if scale == 1e30:
        return  # fold_in refuses it in words
    rows, seen = model.fold_in(scaled), np.unique(scaled.user_indices)
    size = np.abs(model.user_factors_).max()
    np.testing.assert_allclose(rows[seen, :3] / size, model.user_factors_[seen] / size, atol=1e-3)


def test_halving_gets_to_the_same_optimum(ratings):
    model = rf.FAVA(variances=VARIANCES, offset="mean", steps="halving", accuracy=1e-8, passes=800, clip=False)
    violation, full = off_optimum(model.fit(ratings), ratings)
    assert violation < 5e-3
    assert full < 1 + 1e-6


@pytest.mark.parametrize("steps", ["spectral", "halving"])
@pytest.mark.parametrize("offset", ["none", "mean", "bias"])
@pytest.mark.parametrize(
    ("dense", "value"),
    [([[4.0]], 4.0), (np.full((5, 4), 3.0), 3.0), (np.zeros((5, 4)), 0.0), (np.full((3, 2), 1e-40), 1e-40)],
    ids=["one rating", "constant", "zeros", "tiny"],
)
@pytest.mark.parametrize("variances", ["auto", [4.0, 4.0], [4.0] * 30], ids=["auto", "two", "more than the matrix has"])
def test_ratings_that_say_little_are_predicted_as_they_are(dense, value, offset, steps, variances):
    ratings = rf.Ratings.from_dense(dense)
    model = rf.FAVA(variances=variances, offset=offset, steps=steps, passes=60).fit(ratings)
    assert all(np.isfinite(each).all() for each in (model.user_factors_, model.item_factors_, model.multipliers_))
    if value != 1e-40:
        assert np.isfinite(model.fold_in(ratings)).all()
    if offset != "none" or variances != "auto":
        np.testing.assert_allclose(model.predict([0], [0]), value, rtol=1e-3, atol=1e-6)


def test_zero_mean_without_an_offset_is_learned():
    """A checkerboard of ±1: the mean tells nothing, one factor all."""
    board = 1.0 - 2.0 * (np.indices((9, 7)).sum(axis=0) % 2)
    model = rf.FAVA(variances=[2.0], offset="none").fit(rf.Ratings.from_dense(board))
    np.testing.assert_allclose(model.predict(np.arange(9)[:, None], np.arange(7)), board, atol=0.02)


@pytest.mark.parametrize("steps", ["spectral", "halving"])
def test_every_column_is_within_its_ball_and_the_error_never_rises(ratings, steps):
    model, N = rf.FAVA(variances=VARIANCES, steps=steps, accuracy=1e-9, passes=60, tol=None), rated(ratings)

    def look(_):
        assert (np.sum(stacked(model) ** 2, axis=0) <= N * np.array(VARIANCES) * (1 + 1e-5)).all()

    history = model.fit(ratings, callbacks=[look]).history_
    assert len(history) == 60
    objectives = [report.objective for report in history]
    assert (np.diff(objectives) <= 0).all()
    assert objectives[20] < 0.99 * objectives[0]


def by_the_letter(ratings, variances, accuracy, most):
    """Algorithm 1 of the paper on dense matrices. Gives the start and G after every step."""
    sigma, N, mask = np.sqrt(variances), rated(ratings), embedded(ratings, 1.0) > 0
    R = embedded(ratings, ratings.values.astype(float) - ratings.values.astype(float).mean())

    def error(P):
        return float((mask * (R - (P * sigma) @ (P * sigma).T) ** 2).sum())

    def slope(X):
        return -2 * mask * (R - X)

    P = np.zeros((len(R), 0))
    for k in range(len(sigma)):
        Y = P * sigma[:k]
        values, vectors = np.linalg.eigh(slope(Y @ Y.T))
        lowest = vectors[:, 0]
        beta = -values[0] / (2 * np.sum(mask * np.outer(lowest, lowest) ** 2))
        P = np.column_stack([P, min(np.sqrt(beta) / sigma[k], np.sqrt(N)) * lowest])
    start, errors, alpha = P * sigma, [], 10 * accuracy
    while alpha >= accuracy and len(errors) < most:
        Y = P * sigma
        delta, alpha, before = 2 * slope(Y @ Y.T) @ P * sigma**2, 2.0, error(P)
        while True:
            alpha /= 2
            ahead = P - alpha * delta
            ahead = ahead * np.minimum(1, np.sqrt(N / np.sum(ahead**2, axis=0)))
            if error(ahead) < before:
                break
        P = ahead
        errors.append(error(P))
    return start, errors


def test_start_is_made_of_the_leading_eigenvectors(ratings):
    start, _ = by_the_letter(ratings, VARIANCES, 1e-5, 0)
    problem = problem_of(ratings, np.full(len(ratings), ratings.mean()), by_count=False)
    bounds = rated(ratings) * np.array(VARIANCES)
    found = np.vstack(steepest_start(problem, bounds, LowRank.zero(*problem.shape), 0))
    expected = start[np.concatenate([problem.users, ratings.n_users + problem.items])]
    np.testing.assert_allclose(found * np.sign(np.sum(found * expected, axis=0)), expected, atol=1e-3)


def test_start_is_made_of_leading_pairs_where_the_search_is_much_narrower_than_the_matrix():
    ratings = rf.synthetic.low_rank(400, 250, 9000, rank=4, noise=0.5, seed=3)
    problem = problem_of(ratings, np.full(len(ratings), ratings.mean()), by_count=False)
    variances = np.array([10.0, 10.0, 0.05, 10.0, 10.0, 10.0])
    bounds = sum(problem.shape) * variances
    users, items = steepest_start(problem, bounds, LowRank.zero(*problem.shape), 0)
    mask, left_over = np.zeros(problem.shape), np.zeros(problem.shape)
    mask[problem.pattern.users, problem.pattern.items] = 1
    left_over[problem.pattern.users, problem.pattern.items] = problem.values
    for k in range(len(bounds)):
        length = np.sum(users[:, k] ** 2)
        assert length == pytest.approx(np.sum(items[:, k] ** 2), rel=1e-5)
        pair = np.outer(users[:, k], items[:, k]) / length
        along = np.sum(left_over * pair)
        assert along > 0.999 * np.linalg.norm(left_over, 2)
        best = along / np.sum(mask * pair**2)
        assert length == pytest.approx(min(best, bounds[k] / 2), rel=1e-4)
        assert (length < 0.99 * best) == (k == 2)
        left_over -= length * mask * pair


@pytest.mark.parametrize(("accuracy", "expected"), [(0.2, 3), (1e-5, 60)], ids=["until the stop rule", "60 steps"])
def test_halving_is_the_published_algorithm(ratings, accuracy, expected):
    """As many steps as the dense twin makes, with nothing else set: `tol` used to end it after a dozen."""
    _, errors = by_the_letter(ratings, VARIANCES, accuracy, 60)
    model = rf.FAVA(variances=VARIANCES, offset="mean", steps="halving", accuracy=accuracy, passes=60)
    history = model.fit(ratings).history_
    assert len(history) == len(errors) == expected
    np.testing.assert_allclose([4 * report.objective for report in history], errors, rtol=1e-4)


def test_halving_ends_by_the_validation_error_where_there_is_one(ratings):
    train, aside = rf.split(ratings, test=0.3, seed=0)
    model = rf.FAVA(variances=[5.0, 5.0, 5.0], offset="mean", steps="halving").fit(train, validation=aside)
    errors = [report.validation for report in model.history_]
    assert len(errors) < 200
    assert model._error(aside) == pytest.approx(min(errors), rel=1e-6)


def test_both_kinds_of_steps_end_at_the_same_error(ratings):
    settings = {"variances": VARIANCES, "offset": "mean", "passes": 300, "tol": None}
    plain, ours = (rf.FAVA(steps=steps, **settings).fit(ratings) for steps in ("halving", "spectral"))
    assert ours.history_[-1].objective == pytest.approx(plain.history_[-1].objective, rel=1e-3)


@pytest.fixture
def tradeoff(ratings):
    return rf.TraceTradeoff(penalty=4.0, offset="mean", gap=1e-6, tol=None, passes=100, clip=False).fit(ratings)


def test_variances_of_the_trade_off_give_its_solution(ratings, tradeoff):
    """Nothing within the balls has a larger trace, so that the best of them all is known (theorems 5.3 and 5.4)."""
    variances = rf.factorization_variances(tradeoff)
    assert len(variances) > 3
    model, N = solved(ratings, variances), rated(ratings)
    everyone, everything = ratings.users.ids()[:, None], ratings.items.ids()
    np.testing.assert_allclose(model.predict(everyone, everything), tradeoff.predict(everyone, everything), atol=0.01)
    last = tradeoff.history_[-1]
    loss = last.objective - 4.0 * N * variances.sum() / 2
    assert model.history_[-1].objective == pytest.approx(loss, rel=1e-4)
    Y, G = stacked(model), gradient_of(model, ratings)
    assert model.penalty_ == pytest.approx(4.0, rel=2e-3)
    assert model.penalty_ >= -np.sum(G * Y) / (N * variances.sum()) * (1 - 1e-5) > 0
    assert np.sum(Y**2) == pytest.approx(N * variances.sum(), rel=1e-4)
    np.testing.assert_allclose(model.multipliers_, 4.0, rtol=0.05)


def test_people_in_training_are_folded_in_where_they_are(ratings):
    model = solved(ratings, VARIANCES)
    rows = model.fold_in(ratings)
    seen = np.unique(ratings.user_indices)
    np.testing.assert_allclose(rows[seen], model.user_factors_[seen], atol=5e-3)


def test_variances_are_those_of_the_singular_vectors(ratings, tradeoff):
    P, Q = tradeoff.user_factors_.astype(float), tradeoff.item_factors_.astype(float)
    singular = np.linalg.svd(P @ Q.T, compute_uv=False)[: tradeoff.rank_]
    np.testing.assert_allclose(rf.factorization_variances(tradeoff), 2 * singular / rated(ratings), rtol=1e-4)
    als = rf.ALS(rank=3, penalty=1.0, passes=5).fit(ratings)
    before = rf.factorization_variances(als)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0].astype(np.float32)
    als._users.array[:, :3], als._items.array[:, :3] = als.user_factors_ @ turn, als.item_factors_ @ turn
    np.testing.assert_allclose(rf.factorization_variances(als), before, rtol=1e-4)
    with pytest.raises(TypeError, match="only models with factors have factorization variances, found str"):
        rf.factorization_variances("als")


def test_auto_is_the_procedure_by_hand():
    """A sub-matrix, the penalty where a parabola through the errors is lowest, its variances, then all ratings."""
    ratings = rf.synthetic.low_rank(120, 70, 4000, rank=2, noise=0.5, seed=2)
    sample = rf.sample_submatrix(ratings, 0.6, seed=0)
    fold = stratified_folds(sample, 5, 0)
    largest = rf.TraceTradeoff(offset="mean").largest_penalty(sample)
    errors = {}
    for penalty in largest * 2 ** -np.arange(0, 3.25, 0.25):
        squares = 0.0
        for v in range(5):
            model = rf.TraceTradeoff(penalty=penalty, offset="mean", gap=1e-5).fit(sample.select(fold != v))
            squares += rf.evaluate(model, sample.select(fold == v))["rmse"] ** 2 * (fold == v).sum()
        errors[penalty] = squares
    penalties, squares = np.log(list(errors)), np.array(list(errors.values()))
    k = int(squares.argmin())
    assert 0 < k < len(squares) - 1
    a, b, _ = np.polyfit(penalties[k - 1 : k + 2], np.sqrt(squares[k - 1 : k + 2] / len(sample)), 2)
    best = rf.TraceTradeoff(penalty=np.exp(-b / (2 * a)), offset="mean", gap=1e-5).fit(sample)
    expected = rf.factorization_variances(best)
    model = rf.FAVA(sample=0.6, offset="mean").fit(ratings)
    assert 2 <= model.rank_ <= len(expected)
    np.testing.assert_allclose(model.variances_, expected[: model.rank_], atol=1e-3 * expected[0])
    assert (expected[model.rank_ :] < 2e-3 * expected[0]).all()
    given = rf.FAVA(variances=model.variances_, offset="mean").fit(ratings)
    np.testing.assert_array_equal(given.user_factors_, model.user_factors_)


def test_auto_takes_the_share_of_the_variances_that_predicts_ratings_kept_aside(monkeypatch):
    """Where the sample is dense and the whole is not, its variances lose to the offset alone."""
    ratings = rf.synthetic.low_rank(300, 200, 6000, rank=2, noise=0.8, seed=2)
    found = np.full(8, 1.0)
    monkeypatch.setattr(fava, "sample_variances", lambda *_: found)
    learned, aside = (ratings.select((hashed_folds(ratings, 5, 0) == 0) == kept) for kept in (False, True))

    def error(variances):
        return rf.evaluate(rf.FAVA(variances=variances).fit(learned), aside)["rmse"]

    errors = {share: error(share * found) for share in (1.0, 1 / 4, 1 / 16)}
    best = min(errors, key=errors.get)
    assert errors[1.0] > error([]) > errors[best]
    np.testing.assert_allclose(rf.FAVA().fit(ratings).variances_, best * found)
    noise = rf.synthetic.low_rank(300, 200, 6000, signal=0.0, seed=2)
    assert rf.FAVA().fit(noise).rank_ == 0


@pytest.mark.parametrize(
    "kind",
    [
        {"effects": 0.5, "signal": 0.0, "noise": 1.2, "seed": 8},
        {"effects": 1.0, "signal": 0.2, "noise": 0.8, "seed": 8},
    ],
    ids=["nothing but effects", "some signal"],
)
def test_auto_does_not_lose_to_the_effects_where_most_items_have_a_few_ratings(kind):
    ratings = rf.synthetic.low_rank(7000, 90_000, 230_000, popularity="zipf", level=1.0, **kind)
    train, test = rf.split(ratings, test=0.2, by="user", seed=0)
    effects = rf.evaluate(rf.Bias().fit(train), test)["rmse"]
    assert rf.evaluate(rf.FAVA().fit(train), test)["rmse"] <= 1.001 * effects


@pytest.mark.data
def test_auto_gains_on_real_ratings_with_a_long_tail(data_folder):
    """MovieLens latest-small: with the variances of the sample as they are FAVA lost 3 %."""
    train, test = rf.split(rf.datasets.movielens("latest-small").ratings, test=0.2, by="user", seed=0)
    effects = rf.evaluate(rf.Bias().fit(train), test)["rmse"]
    assert rf.evaluate(rf.FAVA().fit(train), test)["rmse"] <= 0.985 * effects


def test_auto_goes_with_the_size_of_the_ratings():
    ratings = rf.synthetic.low_rank(40, 25, 600, rank=2, noise=0.3, seed=2)
    one, other = (rf.FAVA(clip=False).fit(ratings.with_values(lambda v, s=s: v * np.float32(s))) for s in (1.0, 1e6))
    assert one.rank_ >= 1
    np.testing.assert_allclose(other.variances_ / 1e6, one.variances_, rtol=1e-2)


@pytest.mark.parametrize("dense", [[[4.0]], [[4.0, 1.0, np.nan, 2.0]], [[np.nan, 3.0], [np.nan, 3.0]]])
def test_auto_without_enough_to_learn_from_is_the_offset(dense):
    model = rf.FAVA().fit(rf.Ratings.from_dense(dense))
    assert model.rank_ == 0
    assert np.isfinite(model.predict(0, [0, 1])).all()


@pytest.mark.parametrize("offset", ["none", "mean", "bias"])
def test_without_factors_there_are_lists_too(ratings, offset):
    model = rf.FAVA(variances=[], offset=offset).fit(ratings)
    assert model.rank_ == 0
    assert model.recommend(ratings.users.ids(), n=3).items.shape == (40, 3)
    assert model.recommend(ratings, n=3).items.shape == (40, 3)
    train, test = rf.split(ratings)
    assert np.isfinite(rf.evaluate(model.fit(train), test)["rmse"])


def test_more_factors_than_the_matrix_has(ratings):
    model = rf.FAVA(variances=[0.5] * 30, passes=50).fit(ratings)
    assert model.item_factors_.shape[1] == 30
    assert np.isfinite(model.user_factors_).all()


def test_warm_start_takes_the_columns_that_are_there(ratings):
    short = solved(ratings, VARIANCES[:2])
    more = rf.FAVA(variances=VARIANCES, offset="mean", passes=1).fit(ratings, init=short)
    assert more.history_[0].objective < short.history_[-1].objective
    fewer = rf.FAVA(variances=VARIANCES[:1], offset="mean", passes=1).fit(ratings, init=short)
    assert fewer.rank_ == 1


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"variances": "none"}, "variances must be numbers, one per factor, or \"auto\", found 'none'"),
        ({"variances": [1.0, -2.0]}, r"each of variances must be a positive number, found -2\.0"),
        ({"sample": 1.5}, r"sample must be a share of users and items above 0 and up to 1, found 1\.5"),
        ({"steps": "long"}, "steps must be one of spectral, halving, found 'long'"),
        ({"accuracy": 0}, "accuracy must be a positive number, found 0"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_words(ratings, parameters, words):
    with pytest.raises(ValueError, match=words):
        rf.FAVA(**parameters).fit(ratings)


def test_there_is_no_certificate(ratings):
    with pytest.raises(TypeError, match="only trace-norm models have a certificate, found FAVA"):
        rf.certificate(rf.FAVA(variances=VARIANCES).fit(ratings), ratings)
