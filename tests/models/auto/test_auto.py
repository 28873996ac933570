"""What is chosen, how that is told, and that it depends on the ratings alone."""

import itertools
import time

import numpy as np
import pytest

import rankfill as rf
from rankfill.models.auto import contest
from rankfill.models.auto.candidates import BASELINES, CANDIDATES, Sizes
from rankfill.models.auto.kinds import kind_of
from rankfill.models.auto.plan import has_course, keep_parts, plan


def tastes(n_users=120, n_items=40, seed=0):
    """Two kinds of people, each of whom chooses and likes one half of the items."""
    random = np.random.default_rng(seed)
    wanted = (np.arange(n_users)[:, None] + np.arange(n_items)) % 2 == 0
    chosen = random.random((n_users, n_items)) < np.where(wanted, 0.5, 0.05)
    chosen[np.arange(n_users), np.arange(n_users) % n_items] = True
    users, items = np.nonzero(chosen)
    values = np.where(wanted[users, items], 4.0, 2.0) + random.integers(0, 2, len(users))
    return users, items, values


@pytest.fixture(scope="module")
def ratings():
    return rf.Ratings.from_arrays(*tastes())


@pytest.fixture(scope="module")
def fitted(ratings):
    return rf.Auto().fit(ratings)


def test_the_best_on_ratings_kept_aside_are_chosen(fitted):
    errors = {each.model: each.error for each in fitted.choices_ if each.error is not None}
    assert fitted.choices_.chosen("predict").error == min(errors.values())
    assert fitted.choices_.chosen("recommend").ndcg == max(each.ndcg for each in fitted.choices_)
    assert type(fitted.predictor_).__name__ in fitted.choices_.chosen("predict").model
    assert type(fitted.recommender_).__name__ in fitted.choices_.chosen("recommend").model
    assert {"Bias()", "Popularity()"} <= {each.model for each in fitted.choices_}
    assert not isinstance(fitted.recommender_, rf.Popularity)


def test_part_of_the_ratings_is_learned_from_only_where_that_gains_more_than_chance():
    random = np.random.default_rng(0)
    lists, noise = random.random(400), 0.1 * random.normal(size=400)
    everything, some, other = (
        contest.Candidate(rf.ALS(feedback="implicit"), lambda n: 0.0),
        contest.Candidate(rf.ALS(feedback="implicit"), lambda n: 0.0, learns="above-mean"),
        contest.Candidate(rf.Popularity(), lambda n: 0.0),
    )

    def chosen(gain):
        values = {everything: lists, some: lists + noise - noise.mean() + gain, other: lists + gain / 2}
        trials = [contest.Trial(each, None, float(of.mean()), 1.0, None, of) for each, of in values.items()]
        return contest._rank(trials, (), "recommend")[0].candidate

    error = 0.1 / 20  # of the mean of 400 differences
    assert chosen(1.5 * error) is everything
    assert chosen(2.5 * error) is some
    assert chosen(-1.0 * error) is everything


def test_what_is_told_of_a_trial_is_what_somebody_else_measures(ratings, fitted):
    """The error and the lists of the parts kept aside, measured by evaluate."""
    parts = keep_parts(ratings, seed=0)
    found = {each.model: each for each in fitted.choices_ if each.learns == "all"}
    assert len(parts) == 5
    for model in (rf.Bias(), rf.SGD(), rf.Popularity()):
        scores = []
        for train, rest in parts:
            result = rf.evaluate(model.fit(train), rest, scores=["rmse", "ndcg@10"])
            asked = len(np.unique(rest.user_indices[rest.values >= np.float32(train.mean())]))
            scores.append((result["rmse"] ** 2, len(rest), result["ndcg@10"], asked))
        squares, sizes, qualities, asked = np.array(scores).T
        assert found[repr(model)].ndcg == pytest.approx(np.average(qualities, weights=asked), rel=1e-9)
        if model.predicts_ratings:
            assert found[repr(model)].error == pytest.approx(np.sqrt(np.average(squares, weights=sizes)), rel=1e-5)


def test_each_job_is_done_by_its_model(ratings, fitted):
    users, items = ratings.users.ids()[:5], ratings.items.ids()
    np.testing.assert_array_equal(
        fitted.predict(users[:, None], items), fitted.predictor_.predict(users[:, None], items)
    )
    best = fitted.recommend(users, n=4)
    scores = fitted.recommender_.predict(users[:, None], best.items)
    np.testing.assert_allclose(best.scores, scores, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(best.ratings, fitted.predict(users[:, None], best.items))
    frame = best.to_frame("pandas")
    assert list(frame.columns) == ["user", "place", "item", "score", "rating"]


def test_newcomers_get_lists_with_ratings_and_never_what_they_rated(fitted):
    newcomers = rf.Ratings.from_arrays([7, 7, 7, 8], [0, 2, 1, 3], [5.0, 5.0, 1.0, 4.0])
    best = fitted.recommend(newcomers, n=39)
    assert not {0, 1, 2} & set(best.items[0].tolist())
    listed = best.items[0] >= 0
    assert listed.sum() == 37
    all_ratings = fitted.predict_folded(newcomers)
    np.testing.assert_allclose(best.ratings[0][listed], all_ratings[0][best.items[0][listed]], rtol=1e-6)
    assert (best.items[0][:10] % 2 == 0).mean() > 0.8


@pytest.mark.parametrize("learns", ["above-mean", "above-user-mean"])
def test_a_recommender_of_what_was_liked_leaves_out_what_was_not(ratings, monkeypatch, learns):
    """Disliked ratings are not learned from, but known: by the model and of newcomers."""
    only = [*BASELINES, contest.Candidate(rf.ItemRegression(), lambda n: 0.0, learns=learns)]
    monkeypatch.setattr(contest, "CANDIDATES", only)
    monkeypatch.setattr(contest, "_BADNESS", contest._BADNESS | {"recommend": lambda trial: -trial.seconds})
    model = rf.Auto(goal="recommend").fit(ratings)
    assert isinstance(model.recommender_, rf.ItemRegression)
    assert model.recommender_.n_ratings_ < model.n_ratings_ == len(ratings)
    for user in ratings.users.ids()[:20]:
        seen = set(ratings.items.ids(ratings.item_indices[ratings.user_indices == user]).tolist())
        assert not seen & set(model.recommend(user, n=40).items[0].tolist())
    newcomer = rf.Ratings.from_arrays([7, 7, 7], [0, 2, 1], [5.0, 5.0, 1.0])
    items = model.recommend(newcomer, n=40).items[0]
    assert not {0, 1, 2} & set(items.tolist())
    assert (items >= 0).sum() == 37


def test_one_model_does_both_on_request(ratings):
    predictor = rf.Auto(goal="predict").fit(ratings)
    assert predictor.recommender_ is predictor.predictor_
    assert predictor.recommend(3).ratings is None
    assert all(each.ndcg is None for each in predictor.choices_)
    recommender = rf.Auto(goal="recommend").fit(ratings)
    assert recommender.predictor_ is recommender.recommender_
    assert not recommender.predicts_ratings


@pytest.mark.parametrize("values", ["positives", "counts"])
def test_counts_and_marks_are_ranked_and_scored(values):
    users, items, _ = tastes()
    numbers = np.ones(len(users)) if values == "positives" else np.random.default_rng(0).geometric(0.6, len(users))
    model = rf.Auto().fit(rf.Ratings.from_arrays(users, items, numbers))
    assert model.kind_ == values
    assert model.predictor_ is model.recommender_
    assert not model.predicts_ratings
    assert all(each.error is None for each in model.choices_)
    scores = model.predict(0, np.arange(40))
    assert scores[::2].mean() > scores[1::2].mean()


def test_kinds():
    def kind(values):
        return kind_of(rf.Ratings.from_arrays(np.arange(len(values)), np.arange(len(values)), values))

    assert kind([3.0, 3.0]) == "positives"
    assert kind([1, 1, 1, 2, 5]) == kind([3, 90, 80, 5000]) == "counts"
    assert kind([1, 2, 3, 4, 5]) == kind([0.5, 0.5, 3]) == kind([-3, 1, 1]) == kind([0, 0, 1]) == "ratings"
    assert kind([10, 60, 70, 100]) == "ratings"
    plays = [*range(1, 13), 1, 1, 1, 2, 2, 3]
    assert kind(plays) == "counts"
    assert kind([13 - each for each in plays]) == kind(plays[2:10]) == "ratings"  # no lowest that most give; a scale


def test_the_choice_does_not_depend_on_the_clock(ratings, fitted, monkeypatch):
    """Every look at the clock takes a minute, and still the same is tried and chosen."""
    ticks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: 60.0 * next(ticks))
    slow = rf.Auto().fit(ratings)
    assert [each.model for each in slow.choices_] == [each.model for each in fitted.choices_]
    assert [each.chosen for each in slow.choices_] == [each.chosen for each in fitted.choices_]
    assert slow.predict_all().tobytes() == fitted.predict_all().tobytes()


def test_a_machine_that_is_far_too_slow_ends_the_trials_and_says_so(ratings, monkeypatch):
    seconds = itertools.count(0, 1000)
    monkeypatch.setattr(time, "process_time", lambda: float(next(seconds)))
    model = rf.Auto().fit(ratings)
    assert isinstance(model.predictor_, rf.Bias)
    assert sum("times the seconds given were over" in each.note for each in model.choices_) > 3


def test_the_plan_takes_the_cheapest_and_stays_within_the_time(ratings):
    parts = keep_parts(ratings, 0)
    everything = plan(CANDIDATES, ratings, parts, 1e9, True)
    assert not everything.left_out
    costs = [sum(each.for_trial(True).seconds(Sizes.of(part)) for part, _ in parts) for each in everything.tried]
    assert costs == sorted(costs)
    kept = plan(CANDIDATES, ratings, parts, 1e9, False)
    costs = [sum(each.seconds(Sizes.of(part)) for part, _ in parts) for each in kept.tried]
    assert costs == sorted(costs)
    nothing = plan(CANDIDATES, ratings, parts, 1e-9, True)
    assert set(nothing.tried) == set(BASELINES)
    model = rf.Auto(seconds=1e-9).fit(ratings)
    assert sum(each.note.startswith("no time: about") for each in model.choices_) == len(CANDIDATES) - 2


def test_ratings_over_time_are_judged_by_the_latest():
    users, items, values = tastes()
    day = 86_400
    for step, timed in ((day, True), (60, False)):
        times = np.random.default_rng(1).permutation(len(users)) * step
        ratings = rf.Ratings.from_arrays(users, items, values, timestamps=times)
        assert has_course(ratings) == timed
    many = rf.synthetic.low_rank(300, 80, n_ratings=6000, seed=0)
    times = np.random.default_rng(0).permutation(len(many)) * day
    stamped = rf.Ratings.from_arrays(many.user_indices, many.item_indices, many.values, timestamps=times)
    ((train, rest),) = keep_parts(stamped, 0)
    for user in range(20):
        if (rest.user_indices == user).any():
            latest = train.timestamps[train.user_indices == user].max()
            assert latest < rest.timestamps[rest.user_indices == user].min()


def test_validation_ratings_judge_where_they_are_given(ratings):
    train, rest = rf.split(ratings, test=0.3)
    model = rf.Auto().fit(train, validation=rest)
    assert model.choices_.chosen("predict").error == pytest.approx(rf.evaluate(model, rest)["rmse"], rel=1e-6)
    assert model.choices_.chosen("recommend").ndcg == pytest.approx(rf.evaluate(model, rest)["ndcg"], rel=1e-9)
    assert model.history_[0].validation == pytest.approx(model.choices_.chosen("predict").error, rel=1e-6)


def test_a_rehearsal_stands_for_a_model_that_is_fitted_anew(ratings, monkeypatch):
    """The one fitted in the end does the whole work, whoever judges; where it is kept as judged, there is no other."""
    short, whole = (rf.BayesianMF(rank=4, sweeps=each) for each in (9, 14))
    rehearsal = contest.Candidate(short, lambda n: 0.0)
    only = [*BASELINES, contest.Candidate(whole, lambda n: 0.0, rehearsal=rehearsal)]
    monkeypatch.setattr(contest, "CANDIDATES", only)
    model = rf.Auto(goal="predict").fit(ratings)
    (train, rest), *_ = parts = keep_parts(ratings, 0)
    chosen = model.choices_.chosen("predict")
    assert model.predictor_.n_sweeps_ == 14
    assert (chosen.model, chosen.note) == (repr(whole), "tried with sweeps=9")
    assert "predict; tried with sweeps=9" in repr(model.choices_)
    squares = [len(rest) * rf.evaluate(short.fit(train), rest)["rmse"] ** 2 for train, rest in parts]
    assert chosen.error == pytest.approx(np.sqrt(sum(squares) / sum(len(rest) for _, rest in parts)), rel=1e-5)
    judged = rf.Auto(goal="predict").fit(train, validation=rest)
    assert judged.predictor_.sweeps == 14
    assert judged.choices_.chosen("predict").note == ""


def test_ctrl_c_among_the_trials_names_what_was_not_tried(ratings, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    dear = contest.Candidate(rf.ItemRegression(), lambda n: 1e9)
    more = [contest.Candidate(rf.SGD(rank=each), lambda n, each=each: float(each)) for each in (2, 3)]
    monkeypatch.setattr(contest, "CANDIDATES", [*BASELINES, *more, dear])
    monkeypatch.setattr(rf.SGD, "_learn", interrupted)
    with pytest.warns(UserWarning, match="interrupted after 2 of 4 trials"):
        model = rf.Auto().fit(ratings)
    notes = {each.model: each.note for each in model.choices_}
    assert notes[repr(more[0].model)] == notes[repr(more[1].model)] == "not tried: interrupted"
    assert notes[repr(dear.model)].startswith("no time: about")


def test_too_few_ratings_to_keep_some_aside_leave_the_baselines():
    model = rf.Auto().fit(rf.Ratings.from_arrays([1, 1, 2], [1, 2, 1], [5.0, 3.0, 4.0]))
    assert isinstance(model.predictor_, rf.Bias)
    assert isinstance(model.recommender_, rf.Popularity)
    assert all(each.note == "not tried: too few ratings" for each in model.choices_)


def test_a_candidate_that_fails_is_told_and_passed_over(ratings, monkeypatch):
    def refuse(*_, **__):
        raise ValueError("too hot today")

    monkeypatch.setattr(rf.SGD, "_learn", refuse)
    model = rf.Auto().fit(ratings)
    assert not isinstance(model.predictor_, rf.SGD)
    assert [each.note for each in model.choices_ if each.model == "SGD()"] == ["failed: too hot today"]


def test_ctrl_c_in_the_last_fit_keeps_what_the_trial_has_learned(ratings, monkeypatch):
    learn, calls = rf.ItemRegression._learn, []

    def interrupted(self, data, *arguments):
        calls.append(len(data))
        if len(data) == len(ratings):
            raise KeyboardInterrupt
        learn(self, data, *arguments)

    monkeypatch.setattr(rf.ItemRegression, "_learn", interrupted)
    only = [*BASELINES, contest.Candidate(rf.ItemRegression(), lambda n: 0.0)]
    monkeypatch.setattr(contest, "CANDIDATES", only)
    with pytest.warns(UserWarning, match="interrupted; the model has learned from part of the ratings"):
        model = rf.Auto().fit(ratings)
    assert isinstance(model.recommender_, rf.ItemRegression)
    assert model.recommender_.n_ratings_ < len(ratings) == model.n_ratings_
    assert model.recommend(ratings.users.ids(), n=5).items.shape == (120, 5)


def test_a_file_holds_what_models_share_once(ratings, fitted, tmp_path):
    fitted.save(tmp_path / "m.rankfill")
    loaded = rf.load(tmp_path / "m.rankfill")
    assert loaded.choices_ == fitted.choices_
    assert repr(loaded.choices_) == repr(fitted.choices_)
    assert repr(loaded.predictor_) == repr(fitted.predictor_)
    parts = fitted._pack(history=True).tensors
    assert "seen_items" in parts
    assert "predictor.seen_items" not in parts
    newcomer = rf.Ratings.from_arrays([7, 7], [0, 2], [5.0, 5.0])
    ours, theirs = fitted.recommend(newcomer), loaded.recommend(newcomer)
    np.testing.assert_array_equal(ours.items, theirs.items)
    np.testing.assert_array_equal(ours.ratings, theirs.ratings)


def test_reasons_and_likeness_are_those_of_the_models_inside(ratings, fitted):
    told = fitted.explain(0, 2, ratings)
    assert told.prediction == fitted.predict(0, 2)
    assert sum(part.contribution for part in told.parts) == pytest.approx(told.score, abs=1e-4)
    assert (fitted.similar_items(0, n=5).ids % 2 == 0).mean() > 0.5


def test_the_table_says_what_was_chosen_and_why(fitted):
    head, *rows = repr(fitted.choices_).splitlines()
    assert head.split()[:2] == ["model", "learns"]
    assert len(rows) == len(fitted.choices_)
    predict, recommend = fitted.choices_.why()
    assert predict.startswith(f"To predict: {fitted.choices_.chosen('predict').label}, rmse ")
    assert ", then " in recommend
    assert "<td>Bias()</td>" in fitted.choices_._repr_html_()


def test_it_goes_on_learning_where_the_models_within_can(ratings, monkeypatch):
    assert not hasattr(rf.Auto(), "partial_fit")
    monkeypatch.setattr(contest, "CANDIDATES", [contest.Candidate(rf.SGD(rank=4), lambda n: 0.0)])
    model, alone = rf.Auto(goal="predict").fit(ratings), rf.SGD(rank=4).fit(ratings)
    more = rf.Ratings.from_arrays([3, 999, 999], [2, 2, 777], [1.0, 5.0, 4.0])
    assert model.partial_fit(more) is model
    alone.partial_fit(more)
    model.learn_one(999, 4, 5.0)
    alone.learn_one(999, 4, 5.0)
    assert len(model.users_) == 121
    assert model.n_ratings_ == len(ratings) + 4
    np.testing.assert_array_equal(model.predict(999, [2, 4, 777, 5]), alone.predict(999, [2, 4, 777, 5]))
    assert model.recommend(999).items.tolist() == alone.recommend(999).items.tolist()
    assert not {2, 4, 777} & set(model.recommend(999, n=41).items[0].tolist())


def test_it_does_not_go_on_learning_where_a_model_within_cannot(fitted):
    assert isinstance(fitted.recommender_, rf.ItemRegression | rf.ALS)
    assert not hasattr(fitted, "partial_fit")
    with pytest.raises(AttributeError, match="'Auto' object has no attribute 'learn_one'"):
        fitted.learn_one(1, 2, 3.0)
