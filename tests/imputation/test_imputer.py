"""The imputer among scikit-learn's estimators, with every model of rankfill inside, and at the edges."""

import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankfill as rf
from rankfill.imputation import GaussianFactors


@parametrize_with_checks([rf.LowRankImputer(), rf.LowRankImputer(model=rf.ALS(rank=2))])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # checks that do not apply are skipped with one
        check(estimator)


@pytest.fixture(scope="module")
def wine():
    """Thirteen measures of 178 wines, whole and with three in ten missing."""
    table = load_wine().data
    return table, np.where(np.random.default_rng(0).random(table.shape) < 0.3, np.nan, table)


def error(table, filled, holed):
    return np.sqrt(np.mean((((filled - table) / table.std(axis=0))[np.isnan(holed)]) ** 2))


def test_it_beats_the_mean_and_leaves_what_is_known(wine):
    table, holed = wine
    filled = rf.LowRankImputer().fit_transform(holed)
    known = ~np.isnan(holed)
    assert filled[known].tobytes() == holed[known].tobytes()
    assert error(table, filled, holed) < 0.8 * error(table, SimpleImputer().fit_transform(holed), holed)


def of_ratings(name):
    """The model, set to predict ratings where it has a choice."""
    cls = rf.MODELS[name]
    return cls(feedback="explicit") if "feedback" in cls().get_params() else cls()


@pytest.mark.parametrize("name", [name for name in rf.MODELS if of_ratings(name).predicts_ratings])
def test_any_model_goes_inside_and_fills_new_rows(name):
    """Every column is the size of the row and some noise, in a unit of its own: Bias sees that much, too."""
    rng = np.random.default_rng(2)
    units = 10.0 ** rng.integers(-2, 3, 10)
    table = (rng.normal(size=(200, 1)) + 0.3 * rng.normal(size=(200, 10))) * units + 5
    holed, new = np.where(rng.random(table.shape) < 0.3, np.nan, table), slice(150, None)
    filled = rf.LowRankImputer(of_ratings(name)).fit(holed[:150]).transform(holed)
    known = ~np.isnan(holed)
    assert filled[known].tobytes() == holed[known].tobytes()
    mean = SimpleImputer().fit(holed[:150]).transform(holed)
    most = 0.95 if name == "multiplicative-nmf" else 0.65  # whose factors start from a table raised to zero
    assert error(table[new], filled[new], holed[new]) < most * error(table[new], mean[new], holed[new])


@pytest.mark.parametrize(
    ("model", "remedy"), [(rf.Popularity(), "take another, such as ALS"), (rf.ALS(feedback="implicit"), "explicit")]
)
def test_models_that_only_put_items_in_order_are_refused(model, remedy):
    with pytest.raises(ValueError, match=f"scores that only put items in order, not values to fill in, .*{remedy}"):
        rf.LowRankImputer(model).fit([[1.0, 2.0], [2.0, np.nan], [3.0, 4.0]])


@pytest.mark.parametrize("model", [rf.ALS(rank=3), rf.Bias(), rf.MultiplicativeNMF(rank=3), rf.SoftImpute()])
def test_a_model_fills_in_what_it_predicts_for_the_standardised_rows(model, wine):
    """By the long way: columns standardised by hand, each hole asked for by its place among all recommendations."""
    _, holed = wine
    means, deviations = np.nanmean(holed, axis=0), np.nanstd(holed, axis=0)
    standardised = (holed - means) / deviations
    raised_by = max(-np.nanmin(standardised), 0) if model.needs_nonnegative else 0
    ratings = rf.Ratings.from_dense(standardised + raised_by)
    columns, scores = clone(model).fit(ratings).recommend(ratings, n=13, exclude_seen=False)
    expected = np.empty(holed.shape)
    np.put_along_axis(expected, columns, scores, axis=1)
    expected = np.where(np.isnan(holed), (expected - raised_by) * deviations + means, holed)
    filled = rf.LowRankImputer(model, clip=False).fit_transform(holed)
    np.testing.assert_allclose(filled, expected, rtol=1e-4)
    lows, highs = np.nanmin(holed, axis=0), np.nanmax(holed, axis=0)
    np.testing.assert_allclose(rf.LowRankImputer(model).fit_transform(holed), np.clip(expected, lows, highs), rtol=1e-4)


def test_a_model_that_cannot_learn_says_so_itself(wine):
    with pytest.raises(ValueError, match="rank must be"):
        rf.LowRankImputer(rf.ALS(rank=0)).fit(wine[1])


def test_the_model_given_is_not_touched(wine):
    model = rf.ALS(rank=3)
    imputer = rf.LowRankImputer(model).fit(wine[1])
    assert not hasattr(model, "users_")
    assert imputer.model_.item_factors_.shape == (13, 3)
    assert clone(imputer).model.rank == 3


def test_new_rows_are_filled_one_by_one_as_together(wine):
    _, holed = wine
    imputer = rf.LowRankImputer().fit(holed[:100])
    together = imputer.transform(holed[100:])
    apart = np.vstack([imputer.transform(row[None]) for row in holed[100:]])
    np.testing.assert_allclose(together, apart, rtol=1e-12)


def test_columns_may_have_any_scale(wine):
    _, holed = wine
    scales = 10.0 ** np.array([-150, -30, -3, 0, 3, 30, 150, 1, 1, 1, 1, 1, 1])
    filled = rf.LowRankImputer().fit_transform(holed)
    np.testing.assert_allclose(rf.LowRankImputer().fit_transform(holed * scales) / scales, filled, rtol=1e-6)


def test_same_seed_same_bits_on_any_number_of_threads(wine):
    threads = rf.get_threads()
    results = []
    for n in (1, 3):
        rf.set_threads(n)
        results.append(rf.LowRankImputer(seed=5).fit_transform(wine[1]).tobytes())
    rf.set_threads(threads)
    assert results[0] == results[1]


def test_pandas_and_polars_come_out_with_their_names(wine):
    names = load_wine().feature_names
    frame = pd.DataFrame(wine[1], columns=names, index=np.arange(178) + 7)
    imputer = rf.LowRankImputer().set_output(transform="pandas")
    out = imputer.fit_transform(frame)
    assert out.columns.tolist() == imputer.get_feature_names_out().tolist() == names
    assert out.index.tolist() == frame.index.tolist()
    polars = rf.LowRankImputer().set_output(transform="polars").fit_transform(pl.DataFrame(wine[1], schema=names))
    assert polars.columns == names
    np.testing.assert_array_equal(polars.to_numpy(), out.to_numpy())


def test_in_a_pipeline_under_a_grid_search(wine):
    target = load_wine().target
    steps = make_pipeline(rf.LowRankImputer(), Ridge())
    grid = {"lowrankimputer__rank": [0, 4], "lowrankimputer__clip": [True, False]}
    search = GridSearchCV(steps, grid, cv=3).fit(wine[1], target)
    assert search.predict(wine[1]).shape == (178,)
    assert len(set(search.cv_results_["mean_test_score"])) > 1  # the settings reach the imputer
    inside = make_pipeline(rf.LowRankImputer(rf.ALS()), Ridge())
    search = GridSearchCV(inside, {"lowrankimputer__model__rank": [1, 2]}, cv=3).fit(wine[1], target)
    assert search.predict(wine[1]).shape == (178,)


@pytest.mark.parametrize("model", [None, rf.ALS(rank=2)])
def test_rows_and_columns_with_nothing_and_columns_of_one_value(model):
    rng = np.random.default_rng(0)
    table = rng.normal(5, 2, (40, 5))
    table[rng.random(table.shape) < 0.2] = np.nan
    table[:, 1] = np.nan
    table[:, 3] = np.where(np.isnan(table[:, 3]), np.nan, 0.1)
    table[6] = np.nan
    filled = rf.LowRankImputer(model).fit_transform(table)
    assert filled.shape == table.shape
    assert (filled[:, 1] == 0).all()
    assert (filled[:, 3] == 0.1).all()
    np.testing.assert_allclose(filled[6, [0, 2, 4]], np.nanmean(table[:, [0, 2, 4]], axis=0))


def test_nothing_to_learn_from():
    assert (rf.LowRankImputer().fit_transform(np.full((3, 2), np.nan)) == 0).all()
    np.testing.assert_array_equal(rf.LowRankImputer().fit_transform([[1.0, np.nan]]), [[1.0, 0.0]])
    imputer = rf.LowRankImputer().fit([[1.0, 2.0], [1.0, np.nan]])
    assert imputer.model_ is None
    np.testing.assert_array_equal(imputer.transform([[np.nan, np.nan], [3.0, np.nan]]), [[1, 2], [3, 2]])


def test_whole_numbers_and_yes_and_no():
    rng = np.random.default_rng(0)
    size = rng.integers(0, 9, 60)
    whole = np.column_stack([size, 2 * size])
    out = rf.LowRankImputer().fit_transform(whole)  # no hole fits into an array of whole numbers
    assert out.dtype == np.float64
    np.testing.assert_array_equal(out, whole)
    frame = pd.DataFrame({"size": size, "large": size > 4}).astype({"size": "Int64", "large": "boolean"})
    frame.loc[::7, "large"] = pd.NA
    filled = rf.LowRankImputer().fit_transform(frame)
    assert filled.dtype == np.float64
    assert ((filled >= 0) & (filled[:, 1:] <= 9)).all()
    guessed = filled[::7, 1]
    assert ((guessed >= 0) & (guessed <= 1)).all()
    assert ((guessed > 0.5) == (size[::7] > 4)).mean() > 0.8


def test_float32_stays_float32(wine):
    small = wine[1].astype(np.float32)
    filled = rf.LowRankImputer().fit_transform(small)
    assert filled.dtype == np.float32
    known = ~np.isnan(small)
    assert filled[known].tobytes() == small[known].tobytes()


def test_what_is_filled_stays_in_the_range_unless_told_otherwise():
    table = np.column_stack([np.arange(30.0), np.arange(30.0)])
    holed = table.copy()
    holed[-1, 1] = np.nan
    assert rf.LowRankImputer().fit_transform(holed)[-1, 1] == 28
    assert rf.LowRankImputer(clip=False, penalty=0.001).fit_transform(holed)[-1, 1] > 28.5


def test_bad_settings_are_refused_in_words(wine):
    for settings, words in [
        ({"model": rf.ALS(), "rank": 3}, "goes with model=None"),
        ({"rank": -1}, "rank must be a whole number of at least 0"),
        ({"penalty": 0}, "penalty must be a positive number"),
        ({"held_out": 1.5}, "share between 0 and 1"),
        ({"passes": 0}, "passes must be"),
    ]:
        with pytest.raises(ValueError, match=words):
            rf.LowRankImputer(**settings).fit(wine[1])
    with pytest.raises(TypeError, match="must be a rankfill model"):
        rf.LowRankImputer(Ridge()).fit(wine[1])
    with pytest.raises(ValueError, match="infinity"):
        rf.LowRankImputer().fit([[np.inf, 1.0], [1.0, 2.0]])


def test_the_default_says_what_it_chose(wine):
    model = rf.LowRankImputer().fit(wine[1]).model_
    assert isinstance(model, GaussianFactors)
    assert 0 < model.rank <= 13


def test_saving_an_imputer_is_refused_in_words(wine, tmp_path):
    imputer = rf.LowRankImputer().fit(wine[1])
    with pytest.raises(TypeError, match=r"found LowRankImputer; .* use joblib\.dump"):
        rf.save(imputer, tmp_path / "imputer")
    joblib.dump(imputer, tmp_path / "imputer")
    np.testing.assert_array_equal(joblib.load(tmp_path / "imputer").transform(wine[1]), imputer.transform(wine[1]))
