"""Streams: a rating at a time or many, new people and things at any time, nothing lost and nothing shared."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import rankfill as rf


def ids_of(ratings):
    return ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)


def stream_of(ratings):
    order = ratings.stream_order()
    users, items = ids_of(ratings)
    return users[order], items[order], ratings.values[order]


def test_learning_can_begin_with_nothing(incremental_model, ratings, named_ratings, answers, fresh):
    for data in (ratings, named_ratings):
        model = fresh(incremental_model).partial_fit(data)
        assert model.partial_fit(data.select(np.zeros(len(data), dtype=bool))) is model
        assert len(model.users_) == 17
        assert len(model.items_) == 7
        assert model.mean_ == pytest.approx(data.mean(), rel=1e-12)
        assert np.isfinite(model.predict(*ids_of(data))).all()
        answers(model)


def test_no_ratings_teach_nothing(incremental_model, ratings, answers, fresh):
    nothing = ratings.select(np.zeros(len(ratings), dtype=bool))
    with pytest.raises(NotFittedError):
        fresh(incremental_model).partial_fit(nothing).predict(1000, 50)
    model = fresh(incremental_model).fit(ratings)
    before = answers(model)
    assert answers(model.partial_fit(nothing)) == before


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 65), max_size=8), start=st.sampled_from(["nothing", "fit"]))
def test_batches_of_any_size_equal_one_call(incremental_model, ratings, other_ratings, answers, fresh, cuts, start):
    users, items, values = stream_of(ratings)
    whole, parts = fresh(incremental_model), fresh(incremental_model)
    if start == "fit":
        whole, parts = whole.fit(other_ratings), parts.fit(other_ratings)
    whole.partial_fit(rf.Ratings.from_arrays(users, items, values))
    for batch in np.split(np.arange(len(values)), sorted(cuts)):
        if len(batch):
            parts.partial_fit(rf.Ratings.from_arrays(users[batch], items[batch], values[batch]))
    assert list(parts.users_) == list(whole.users_)
    assert list(parts.items_) == list(whole.items_)
    assert answers(parts) == answers(whole)


def test_new_ids_are_numbered_as_they_arrive_and_known_ones_keep_their_rows(incremental_model, ratings):
    model = incremental_model.fit(ratings)
    users, items = list(model.users_), list(model.items_)
    more = rf.Ratings.from_arrays([9, users[0], 3, 9], [8, 7, items[0], items[1]], [4.0, 3.0, 2.0, 1.0])
    model.partial_fit(more)
    assert list(model.users_) == [*users, 9, 3]
    assert list(model.items_) == [*items, 8, 7]
    assert np.isfinite(model.predict([9, 3, users[0]], [8, 7, items[0]])).all()


def test_only_rows_of_ratings_that_come_in_move(incremental_factor_model, ratings):
    model = incremental_factor_model.fit(ratings)
    users, items = model.user_factors_.copy(), model.item_factors_.copy()
    model.partial_fit(rf.Ratings.from_arrays([model.users_.ids()[2]], [model.items_.ids()[5]], [0.0]))
    np.testing.assert_array_equal((model.user_factors_ != users).any(axis=1), np.arange(17) == 2)
    np.testing.assert_array_equal((model.item_factors_ != items).any(axis=1), np.arange(7) == 5)


def test_order_is_that_of_arrival_or_of_the_timestamps(incremental_model, ratings, answers, fresh):
    users, items, values = stream_of(ratings)
    times = np.arange(len(values))
    backwards = times[::-1]
    arrived = fresh(incremental_model).partial_fit(rf.Ratings.from_arrays(users, items, values))
    timed = fresh(incremental_model).partial_fit(
        rf.Ratings.from_arrays(users[backwards], items[backwards], values[backwards], timestamps=times[backwards])
    )
    reversed_ = fresh(incremental_model).partial_fit(
        rf.Ratings.from_arrays(users[backwards], items[backwards], values[backwards])
    )
    assert answers(timed) == answers(arrived)
    assert list(reversed_.users_) != list(arrived.users_)


def test_what_comes_in_is_seen_and_no_longer_recommended(incremental_model, ratings):
    model = incremental_model.fit(ratings)
    user = ratings.users.ids()[4]
    for _ in range(7):
        item = model.recommend(user, n=1).items[0, 0]
        if item == -1:
            break
        model.partial_fit(rf.Ratings.from_arrays([user, 4000], [item, item], [3.0, 3.0]))
        assert item not in model.recommend(user, n=7).items
        assert item not in model.recommend([user, 4000, user], n=7).items
    assert item == -1
    assert model.recommend(user, n=7, exclude_seen=False).items.min() >= 0


def test_many_small_batches_are_seen_as_one_large_is(incremental_model, ratings, fresh):
    """Enough of them that the recent ones are folded into the rest on the way."""
    rng = np.random.default_rng(0)
    pairs = rng.permutation(60 * 40)[:1500]
    users, items = pairs // 40, pairs % 40
    large = fresh(incremental_model).partial_fit(rf.Ratings.from_arrays(users, items, np.ones(1500)))
    small = fresh(incremental_model)
    for batch in np.array_split(np.arange(1500), 60):
        small.partial_fit(rf.Ratings.from_arrays(users[batch], items[batch], np.ones(len(batch))))
    everyone = large.users_.ids()
    np.testing.assert_array_equal(large.recommend(everyone, n=40).items, small.recommend(everyone, n=40).items)
    for row, user in enumerate(everyone):
        found = large.recommend(everyone, n=40).items[row]
        assert set(found[found >= 0]) == set(range(40)) - set(items[users == user])


def test_ratings_and_their_ids_are_never_changed(incremental_model, ratings, other_ratings):
    model = incremental_model.fit(ratings)
    users, items, values = ratings.users.ids().copy(), ratings.items.ids().copy(), ratings.values.copy()
    model.partial_fit(other_ratings)
    assert len(model.users_) > len(ratings.users)
    np.testing.assert_array_equal(ratings.users.ids(), users)
    np.testing.assert_array_equal(ratings.items.ids(), items)
    np.testing.assert_array_equal(ratings.values, values)
    assert 17 == len(ratings.users) == len(ratings.by_user.indptr) - 1


def test_two_models_of_the_same_ratings_share_nothing(incremental_model, ratings, other_ratings, answers, fresh):
    one, two = fresh(incremental_model).fit(ratings), fresh(incremental_model).fit(ratings)
    before = answers(two)
    one.partial_fit(other_ratings)
    assert answers(two) == before


def test_ratings_with_ids_nobody_rates_do_not_disturb_the_counts(incremental_model, ratings, answers, fresh):
    """A part of a larger table keeps its vocabularies, and ids without ratings must not count as the last row."""
    part = ratings.select(np.arange(len(ratings)) % 5 == 0)
    model = fresh(incremental_model).partial_fit(part)
    plain = fresh(incremental_model).partial_fit(rf.Ratings.from_arrays(*stream_of(part)))
    assert answers(model) == answers(plain)
    assert len(model.users_) < ratings.n_users


def test_the_same_pair_may_be_rated_again(incremental_model, ratings, fresh):
    model = fresh(incremental_model, clip=False).fit(ratings)
    user, item = ratings.users.ids()[0], ratings.items.ids()[ratings.item_indices[0]]
    before = model.predict(user, item)
    for _ in range(5):
        model.partial_fit(rf.Ratings.from_arrays([user], [item], [50.0]))
    assert model.predict(user, item) > before
    assert (model.recommend(user, n=7).items == item).sum() == 0
    assert model.range_[1] == 50.0


def test_range_and_mean_follow_the_stream(incremental_model, ratings):
    model = incremental_model.fit(ratings)
    assert model.n_ratings_ == 65
    model.partial_fit(rf.Ratings.from_arrays([5], [6], [11.0]))
    assert model.n_ratings_ == 66
    assert model.range_ == (1.0, 11.0)
    assert model.mean_ == pytest.approx((ratings.values.sum(dtype=float) + 11) / 66, rel=1e-9)
    np.testing.assert_array_equal(model.predict([-1], [-1]), np.float32(model.mean_))


def test_loaded_model_learns_on_and_the_file_stays(incremental_model, ratings, other_ratings, answers, tmp_path):
    path = tmp_path / "m.rankfill"
    model = incremental_model.fit(ratings)
    model.save(path)
    content = path.read_bytes()
    loaded = rf.load(path)
    loaded.partial_fit(other_ratings)
    assert answers(loaded) == answers(model.partial_fit(other_ratings))
    assert path.read_bytes() == content
    loaded.save(tmp_path / "n.rankfill")
    assert answers(rf.load(tmp_path / "n.rankfill")) == answers(model)


def test_state_between_batches_survives_a_restart(incremental_model, ratings, answers, fresh, tmp_path):
    users, items, values = stream_of(ratings)
    whole, parts = fresh(incremental_model), fresh(incremental_model)
    for batch in np.array_split(np.arange(len(values)), 5):
        part = rf.Ratings.from_arrays(users[batch], items[batch], values[batch])
        whole.partial_fit(part)
        parts.partial_fit(part)
        parts.save(tmp_path / "m.rankfill")
        parts = rf.load(tmp_path / "m.rankfill")
    assert answers(parts) == answers(whole)


def test_ids_of_the_wrong_kind_are_refused_before_anything_changes(incremental_model, ratings, answers):
    model = incremental_model.fit(ratings)
    before = answers(model)
    for users, items in ((["ann"], [50]), ([5], ["tea"])):
        with pytest.raises(TypeError, match="the ids known here are numbers, found strings"):
            model.partial_fit(rf.Ratings.from_arrays(users, items, [3.0]))
        assert answers(model) == before


def test_changed_rank_is_refused_in_words(incremental_factor_model, ratings):
    model = incremental_factor_model.fit(ratings)
    with pytest.raises(ValueError, match=r"rank is 9, what was learned has 4; fit anew, or set rank back"):
        model.set_params(rank=9).partial_fit(ratings)


def test_wrong_type_and_negative_ratings_are_refused_as_by_fit(incremental_model, ratings):
    with pytest.raises(TypeError, match="a list of ratings holds tuples"):
        incremental_model.partial_fit([1, 2, 3])
    if "nonnegative" not in incremental_model.get_params():
        return
    incremental_model.set_params(nonnegative="both")
    with pytest.raises(ValueError, match="shifted"):
        incremental_model.partial_fit(ratings.with_values(lambda values: values - 3))


def test_fit_after_a_stream_starts_fresh(incremental_model, ratings, other_ratings, answers, fresh):
    model = fresh(incremental_model).partial_fit(other_ratings).fit(ratings)
    assert answers(model) == answers(fresh(incremental_model).fit(ratings))


def test_many_at_once_are_learned_as_one_after_the_other(incremental_model, ratings, other_ratings, answers, fresh):
    users, items = ids_of(other_ratings)
    users, items, values = np.tile(users, 2), np.tile(items, 2), np.tile(other_ratings.values, 2)  # every pair twice
    one_by_one, at_once = fresh(incremental_model).fit(ratings), fresh(incremental_model).fit(ratings)
    for user, item, value in zip(users.tolist(), items.tolist(), values.tolist(), strict=True):
        one_by_one.learn_one(user, item, value)
    for part in np.array_split(np.arange(len(values)), 3):
        at_once.learn_many(users[part], items[part], values[part])
    assert answers(at_once) == answers(one_by_one)
    assert at_once.mean_ == one_by_one.mean_
    assert at_once.n_ratings_ == one_by_one.n_ratings_ == len(ratings) + len(values)
    np.testing.assert_array_equal(at_once._user_sums.array, one_by_one._user_sums.array)


def test_many_at_once_may_be_the_first(incremental_model, ratings, answers, fresh):
    users, items = ids_of(ratings)
    at_once = fresh(incremental_model).learn_many(users, items, ratings.values)
    in_order = rf.Ratings.from_arrays(users, items, ratings.values)
    assert answers(at_once) == answers(fresh(incremental_model).partial_fit(in_order))
    assert at_once.learn_many([], [], []) is at_once


def test_many_at_once_are_refused_in_words(incremental_model, ratings, fresh):
    model = fresh(incremental_model).fit(ratings)
    users, items = (ids[:2] for ids in ids_of(ratings))
    with pytest.raises(ValueError, match="one user and one item per rating"):
        model.learn_many(users, items, [1.0])
    with pytest.raises(ValueError, match="finite"):
        model.learn_many(users, items, [1.0, np.nan])
    if model.needs_nonnegative:
        with pytest.raises(ValueError, match="-3"):
            model.learn_many(users, items, [1.0, -3.0])
    assert model.n_ratings_ == len(ratings)


def test_one_stray_rating_of_a_stream_does_not_widen_the_range_wherever_it_comes(incremental_model, fresh):
    rng = np.random.default_rng(0)
    pairs = rng.permutation(50 * 40)[:1200]
    for where in (0, 700, 1199):
        values = rng.integers(1, 6, 1200).astype(float)
        values[where] = 50.0
        whole = fresh(incremental_model).partial_fit(rf.Ratings.from_arrays(pairs // 40, pairs % 40, values))
        assert whole.range_ == (1.0, 5.0)
        assert whole.predict_all().max() <= 5.0
        whole.learn_one(0, 0, 500.0)
        assert whole.range_ == (1.0, 5.0)
        for _ in range(3):  # so many are no slip of the pen
            whole.learn_one(0, 0, 50.0)
        assert whole.range_[1] >= 50.0
