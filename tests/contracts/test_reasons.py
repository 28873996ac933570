"""Reasons: parts that add up to the prediction, and what is similar, of every model."""

import numpy as np
import pytest

import rankfill as rf


@pytest.fixture
def pairs(ratings):
    """Known and unknown ids, in all combinations."""
    users, items = ratings.users.ids(), ratings.items.ids()
    return [(user, item) for user in (*users[:4].tolist(), -5) for item in (*items[:4].tolist(), -5)]


def sum_of(parts):
    return sum(part.contribution for part in parts)


def test_parts_add_up_to_the_prediction(model, ratings, pairs, fresh):
    model = fresh(model, clip=False).fit(ratings)
    for user, item in pairs:
        found = model.explain(user, item)
        expected = float(model.predict(user, item))
        assert found.score == pytest.approx(expected, rel=1e-5, abs=1e-6)
        assert sum_of(found.parts) == pytest.approx(expected, rel=1e-5, abs=1e-5)
        assert (found.user, found.item) == (user, item)
        assert all(part.name for part in found.parts)


def test_the_users_own_ratings_add_up_too_where_they_are_given(model, ratings, pairs, fresh):
    model = fresh(model, clip=False).fit(ratings)
    for user, item in pairs:
        found = model.explain(user, item, ratings)
        assert found.parts
        if found.ratings:
            assert sum_of(found.ratings) == pytest.approx(found.score, rel=1e-5, abs=1e-5)
            row = ratings.user_indices == ratings.users.row_of(user)
            given = dict(zip(ratings.items.ids(ratings.item_indices[row]).tolist(), ratings.values[row], strict=True))
            assert {part.id: part.rating for part in found.ratings if part.kind == "rating"} == given


def test_a_prediction_out_of_range_is_explained_before_it_is_brought_there(model, ratings):
    model.fit(ratings)
    for user in ratings.users.ids()[:5].tolist():
        for item in ratings.items.ids().tolist():
            found = model.explain(user, item)
            assert found.prediction == float(model.predict(user, item))


def test_an_explanation_prints_and_goes_into_a_frame(model, ratings, named_ratings, fresh):
    for data in (ratings, named_ratings):
        fitted = fresh(model).fit(data)
        user, item = data.users.ids().tolist()[0], data.items.ids().tolist()[1]
        found = fitted.explain(user, item, data, titles={item: "The <Film>"})
        assert f"user {user}" in str(found)
        assert "The <Film>" in str(found)
        assert "&lt;Film&gt;" in found._repr_html_()
        assert "<Film>" not in found._repr_html_()
        frame = found.to_frame("pandas")
        assert len(frame) == len(found.parts)
        assert frame["contribution"].sum() == pytest.approx(sum_of(found.parts))


def test_explaining_changes_nothing(model, ratings, answers):
    model.fit(ratings)
    before = answers(model)
    model.explain(1000, 50)
    model.similar_items(50)
    model.similar_users(1000)
    assert answers(model) == before


@pytest.mark.parametrize("side", ["items", "users"])
def test_similar_ones_are_others_most_similar_first(model, ratings, side):
    model.fit(ratings)
    ids = (ratings.items if side == "items" else ratings.users).ids()
    found = getattr(model, f"similar_{side}")(ids, n=4)
    assert found.ids.shape == found.similarities.shape == (len(ids), 4)
    for identity, near, similarities in zip(ids, *found, strict=True):
        filled = near != -1
        assert identity not in near
        assert len(set(near[filled].tolist())) == filled.sum()
        assert (np.diff(similarities[filled]) <= 0).all()
        assert np.isnan(similarities[~filled]).all()
    assert len(found.to_frame("pandas")) == (found.ids != -1).sum()


@pytest.mark.parametrize("side", ["items", "users"])
def test_what_is_unknown_or_never_rated_is_similar_to_nothing(model, side):
    dense = np.array([[4.0, 1.0, np.nan, 2.0], [2.0, 5.0, np.nan, 3.0], [np.nan] * 4, [1.0, 2.0, np.nan, 5.0]])
    model.fit(rf.Ratings.from_dense(dense))
    found = getattr(model, f"similar_{side}")([2, 77, 0], n=9)
    assert found.ids.shape == (3, 4)
    assert (found.ids[:2] == -1).all()
    assert 2 not in found.ids[2]
    with pytest.raises(ValueError, match="n must be a whole number of at least 1, found 0"):
        getattr(model, f"similar_{side}")([0], n=0)


def test_the_similar_of_one_and_of_many_are_the_same(model, named_ratings):
    model.fit(named_ratings)
    one, many = model.similar_items("film №3", n=9), model.similar_items(["film №1", "film №3"], n=9)
    np.testing.assert_array_equal(one.ids[0], many.ids[1])
    np.testing.assert_array_equal(one.similarities[0], many.similarities[1])
    assert one.ids[0, -1] is None
