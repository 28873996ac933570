"""The choice of a setting by its error on ratings kept aside."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.models.base.held_out import choose_held_out, search


def errors(table):
    asked = []

    def error(value):
        asked.append(value)
        return table[value]

    return error, asked


def test_a_search_ends_at_the_first_that_is_worse():
    error, asked = errors({1.0: 5.0, 2.0: 4.0, 3.0: 4.5, 4.0: 0.0})
    result = search([1.0, 2.0, 3.0, 4.0], error)
    assert (result.values[result.best], asked) == (2.0, [1.0, 2.0, 3.0])
    assert result.errors == [5.0, 4.0, 4.5]


def test_patience_goes_on_over_a_bump():
    error, asked = errors({1.0: 5.0, 2.0: 4.0, 3.0: 4.5, 4.0: 3.0, 5.0: 6.0, 6.0: 7.0, 7.0: 0.0})
    result = search(range(1, 8), error, patience=2)
    assert result.values[result.best] == 4
    assert asked == [1, 2, 3, 4, 5, 6]


def test_a_search_goes_on_until_the_goal_is_reached():
    error, asked = errors({1.0: 1.5, 2.0: 1.7, 3.0: 0.9, 4.0: 0.95, 5.0: 0.1})
    assert search([1.0, 2.0, 3.0, 4.0, 5.0], error, goal=1.0).best == 2
    assert asked[-1] == 4.0


def test_a_search_ends_at_the_first_that_is_good_enough():
    error, asked = errors({1.0: 1.5, 2.0: 0.99, 3.0: 0.1})
    assert search([1.0, 2.0, 3.0], error, good=1.0, goal=1.0).best == 1
    assert asked == [1.0, 2.0]


def test_what_is_not_a_number_is_never_the_best():
    error, _ = errors({1.0: np.nan, 2.0: 3.0, 3.0: np.nan})
    assert search([1.0, 2.0, 3.0], error).best == 1


@pytest.fixture(scope="module")
def ratings():
    return rf.synthetic.low_rank(200, 100, n_ratings=4000, noise=1.0, seed=3)


def bias(shrinkage, part):
    return rf.Bias(shrinkage=shrinkage).fit(part)._predict_ratings


def test_the_choice_is_the_least_error_on_one_rating_in_so_many(ratings):
    parts = []

    def learn(value, part):
        parts.append(part)
        return bias(value, part)

    candidates = (200.0, 50.0, 5.0, 0.5)
    chosen = choose_held_out(ratings, candidates, learn, seed=1)
    learned = parts[0]
    assert all(np.array_equal(part.values, learned.values) for part in parts)
    assert len(learned) == pytest.approx(0.8 * len(ratings), rel=0.05)
    known = set(zip(learned.user_indices, learned.item_indices, strict=True))
    pairs = zip(ratings.user_indices, ratings.item_indices, strict=True)
    rest = ratings.select(np.array([pair not in known for pair in pairs]))
    by_hand = {value: rf.evaluate(rf.Bias(shrinkage=value).fit(learned), rest)["rmse"] for value in candidates}
    assert chosen == min(by_hand, key=by_hand.get)


def test_the_first_candidate_that_does_not_lose_to_the_baseline_is_good(ratings):
    def mean_only(part):
        return rf.Bias(effects="none").fit(part)._predict_ratings

    def learn(value, part):
        return (lambda rest: np.full(len(rest), value)) if value > 4 else bias(value, part)

    assert choose_held_out(ratings, (99.0, 4.0, 1.0), learn, baseline=mean_only, until="good") == 4.0


def test_a_sample_is_whole_users(ratings):
    seen = []
    choose_held_out(ratings, (5.0,), lambda value, part: seen.append(part) or bias(value, part), sample=500)
    assert len(seen[0]) <= 500
    assert 0 < np.count_nonzero(seen[0].by_user.counts()) < 40


def test_more_ratings_are_kept_aside_where_one_part_has_too_few(ratings):
    asked = []

    def learn(value, part):
        return lambda rest: asked.append((part, rest)) or np.full(len(rest), value)

    choose_held_out(ratings, (3.0,), learn, scored=2000)
    aside = [len(rest) for _, rest in asked]
    assert sum(aside[:-1]) < 2000 <= sum(aside)
    asked.clear()
    choose_held_out(ratings, (3.0,), learn, scored=10**9)
    assert len(asked) == 5
    assert sum(len(rest) for _, rest in asked) == len(ratings)
    assert all(len(part) + len(rest) == len(ratings) for part, rest in asked)


def test_without_enough_ratings_there_is_no_choice():
    lonely = rf.Ratings.from_arrays([1], [1], [3.0])
    assert choose_held_out(lonely, (1.0, 2.0), bias) is None


def test_an_interruption_ends_the_search(ratings):
    def interrupted(value, part):
        def stop(report):
            raise KeyboardInterrupt

        return rf.ALS(rank=2, penalty=value).fit(part, callbacks=[stop])._predict_ratings

    with pytest.raises(KeyboardInterrupt):
        choose_held_out(ratings, (1.0, 2.0), interrupted)
