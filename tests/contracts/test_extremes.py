"""Matrices at the edge: single ratings, empty rows and columns, constants, zeros, huge and negative values."""

import numpy as np
import pytest

import rankfill as rf

NAN = np.nan


def grid(model):
    """Predictions for every pair of ids known, and for unknown ones."""
    users, items = np.append(model.users_.ids(), -9), np.append(model.items_.ids(), -9)
    return model.predict(users[:, None], items)


@pytest.mark.parametrize(
    "dense",
    [
        [[4.0]],
        [[4.0, 1.0, NAN, 2.0]],
        [[4.0], [1.0], [2.5]],
        [[NAN, NAN, NAN], [1.0, NAN, 5.0], [2.0, NAN, NAN], [NAN, NAN, NAN]],
        [[NAN, 3.0, NAN], [NAN, 3.0, NAN]],
    ],
    ids=["one rating", "one user", "one item", "empty rows and column", "one column among empty ones"],
)
def test_small_and_sparse_matrices_give_finite_predictions(model, dense, answers):
    model.fit(rf.Ratings.from_dense(dense))
    assert np.isfinite(grid(model)).all()
    answers(model)


def test_empty_column_is_never_recommended(model):
    dense = np.array([[NAN, 1.0, NAN, 5.0], [NAN, 2.0, 4.0, NAN], [NAN, NAN, NAN, NAN]])
    model.fit(rf.Ratings.from_dense(dense))
    for exclude_seen in (True, False):
        assert 0 not in model.recommend([0, 1, 2, -1], n=4, exclude_seen=exclude_seen).items
    assert 0 not in model.recommend(rf.Ratings.from_arrays([5], [3], [4.0]), n=4).items


def test_rank_above_the_matrix_is_allowed(ranked_model, fresh):
    wide = fresh(ranked_model, rank=70).fit(rf.Ratings.from_dense([[4.0, NAN, 1.0], [NAN, 2.0, 5.0]]))
    assert np.isfinite(grid(wide)).all()
    assert wide.rank_ >= 70  # what averages many factorisations answers by more factors than each of them has
    assert wide.item_factors_.shape == (3, wide.rank_)


@pytest.mark.parametrize("value", [3.0, 0.0, 1e-6, 2e5])
def test_constant_ratings_are_predicted_as_they_are(rating_model, ratings, fresh, value):
    """Without clipping, which would make any number pass."""
    constant = ratings.with_values(lambda values: np.full_like(values, value))
    free = fresh(rating_model, clip=False).fit(constant)
    if not free.predicts_ratings:  # it takes them for marks of what was used, and says that it predicts scores
        assert np.isfinite(grid(free)).all()
        return
    np.testing.assert_allclose(grid(free), value, rtol=5e-3, atol=0.0 if value else 3e-3)
    np.testing.assert_array_equal(grid(fresh(rating_model).fit(constant)), np.float32(value))


def test_observed_zero_is_not_an_unknown(rating_model, fresh):
    """With the zeros observed, the item they belong to is liked less than where they are left out."""
    pairs = [(u, i) for u in range(8) for i in range(3)]
    users, items = map(np.array, zip(*pairs, strict=True))
    values = np.where(items == 2, 0.0, 4.0)
    with_zeros = fresh(rating_model).fit(rf.Ratings.from_arrays(users, items, values))
    unrated = (items == 2) & (users > 0)
    without = fresh(rating_model).fit(rf.Ratings.from_arrays(users[~unrated], items[~unrated], values[~unrated]))
    assert with_zeros.range_ == (0.0, 4.0)
    assert (with_zeros.recommend(range(8), n=1).items == -1).all()
    np.testing.assert_array_equal(without.recommend(range(1, 8), n=1).items, np.full((7, 1), 2))
    liked = [each.predict(range(1, 8), 2) for each in (with_zeros, without)]
    assert (liked[0] < liked[1]).all()


@pytest.mark.parametrize("scale", [1e-35, 1e-20, 1e6, 1e18, 1e30])
def test_tiny_and_huge_ratings_are_learned_as_others_are(rating_model, ratings, fresh, scale, answers):
    """Without clipping: what is predicted lies where it lies for ratings of common size."""
    # Variances given as numbers would be of the wrong size.
    given = {"variances": "auto"} if "variances" in rating_model.get_params() else {}
    extreme = ratings.with_values(lambda values: values * np.float32(scale))
    scaled, refusal = fresh(rating_model, clip=False, **given), ""
    try:
        scaled.fit(extreme)
    except ValueError as error:
        refusal = str(error)
    if refusal:
        assert scale in (1e-35, 1e30)
        assert "ratings" in refusal
        return
    plain = fresh(rating_model, clip=False, **given).fit(ratings)
    assert all(np.isfinite([report.objective, report.train]).all() for report in scaled.history_)
    differences = grid(scaled) / np.float64(scale) - grid(plain)
    assert np.sqrt(np.mean(differences**2)) <= 0.25
    answers(scaled)


def test_negative_ratings_are_learned_or_refused_with_the_remedy(model, ratings, fresh):
    signed = ratings.with_values(lambda values: values - 3)
    if type(model).__name__ == "MultiplicativeNMF":  # always non-negative: there is nothing to set
        with pytest.raises(ValueError, match=r"needs ratings >= 0, found -[\d.]+ .*ratings\.shifted"):
            model.fit(signed)
        assert np.isfinite(grid(model.fit(signed.shifted()))).all()
        return
    if model.get_params().get("nonnegative", "none") != "both":
        assert np.isfinite(grid(model.fit(signed))).all()
        return
    with pytest.raises(ValueError, match=r'nonnegative="both" needs ratings >= 0, found -[\d.]+ .*ratings\.shifted'):
        model.fit(signed)
    assert np.isfinite(grid(fresh(model).fit(signed.shifted()))).all()
    for promise in ("items", "users", "none"):
        assert np.isfinite(grid(fresh(model, nonnegative=promise).fit(signed))).all()


def test_refused_fit_leaves_a_fitted_model_as_it_was(model, ratings, answers):
    model.fit(ratings)
    before = answers(model)
    with pytest.raises(TypeError):
        model.fit([1, 2, 3])
    with pytest.raises(ValueError, match="no ratings"):
        model.fit(ratings.select(np.zeros(len(ratings), dtype=bool)))
    if model.get_params().get("nonnegative") == "both":
        with pytest.raises(ValueError, match="shifted"):
            model.fit(ratings.with_values(lambda values: values - 3))
    assert answers(model) == before
