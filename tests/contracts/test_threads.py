"""One thread learns, others ask: every answer is whole, and nobody is turned away."""

import pickle
import sys
import threading
import time

import numpy as np
import pytest

import rankfill as rf

ROUNDS = 60


@pytest.fixture(autouse=True)
def often_interrupted():
    """Threads change places fifty times as often as usual: more chances to meet, and nobody waits long for a turn."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(usual)


def stream(seed, first_user, n=40):
    """People and things, half of them new every time."""
    rng = np.random.default_rng(seed)
    users, items = first_user + rng.permutation(n), rng.integers(0, first_user + n, n)
    return rf.Ratings.from_arrays(users, items, rng.integers(1, 6, n).astype(float))


def reader(model, stop, errors, answers):
    rng = np.random.default_rng(threading.get_ident() % 2**32)
    while not stop.wait(0.003):  # so that whoever learns gets most of the time
        try:
            users, items = rng.integers(-5, 3000, 7), rng.integers(-5, 3000, 7)
            predictions = model.predict(users, items)
            best = model.recommend(users, n=5)
            assert np.isfinite(predictions).all()
            assert best.items.shape == best.scores.shape == (7, 5)
            assert ((best.items == -1) == np.isnan(best.scores)).all()
            newcomers = rf.Ratings.from_arrays([1, 1, 2], [3, 4, 3], [5.0, 1.0, 2.0])
            assert np.isfinite(model.fold_in(newcomers)).all()
            answers.append(1)
        except Exception as error:
            errors.append(repr(error))
            return


def ask_while(model, learn):
    stop, errors, answers = threading.Event(), [], []
    threads = [threading.Thread(target=reader, args=(model, stop, errors, answers)) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        while len(answers) < len(threads) and not errors:
            time.sleep(0.001)
        learn()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert errors == []


def test_many_read_while_one_learns_of_new_people_and_things(incremental_model):
    model = incremental_model.fit(stream(0, 0))

    def learn():
        for step in range(ROUNDS):
            model.partial_fit(stream(step, 20 * step))

    ask_while(model, learn)
    assert model.n_ratings_ == 40 * (ROUNDS + 1)


def test_many_read_while_one_learns_a_rating_at_a_time(incremental_model):
    model = incremental_model.fit(stream(0, 0))

    def learn():
        for step in range(12):
            part = stream(step, 20 * step)
            for user, item, value in zip(part.user_indices, part.item_indices, part.values, strict=True):
                model.learn_one(int(part.users.ids()[user]), int(part.items.ids()[item]), float(value))

    ask_while(model, learn)


def test_a_file_saved_while_another_thread_learns_is_whole(incremental_model, tmp_path):
    model = incremental_model.fit(stream(0, 0))
    stop, errors, n_saved = threading.Event(), [], []

    def save():
        while not stop.is_set() and not errors:
            try:
                model.save(tmp_path / "m")
                n_saved.append(rf.load(tmp_path / "m").n_ratings_)
            except Exception as error:
                errors.append(repr(error))

    thread = threading.Thread(target=save)
    thread.start()
    try:
        step = 0
        while (len(set(n_saved)) < 12 or step < 20) and not errors:
            step += 1
            model.partial_fit(stream(step, 20 * step % 1000))
            for user in range(10):
                model.learn_one(user, step % 40, 3.0)
    finally:
        stop.set()
        thread.join()
    assert errors == []
    assert n_saved == sorted(n_saved)


def test_many_read_while_one_fits_anew(model):
    model.fit(stream(0, 0))

    def learn():
        for step in range(6):
            model.fit(stream(step, 0, n=30 + 5 * step))

    ask_while(model, learn)


def test_two_that_learn_take_turns(incremental_model):
    model = incremental_model.fit(stream(0, 0))

    def learn(first):
        for step in range(20):
            model.partial_fit(stream(step, first + 20 * step))

    threads = [threading.Thread(target=learn, args=(first,)) for first in (0, 10_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.n_ratings_ == 40 * 41
    assert len(model.users_) == len(set(model.users_.ids().tolist()))
    if hasattr(model, "item_factors_"):
        assert (len(model.users_), len(model.items_)) == (len(model.user_factors_), len(model.item_factors_))


def test_a_rating_at_a_time_is_the_same_as_a_stream(incremental_model, ratings, named_ratings, answers, fresh):
    for data in (ratings, named_ratings):
        whole, parts = fresh(incremental_model).fit(data), fresh(incremental_model).fit(data)
        order = np.random.default_rng(0).permutation(len(data))
        users, items = data.users.ids(data.user_indices[order]), data.items.ids(data.item_indices[order])
        users[::7] = "somebody" if data.users.of_strings else 77
        for user, item, value in zip(users.tolist(), items.tolist(), data.values[order].tolist(), strict=True):
            parts.learn_one(user, item, value)
            whole.partial_fit(rf.Ratings.from_arrays([user], [item], [value]))
        assert answers(parts) == answers(whole)
        assert parts.mean_ == whole.mean_
        assert parts.range_ == whole.range_


def test_a_bad_rating_is_refused_and_changes_nothing(incremental_model, ratings, answers):
    model = incremental_model.fit(ratings)
    user, item = ratings.users.ids()[0].item(), ratings.items.ids()[0].item()
    model.learn_one(user, item, 3.0)
    before = answers(model)
    for value in (float("nan"), float("inf"), 1e39):
        with pytest.raises(ValueError, match="finite"):
            model.learn_one(user, item, value)
    with pytest.raises(TypeError, match="the ids known here are numbers, found strings"):
        model.learn_one("ann", item, 3.0)
    if model.needs_nonnegative:
        with pytest.raises(ValueError, match="-1"):
            model.learn_one(user, item, -1.0)
    assert answers(model) == before


def test_copies_by_pickle_answer_alike_and_go_their_own_way(model, ratings, other_ratings, answers):
    model.fit(ratings)
    copy = pickle.loads(pickle.dumps(model))
    before = answers(model)
    assert answers(copy) == before
    copy.fit(other_ratings)
    assert answers(model) == before
