"""Stochastic gradient descent: steps, averaging, projections, streams, and where it ends."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.kernels import make_grid
from rankfill.kernels.gradients import RowMeans
from rankfill.kernels.reference import gradients as reference_gradients
from rankfill.models.base.training import order_seed
from rankfill.objectives.measures import mae, rmse

STEPS = ("adagrad", "constant", "inverse", "sqrt", "power", "line-search")


@pytest.fixture
def ratings():
    return rf.synthetic.low_rank(60, 40, 1200, rank=2, noise=0.2, step=None, seed=0)


@pytest.mark.parametrize("step", STEPS)
def test_every_step_finds_the_factors(ratings, step):
    """Noise of 0.2 is about all that is left; the effects alone leave 0.66. Steps that fall as 1/t are slower."""
    rate = {"adagrad": 0.2, "line-search": 1.0}.get(step, 0.05)
    model = rf.SGD(rank=3, step=step, rate=rate, penalty=0.01, shrinkage=0.1, passes=100, tol=None).fit(ratings)
    assert rmse(ratings.values, model._predict_ratings(ratings)) < (0.4 if step == "inverse" else 0.22)
    assert rf.Bias().fit(ratings).history_[-1].train > 0.6


@pytest.mark.parametrize("loss", ["squared", "absolute", "epsilon-insensitive", "huber"])
def test_every_loss_finds_the_factors(ratings, loss):
    """Noise of 0.2 deviates by 0.16 in the mean."""
    model = rf.SGD(rank=3, loss=loss, epsilon=0.2, penalty=0.01, shrinkage=0.1, passes=100, tol=None).fit(ratings)
    assert model.measure == ("mae" if loss in ("absolute", "epsilon-insensitive") else "rmse")
    assert model.history_[-1].measure == model.measure
    assert mae(ratings.values, model._predict_ratings(ratings)) < 0.16


def test_logistic_loss_tells_likes_from_dislikes(ratings):
    likes = ratings.with_values(lambda values: np.where(values > np.median(values), 1.0, -1.0))
    model = rf.SGD(rank=3, loss="logistic", penalty=0.01, shrinkage=0.1, passes=60, tol=None).fit(likes)
    predicted = model.predict(likes.users.ids(likes.user_indices), likes.items.ids(likes.item_indices))
    assert (np.sign(predicted) == likes.values).mean() > 0.85
    with pytest.raises(ValueError, match=r'loss="logistic" needs ratings of -1 and \+1, found'):
        rf.SGD(loss="logistic").fit(ratings)


def test_fit_is_the_twins_pass_by_pass(ratings):
    """The model adds nothing to the kernel but the start, the grid and the order of the strata."""
    model = rf.SGD(rank=3, passes=3, tol=None, seed=5).fit(ratings)
    start = rf.SGD(rank=3, passes=1, seed=5)
    start._begin(ratings.users, ratings.items)
    start._take_note(ratings, np.arange(ratings.n_users), np.arange(ratings.n_items))
    start._begin_fit(ratings, None)
    start._begin_rounds(len(ratings))
    shape = ratings.n_users, ratings.n_items
    grid = make_grid(ratings.user_indices, ratings.item_indices, start._targets(ratings.values), shape, 5)
    rows, memory = start._to_units(), (start._user_memory.array, start._item_memory.array)
    held = start._round_penalties(ratings.by_user.counts()), start._round_penalties(ratings.by_item.counts())
    for epoch in (1, 2, 3):
        strata = np.random.default_rng(order_seed(5, epoch)).permutation(grid.groups).astype(np.int32)
        sums = reference_gradients.gradient_pass(
            grid, strata, *rows, *memory, *held, start._rule(), (epoch - 1) * len(ratings)
        )
    np.testing.assert_array_equal(model._users.array, rows[0])
    np.testing.assert_array_equal(model._items.array, rows[1])
    assert model.history_[-1].train == pytest.approx(np.sqrt(sums.squared / len(ratings)), rel=1e-12)


def test_averaging_is_the_mean_of_the_iterates(ratings):
    plain = [rf.SGD(rank=3, passes=n, tol=None).fit(ratings) for n in (1, 2, 3, 4)]
    averaged = rf.SGD(rank=3, passes=4, tol=None, averaging="pass").fit(ratings)
    for name in ("user_factors_", "item_factors_", "user_biases_", "item_biases_"):
        mean = np.mean([getattr(model, name) for model in plain], axis=0)
        np.testing.assert_allclose(getattr(averaged, name), mean, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [1, 4])
def test_averaging_a_step_is_the_mean_of_each_row_over_its_rounds(ratings, size):
    """By the twin, which takes every round by itself; also where the model works in other units."""
    ratings = ratings.with_values(lambda values: size * values)
    common = {"rank": 3, "step": "constant", "rate": 0.05, "tol": None, "shrinkage": 3.0, "seed": 5}
    model = rf.SGD(passes=3, averaging="step", **common).fit(ratings)
    start = rf.SGD(passes=1, **common).fit(ratings)  # to have seen the ratings; then it begins anew
    start._begin_fit(ratings, None)
    start._begin_rounds(len(ratings))
    grid = make_grid(ratings.user_indices, ratings.item_indices, start._targets(ratings.values), ratings.shape, 5)
    rows, memory = start._to_units(), (start._user_memory.array, start._item_memory.array)
    held = start._round_penalties(ratings.by_user.counts()), start._round_penalties(ratings.by_item.counts())
    means = RowMeans.of(rows[0]), RowMeans.of(rows[1])
    for epoch in (1, 2, 3):
        strata = np.random.default_rng(order_seed(5, epoch)).permutation(grid.groups).astype(np.int32)
        done = (epoch - 1) * len(ratings)
        reference_gradients.gradient_pass(grid, strata, *rows, *memory, *held, start._rule(), done, means)
    np.testing.assert_array_equal(means[0].met, 3 * ratings.by_user.counts())
    np.testing.assert_array_equal(model._users.array, start._in_ratings(means[0].rows, 0))
    np.testing.assert_array_equal(model._items.array, start._in_ratings(means[1].rows, 1))


@pytest.mark.parametrize("step", ["adagrad", "constant", "sqrt"])
def test_stream_is_the_twins_rounds_with_the_running_mean_as_offset(ratings, step):
    order = np.random.default_rng(1).permutation(len(ratings))[:300]
    users, items = ratings.users.ids(ratings.user_indices)[order], ratings.items.ids(ratings.item_indices)[order]
    values = ratings.values[order]
    model = rf.SGD(rank=3, step=step, rate=0.05)
    for part in np.split(np.arange(300), [1, 2, 77, 200]):
        model.partial_fit(rf.Ratings.from_arrays(users[part], items[part], values[part]))
    assert model._scale == 1
    user_rows, item_rows = model.users_.index(users), model.items_.index(items)
    rows = model._start_of_users(0, len(model.users_)), model._start_of_items(0, len(model.items_))
    memory = np.ones(len(rows[0]), np.float32), np.ones(len(rows[1]), np.float32)
    offsets = np.cumsum(values, dtype=np.float64) / np.arange(1, 301)
    targets = (values - offsets).astype(np.float32)
    seen = [[(each[: k + 1] == each[k]).sum() for k in range(300)] for each in (user_rows, item_rows)]
    held = [(0.04 + 3 / np.array(each)).astype(np.float32) for each in seen]
    reference_gradients.gradient_online(user_rows, item_rows, targets, 0, *rows, *memory, *held, model._rule())
    np.testing.assert_array_equal(model._users.array, rows[0])
    np.testing.assert_array_equal(model._items.array, rows[1])
    assert model.offset_ == pytest.approx(values.mean(dtype=np.float64), rel=1e-12)


def test_stream_learns(ratings):
    order = np.random.default_rng(0).permutation(len(ratings))
    arrays = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices), ratings.values
    model = rf.SGD(rank=3, shrinkage=0.5)
    for _ in range(20):
        model.partial_fit(rf.Ratings.from_arrays(*(each[order] for each in arrays)))
    predicted = model.predict(*arrays[:2])
    assert np.sqrt(np.mean((predicted - ratings.values) ** 2)) < 0.8 * ratings.values.std()


@pytest.mark.parametrize("scale", [4.0**-6, 4.0**5])
def test_ratings_of_another_size_are_learned_alike_to_the_bit(ratings, scale):
    ours = rf.SGD(rank=3, passes=3, tol=None).fit(ratings)
    theirs = rf.SGD(rank=3, passes=3, tol=None).fit(ratings.with_values(lambda values: values * np.float32(scale)))
    np.testing.assert_array_equal(theirs.user_factors_, ours.user_factors_ * np.float32(np.sqrt(scale)))
    np.testing.assert_array_equal(theirs.item_biases_, ours.item_biases_ * np.float32(scale))
    assert theirs.history_[-1].objective == pytest.approx(ours.history_[-1].objective * scale**2, rel=1e-9)


@pytest.mark.parametrize("biases", [True, False])
def test_biases_are_free_where_factors_are_not_negative(ratings, biases):
    model = rf.SGD(rank=3, nonnegative="both", biases=biases, passes=30).fit(ratings)
    assert min(model.user_factors_.min(), model.item_factors_.min()) >= 0
    assert (model.user_biases_.min() < 0) == biases
    assert (model.offset_ != 0) == biases


def test_folded_in_people_are_the_normal_equations(ratings):
    model = rf.SGD(rank=3, penalty=0.1, shrinkage=3.0, rate=0.3, passes=400, tol=None).fit(ratings)
    rows = model.fold_in(ratings)
    for user in range(10):
        rated = ratings.user_indices == user
        x = np.column_stack([model.item_factors_[ratings.item_indices[rated]], np.ones(rated.sum())]).astype(float)
        y = ratings.values[rated] - model.offset_ - model.item_biases_[ratings.item_indices[rated]]
        expected = np.linalg.solve(x.T @ x + (0.1 * rated.sum() + 3) * np.eye(4), x.T @ y)
        assert np.linalg.norm(expected) > 0.1
        np.testing.assert_allclose(rows[user, :4], expected, atol=0.01)


def test_objective_is_the_formula_when_nothing_moves(ratings):
    start = rf.SGD(rank=3, passes=5).fit(ratings)
    model = rf.SGD(rank=3, shrinkage=3.0, passes=1, step="constant", rate=1e-9, clip=False).fit(ratings, init=start)
    predicted = model.predict(ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices))
    counts = [0.04 * n + 3 * (n > 0) for n in (ratings.by_user.counts(), ratings.by_item.counts())]
    squares = counts[0] @ ((model.user_factors_**2).sum(axis=1) + model.user_biases_**2)
    squares = squares + counts[1] @ ((model.item_factors_**2).sum(axis=1) + model.item_biases_**2)
    expected = 0.5 * np.square(ratings.values - predicted, dtype=np.float64).sum() + 0.5 * squares
    assert model.history_[-1].objective == pytest.approx(expected, rel=1e-5)


def test_too_large_a_rate_is_said_in_words(ratings):
    with pytest.raises(ValueError, match=r"rate=50\.0 is too large for these ratings.*lower it"):
        rf.SGD(step="constant", rate=50.0, passes=5).fit(ratings)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"loss": "hinge"}, "loss must be one of squared, absolute, epsilon-insensitive, huber, logistic"),
        ({"step": "adam"}, "step must be one of adagrad, constant, inverse, sqrt, power, line-search"),
        ({"rate": 0}, "rate must be a positive number"),
        ({"penalty": -1}, "penalty must be zero or a positive number"),
        ({"epsilon": "wide"}, "epsilon must be zero or a positive number"),
    ],
)
def test_settings_are_checked_in_words(ratings, setting, message):
    with pytest.raises(ValueError, match=message):
        rf.SGD(**setting).fit(ratings)


def test_a_stream_of_signs_takes_no_other_number():
    signs = rf.Ratings.from_arrays([1, 1, 2], [1, 2, 1], [1.0, -1.0, 1.0])
    model = rf.SGD(rank=2, loss="logistic", shrinkage=1.0).fit(signs).learn_one(1, 1, 1.0)
    for learn in (model.learn_one, lambda *one: model.learn_many([1, 1, 1], [1, 2, 1], [-1.0, one[2], 1.0])):
        with pytest.raises(ValueError, match=r"needs ratings of -1 and \+1, found 0.5"):
            learn(1, 1, 0.5)
    assert model.n_ratings_ == 4
