"""Synthetic ratings: exact in size, like real ones in shape, with the planted structure in them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfill.data import split, synthetic
from rankfill.data.synthetic import SHAPES, film_club, like, low_rank


@settings(max_examples=30)
@given(st.integers(1, 40), st.integers(1, 30), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_every_size_and_density_is_met_exactly_without_a_repeated_pair(n_users, n_items, density, seed):
    n_ratings = max(1, round(density * n_users * n_items))
    ratings = low_rank(n_users, n_items, n_ratings, seed=seed)
    assert (len(ratings), *ratings.shape) == (n_ratings, n_users, n_items)
    pairs = ratings.user_indices.astype(np.int64) * n_items + ratings.item_indices
    assert (np.diff(pairs) > 0).all()
    if n_ratings >= n_users:
        assert ratings.by_user.counts().min() >= 1


@pytest.mark.parametrize(
    ("scale", "step", "allowed"),
    [((1, 5), 1, np.arange(1, 6)), ((0.5, 5), 0.5, np.arange(1, 11) / 2), ((0, 100), 10, np.arange(0, 101, 10))],
)
def test_values_lie_on_the_scale_and_use_all_of_it(scale, step, allowed):
    ratings = low_rank(400, 150, 20_000, scale=scale, step=step)
    np.testing.assert_array_equal(np.unique(ratings.values), allowed.astype(np.float32))


def test_without_a_step_values_are_not_rounded():
    ratings = low_rank(400, 150, 20_000, step=None)
    assert len(np.unique(ratings.values)) > 10_000
    assert ratings.values.min() == 1
    assert ratings.values.max() == 5


def test_activity_and_popularity_have_long_tails():
    ratings = like("movielens-10m", scale_down=25)
    for counts in (ratings.by_user.counts(), ratings.by_item.counts()):
        assert np.mean(counts) > 1.5 * np.median(counts)
        assert counts.max() > 8 * np.mean(counts)
    assert ratings.by_item.counts().max() < 0.8 * ratings.n_users


def test_the_planted_rank_is_found_in_the_matrix():
    full = low_rank(300, 80, 300 * 80, rank=3, noise=0.05, step=None, scale=(-20.0, 20.0), seed=1)
    dense = full.to_sparse().toarray().astype(np.float64)
    dense -= dense.mean(axis=1, keepdims=True)
    dense -= dense.mean(axis=0, keepdims=True)
    strengths = np.linalg.svd(dense, compute_uv=False)
    assert strengths[2] > 5 * strengths[3]


def test_the_seed_decides_and_chunks_do_not_show(monkeypatch):
    first, again, other = (low_rank(200, 90, 3_000, seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert first != other
    monkeypatch.setattr(synthetic, "_CHUNK", 500)
    chunked = low_rank(200, 90, 3_000, seed=5)
    np.testing.assert_array_equal(chunked.by_user.counts(), first.by_user.counts())
    assert (np.diff(chunked.user_indices.astype(np.int64) * 90 + chunked.item_indices) > 0).all()
    assert abs(chunked.mean() - first.mean()) < 0.1


def test_ratings_are_stored_in_order_so_that_no_arrival_is_kept():
    ratings = low_rank(60, 40, 500)
    assert ratings.timestamps is None
    np.testing.assert_array_equal(ratings.stream_order(), np.arange(500))


@pytest.mark.parametrize("name", SHAPES)
def test_a_small_likeness_is_as_dense_as_the_original(name):
    small = like(name, scale_down=10_000)
    n_users, n_items, n_ratings = SHAPES[name]
    assert small.shape == (round(n_users / 100), round(n_items / 100))
    assert len(small) == round(n_ratings / 10_000)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: like("imdb"), "no shape 'imdb'; choose one of movielens-1m, movielens-10m, netflix, yahoo-music"),
        (lambda: like("netflix", scale_down=0.5), r"at least 1, found 0\.5"),
        (lambda: low_rank(3, 4, 13), "more than the 12 pairs of 3 users and 4 items; ask for fewer"),
        (lambda: low_rank(0, 4, 1), "at least 1, found 0, 4, 1, 10"),
        (lambda: low_rank(3, 4, 5, noise=-1), "noise must be at least 0, found -1"),
        (lambda: low_rank(3, 4, 5, scale=(5, 1)), r"must ascend by a positive step, found scale=\(5, 1\)"),
        (lambda: low_rank(3, 4, 5, step=0), "positive step"),
    ],
)
def test_what_cannot_be_made_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("seed", [0, 1])
def test_the_film_club_has_its_members_films_and_genres(seed):
    club = film_club(seed)
    assert club.ratings.shape == (600, 240)
    assert list(club.ratings.users)[:2] == ["m001", "m002"]
    assert list(club.ratings.items) == list(club.titles) == list(club.genres) == list(range(1, 241))
    assert len(set(club.titles.values())) == 240
    assert all(club.titles[film].endswith(f"({club.genres[film][0]})") for film in club.titles)
    counts = club.ratings.by_user.counts()
    assert counts.min() >= 15
    assert counts.max() <= 80
    assert set(club.ratings.values) == {1, 2, 3, 4, 5}
    popularity = club.ratings.by_item.counts()
    assert popularity.mean() > 1.1 * np.median(popularity)
    assert popularity.max() > 3 * popularity.mean()


def test_the_film_club_is_the_same_every_time_and_another_with_another_seed():
    assert film_club() == film_club()
    assert film_club().titles != film_club(1).titles


def test_the_genres_of_the_film_club_explain_far_more_than_its_biases():
    club = film_club()
    train, test = split(club.ratings, test=0.2, seed=0)
    means = [_effects(train.user_indices, train.values, 600), _effects(train.item_indices, train.values, 240)]

    def biased(part):
        return means[0][part.user_indices] + means[1][part.item_indices] - train.mean()

    def genre_of(part):
        first = [club.genres[film][0] for film in club.titles]
        numbers = np.unique(first, return_inverse=True)[1]
        return 6 * part.user_indices + numbers[part.item_indices]

    left_over = train.values - biased(train)
    by_genre = _effects(genre_of(train), left_over, 6 * 600)
    plain = np.sqrt(np.mean((test.values - biased(test)) ** 2))
    with_genres = np.sqrt(np.mean((test.values - biased(test) - by_genre[genre_of(test)]) ** 2))
    assert with_genres < 0.8 * plain


def _effects(groups, values, n):
    """The mean of each group, drawn towards the mean of all where there are few."""
    counts, sums = np.bincount(groups, minlength=n), np.bincount(groups, values, minlength=n)
    return (sums + 1.0 * values.mean()) / (counts + 1.0)
