"""Sub-matrices: rows and columns drawn, those with few ratings left out, ids kept."""

import numpy as np
import pytest

import rankfill as rf


@pytest.fixture(scope="module")
def ratings():
    large = rf.synthetic.low_rank(120, 80, n_ratings=4000, seed=3)
    return rf.Ratings.from_arrays(
        [f"u{user}" for user in large.user_indices], 7 * large.item_indices, large.values, np.arange(4000)
    )


@pytest.mark.parametrize("min_ratings", [1, 5, 12])
def test_a_submatrix_is_all_ratings_of_its_items_by_its_users(ratings, min_ratings):
    """Drawn without a filter first; the same rows and columns are counted by hand."""
    plain = rf.sample_submatrix(ratings, 0.5, min_ratings=1, seed=4)
    small = rf.sample_submatrix(ratings, 0.5, min_ratings=min_ratings, seed=4)
    assert plain.n_users <= 60
    assert plain.n_items <= 40
    dense = {
        (user, item): value
        for user, item, value in zip(
            plain.users.ids(plain.user_indices), plain.items.ids(plain.item_indices), plain.values, strict=True
        )
    }
    users = [u for u in plain.users if sum(pair[0] == u for pair in dense) >= min_ratings]
    items = [i for i in plain.items if sum(pair[1] == i for pair in dense) >= min_ratings]
    expected = {pair: value for pair, value in dense.items() if pair[0] in users and pair[1] in items}
    found = zip(small.users.ids(small.user_indices), small.items.ids(small.item_indices), small.values, strict=True)
    assert {(user, item): value for user, item, value in found} == expected
    assert small.timestamps is not None


def test_rows_and_columns_are_drawn_by_the_seed_without_regard_to_ratings(ratings):
    one, two = (rf.sample_submatrix(ratings, 0.5, seed=seed) for seed in (0, 1))
    assert one == rf.sample_submatrix(ratings, 0.5, seed=0) != two
    whole = rf.sample_submatrix(ratings, 1.0, min_ratings=1)
    assert whole == ratings
    sizes = [len(rf.sample_submatrix(ratings, 0.5, min_ratings=0, seed=seed)) for seed in range(30)]
    assert np.mean(sizes) == pytest.approx(0.25 * len(ratings), rel=0.1)


@pytest.mark.parametrize("ratio", [0, -1, 1.5, float("nan")])
def test_shares_that_cannot_be(ratings, ratio):
    with pytest.raises(ValueError, match="ratio must be a share of users and items above 0 and up to 1"):
        rf.sample_submatrix(ratings, ratio)


def test_a_sample_of_nothing_is_refused(ratings):
    with pytest.raises(ValueError, match=r"nothing is left of a sample of ratio=0\.1 with min_ratings=90"):
        rf.sample_submatrix(ratings, 0.1, min_ratings=90)
