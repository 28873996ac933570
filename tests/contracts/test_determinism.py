"""The same ratings, settings and seed give the same model to the bit; asking does not change it."""

import numpy as np
import pytest

import rankfill as rf


@pytest.fixture
def threads():
    before = rf.get_threads()
    yield rf.set_threads
    rf.set_threads(before)


def test_two_fits_agree_to_the_bit(model, ratings, answers, fresh):
    first, second = fresh(model).fit(ratings), fresh(model).fit(ratings)
    assert answers(first) == answers(second)
    assert [(r.objective, r.train) for r in first.history_] == [(r.objective, r.train) for r in second.history_]


def test_another_seed_gives_another_model(seeded_model, ratings, answers, fresh):
    if "passes" not in seeded_model.get_params():  # only draws what it keeps aside, and may choose alike
        return
    assert answers(fresh(seeded_model, seed=1).fit(ratings)) != answers(fresh(seeded_model, seed=2).fit(ratings))


@pytest.mark.parametrize("n", [2, 5])
def test_number_of_threads_does_not_change_a_bit(model, answers, fresh, threads, n):
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((150, 60)) < 0.3, rng.integers(1, 6, (150, 60)), np.nan)
    many = rf.Ratings.from_dense(dense)
    newcomers = rf.Ratings.from_dense(dense[70:90] + 0.25)
    threads(1)
    alone = fresh(model).fit(many)
    expected = answers(alone), alone.fold_in(newcomers).tobytes(), [r.objective for r in alone.history_]
    threads(n)
    together = fresh(model).fit(many)
    assert (answers(together), together.fold_in(newcomers).tobytes(), [r.objective for r in together.history_]) == (
        expected
    )


def test_fit_forgets_what_was_learned_before(model, ratings, other_ratings, answers, fresh):
    again = fresh(model).fit(other_ratings).fit(ratings)
    assert answers(again) == answers(fresh(model).fit(ratings))
    assert len(again.history_) == len(fresh(model).fit(ratings).history_)


def test_order_of_arrival_does_not_change_what_fit_learns(model, ratings, answers, fresh):
    shuffled = np.random.default_rng(0).permutation(len(ratings))
    users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
    other = rf.Ratings.from_arrays(users[shuffled], items[shuffled], ratings.values[shuffled])
    assert answers(fresh(model).fit(other)) == answers(fresh(model).fit(ratings))


def test_asking_leaves_the_model_as_it_is(model, ratings, other_ratings, answers, state):
    model.fit(ratings)
    before = state(model)
    answers(model)
    model.recommend(other_ratings, n=3)
    model.fold_in(other_ratings)
    repr(model)
    assert state(model) == before


def test_ratings_are_left_as_they_are(model, ratings, other_ratings):
    values, ids = ratings.values.copy(), (ratings.users.ids().copy(), ratings.items.ids().copy())
    model.fit(ratings, validation=other_ratings)
    model.fold_in(ratings)
    np.testing.assert_array_equal(ratings.values, values)
    np.testing.assert_array_equal(ratings.users.ids(), ids[0])
    np.testing.assert_array_equal(ratings.items.ids(), ids[1])


def test_factors_are_read_only_and_have_a_row_an_id(factor_model, ratings):
    factor_model.fit(ratings)
    users, items = factor_model.user_factors_, factor_model.item_factors_
    assert users.shape == (ratings.n_users, factor_model.rank_)
    assert items.shape == (ratings.n_items, factor_model.rank_)
    for factors in (users, items):
        with pytest.raises(ValueError, match="read-only"):
            factors[0, 0] = 9.0


def test_prediction_is_the_product_of_the_factors(factor_model, ratings, fresh):
    model = fresh(factor_model, clip=False).fit(ratings)
    predicted = model.predict(ratings.users.ids()[:, None], ratings.items.ids()[None, :])
    levels = model.offset_ + model.user_biases_[:, None] + model.item_biases_
    np.testing.assert_allclose(predicted, levels + model.user_factors_ @ model.item_factors_.T, rtol=1e-5, atol=1e-6)


def test_factors_are_nonnegative_where_promised(nonnegative_model, ratings, fresh):
    for promise, user_side, item_side in (("both", True, True), ("items", False, True), ("users", True, False)):
        model = fresh(nonnegative_model, nonnegative=promise).fit(ratings)
        assert not user_side or model.user_factors_.min() >= 0
        assert not item_side or model.item_factors_.min() >= 0
