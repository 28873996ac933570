"""The centre and the size of a stream against their definition in NumPy, and against single ratings that mislead."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankfill.models.columns.statistics import StreamStatistics


def lower_median(numbers):
    return sorted(numbers)[(len(numbers) - 1) // 2]


def literal(values, centred):
    """Every rating bounded by those before it, their mean and deviation from scratch each time; and how many count."""
    first = values[:32]
    middle = lower_median(first) if centred else 0.0
    distances = abs(first - middle)
    reach = 10 * lower_median(distances[distances > 0])
    bounded, taken = list(np.clip(first, middle - reach, middle + reach)), list(first[distances <= reach])
    for value in values[32:]:
        centre = np.mean(taken) if centred else 0.0
        deviation = np.sqrt(np.mean((np.array(taken) - centre) ** 2))
        taken.append(np.clip(value, centre - 10 * deviation, centre + 10 * deviation))
        bounded.append(taken[-1])
    centre = np.mean(taken) if centred else 0.0
    return np.array(bounded), len(taken), centre, np.sqrt(np.mean((np.array(taken) - centre) ** 2))


@settings(deadline=None, max_examples=40)
@example(815186, True, 1.0, 0.0)  # one of the first 32 is more than ten median distances from their median
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([1e-3, 1.0, 1e6]), st.sampled_from([0.0, 5.0, 300.0]))
def test_they_are_those_of_the_bounded_ratings(seed, centred, scale, far):
    rng = np.random.default_rng(seed)
    values = (3 + rng.normal(0, 1, 150)).astype(np.float32) * np.float32(scale)
    values[rng.integers(32, 150, 6)] += np.float32(far * scale)
    bounded, counted, centre, deviation = literal(values.astype(float), centred)
    first, followed = StreamStatistics.of_first(values[:32], centred=centred)
    np.testing.assert_allclose(followed.values, bounded[:32], rtol=1e-6)
    later, followed = first.follow(values[32:])
    np.testing.assert_allclose(followed.values, bounded[32:], rtol=1e-5)
    assert later.n_ratings == counted
    assert later.centre == pytest.approx(centre, rel=1e-6, abs=1e-9 * scale)
    assert later.deviation == pytest.approx(deviation, rel=1e-5)
    *_, deviation_before = literal(values[:-1].astype(float), centred)  # the unit moves before a rating, not after it
    assert deviation_before / 4.0001 <= later.unit <= 4.0001 * deviation_before


@pytest.mark.parametrize("n", [3, 4, 8, 32])
@pytest.mark.parametrize("stray", [1e6, -1e6, 1e30])
def test_first_ratings_are_judged_together(n, stray):
    values = np.resize(np.float32([4, 3, 5, 2, 4]), n)
    for place in range(n):
        others = values.copy()
        others[place] = stray
        found, _ = StreamStatistics.of_first(others, centred=True)
        assert 0 < found.centre < 11
        assert 0.3 < found.unit < 15


@pytest.mark.parametrize(
    ("values", "centre", "unit"), [([7.0], 7.0, 1.75), ([0.0], 0.0, 1.0), ([0.0, 0.0], 0.0, 1.0), ([4.0] * 9, 4.0, 1.0)]
)
def test_equal_ratings_have_a_size_too(values, centre, unit):
    found, _ = StreamStatistics.of_first(np.float32(values), centred=True)
    assert (found.centre, found.unit) == (centre, unit)


def test_what_follows_equal_ratings_is_not_cut_off():
    """Ratings of 4 deviate by 1 at a guess; after zeros there is nothing to guess from."""
    for first, then in ((4.0, 1.0), (0.0, 1e6), (0.0, 1e-3)):
        start, _ = StreamStatistics.of_first(np.full(32, first, np.float32), centred=True)
        _, followed = start.follow(np.float32([then]))
        assert followed.values[0] == np.float32(then)


def test_the_unit_moves_by_fours_and_only_when_it_is_far_off():
    start, _ = StreamStatistics.of_first(np.float32([1, 5] * 16), centred=True)
    assert start.unit == 2
    later, followed = start.follow(np.float32([0, 6] * 500))
    assert (followed.units == 2).all()
    later, followed = later.follow(np.float32([-30, 30] * 500))
    assert set(followed.units) == {2.0, 8.0, 32.0} - ({32.0} if later.deviation <= 32 else set())
