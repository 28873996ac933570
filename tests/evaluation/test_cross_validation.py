"""Batch cross-validation: every rating is predicted once, by a model that has not seen it."""

import numpy as np
import pytest
from sklearn.base import clone

import rankfill as rf
from rankfill.data.folds import stratified_folds
from rankfill.evaluation.cross_validation import fold_parts
from rankfill.objectives.measures import MEASURES


@pytest.fixture(scope="module")
def ratings():
    return rf.synthetic.low_rank(60, 40, n_ratings=900, rank=2, seed=1)


@pytest.mark.parametrize("measure", ["rmse", "mae", "nmae"])
def test_errors_equal_those_of_models_trained_by_hand(ratings, measure):
    fold = stratified_folds(ratings, 4, seed=7)
    users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
    expected = []
    for v in range(4):
        own = fold == v
        alone = rf.ALS(rank=2, passes=3).fit(ratings.select(~own))
        expected.append(MEASURES[measure](ratings.values[own], alone.predict(users[own], items[own])))
    result = rf.cross_validate(rf.ALS(rank=2, passes=3), ratings, folds=4, measure=measure, seed=7)
    assert result.errors.tolist() == expected
    assert result.error == pytest.approx(np.mean(expected))
    assert result.std_error == pytest.approx(np.std(expected, ddof=1) / 2)
    assert repr(result) == f"{measure} {result.error:.4f} ± {result.std_error:.4f} (4 folds)"


def test_a_memoriser_scores_at_chance(memoriser, unpredictable):
    ratings = unpredictable
    assert rf.cross_validate(memoriser(), ratings).error == pytest.approx(np.std(ratings.values), rel=0.01)
    assert memoriser().fit(ratings)._error(ratings) == 0


def test_the_same_bits_on_any_number_of_threads(ratings):
    before = rf.get_threads()
    try:
        bits = set()
        for threads in (1, 3):
            rf.set_threads(threads)
            bits.add(rf.cross_validate(rf.SGD(rank=3, passes=3), ratings).errors.tobytes())
    finally:
        rf.set_threads(before)
    assert len(bits) == 1


def test_the_model_given_stays_as_it_is_and_folds_are_told(ratings):
    model, told = rf.Bias(), []
    result = rf.cross_validate(model, ratings, folds=3, callbacks=[told.append])
    assert not hasattr(model, "users_")
    assert [len(report.errors) for report in told] == [1, 2, 3]
    assert told[-1].error == result.error


def test_as_many_folds_as_ratings():
    ratings = rf.Ratings.from_arrays([1, 2, 3], [1, 2, 3], [1.0, 2.0, 3.0])
    left_out_means = sorted(rf.cross_validate(rf.Bias(), ratings, folds=3).errors.tolist())
    assert left_out_means == [0.0, 1.5, 1.5]
    with pytest.raises(ValueError, match="5 folds need at least as many ratings, found 3; give fewer folds"):
        rf.cross_validate(rf.Bias(), ratings)


def test_what_cannot_be_is_refused_in_words(ratings):
    with pytest.raises(TypeError, match="cross-validation needs Ratings, found list"):
        rf.cross_validate(rf.Bias(), [1])
    with pytest.raises(ValueError, match=r"a measure is one of rmse, mae, nmae, top5, or .* found 'r2'"):
        rf.cross_validate(rf.Bias(), ratings, measure="r2")


@pytest.mark.parametrize("liked", ["above-mean", "above-user-mean", "all", 4])
@pytest.mark.parametrize("measure", ["ndcg@5", "recall", "top5", "rare_share@3", "mae"])
def test_any_measure_is_that_of_evaluate_in_each_fold(ratings, measure, liked):
    model = rf.SGD(rank=2, passes=2)
    found = rf.cross_validate(model, ratings, 3, measure=measure, liked=liked, seed=1)
    parts = fold_parts(ratings, 3, 1)
    for fold in range(3):
        train, test = parts.rest(fold), parts.part(fold)
        expected = rf.evaluate(clone(model).fit(train), test, scores=[measure], liked=liked)
        assert found.errors[fold] == pytest.approx(expected[measure], rel=1e-6)
    assert found.measure == {"recall": "recall@10"}.get(measure, measure)
    assert found.loss == (found.error if measure in ("mae", "rare_share@3") else -found.error)
