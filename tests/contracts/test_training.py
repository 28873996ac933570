"""What happens around the passes: reports, stopping, the best model on validation ratings, Ctrl-C."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import rankfill as rf
from rankfill.objectives.measures import MEASURES


def error_on(model, ratings):
    predicted = model.predict(ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices))
    return MEASURES[model.measure](ratings.values, predicted)


def passes_of(model):
    """How many passes the settings ask for; what samples calls them sweeps."""
    settings = model.get_params()
    return settings.get("passes", settings.get("sweeps", 1))


@pytest.fixture
def halves(ratings):
    keep = np.random.default_rng(5).random(len(ratings)) < 0.7
    return ratings.select(keep), ratings.select(~keep)


@pytest.fixture
def overfitted(iterative_model, ratings, fresh):
    """Settings, ratings, and validation ratings that are their mirror image: soon every pass makes it worse."""
    bold = {"C": 0.2, "penalty": 0.001, "shrinkage": 0.0, "trace": 50.0, "schedule": "newest"}
    known = iterative_model.get_params()
    if "gap" in known:  # a step of a convex model fits what it sees, unless the weighting makes it short
        bold["weighting"] = "count"
    if "inner_iterations" in known:  # so little penalty would fit the ratings exactly in the first pass
        bold |= {"penalty": 50.0, "shrinkage": 1.0}
    model = fresh(iterative_model, tol=None, passes=25, **{key: bold[key] for key in bold if key in known})
    return model, ratings, ratings.with_values(lambda values: 6 - values)


def test_history_is_a_report_a_pass(model, halves):
    train, test = halves
    model.fit(train, validation=test)
    assert all(isinstance(report, rf.EpochReport) for report in model.history_)
    assert [report.epoch for report in model.history_] == list(range(1, len(model.history_) + 1))
    assert len(model.history_) == passes_of(model)
    seconds = [report.seconds for report in model.history_]
    assert seconds == sorted(seconds)
    assert seconds[0] >= 0
    for report in model.history_:
        assert np.isfinite([report.objective, report.train, report.validation]).all()
        assert report.measure == model.measure
    assert model.fit(train).history_[0].validation is None


def test_validation_ratings_of_other_ids_are_measured_by_id(rating_model, ratings, other_ratings):
    rating_model.fit(ratings, validation=other_ratings)
    assert min(report.validation for report in rating_model.history_) == pytest.approx(
        error_on(rating_model, other_ratings), rel=1e-6
    )


def test_best_state_on_the_validation_ratings_is_kept(overfitted, answers, fresh):
    model, train, mirrored = overfitted
    model.fit(train, validation=mirrored)
    errors = [report.validation for report in model.history_]
    assert len(errors) == 25
    assert min(errors) < 0.998 * errors[-1]  # methods that solve rows exactly get there in few passes
    assert error_on(model, mirrored) == pytest.approx(min(errors), rel=1e-6)
    best = int(np.argmin(errors)) + 1
    assert answers(model) == answers(fresh(model, passes=best).fit(train))


@pytest.mark.parametrize("measure", ["ndcg@3", "mae", "rare_share@4"])
def test_any_measure_says_which_state_is_best(model, halves, answers, fresh, measure):
    train, test = halves
    model.fit(train, validation=test, measure=measure, liked=4)
    values = [report.validation for report in model.history_]
    assert {report.validation_measure for report in model.history_} == {measure}
    best = (np.argmax if measure == "ndcg@3" else np.argmin)(values)
    assert rf.evaluate(model, test, scores=[measure], liked=4)[measure] == pytest.approx(values[best], rel=1e-6)
    if "passes" in model.get_params():
        assert answers(model) == answers(fresh(model, passes=int(best) + 1).fit(train))


def test_measures_that_cannot_be_told_are_refused_in_words(model, halves):
    train, test = halves
    with pytest.raises(ValueError, match="measure='ndcg@10' needs validation ratings"):
        model.fit(train, measure="ndcg")
    with pytest.raises(ValueError, match="measure='ndcg@10' cannot be told on these validation ratings"):
        model.fit(train, validation=test, measure="ndcg", liked=100)
    with pytest.raises(ValueError, match="a measure is one of rmse"):
        model.fit(train, validation=test, measure="speed")


def test_callbacks_are_called_once_a_pass_with_its_report(model, ratings):
    first, second = [], []
    model.fit(ratings, callbacks=[first.append, second.append])
    assert first == second == model.history_


@pytest.mark.parametrize("true", [True, np.True_])
def test_callback_stops_the_training_by_returning_true(iterative_model, ratings, fresh, true):
    model = fresh(iterative_model, passes=9).fit(
        ratings, callbacks=[lambda report: true if report.epoch == 2 else None]
    )
    assert len(model.history_) == 2


def test_every_callback_is_called_even_when_one_stops(iterative_model, ratings):
    calls = []
    iterative_model.fit(ratings, callbacks=[lambda report: True, calls.append])
    assert [report.epoch for report in calls] == [1]


def test_stopped_training_is_as_good_as_fewer_passes(iterative_model, ratings, answers, fresh):
    stopped = fresh(iterative_model, passes=9).fit(ratings, callbacks=[lambda report: report.epoch == 2])
    assert answers(stopped) == answers(fresh(iterative_model, passes=2).fit(ratings))


def test_time_budget_stops_after_the_pass_that_uses_it_up(iterative_model, ratings, fresh):
    assert len(fresh(iterative_model, passes=5).fit(ratings, callbacks=[rf.TimeBudget(0.0)]).history_) == 1
    assert len(fresh(iterative_model, passes=5, tol=None).fit(ratings, callbacks=[rf.TimeBudget(1e9)]).history_) == 5


def test_training_stops_when_three_passes_gain_too_little(iterative_model, ratings, fresh):
    """A gain of more than the whole error is never had: one pass, and three without."""
    assert len(fresh(iterative_model, passes=50, tol=1.0).fit(ratings).history_) == 4


def test_training_without_a_tolerance_makes_every_pass(overfitted):
    model, train, mirrored = overfitted
    assert len(model.set_params(tol=None).fit(train, validation=mirrored).history_) == 25
    assert len(model.set_params(tol=0.0).fit(train, validation=mirrored).history_) < 25


def test_interruption_keeps_what_has_been_learned_and_says_so(model, ratings, answers, fresh):
    def interrupt(report):
        if report.epoch == min(2, passes_of(model)):
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match=r"interrupted after \d passes; the model is kept"):
        interrupted = fresh(model).fit(ratings, callbacks=[interrupt])
    fewer = {name: 2 for name in ("passes", "sweeps") if name in model.get_params()}
    assert answers(interrupted) == answers(fresh(model, **fewer).fit(ratings))


def test_interruption_keeps_the_best_model_on_the_validation_ratings(overfitted):
    model, train, mirrored = overfitted

    def interrupt(report):
        if report.epoch == 20:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted after 20 passes"):
        model.fit(train, validation=mirrored, callbacks=[interrupt])
    errors = [report.validation for report in model.history_]
    assert len(errors) == 20
    assert min(errors) < 0.998 * errors[-1]  # methods that solve rows exactly get there in few passes
    assert error_on(model, mirrored) == pytest.approx(min(errors), rel=1e-6)


def test_other_exceptions_of_a_callback_come_through(model, ratings):
    def fail(report):
        raise RuntimeError("the disk of the log is full")

    with pytest.raises(RuntimeError, match="the disk of the log is full"):
        model.fit(ratings, callbacks=[fail])


def eager(model):
    """With so small a penalty that one pass cannot learn all there is."""
    known = model.get_params()
    if "penalty" not in known or "inner_iterations" in known:  # a column rewrites all it can at once
        return model
    return model.set_params(penalty=0.01)


def test_warm_start_goes_on_from_where_the_other_model_ended(iterative_model, ratings, fresh):
    model = eager(iterative_model)
    long = fresh(model, passes=40, tol=None).fit(ratings)
    cold, warm = (fresh(model, passes=1).fit(ratings, init=start).history_ for start in (None, long))
    assert len(warm) == 1
    assert cold[0].objective > long.history_[-1].objective
    assert left_to_gain(warm, cold, long) < 0.3


def left_to_gain(warm, cold, long):
    """The share of what a long training gains on its first pass that a warm start has not kept."""
    end = long.history_[-1].objective
    return (warm[0].objective - end) / (cold[0].objective - end)


def test_warm_start_from_itself_goes_on(iterative_model, ratings, answers, fresh):
    ours = fresh(iterative_model).fit(ratings)
    theirs = fresh(iterative_model).fit(ratings, init=fresh(iterative_model).fit(ratings))
    assert answers(ours.fit(ratings, init=ours)) == answers(theirs)


def test_warm_start_leaves_the_other_model_as_it_is(iterative_model, ratings, other_ratings, answers, fresh):
    start = fresh(iterative_model).fit(other_ratings)
    before = answers(start)
    fresh(iterative_model).fit(ratings, init=start)
    assert answers(start) == before


def test_warm_start_goes_by_id_not_by_row(iterative_model, ratings, fresh):
    """The same people and things, and others before them, so that every row number differs."""
    users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
    wider = rf.Ratings.from_arrays(
        np.append(users, [-2, -1]), np.append(items, [-4, -3]), np.append(ratings.values, [3.0, 2.0])
    )
    # What a model shrinks towards is a function of the ratings, so it would not be the same in both.
    model = eager(fresh(iterative_model, **({"shrinkage": 0.0} if "shrinkage" in iterative_model.get_params() else {})))
    start, long = (fresh(model, passes=40, tol=None).fit(data) for data in (wider, ratings))
    cold, warm = (fresh(model, passes=1).fit(ratings, init=init).history_ for init in (None, start))
    assert left_to_gain(warm, cold, long) < 0.5


def test_warm_start_is_refused_in_words_where_it_cannot_be(ranked_model, ratings, named_ratings, fresh):
    with pytest.raises(ValueError, match=r"init has rank 4, this model 5; give both the same"):
        fresh(ranked_model, rank=5).fit(ratings, init=fresh(ranked_model).fit(ratings))
    with pytest.raises(NotFittedError, match="has learned nothing yet"):
        fresh(ranked_model).fit(ratings, init=fresh(ranked_model))
    with pytest.raises(TypeError, match="the ids known here are"):
        fresh(ranked_model).fit(ratings, init=fresh(ranked_model).fit(named_ratings))


def test_warm_start_from_something_else_is_refused_in_words(model, ratings):
    with pytest.raises(TypeError, match=rf"init must be a fitted {type(model).__name__}, found dict"):
        model.fit(ratings, init={"rank": 4})


def test_a_thousand_ratings_that_are_all_the_same_bring_one_hint(model):
    """Also where a model learns others on its way."""
    same = rf.synthetic.low_rank(60, 40, 1100, seed=0).with_values(np.ones_like)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(same)
        model.fit(same.select(np.arange(1100) < 999))
    hints = [str(each.message) for each in caught if "all 1100 ratings are 1" in str(each.message)]
    assert len(hints) == int(model.predicts_ratings and not isinstance(model, rf.Auto))
    assert not any("all 999 ratings" in str(each.message) for each in caught)
    assert all('ItemRegression() and ALS(feedback="implicit")' in hint for hint in hints)
