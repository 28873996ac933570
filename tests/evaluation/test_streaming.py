"""Cross-validation in one stream: nothing leaks, nothing depends on how the stream is cut, one reading is enough."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

import rankfill as rf
from rankfill.data.folds import fold_of
from rankfill.objectives.measures import MEASURES

INCREMENTAL = [name for name, cls in rf.MODELS.items() if hasattr(cls, "partial_fit")]


@pytest.fixture(scope="module")
def ratings():
    return rf.synthetic.low_rank(70, 40, n_ratings=800, rank=2, seed=1)


@pytest.fixture(scope="module")
def file(tmp_path_factory, ratings):
    """The same in the order of the stream; one user in three has no number for a name."""
    path = tmp_path_factory.mktemp("stream") / "ratings.csv"
    order = ratings.stream_order()
    users, items = ratings.user_indices[order], ratings.item_indices[order]
    lines = [f"{u},{i},{r:g}" for u, i, r in zip(users, items, ratings.values[order], strict=True)]
    path.write_text("\n".join(["user,item,rating", *lines]) + "\n")
    return path


def in_order(ratings):
    order = ratings.stream_order()
    return ratings.users.ids(ratings.user_indices)[order], ratings.items.ids(ratings.item_indices)[order], order


def test_some_models_learn_from_streams():
    assert {"sgd", "passive-aggressive"} <= set(INCREMENTAL)


@pytest.mark.parametrize("name", INCREMENTAL)
@pytest.mark.parametrize("passes", [1, 2])
def test_errors_equal_those_of_models_trained_apart_to_the_bit(name, passes, ratings):
    """Each fold by itself, from ids and arrays alone, learned in other pieces; batches only say when to ask."""
    cls = rf.MODELS[name]
    model = cls(**({"rank": 3} if "rank" in cls().get_params() else {}))
    sizes = (1, 299, 7, 293, 200)
    users, items, order = in_order(ratings)
    values = ratings.values[order]
    cuts = [0, *itertools.accumulate(sizes)]
    batches = [rf.Ratings.from_arrays(users[a:b], items[a:b], values[a:b]) for a, b in itertools.pairwise(cuts)]
    result = rf.cross_validate_stream(model, batches, folds=3, passes=passes, seed=5)

    fold = fold_of(users, items, 3, seed=5)
    for v in range(3):
        alone, predicted, known = clone(model), [], []
        for _ in range(passes):
            predicted, known = [], []
            for a, b in itertools.pairwise(cuts):
                own = np.arange(a, b)[fold[a:b] == v]
                if hasattr(alone, "users_"):
                    predicted.append(alone.predict(users[own], items[own]))
                    known.append(values[own])
                others = np.arange(a, b)[fold[a:b] != v]
                for piece in np.split(others, range(11, len(others), 11)):
                    alone.partial_fit(rf.Ratings.from_arrays(users[piece], items[piece], values[piece]))
        theirs = result.models[v]
        assert theirs.predict(users, items).tobytes() == alone.predict(users, items).tobytes()
        error = MEASURES[model.measure](np.concatenate(known), np.concatenate(predicted))
        assert result.errors[v] == pytest.approx(error, rel=1e-14)  # the order of the sum, nothing else
    assert [report.ratings for report in result.history[: len(sizes)]] == cuts[1:]


def test_a_memoriser_scores_at_chance(memoriser, unpredictable):
    """It would score 0 if it were asked about anything it had seen, as it is here when told all beforehand."""
    ratings = unpredictable
    result = rf.cross_validate_stream(memoriser(), ratings, passes=3)
    chance = [np.sqrt(np.mean((ratings.values[own] - ratings.mean()) ** 2)) for own in folds_of(ratings)]
    np.testing.assert_allclose(result.errors, chance, rtol=0.02)
    assert memoriser().fit(ratings)._error(ratings) == 0


def folds_of(ratings):
    users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
    fold = fold_of(users, items, 5)
    return [fold == v for v in range(5)]


def test_no_model_learns_its_own_fold_and_every_rating_is_scored_once_a_pass(memoriser, unpredictable):
    """A spy writes down what it is taught and asked."""
    taught, asked = [], []

    class Spy(memoriser):
        def partial_fit(self, ratings):
            taught.append((id(self), pairs(ratings)))
            return super().partial_fit(ratings)

        def _predict_ratings(self, ratings):
            asked.append((id(self), pairs(ratings)))
            return super()._predict_ratings(ratings)

    def pairs(ratings):
        users, items, _ = in_order(ratings)
        return list(zip(users.tolist(), items.tolist(), strict=True))

    ratings = unpredictable
    result = rf.cross_validate_stream(Spy(), ratings, folds=4, passes=2)
    everything = set(pairs(ratings))
    for model in result.models:
        learned = [pair for who, batch in taught if who == id(model) for pair in batch]
        scored = [pair for who, batch in asked if who == id(model) for pair in batch]
        assert not set(learned) & set(scored)
        assert len(learned) == 2 * len(set(learned))
        assert set(learned) | set(scored) == everything
    second = [pair for _, batch in asked for pair in batch][-len(everything) :]
    assert set(second) == everything


def test_a_file_memory_and_batches_give_the_same(ratings, file):
    model = rf.SGD(rank=2)
    from_memory = rf.cross_validate_stream(model, ratings, passes=2)
    from_file = rf.cross_validate_stream(model, file, passes=2)
    from_batches = rf.cross_validate_stream(model, list(rf.read_batches(file)), passes=2)
    once = rf.cross_validate_stream(model, iter(rf.read_batches(file)))
    assert from_memory.errors.tobytes() == from_file.errors.tobytes() == from_batches.errors.tobytes()
    half = len(from_memory.history) // 2
    assert once.errors.tobytes() == from_memory.history[half - 1].errors.tobytes()
    assert from_memory.history[half].passes == 2


def test_a_stream_is_read_once_and_never_held(ratings, file):
    alive = most = 0

    class Counted(rf.Ratings):
        def __del__(self):
            nonlocal alive
            alive -= 1

    def batches():
        nonlocal alive, most
        for batch in rf.read_batches(file, size=50):
            alive += 1
            most = max(most, alive)
            yield Counted(batch.users, batch.items, batch.by_user, arrival=batch._arrival)

    rf.cross_validate_stream(rf.SGD(rank=2), batches())
    assert most <= 3


def test_reports_follow_the_stream(ratings):
    reports = []
    result = rf.cross_validate_stream(rf.SGD(rank=2), ratings, folds=4, callbacks=[reports.append])
    assert reports == result.history
    assert np.isnan(reports[0].error), "nothing is known before the first rating"
    assert [report.ratings for report in reports] == sorted({report.ratings for report in reports})
    assert reports[-1].ratings == len(ratings)
    last = reports[-1]
    assert result.error == last.error == pytest.approx(result.errors.mean())
    assert result.std_error == pytest.approx(np.std(result.errors, ddof=1) / 2)
    assert f"rmse {result.error:.4f} ± {result.std_error:.4f} (4 folds)" == repr(result) == repr(last)
    stopped = rf.cross_validate_stream(rf.SGD(rank=2), ratings, callbacks=[lambda report: report.ratings > 300])
    assert 300 < stopped.history[-1].ratings < 500


def test_the_model_given_stays_as_it_is(ratings):
    model = rf.SGD(rank=2)
    rf.cross_validate_stream(model, ratings)
    assert not hasattr(model, "users_")


def test_another_measure(ratings):
    by_rmse, by_mae = (rf.cross_validate_stream(rf.SGD(rank=2), ratings, measure=m) for m in ("rmse", "mae"))
    assert by_mae.error < by_rmse.error
    assert by_mae.measure == "mae"


def test_interruption_keeps_the_errors_so_far(ratings):
    def interrupt(report):
        if report.ratings > 500:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match=r"interrupted after \d+ ratings; the errors so far are kept"):
        result = rf.cross_validate_stream(rf.SGD(rank=2), ratings, callbacks=[interrupt])
    assert np.isfinite(result.error)

    def at_once():
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        rf.cross_validate_stream(rf.SGD(rank=2), at_once())


def test_the_same_bits_on_any_number_of_threads(ratings):
    before = rf.get_threads()
    try:
        bits = set()
        for threads in (1, 3):
            rf.set_threads(threads)
            bits.add(rf.cross_validate_stream(rf.PassiveAggressive(rank=3), ratings).errors.tobytes())
    finally:
        rf.set_threads(before)
    assert len(bits) == 1


def test_streams_of_nothing_and_of_one_rating():
    one = rf.Ratings.from_arrays([1], [1], [4.0])
    for stream in ([], one, [one]):
        assert np.isnan(rf.cross_validate_stream(rf.SGD(rank=2), stream).error)


def test_what_cannot_be_is_refused_in_words(ratings):
    with pytest.raises(
        TypeError, match="Bias has no partial_fit, so it cannot learn from a stream; use cross_validate"
    ):
        rf.cross_validate_stream(rf.Bias(), ratings)
    with pytest.raises(
        ValueError, match="an iterator of batches can be gone through once, found passes=2; give a list"
    ):
        rf.cross_validate_stream(rf.SGD(), iter([ratings]), passes=2)
    with pytest.raises(TypeError, match="a stream is made of batches of Ratings, found tuple"):
        rf.cross_validate_stream(rf.SGD(), [([1], [1], [1.0])])
    with pytest.raises(ValueError, match="passes must be a whole number of at least 1, found 0"):
        rf.cross_validate_stream(rf.SGD(), ratings, passes=0)
    with pytest.raises(ValueError, match="folds must be a whole number of at least 2, found 1"):
        rf.cross_validate_stream(rf.SGD(), ratings, folds=1)
    with pytest.raises(ValueError, match=r"a measure is one of rmse, mae, nmae, top5, or .* found 'r2'"):
        rf.cross_validate_stream(rf.SGD(), ratings, measure="r2")
    with pytest.raises(
        ValueError, match="a stream is measured by one of rmse, mae, nmae, found 'ndcg@10'; give Ratings"
    ):
        rf.cross_validate_stream(rf.SGD(), ratings, measure="ndcg")
    with pytest.raises(TypeError, match="needs a rankfill model such as ALS"):
        rf.cross_validate_stream("sgd", ratings)
