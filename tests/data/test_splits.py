"""Training and test parts: shares, chance, and nothing lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankfill as rf
from rankfill.data import Ratings, split

WAYS = ("user", "entry", "time", "last")


def ratings_with(counts, seed=0, times=True):
    """User k has counts[k] ratings, of random items out of 50."""
    random = np.random.default_rng(seed)
    users = np.repeat(np.arange(len(counts)), counts)
    items = np.concatenate([random.permutation(50)[:count] for count in counts])
    values = random.integers(1, 6, len(users))
    return Ratings.from_arrays(users, items, values, random.permutation(len(users)) if times else None)


def pairs(ratings):
    return set(zip(ratings.user_indices.tolist(), ratings.item_indices.tolist(), strict=True))


COUNTS = st.lists(st.integers(1, 12), min_size=1, max_size=40).filter(lambda counts: sum(counts) > 1)
SHARES = st.floats(0.01, 0.99)


@given(COUNTS, SHARES, st.sampled_from(WAYS), st.integers(0, 2**32 - 1))
def test_the_parts_are_disjoint_complete_not_empty_and_of_the_asked_size(counts, test, by, seed):
    ratings = ratings_with(counts)
    train, held_out = split(ratings, test=test, by=by, seed=seed)
    assert pairs(train) | pairs(held_out) == pairs(ratings)
    assert len(train) + len(held_out) == len(ratings)
    assert len(held_out) == min(max(round(test * len(ratings)), 1), len(ratings) - 1)
    for part in (train, held_out):
        assert part.users is ratings.users
        assert part.items is ratings.items


@given(COUNTS, SHARES, st.integers(0, 2**32 - 1))
def test_every_user_gives_their_share_rounded_up_or_down(counts, test, seed):
    ratings = ratings_with(counts)
    quotas = split(ratings, test=test, by="user", seed=seed)[1].by_user.counts()
    expected = test * np.array(counts)
    assert (np.abs(quotas - expected) < 1 + 1e-9).all()


def test_users_with_few_ratings_give_the_right_share_together():
    counts = np.tile([1, 2, 3], 2_000)
    ratings = ratings_with(counts)
    held_out = split(ratings, test=0.2, by="user", seed=1)[1]
    quotas = held_out.by_user.counts()
    for count in (1, 2, 3):
        assert abs(quotas[counts == count].mean() - 0.2 * count) < 0.03
    assert len(held_out) == round(0.2 * counts.sum())


@pytest.mark.parametrize("by", ["user", "entry"])
def test_every_rating_has_the_same_chance(by):
    ratings = ratings_with([1, 7, 2, 30, 10])  # 0.3 of them is a whole number
    drawn = np.zeros(ratings.shape)
    for seed in range(600):
        held_out = split(ratings, test=0.3, by=by, seed=seed)[1]
        drawn[held_out.user_indices, held_out.item_indices] += 1
    shares = drawn[ratings.user_indices, ratings.item_indices] / 600
    assert abs(shares - 0.3).max() < 5 * np.sqrt(0.3 * 0.7 / 600)


def test_the_latest_ratings_are_held_out_by_time():
    ratings = ratings_with([9, 20, 3])
    train, held_out = split(ratings, test=0.25, by="time")
    assert train.timestamps.max() < held_out.timestamps.min()


NUMBERS = st.integers(1, 6)
SEEDS = st.integers(0, 2**32 - 1)


@given(COUNTS, SHARES, SEEDS)
def test_the_latest_of_each_user_are_as_many_as_at_random(counts, test, seed):
    ratings = ratings_with(counts)
    train, held_out = split(ratings, test=test, by="last", seed=seed)
    assert held_out.by_user.counts().tolist() == split(ratings, test, "user", seed)[1].by_user.counts().tolist()
    for user in range(len(counts)):
        before, after = (part.timestamps[part.user_indices == user] for part in (train, held_out))
        assert before.max(initial=-1) < after.min(initial=1_000)


@given(COUNTS.filter(lambda counts: max(counts) > 1), NUMBERS, st.sampled_from(["user", "last"]), SEEDS)
def test_a_whole_number_is_held_out_of_each_user_who_keeps_one(counts, test, by, seed):
    ratings = ratings_with(counts)
    train, held_out = split(ratings, test=test, by=by, seed=seed)
    assert held_out.by_user.counts().tolist() == [min(test, count - 1) for count in counts]
    assert pairs(train) | pairs(held_out) == pairs(ratings)
    assert len(train) + len(held_out) == len(ratings)


@given(COUNTS, NUMBERS, st.sampled_from(["entry", "time"]))
def test_a_whole_number_is_held_out_of_all(counts, test, by):
    ratings = ratings_with(counts)
    if test < len(ratings):
        assert len(split(ratings, test=test, by=by)[1]) == test


@given(COUNTS.filter(lambda counts: len(counts) > 1), st.one_of(SHARES, NUMBERS), SEEDS)
def test_cold_users_and_items_are_in_one_part_only(counts, test, seed):
    ratings = ratings_with(counts)
    for by, rows in (("cold-users", "user_indices"), ("cold-items", "item_indices")):
        present = np.unique(getattr(ratings, rows))
        if len(present) < 2 or test >= len(present):
            continue
        train, held_out = split(ratings, test=test, by=by, seed=seed)
        cold = np.unique(getattr(held_out, rows))
        assert not np.isin(getattr(train, rows), cold).any()
        assert len(cold) == (test if test >= 1 else min(max(round(test * len(present)), 1), len(present) - 1))
        assert pairs(train) | pairs(held_out) == pairs(ratings)


def test_users_without_ratings_are_never_cold():
    ratings = ratings_with([5, 5, 5, 5])
    rest = ratings.select(ratings.user_indices > 1)
    for seed in range(5):
        assert len(split(rest, test=1, by="cold-users", seed=seed)[1]) == 5


def test_nobody_with_two_ratings_cannot_leave_one_out():
    with pytest.raises(ValueError, match="but nobody has two; give a share"):
        split(ratings_with([1, 1, 1]), test=1)


def test_one_user_cannot_be_cold():
    with pytest.raises(ValueError, match="at least 2 users with ratings, found 1"):
        split(ratings_with([4]), by="cold-users")


@pytest.mark.parametrize("by", ["user", "entry", "cold-users", "cold-items"])
def test_the_seed_decides(by):
    ratings = ratings_with([12, 30, 8, 7, 9, 4], times=False)
    first, again, other = (split(ratings, by=by, seed=seed)[1] for seed in (3, 3, 4))
    assert first == again
    assert pairs(first) != pairs(other)


def test_parts_keep_the_order_of_arrival():
    ratings = Ratings.from_arrays([5, 1, 5, 1, 3, 3], [2, 2, 1, 1, 2, 1], [1, 2, 3, 4, 5, 6])
    train, _ = split(ratings, test=0.3, by="entry")
    streamed = train.values[train.stream_order()]
    assert streamed.tolist() == sorted(streamed)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"test": 0}, "share between 0 and 1 or a whole number of at least 1, found 0"),
        ({"test": 1.0}, r"found 1\.0"),
        ({"test": float("nan")}, "found nan"),
        ({"by": "item"}, "by must be one of user, entry, time, last, cold-users, cold-items, found 'item'"),
        ({"test": -1}, "found -1"),
        ({"test": True}, "found True"),
        ({"test": 8, "by": "entry"}, "cannot hold out 8 ratings of 8, for none would be left; give a smaller number"),
        ({"test": 2, "by": "cold-users"}, "cannot hold out 2 users of 2"),
        ({"by": "last"}, 'by="last" needs timestamps, these ratings have none'),
        ({"by": "time"}, 'by="time" needs timestamps, these ratings have none; give them, or split by="user"'),
    ],
)
def test_wrong_arguments_are_refused_in_words(arguments, words):
    with pytest.raises(ValueError, match=words):
        split(ratings_with([4, 4], times=False), **arguments)


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_ratings_cannot_be_split(n):
    with pytest.raises(ValueError, match=f"at least 2 ratings, one for either part; found {n}"):
        split(Ratings.from_arrays([1] * n, [1] * n, [3.0] * n))


def test_a_million_ratings_are_split_by_user():
    counts = np.random.default_rng(0).integers(0, 50, 40_000)
    users = np.repeat(np.arange(len(counts)), counts)
    items = np.arange(len(users)) - np.repeat(np.cumsum(counts) - counts, counts)
    train, held_out = split(Ratings.from_arrays(users, items, np.ones(len(users))), test=0.1)
    assert len(held_out) == round(0.1 * len(users))
    assert abs(held_out.by_user.counts() - 0.1 * counts[counts > 0]).max() < 1
    assert len(train) + len(held_out) == len(users)


def marks_of_all_at_once(ratings, test, by, seed):
    """The same rules, with one sort of all ratings instead of one for each piece."""
    random, n = np.random.default_rng(seed), len(ratings)
    chosen = np.zeros(n, dtype=bool)
    if by == "entry":
        chosen[random.permutation(n)[:test]] = True
    elif by == "time":
        chosen[np.argsort(ratings.timestamps, kind="stable")[n - test :]] = True
    else:
        ranks = random.integers(2**32, size=n)
        if by == "last":
            ranks[np.argsort(ratings.timestamps, kind="stable")[::-1]] = np.arange(n)
        in_order = np.lexsort((ranks, ratings.user_indices))
        counts = ratings.by_user.counts()
        place = np.arange(n) - np.repeat(ratings.by_user.indptr[:-1], counts)
        chosen[in_order[place < np.repeat(np.minimum(counts - 1, test), counts)]] = True
    return chosen


@pytest.mark.parametrize(("by", "test"), [("user", 4), ("last", 4), ("entry", 333), ("time", 333), ("time", 1)])
@pytest.mark.parametrize("span", [3, 1000, 2**62])
def test_pieces_are_marked_as_all_ratings_at_once_would_be(by, test, span, monkeypatch):
    monkeypatch.setattr("rankfill.kernels.rows.PIECE", 90)
    monkeypatch.setattr("rankfill.data.splits._AT_ONCE", 70)
    monkeypatch.setattr("rankfill.data.splits._BINS", 5)
    made = rf.synthetic.low_rank(70, 30, n_ratings=1000, seed=2)
    times = np.random.default_rng(span).integers(-span, span, 1000)
    ratings = rf.Ratings(made.users, made.items, made.by_user, times)
    chosen = marks_of_all_at_once(ratings, test, by, seed=6)
    train, held_out = rf.split(ratings, test, by=by, seed=6)
    assert (train, held_out) == (ratings.select(~chosen), ratings.select(chosen))
