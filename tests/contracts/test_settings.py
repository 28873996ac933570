"""Settings are words and numbers that scikit-learn can read, set and clone."""

import copy
import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import rankfill as rf


def test_settings_are_keyword_only_with_defaults_and_stored_as_given(model):
    parameters = list(inspect.signature(type(model)).parameters.values())
    assert parameters
    for parameter in parameters:
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.default is not inspect.Parameter.empty
        marker = object()
        assert getattr(type(model)(**{parameter.name: marker}), parameter.name) is marker


def test_get_and_set_params_are_inverse(model):
    parameters = model.get_params()
    assert type(model)().set_params(**parameters).get_params() == parameters
    with pytest.raises(ValueError, match="no_such_setting"):
        model.set_params(no_such_setting=1)


def test_clone_has_the_settings_and_nothing_else(model, ratings):
    twin = clone(model.fit(ratings))
    assert type(twin) is type(model)
    assert twin.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        twin.predict(ratings.users.ids()[0], ratings.items.ids()[0])


def test_repr_names_the_model_and_the_settings_that_differ(model):
    assert repr(type(model)()) == f"{type(model).__name__}()"
    name = min(model.get_params())
    assert f"{name}=7" in repr(type(model)(**{name: 7}))


def test_scikit_learn_sees_when_a_model_is_fitted(model, ratings):
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    check_is_fitted(model.fit(ratings))


@pytest.mark.parametrize("ask", ["predict", "recommend", "fold_in", "save"])
def test_nothing_can_be_asked_before_fit(model, ratings, tmp_path, ask):
    arguments = {
        "predict": (1000, 50),
        "recommend": (1000,),
        "fold_in": (ratings,),
        "save": (tmp_path / "m.rankfill",),
    }
    with pytest.raises(NotFittedError, match=f"this {type(model).__name__} has learned nothing yet; call fit first"):
        getattr(model, ask)(*arguments[ask])
    assert list(tmp_path.iterdir()) == []


def test_fit_returns_the_model_itself(model, ratings):
    assert model.fit(ratings) is model


@pytest.mark.parametrize("wrong", [7, None, {"user": 1}, [1, 2, 3]])
def test_only_what_can_be_ratings_is_learned_from(model, ratings, wrong):
    with pytest.raises(TypeError, match=r"ratings are Ratings, a data frame, .*; found|list of ratings holds tuples"):
        model.fit(wrong)
    if wrong is not None:
        with pytest.raises(TypeError, match=r"ratings are Ratings|list of ratings"):
            model.fit(ratings, validation=wrong)


def test_a_frame_is_as_good_as_the_ratings_in_it(model, ratings, answers, fresh):
    frame = ratings.to_frame("polars")
    assert answers(fresh(model).fit(frame)) == answers(model.fit(rf.Ratings.from_frame(frame)))


def test_no_ratings_are_refused_in_words(model, ratings):
    nothing = ratings.select(np.zeros(len(ratings), dtype=bool))
    with pytest.raises(ValueError, match="no ratings to learn from; give at least one"):
        model.fit(nothing)
    with pytest.raises(ValueError, match="no validation ratings; leave validation out"):
        model.fit(ratings, validation=nothing)


def test_numpy_numbers_are_as_good_as_pythons(model, ratings, answers, fresh, tmp_path):
    """Settings often come out of np.arange or np.logspace."""
    wrapped = {
        name: np.int64(value) if type(value) is int else np.float64(value) if type(value) is float else value
        for name, value in model.get_params().items()
    }
    ours = fresh(model, **wrapped).fit(ratings)
    assert answers(ours) == answers(model.fit(ratings))
    ours.save(tmp_path / "m.rankfill")
    assert rf.load(tmp_path / "m.rankfill").get_params() == model.get_params()


@pytest.mark.parametrize("extreme", [2**64, 10**30, -1, np.inf, np.nan, 1e308, 1e-40], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_numbers_at_the_edge_give_a_model_or_one_line(model, ratings, fresh, extreme):
    """Whatever the option: it is refused in words, or what is learned is finite."""
    numbers = [
        name for name, value in type(model)().get_params().items() if value is None or type(value) in (int, float)
    ]
    for name in numbers:
        edge, refusal = fresh(model, **{name: extreme}), ""
        try:
            edge.fit(ratings)
        except (ValueError, TypeError) as error:
            refusal = str(error)
        if refusal:
            assert len(refusal.splitlines()) == 1
            assert name in refusal or "ratings" in refusal
        else:
            assert np.isfinite(edge.predict_all()).all()
            assert np.isfinite(edge.fold_in(ratings)).all()


def refusal(call, *arguments):
    try:
        call(*arguments)
    except (ValueError, TypeError) as error:
        return str(error)
    return None


def test_a_single_rating_is_learned_under_the_checks_of_many(incremental_model, ratings):
    """Settings that were changed for the worse are refused, and nothing is learned."""
    user, item = ratings.users.ids()[0].item(), ratings.items.ids()[0].item()
    model = incremental_model.fit(ratings).learn_one(user, item, 3.0).learn_many([user], [item], [3.0])
    n_ratings, n_refused = model.n_ratings_, 0
    for name, usual in model.get_params().items():
        for wrong in (-3, "nonsense", not usual):
            model.set_params(**{name: wrong})
            expected = refusal(copy.deepcopy(model).partial_fit, rf.Ratings.from_arrays([user], [item], [3.0]))
            if expected is not None:
                n_refused += 1
                assert refusal(model.learn_one, user, item, 3.0) == expected, (name, wrong)
                assert refusal(model.learn_many, [user], [item], [3.0]) == expected, (name, wrong)
            model.set_params(**{name: usual})
    assert n_refused > 3
    assert model.n_ratings_ == n_ratings
    assert model.learn_one(user, item, 4.0).n_ratings_ == n_ratings + 1
