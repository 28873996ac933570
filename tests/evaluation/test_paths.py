"""Paths of penalties: descending, warm, each proved, the best on validation ratings kept."""

import numpy as np
import pytest

import rankfill as rf


@pytest.fixture
def halves():
    return rf.split(rf.synthetic.low_rank(120, 60, 3000, noise=0.4, seed=0), test=0.2, seed=0)


def test_path_goes_from_nothing_to_a_hundredth_of_the_largest_penalty(halves):
    train, test = halves
    model = rf.SoftImpute(gap=1e-3, tol=None)
    found = rf.path(model, train, validation=test, steps=6)
    penalties = np.array([step.penalty for step in found])
    assert penalties[0] == pytest.approx(model.largest_penalty(train))
    np.testing.assert_allclose(penalties[1:] / penalties[:-1], 0.01 ** (1 / 5))
    ranks = [step.rank for step in found]
    assert ranks[0] == 0
    assert ranks == sorted(ranks)
    assert all(step.gap <= 1.01e-3 for step in found)
    assert np.all(np.diff([step.train for step in found]) < 0)
    assert found.best.validation == min(step.validation for step in found)
    assert rf.evaluate(found.model, test, scores=["rmse"])["rmse"] == pytest.approx(found.best.validation, rel=1e-6)
    assert str(found).count("best") == 1
    assert model.get_params()["penalty"] is None
    assert not hasattr(model, "users_")


def test_steps_reach_the_solutions_of_cold_starts(halves):
    train, _ = halves
    model = rf.SoftImpute(gap=1e-5, tol=None, passes=3000)
    found = rf.path(model, train, penalties=[3.0, 12.0, 6.0])
    assert [step.penalty for step in found] == [12.0, 6.0, 3.0]
    assert found.best is found[-1]
    cold = rf.SoftImpute(penalty=3.0, gap=1e-5, tol=None, passes=3000).fit(train)
    assert rf.certificate(found.model, train).primal == pytest.approx(rf.certificate(cold, train).primal, rel=2e-5)
    assert len(found.model.history_) < len(cold.history_)


def test_what_has_no_path_is_refused_in_words(halves):
    with pytest.raises(TypeError, match="a path needs a convex model with a penalty, found Bias; try SoftImpute"):
        rf.path(rf.Bias(), halves[0])
    with pytest.raises(ValueError, match="penalties must be positive numbers, found"):
        rf.path(rf.SoftImpute(), halves[0], penalties=[3.0, -1.0])
    with pytest.raises(ValueError, match="steps must be a whole number of at least 1, found 0"):
        rf.path(rf.SoftImpute(), halves[0], steps=0)


@pytest.mark.parametrize(("value", "offset"), [(4.0, "bias"), (3.7, "bias"), (3.7, "mean"), (0.0, "none")])
@pytest.mark.filterwarnings("ignore:all 6300 ratings are")
def test_ratings_that_are_all_the_same_are_named_as_the_reason(value, offset):
    """It was the penalty of 0 that was blamed."""
    ratings = rf.Ratings.from_dense(np.full((90, 70), value))
    words = rf"offset='{offset}' leaves nothing over of the 6300 ratings from {value:g} to {value:g}, .* give penalties"
    with pytest.raises(ValueError, match=words):
        rf.path(rf.SoftImpute(offset=offset), ratings)
    found = rf.path(rf.SoftImpute(offset=offset), ratings, penalties=[1.0])
    assert found.model.rank_ == 0
    np.testing.assert_allclose(found.model.predict(0, [0, 1]), value, rtol=1e-6)


def test_a_validation_error_of_zero_is_the_best_there_is(halves, monkeypatch):
    """Zero was taken for no error at all, so that whatever came after it was better."""
    errors = iter([0.5, 0.0, 0.25])
    monkeypatch.setattr(rf.SoftImpute, "_error", lambda *_: next(errors))
    found = rf.path(rf.SoftImpute(passes=2), halves[0], [8.0, 4.0, 2.0], validation=halves[1])
    assert found.best is found[1]
    assert found.model.penalty == 4.0


@pytest.mark.parametrize("penalties", [[], [0.0], [np.nan, 1.0], [np.inf]])
def test_penalties_that_cannot_be_are_refused(halves, penalties):
    with pytest.raises(ValueError, match="penalties must be positive numbers, found"):
        rf.path(rf.SoftImpute(), halves[0], penalties=penalties)


def test_any_measure_tells_which_penalty_is_best(halves):
    train, test = halves
    found = rf.path(rf.SoftImpute(gap=1e-2), train, validation=test, steps=5, measure="ndcg@5", liked="above-user-mean")
    assert found.best.validation == max(step.validation for step in found)
    judged = rf.evaluate(found.model, test, scores=["ndcg@5"], liked="above-user-mean")
    assert judged["ndcg@5"] == found.best.validation
    assert "ndcg@5" in str(found).splitlines()[0]
