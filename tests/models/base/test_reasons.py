"""Explanations of factor models: what a factor adds, and what each of the user's own ratings adds."""

import numpy as np
import pytest

import rankfill as rf

TABLE = np.random.default_rng(3).integers(1, 6, (30, 12)).astype(float)
TABLE[np.random.default_rng(4).random(TABLE.shape) < 0.4] = np.nan


@pytest.fixture
def ratings():
    return rf.Ratings.from_dense(TABLE)


def test_parts_of_a_biased_model_are_its_level_its_biases_and_products_of_factors(ratings):
    model = rf.ALS(rank=3, passes=5).fit(ratings)
    found = model.explain(4, 7)
    assert [part.kind for part in found.parts[:3]] == ["level", "user", "item"]
    expected = [model.offset_, model.user_biases_[4], model.item_biases_[7]]
    np.testing.assert_allclose([part.contribution for part in found.parts[:3]], expected, rtol=1e-6)
    factors = {part.id: part.contribution for part in found.parts[3:]}
    products = model.user_factors_[4] * model.item_factors_[7]
    np.testing.assert_allclose([factors[k] for k in range(3)], products, rtol=1e-5)
    sizes = [abs(part.contribution) for part in found.parts[3:]]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("weighting", ["constant", "count"])
@pytest.mark.parametrize("nonnegative", ["none", "users"])
@pytest.mark.parametrize("biases", [True, False])
def test_shares_of_a_ridge_row_are_exact(ratings, weighting, nonnegative, biases):
    """Ratings times weights are the prediction of the regression, and a rating that changes moves it by its weight."""
    model = rf.ALS(rank=3, passes=5, weighting=weighting, nonnegative=nonnegative, biases=biases, clip=False)
    model.fit(ratings)
    items = np.flatnonzero(~np.isnan(TABLE[4]))
    folded = model.fold_in(rf.Ratings.from_arrays(["new"] * len(items), items, TABLE[4, items]))[0]
    item = np.append(model.item_factors_[7], [1.0, model.item_biases_[7]])[: len(folded)]
    by_row = _explained_with_row(model, folded, ratings, 4, 7)
    assert by_row["rest"] == pytest.approx(0, abs=2e-5)
    assert by_row["score"] == pytest.approx(model.offset_ + folded @ item, rel=1e-5)


def _explained_with_row(model, row, ratings, user, item):
    """The explanation of a model whose row of the user is the solution for the items as they are."""
    model._users.array[user, : len(row)] = row
    model._renew_view()
    found = model.explain(user, item, ratings)
    assert "exact" in found.note
    return {"score": found.score, "rest": next(part.contribution for part in found.ratings if part.kind == "rest")}


def test_weights_of_implicit_feedback_are_exact():
    visits = rf.Ratings.from_dense(np.where(TABLE > 3, TABLE, np.nan))
    model = rf.ALS(rank=3, passes=5, feedback="implicit").fit(visits)
    items = np.flatnonzero(TABLE[4] > 3)
    folded = model.fold_in(rf.Ratings.from_arrays([0] * len(items), items, TABLE[4, items]))[0]
    assert _explained_with_row(model, folded, visits, 4, 7)["rest"] == pytest.approx(0, abs=1e-5)


def test_without_ratings_the_same_weights_are_told_alone(ratings):
    model = rf.ALS(rank=3, passes=5).fit(ratings)
    alone, whole = model.explain(4, 7), model.explain(4, 7, ratings)
    weights = {part.id: part.weight for part in whole.ratings if part.kind == "rating"}
    assert {part.id: part.weight for part in alone.ratings} == weights
    assert all(np.isnan(part.contribution) and part.rating is None for part in alone.ratings)
    assert "give the ratings" in alone.note


def test_what_is_no_ridge_row_says_so(ratings):
    found = rf.SGD(rank=3, passes=5).fit(ratings).explain(4, 7, ratings)
    assert "does not solve" in found.note


def test_a_saved_model_without_history_explains_by_factors_alone(ratings, tmp_path):
    rf.ALS(rank=3, passes=2).fit(ratings).save(tmp_path / "m", history=False)
    found = rf.load(tmp_path / "m").explain(4, 7)
    assert found.parts
    assert not found.ratings


def test_long_tables_add_up_what_is_left(ratings):
    model = rf.ALS(rank=12, passes=2).fit(ratings)
    lines = model.explain(4, 7).text(n=2).splitlines()
    assert any("10 others" in line for line in lines)


def test_similar_items_have_the_largest_cosine(ratings):
    model = rf.ALS(rank=3, passes=5).fit(ratings)
    q = model.item_factors_ / np.linalg.norm(model.item_factors_, axis=1, keepdims=True)
    cosines = q @ q.T
    np.fill_diagonal(cosines, -np.inf)
    found = model.similar_items(np.arange(12), n=11)
    np.testing.assert_array_equal(found.ids, np.argsort(-cosines, axis=1)[:, :11])
    np.testing.assert_allclose(found.similarities, -np.sort(-cosines, axis=1)[:, :11], atol=1e-6)


def test_weights_of_item_regression_are_its_own(ratings):
    model = rf.ItemRegression(penalty=5.0, weighting="one").fit(ratings)
    own = [part for part in model.explain(4, 7).parts if part.kind == "rating"]
    assert own
    for part in own:
        assert part.weight == pytest.approx(model.item_weights_[part.id, 7])
    np.testing.assert_array_equal(model.similar_items(7, n=1).ids[0, 0], np.argmax(model.item_weights_[:, 7]))
