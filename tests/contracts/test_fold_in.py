"""People who were not in training: what is learned about them, what they are recommended, the model unchanged."""

import numpy as np
import pytest

import rankfill as rf


@pytest.fixture
def newcomers():
    """Three people in an order that is not alphabetical; one rates unknown items too, one nothing else."""
    return rf.Ratings.from_arrays(
        ["zoe", "zoe", "abe", "abe", "abe", "mia"], [50, 54, 52, 9999, 56, 9999], [5.0, 1.0, 2.0, 4.0, 4.5, 3.0]
    )


def test_fold_in_gives_a_row_a_person_in_their_order(model, ratings, newcomers):
    model.fit(ratings)
    rows = model.fold_in(newcomers)
    assert len(rows) == 3
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    for row, person in enumerate(newcomers.users):
        alone = newcomers.select(newcomers.user_indices == row)
        single = rf.Ratings.from_arrays([person] * len(alone), alone.items.ids(alone.item_indices), alone.values)
        assert model.fold_in(single).shape == (1, *rows.shape[1:])


def test_fold_in_has_the_width_of_the_factors(factor_model, ratings, newcomers):
    """With biases a row is (p_u, b_u, 1)."""
    rows = factor_model.fit(ratings).fold_in(newcomers)
    assert rows.shape == (3, factor_model.rank_ + 2 * factor_model.biased_)
    assert not factor_model.biased_ or (rows[:, -1] == 1).all()


class OutOfReach:
    """Stands for what goes by user: whatever is asked of it fails."""

    def __getattribute__(self, name):
        raise AssertionError(f"what a newcomer is recommended asks for the {name} of all users")


def test_newcomers_cost_the_same_however_many_users_there_are(model, ratings):
    """Nothing that goes by user is read for them; what may be found once is found by the first list."""
    known = rf.Ratings.from_arrays(["zoe", "zoe"], [50, 54], [5.0, 1.0])
    first = model.fit(ratings).recommend(known, n=4)
    view, hidden = model._view(), 0
    for each in (view, *(getattr(view, name) for name in ("_predictor_", "_recommender_") if hasattr(view, name))):
        for name in ("_users", "_user_counts", "_user_sums", "_user_effects", "_mean_user"):
            if hasattr(each, name):
                setattr(each, name, OutOfReach())
                hidden += 1
    assert hidden
    again = model.recommend(known, n=4)
    np.testing.assert_array_equal(again.items, first.items)
    np.testing.assert_array_equal(again.scores, first.scores)


def test_unknown_items_are_ignored(model, ratings, newcomers):
    """Ratings of items the model has not learned change nothing."""
    model.fit(ratings)
    known = newcomers.select(newcomers.items.ids(newcomers.item_indices) != 9999)
    np.testing.assert_array_equal(model.fold_in(newcomers), model.fold_in(known))
    both = model.recommend(newcomers, n=4), model.recommend(known, n=4)
    np.testing.assert_array_equal(both[0].items, both[1].items)
    np.testing.assert_array_equal(both[0].scores, both[1].scores)


def test_recommendations_for_newcomers_leave_out_what_they_rated(model, ratings, newcomers):
    model.fit(ratings)
    best = model.recommend(newcomers, n=7)
    assert best.items.shape == (3, 7)
    assert list(newcomers.users) == ["abe", "mia", "zoe"]
    for row, rated in enumerate([{52, 56}, set(), {50, 54}]):
        items = best.items[row][best.items[row] != -1]
        assert set(items.tolist()) == set(ratings.items.ids().tolist()) - rated
        assert (np.diff(best.scores[row][: len(items)]) <= 0).all()
    everything = model.recommend(newcomers, n=7, exclude_seen=False)
    assert (everything.items != -1).all()


def test_someone_of_whom_nothing_is_known_is_recommended_what_unknown_users_are(model, ratings, newcomers):
    model.fit(ratings)
    best, unknown = model.recommend(newcomers, n=4), model.recommend(-1, n=4)
    np.testing.assert_array_equal(best.items[1], unknown.items[0])
    np.testing.assert_array_equal(best.scores[1], unknown.scores[0])


def test_someone_who_rated_only_what_was_known_by_name_alone_counts_as_unknown(model):
    dense = np.array([[4.0, 1.0, np.nan], [2.0, 5.0, np.nan]])
    model.fit(rf.Ratings.from_dense(dense))
    best = model.recommend(rf.Ratings.from_arrays([7], [2], [3.0]), n=2)
    np.testing.assert_array_equal(best.items, model.recommend(-1, n=2).items)


def test_fold_in_leaves_the_model_as_it_is(model, ratings, newcomers, answers):
    model.fit(ratings)
    before = answers(model)
    model.fold_in(newcomers)
    model.recommend(newcomers)
    assert answers(model) == before
    assert "zoe" not in model.users_


def test_folded_in_factors_predict_the_ratings_they_come_from(factor_model, ratings, fresh):
    """Better than the factors of an unknown user do."""
    if not factor_model.predicts_ratings:
        return
    settings = {name: 20 for name in ("passes", "sweeps") if name in factor_model.get_params()}
    model = fresh(factor_model, clip=False, **settings).fit(ratings)
    rng = np.random.default_rng(0)
    values = ratings.with_values(lambda values: values + rng.normal(0, 0.05, len(values)).clip(-0.5, 0.5))
    rows = model.fold_in(values)
    factors, biases = rows[:, : model.rank_], rows[:, model.rank_] if model.biased_ else np.zeros(len(rows))
    levels = model.offset_ + biases[:, None] + model.item_biases_
    predicted = (levels + factors @ model.item_factors_.T)[values.user_indices, values.item_indices]
    cold = model.predict(-1, values.items.ids(values.item_indices))
    assert np.abs(values.values - predicted).mean() < np.abs(values.values - cold).mean()
