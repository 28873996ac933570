"""Folds: whose rating is where, and that it stays there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfill.data import Ratings
from rankfill.data.folds import fold_of, hashed_folds, stratified_folds

IDS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20),
    st.lists(st.text(max_size=30), min_size=1, max_size=20),
)


def hash_by_hand(text: str) -> int:
    """The definition in whole numbers of any size, one byte after the other."""
    number = sum((byte + 1) * pow(0x9E3779B97F4A7C15, place + 1, 2**64) for place, byte in enumerate(text.encode()))
    return mixed_by_hand(number)


def mixed_by_hand(number: int) -> int:
    number %= 2**64
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB % 2**64
    return number ^ (number >> 31)


@settings(deadline=None)
@given(IDS, IDS, st.integers(2, 12), st.integers(0, 2**40))
def test_folds_equal_their_definition(users, items, folds, seed):
    n = min(len(users), len(items))
    start = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    expected = [
        mixed_by_hand(mixed_by_hand(hash_by_hand(str(user)) ^ start) + hash_by_hand(str(item))) % folds
        for user, item in zip(users[:n], items[:n], strict=True)
    ]
    assert fold_of(users[:n], items[:n], folds, seed).tolist() == expected


def test_a_rating_keeps_its_fold_under_any_numbering_order_type_and_company():
    random = np.random.default_rng(0)
    users, items = np.divmod(random.permutation(40 * 30)[:500], 30)
    few = Ratings.from_arrays(users[:200], items[:200], np.ones(200))
    many = Ratings.from_arrays(
        [f"{user}" for user in users] + ["a"], [f"{item}" for item in items] + ["b"], [1.0] * 501
    )
    by_pair = dict(
        zip(
            zip(many.users.ids(many.user_indices), many.items.ids(many.item_indices), strict=True),
            hashed_folds(many, 5, seed=3).tolist(),
            strict=True,
        )
    )
    for user, item, fold in zip(few.user_indices, few.item_indices, hashed_folds(few, 5, seed=3), strict=True):
        assert by_pair[str(few.users.ids([user])[0]), str(few.items.ids([item])[0])] == fold


@pytest.mark.parametrize("ids", [str, int])
def test_folds_are_even_along_rows_and_columns_and_change_with_the_seed(ids):
    users, items = (np.array([ids(each) for each in side.ravel()]) for side in np.mgrid[:200, :300])
    folds = fold_of(users, items, 5).reshape(200, 300)
    for counts, n in (
        ([np.bincount(row, minlength=5) for row in folds], 300),
        ([np.bincount(column, minlength=5) for column in folds.T], 200),
        ([np.bincount(folds.ravel(), minlength=5)], 60_000),
    ):
        deviations = (np.array(counts) - n / 5) / np.sqrt(n * 0.2 * 0.8)
        assert np.abs(deviations).max() < 5
        assert len(counts) == 1 or 0.9 < np.mean(deviations**2) < 1.1  # neither more nor less even than chance
    same = (folds.ravel() == fold_of(users, items, 5, seed=1)).mean()
    assert same == pytest.approx(0.2, abs=0.01)


@settings(deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=30), st.integers(2, 7), st.integers(0, 9))
def test_stratified_folds_share_each_user_out(counts, folds, seed):
    users = np.repeat(np.arange(len(counts)), counts)
    items = np.concatenate([np.arange(count) for count in counts])
    ratings = Ratings.from_arrays(users, items, np.ones(len(users)))
    dealt = stratified_folds(ratings, folds, seed)
    for mine in [*(dealt[ratings.user_indices == user] for user in range(ratings.n_users)), dealt]:
        shares = np.bincount(mine, minlength=folds)
        assert shares.max() - shares.min() <= 1


def test_stratified_folds_are_a_matter_of_chance():
    ratings = Ratings.from_arrays(np.arange(2000), np.arange(2000) % 7, np.ones(2000))
    one, two = (stratified_folds(ratings, 4, seed) for seed in (0, 1))
    assert (one == two).mean() == pytest.approx(0.25, abs=0.05)
    assert (np.diff(one) % 4 == 1).mean() == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("folds", [1, 0, -3, 2.5, "five"])
def test_too_few_folds_are_refused_in_words(folds):
    with pytest.raises(ValueError, match="folds must be a whole number of at least 2, found "):
        fold_of([1], [1], folds)
