"""A stream learns ratings of any size, whatever its first rating is and however it is cut into calls."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.models.passive_aggressive.beginning import ENOUGH, Beginning
from rankfill.models.passive_aggressive.effect_columns import EffectColumns

N_LEARNED = 2400


@pytest.fixture(scope="module")
def stream():
    ratings = rf.synthetic.low_rank(150, 100, 3000, noise=0.5, seed=0)
    order = np.random.default_rng(0).permutation(len(ratings))
    return ratings.user_indices[order], ratings.item_indices[order], ratings.values[order].astype(float)


def part(stream, begin, end):
    return rf.Ratings.from_arrays(*(each[begin:end] for each in stream))


def error_on_the_rest(model, stream):
    rest = part(stream, N_LEARNED, None)
    return float(np.sqrt(np.mean((model._predict_ratings(rest).astype(float) - rest.values) ** 2)))


def with_first(stream, first, size):
    users, items, values = stream
    values = values * size
    values[0] = first * size
    return users, items, values


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("first", [0.0, 1e-6, 1e6])
@pytest.mark.parametrize("nonnegative", ["both", "items", "none"])
def test_a_first_rating_that_is_far_off_does_no_harm(stream, first, size, nonnegative):
    odd = with_first(stream, first, size)
    model = rf.PassiveAggressive(rank=8, nonnegative=nonnegative, clip=False).partial_fit(part(odd, 0, N_LEARNED))
    plain = rf.PassiveAggressive(rank=8, nonnegative=nonnegative, clip=False).partial_fit(part(stream, 0, N_LEARNED))
    assert error_on_the_rest(model, odd) < 1.01 * size * error_on_the_rest(plain, stream)
    mean_alone = rf.Bias(effects="none").fit(part(stream, 0, N_LEARNED))
    assert error_on_the_rest(plain, stream) < 0.95 * error_on_the_rest(mean_alone, stream)


@pytest.mark.parametrize("slack", ["linear", "quadratic", "none"])
@pytest.mark.parametrize("first", [0.0, 3.0, 1e6])
def test_cuts_make_no_difference(stream, first, slack):
    odd = with_first(stream, first, 1.0)
    whole = rf.PassiveAggressive(rank=4, slack=slack).partial_fit(part(odd, 0, 700))
    cut = rf.PassiveAggressive(rank=4, slack=slack)
    for begin, end in ((0, 1), (1, 3), (3, 100), (100, ENOUGH - 1)):
        cut.partial_fit(part(odd, begin, end))
    for user, item, value in zip(*(each[ENOUGH - 1 : ENOUGH + 10] for each in odd), strict=True):
        cut.learn_one(int(user), int(item), float(value))
    cut.partial_fit(part(odd, ENOUGH + 10, 700))
    np.testing.assert_array_equal(cut.user_factors_, whole.user_factors_)
    np.testing.assert_array_equal(cut.item_factors_, whole.item_factors_)
    assert cut.predict(-5, int(odd[1][0])) == whole.predict(-5, int(odd[1][0]))  # the mean user is up to date
    assert cut.C_ == whole.C_


def test_a_beginning_goes_on_after_a_file(stream, tmp_path):
    whole = rf.PassiveAggressive(rank=4).partial_fit(part(stream, 0, 300))
    rf.PassiveAggressive(rank=4).partial_fit(part(stream, 0, 100)).save(tmp_path / "m.rankfill")
    loaded = rf.load(tmp_path / "m.rankfill").partial_fit(part(stream, 100, 300))
    np.testing.assert_array_equal(loaded.user_factors_, whole.user_factors_)


def test_a_beginning_is_forgotten_once_it_has_told_the_size(stream):
    model = rf.PassiveAggressive(rank=4).partial_fit(part(stream, 0, ENOUGH - 1))
    assert len(model._beginning.values) == ENOUGH - 1
    assert len(model.partial_fit(part(stream, ENOUGH - 1, ENOUGH))._beginning.values) == 0
    assert len(rf.PassiveAggressive(rank=4).fit(part(stream, 0, 50))._beginning.values) == 0


@pytest.mark.parametrize(("field", "bad"), [("users", 2), ("items", -1)])
def test_rows_that_do_not_exist_are_refused(field, bad):
    numbers = {"users": np.zeros(2, np.int32), "items": np.zeros(2, np.int32)}
    numbers[field][1] = bad
    with pytest.raises(ValueError, match=f"beginning.{field} holds numbers of rows that do not exist"):
        Beginning(**numbers, values=np.ones(2, np.float32), rests_on=2).check(n_users=2, n_items=2)


@pytest.mark.parametrize(
    ("values", "mean", "size"),
    [
        ([1e6, 3, 4, 3], 3.5, 3.5),
        ([0.0], 0.0, 1.0),
        ([0, 0, 0, 0, 0, 0, 0, 2], 0.0, 2.0),
        ([-1, 1, -1, 1], 0.0, 2 / 1.35),
    ],
)
def test_a_few_ratings_tell_their_middle_and_their_size(values, mean, size):
    columns = EffectColumns.of_few(np.array(values, np.float32), "none", 4)
    assert columns.mean == pytest.approx(mean)
    assert columns.unit**2 * 2 == pytest.approx(size)
