"""Every option of every model, found by its declared type, is held to the contract; not the defaults alone."""

import typing
from dataclasses import replace
from types import NoneType

import numpy as np
import pytest

import rankfill as rf
from rankfill.models import MODELS

CHEAP = {"passes": 3, "sweeps": 3, "rank": 4, "variances": [2.0, 0.5, 0.1], "blocks": 2}
NEEDS = {  # what else an option asks for
    ("primal-dual", "nonnegative"): {"offset": "none"},
    ("primal-dual", "loss", "logistic"): {"offset": "none"},
    ("primal-dual", "schedule", "published-weights"): {"nonnegative": True, "offset": "none"},
    ("als", "solver", "conjugate-gradient"): {"nonnegative": "none"},
    ("als", "weighting", "frequency"): {"feedback": "implicit"},
}
LOGISTIC = "loss", "logistic"
PROBIT = "likelihood", "probit"
TIMED = "time", True
OF_A_SIZE = {
    ("feedback", "implicit"),
    ("goal", "recommend"),
    ("recipe", "paper"),
    ("loss", "huber"),
    ("loss", "epsilon-insensitive"),
    LOGISTIC,
}
"""Options with a number beside them that means something in units of the ratings, or with scores for predictions."""


def words_of(hint):
    """The values that a parameter can take where these are few: words, and yes or no."""
    if typing.get_origin(hint) is typing.Literal:
        return list(typing.get_args(hint))
    if hint is bool:
        return [True, False]
    return [
        word for each in typing.get_args(hint) if each is not NoneType and each is not hint for word in words_of(each)
    ]


def variants():
    """One per value that is not the default."""
    for name, cls in MODELS.items():
        defaults = cls().get_params()
        hints = typing.get_type_hints(cls.__init__)
        for parameter, default in defaults.items():
            for word in words_of(hints[parameter]):
                if word != default:
                    needed = NEEDS.get((name, parameter), {}) | NEEDS.get((name, parameter, word), {})
                    yield pytest.param(name, {parameter: word} | needed, id=f"{name} {parameter}={word}")


VARIANTS = list(variants())


@pytest.fixture
def data(ratings, options):
    """The ratings of the contract; -1 and +1 for what is learned of two values, with times where these count."""
    if TIMED in options.items():
        return rf.Ratings(ratings.users, ratings.items, ratings.by_user, 40_000 * (np.arange(len(ratings)) % 30))
    if {LOGISTIC, PROBIT} & set(options.items()):
        return ratings.with_values(lambda values: np.where(values > 3, 1.0, -1.0))
    return ratings


def pytest_generate_tests(metafunc):
    if "options" in metafunc.fixturenames:
        metafunc.parametrize(("name", "options"), VARIANTS)


@pytest.fixture
def make(name, options):
    cls = MODELS[name]
    cheap = {key: value for key, value in CHEAP.items() if key in cls().get_params() and key not in options}
    return lambda **more: cls(**cheap | options | more)


def test_there_are_options_of_many_kinds():
    found = {(param.values[0], *param.values[1]) for param in VARIANTS}
    assert {("sgd", "averaging"), ("variance-reduced", "method"), ("primal-dual", "nonnegative", "offset")} <= found
    assert len({param.values[0] for param in VARIANTS}) >= len(MODELS) - 1


def test_answers_are_finite_and_within_the_ratings(make, data, other_ratings):
    model = make().fit(data)
    everything = model.predict_all()
    assert everything.shape == (17, 7)
    assert np.isfinite(everything).all()
    if model.get_params().get("effects") != "none":
        assert len(np.unique(make(clip=False).fit(data).predict_all())) > 1
    if model._clips:
        assert data.values.min() <= everything.min()
        assert everything.max() <= data.values.max()
    assert np.isfinite(model.predict([-1, -1], [50, -1])).all()
    if LOGISTIC not in model.get_params().items():
        assert np.isfinite(model.fold_in(other_ratings)).all()


def test_round_trip_through_a_file(make, data, answers, tmp_path):
    model = make().fit(data)
    model.save(tmp_path / "m.rankfill")
    loaded = rf.load(tmp_path / "m.rankfill")
    assert answers(loaded) == answers(model)
    np.testing.assert_array_equal(loaded.fold_in(data), model.fold_in(data))


def test_same_bits_on_any_number_of_threads(make, data, answers):
    before = rf.get_threads()
    found = []
    try:
        for threads in (1, 2, 5):
            rf.set_threads(threads)
            found.append(answers(make().fit(data)))
    finally:
        rf.set_threads(before)
    assert found[0] == found[1] == found[2]


def test_best_state_is_restored_as_a_whole(make, data):
    """Folding in goes by all that was learned, so that what is left from a later pass would show."""
    if "passes" not in make().get_params():
        return
    upside_down = data.with_values(lambda values: values.max() + values.min() - values)
    model = make(passes=6, tol=None).fit(data, validation=upside_down)
    errors = [report.validation for report in model.history_]
    best_pass = int(np.argmin(errors)) + 1
    best = make(passes=6, tol=None).fit(data, callbacks=[lambda report: report.epoch == best_pass])
    np.testing.assert_array_equal(model.fold_in(data), best.fold_in(data))
    np.testing.assert_array_equal(model.predict_all(), best.predict_all())


@pytest.mark.parametrize("judged", [False, True])
def test_a_fit_that_was_cut_off_goes_on_to_the_same_bits(make, data, answers, cut_off, tmp_path, judged):
    if "passes" not in make().get_params():
        return
    validation = data.with_values(lambda values: values.max() + values.min() - values) if judged else None
    told = {"validation": validation, "every": 2}
    whole = make(passes=6, tol=None).fit(data, **told, checkpoint=tmp_path / "whole")
    with pytest.raises(cut_off.Error):
        make(passes=6, tol=None).fit(data, **told, checkpoint=tmp_path / "cut", callbacks=[cut_off(after=5)])
    again = make(passes=6, tol=None).fit(data, **told, checkpoint=tmp_path / "cut")
    assert answers(again) == answers(whole)
    np.testing.assert_array_equal(again.fold_in(data), whole.fold_in(data))
    found, wanted = ([replace(each, seconds=0) for each in model.history_] for model in (again, whole))
    assert found == wanted


def test_settings_changed_after_the_fit_do_not_change_answers(make, data, answers):
    model = make().fit(data)
    before, folded = answers(model), model.fold_in(data)
    if "rank" in model.get_params():
        model.set_params(rank=9)
        assert answers(model) == before
        np.testing.assert_array_equal(model.fold_in(data), folded)


@pytest.mark.parametrize("size", [1e-3, 1e6])
def test_ratings_of_another_size_are_learned_as_well(make, data, size):
    """Numbers given in units of the ratings are for the user to choose; all else a model has to find out."""
    settings = make().get_params()
    if "variances" in settings or OF_A_SIZE & {(key, str(value)) for key, value in settings.items()}:
        return
    plain = make(clip=False).fit(data).predict_all()
    scaled = make(clip=False).fit(data.with_values(lambda values: size * values)).predict_all() / size
    assert np.isfinite(scaled).all()
    known = data.user_indices, data.item_indices
    errors = [np.sqrt(np.mean((found[known] - data.values) ** 2)) for found in (plain, scaled)]
    assert errors[1] <= 1.2 * errors[0] + 0.05


def test_streams_are_the_same_however_they_are_cut(make, data, answers):
    if not hasattr(make(), "partial_fit"):
        return
    order = data.stream_order()
    users, items = data.users.ids(data.user_indices[order]), data.items.ids(data.item_indices[order])
    values = data.values[order]
    whole = make().partial_fit(rf.Ratings.from_arrays(users, items, values))
    parts = make()
    for part in np.array_split(np.arange(len(values)), 9):
        parts.partial_fit(rf.Ratings.from_arrays(users[part], items[part], values[part]))
    ours, theirs = answers(parts), answers(whole)
    grids = [np.frombuffer(each.pop("predictions"), dtype=np.float32) for each in (ours, theirs)]
    assert ours == theirs
    np.testing.assert_array_equal(grids[0][:-1], grids[1][:-1])


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("first", [None, 0.0, 1e-3, 1e3])
def test_streams_learn_ratings_of_any_size_whatever_comes_first(make, data, size, first):
    """Better than the mean alone on what they have seen, after a few rounds."""
    settings = {(key, str(value)) for key, value in make().get_params().items()}
    if not hasattr(make(), "partial_fit") or LOGISTIC in settings or (size != 1 and OF_A_SIZE & settings):
        return
    users, items = data.users.ids(data.user_indices), data.items.ids(data.item_indices)
    values = size * data.values
    model = make(clip=False)
    if first is not None:
        model.partial_fit(rf.Ratings.from_arrays(users[:1], items[:1], [first * size]))
    for _ in range(30):
        model.partial_fit(rf.Ratings.from_arrays(users, items, values))
    predicted = model.predict(users, items)
    assert np.isfinite(predicted).all()
    assert np.abs(predicted - values).mean() < 1.02 * np.abs(values - np.median(values)).mean()
