"""Streams whose first ratings mislead about their size: the scale follows, the cuts into calls do not show."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.models.gradient.stream_units import KEPT, StreamUnits, stretches, units_after


def stream(n=2000, seed=0):
    """Ratings from 0 to 100 of 60 users and 40 items in random order, with some structure."""
    rng = np.random.default_rng(seed)
    users, items = rng.integers(0, 60, n), rng.integers(0, 40, n)
    levels = np.add.outer(rng.normal(0, 15, 60), rng.normal(50, 15, 40))
    return users, items, np.clip(levels[users, items] + rng.normal(0, 5, n), 0, 100).astype(np.float32)


def learned(values, users, items, cuts=(), **settings):
    model = rf.SGD(rank=3, clip=False, **settings)
    for part in np.split(np.arange(len(values)), cuts):
        model.partial_fit(rf.Ratings.from_arrays(users[part], items[part], values[part], duplicates="last"))
    return model


def error(model, users, items, values):
    return float(np.sqrt(np.mean(np.square(model.predict(users, items).astype(float) - values))))


def unique_pairs(seed=0):
    users, items, values = stream(seed=seed)
    first = np.sort(np.unique(users * 40 + items, return_index=True)[1])
    return users[first], items[first], values[first]


@pytest.mark.parametrize("size", [1e-3, 1e-2, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("first", [0.0, 0.5, 0.001, 50.0, 1e6, -1e6])
@pytest.mark.parametrize("biases", [True, False])
def test_first_rating_does_not_decide_what_is_learned(size, first, biases):
    """After one pass the stream is known better than by its mean, as much as with an ordinary first rating."""
    users, items, values = unique_pairs()
    errors = []
    for start in (values[0], first):
        sized = size * np.append(np.float32(start), values[1:])
        model = learned(sized, users, items, biases=biases)
        errors.append(error(model, users[1:], items[1:], sized[1:]) / size)
    assert errors[1] < 1.1 * errors[0]
    assert errors[0] < (0.75 if biases else 0.85) * values.std()


@pytest.mark.parametrize("first", [0.0, 0.5, 1e6])
@pytest.mark.parametrize("biases", [True, False])
def test_cuts_of_a_misleading_stream_do_not_show(first, biases):
    users, items, values = unique_pairs()
    values[0] = first
    whole = learned(values, users, items, biases=biases)
    for cuts in ([1], [1, 2, 3, 15, 16, 17, 40], [64, 300, 1023, 1024], range(1, 100)):
        parts = learned(values, users, items, cuts, biases=biases)
        for side in ("_users", "_items", "_user_memory", "_item_memory"):
            assert getattr(parts, side).array.tobytes() == getattr(whole, side).array.tobytes()
        assert (parts.offset_, parts._scale) == (whole.offset_, whole._scale)


def test_checkerboard_is_learned_from_a_stream_that_begins_with_zero():
    rng = np.random.default_rng(0)
    pairs = np.concatenate([rng.permutation(120) for _ in range(30)])
    users, items = pairs // 10, pairs % 10
    values = ((-1.0) ** (users + items)).astype(np.float32)
    model = rf.SGD(rank=3, biases=False, penalty=0.001, shrinkage=0.0, clip=False)
    model.partial_fit(rf.Ratings.from_arrays([0], [10], [0.0]))
    for part in np.split(np.arange(3600), 30):
        model.partial_fit(rf.Ratings.from_arrays(users[part], items[part], values[part]))
    assert (np.sign(model.predict(users[:120], items[:120])) == values[:120]).all()


def test_stray_rating_in_the_middle_leaves_the_rest_as_it_was():
    users, items, values = unique_pairs()
    plain = error(learned(values, users, items), users, items, values)
    stray = values.copy()
    stray[700] = 1e9
    assert error(learned(stray, users, items), users, items, values) < 1.05 * plain


def test_stream_that_moves_to_another_scale_is_followed():
    users, items, values = unique_pairs()
    model = learned(values, users, items)
    assert model._scale == 16
    for _ in range(4):
        model.partial_fit(rf.Ratings.from_arrays(users, items, values / 1000))
    assert model._scale == 4.0**-3
    assert error(model, users, items, values / 1000) < 0.75 * values.std() / 1000


def test_ordinary_streams_are_left_as_they_are():
    """Offsets are running means, in any cuts, and no rating is called implausible."""
    values = np.random.default_rng(0).choice([1, 2, 3, 4, 5], 5000).astype(np.float32)
    units, recent, offsets = StreamUnits(1.0), np.zeros(KEPT, np.float32), []
    for part in np.split(values, [1, 5, 100, 4000]):
        for stretch in stretches(units, recent, part, centred=True):
            np.testing.assert_array_equal(stretch.values, part[stretch.places])
            units = stretch.units
            offsets.extend(stretch.offsets)
    assert units.scale == 1
    np.testing.assert_allclose(offsets, np.cumsum(values, dtype=float) / np.arange(1, 5001), rtol=1e-12)
    np.testing.assert_array_equal(np.sort(recent), np.sort(values[-KEPT:]))


@pytest.mark.parametrize("n", [1, 5, 1024, 1025, 2047, 100_000])
def test_units_after_a_fit_know_ratings_from_all_over(n):
    values = np.arange(1, n + 1, dtype=np.float32)
    ratings = rf.Ratings.from_arrays(np.arange(n), np.zeros(n, int), values)
    units, recent = units_after(ratings, float(values.sum()), 1.0)
    known = recent[recent > 0]
    assert units.seen == n
    assert len(set(known)) == min(n, KEPT)
    assert known.max() == n
    assert known.min() == 1
    assert known.mean() == pytest.approx(values.mean(), rel=1e-3)


@pytest.mark.parametrize("step", ["constant", "sqrt"])
def test_stream_that_diverges_is_refused_and_leaves_finite_rows(step):
    users, items, values = unique_pairs()
    model = learned(values[:20], users[:20], items[:20], step=step, rate=0.01)
    model.set_params(rate=20.0)
    with pytest.raises(ValueError, match=r"rate=20\.0 is too large for these ratings.*lower it"):
        model.partial_fit(rf.Ratings.from_arrays(users, items, values))
    assert np.isfinite(model._users.array).all()
    assert np.isfinite(model.predict(users, items)).all()


def test_changed_biases_are_refused_in_words():
    model = rf.SGD(rank=2).partial_fit(rf.Ratings.from_dense([[4.0, 1.0]]))
    with pytest.raises(ValueError, match=r"biases is False, what was learned has biases=True; fit anew"):
        model.set_params(biases=False).partial_fit(rf.Ratings.from_dense([[4.0, 1.0]]))
