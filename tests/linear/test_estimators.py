"""The scikit-learn estimators: its own checks, its own solutions, and refusals in words."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankfill.linear import SparseClassifier, SparseRegression

SOLVERS = ["exact", "saga"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [each(solver=solver, tol=1e-3) for each in (SparseRegression, SparseClassifier) for solver in SOLVERS]
)
def test_scikit_learn_takes_them_for_its_own(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((90, 20), density=0.3, rng=rng, format="coo")
    return X, 5 + X @ rng.normal(size=20) + 0.1 * rng.normal(size=90)


@pytest.mark.parametrize("solver", ["exact", "sag", "saga", "svrg"])
def test_regression_is_ridge(data, solver):
    X, y = data
    model = SparseRegression(penalty=3.0, solver=solver, tol=1e-9, passes=5000).fit(X, y)
    ridge = Ridge(alpha=3.0, solver="cholesky").fit(X.toarray(), y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, atol=1e-6)
    np.testing.assert_allclose(model.predict(X), ridge.predict(X.toarray()), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("solver", ["exact", "saga"])
def test_classification_is_logistic_regression_of_each_class_against_the_others(data, solver, n_classes):
    X, y = data
    labels = np.array(["low", "mid", "top"])[np.digitize(y, np.quantile(y, [0.5] if n_classes == 2 else [0.3, 0.7]))]
    model = SparseClassifier(penalty=0.5, solver=solver, tol=1e-9, passes=5000).fit(X, labels)
    theirs = LogisticRegression(C=2.0, solver="newton-cholesky", tol=1e-10)
    theirs = (theirs if n_classes == 2 else OneVsRestClassifier(theirs)).fit(X.toarray(), labels)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X.toarray()), atol=1e-6)
    assert (model.predict(X) == theirs.predict(X.toarray())).all()


def test_what_has_not_converged_is_said(data):
    with pytest.warns(ConvergenceWarning, match="saga has brought the gradient to .* in 2 passes, not to tol=1e-08"):
        SparseRegression(passes=2, tol=1e-8).fit(*data)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "newton"}, "solver must be exact, sgd, asgd, sag, saga or svrg, found 'newton'"),
        ({"penalty": 0}, "penalty must be a positive number, found 0"),
        ({"tol": float("nan")}, "tol must be a positive number, found nan"),
        ({"passes": 0}, "passes must be at least 1, found 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(data, settings, message):
    with pytest.raises(ValueError, match=message):
        SparseRegression(**settings).fit(*data)
