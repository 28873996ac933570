"""Linear models on sparse features as scikit-learn estimators; what they minimise is in `solvers.py`."""

import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse
import scipy.special
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from rankfill.kernels.linear import Loss
from rankfill.linear.solvers import Floats, Problem, Solution, Solver, solve
from rankfill.shown import shown


class _SparseLinear(BaseEstimator):  # type: ignore[misc]
    """The settings of both estimators, and how they learn one column of targets."""

    def __init__(
        self,
        *,
        penalty: float = 1.0,
        solver: Solver = "saga",
        fit_intercept: bool = True,
        passes: int = 1000,
        tol: float = 1e-5,
        seed: int = 0,
    ) -> None:
        self.penalty = penalty
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.passes = passes
        self.tol = tol
        self.seed = seed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_settings(self) -> None:
        if self.solver not in ("exact", "sgd", "asgd", "sag", "saga", "svrg"):
            raise ValueError(f"solver must be exact, sgd, asgd, sag, saga or svrg, found {shown(self.solver)}")
        for name, value in (("penalty", self.penalty), ("tol", self.tol)):
            if not value > 0:
                raise ValueError(f"{name} must be a positive number, found {shown(value)}")
        if not self.passes >= 1:
            raise ValueError(f"passes must be at least 1, found {shown(self.passes)}")

    def _solve(self, features: Any, targets: Floats, loss: Loss) -> Solution:
        problem = Problem(features, targets, loss, self.penalty, bool(self.fit_intercept))
        found = solve(problem, self.solver, passes=self.passes, tol=self.tol, seed=self.seed)
        if found.gradient > self.tol and self.solver in ("sag", "saga", "svrg"):
            warnings.warn(
                f"{self.solver} has brought the gradient to {found.gradient:.1e} of what it was in {found.n_passes} "
                f"passes, not to tol={self.tol:g}; allow more passes, or standardise the features",
                ConvergenceWarning,
                stacklevel=3,
            )
        return found

    def _margins(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        features = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        margins: Floats = features @ self.coef_.T + self.intercept_
        return margins


class SparseRegression(RegressorMixin, _SparseLinear):  # type: ignore[misc]
    """Ridge regression on sparse features, by the solver of one's choice.

    Minimises ½ Σ (y − θ·x − b)² + (penalty/2) ‖θ‖², as scikit-learn's ``Ridge(alpha=penalty)`` does. The stochastic
    solvers cost as much for a step as the row drawn has entries, however many features there are.

    Parameters
    ----------
    penalty : float, default=1.0
        Pull of the coefficients towards zero; a positive number.
    solver : {"exact", "sgd", "asgd", "sag", "saga", "svrg"}, default="saga"
        How the minimum is found. "exact" solves a system of equations; "sag", "saga" and "svrg" come as near as `tol`
        says; "sgd" and "asgd", its average, come near at first and slowly then.
    fit_intercept : bool, default=True
        Whether there is an intercept b, which is not penalised.
    passes : int, default=1000
        The most passes over the rows; "sgd" and "asgd" make them all.
    tol : float, default=1e-05
        The norm of the gradient to reach, as a share of that at zero.
    seed : int, default=0
        Draws the rows.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        θ.
    intercept_ : float
        b.
    n_passes_ : int
        How many passes were made.
    n_features_in_ : int
        The number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfill.linear import SparseRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
    >>> SparseRegression(penalty=1e-6, solver="exact").fit(X, y).coef_.round(3)
    array([2.])
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learns from rows of features and a number for each.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The features.
        y : array-like of shape (n_rows,)
            The numbers to predict.

        Returns
        -------
        SparseRegression
            The estimator itself.
        """
        self._check_settings()
        features, targets = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True)
        mean = float(np.mean(targets)) if self.fit_intercept else 0.0
        found = self._solve(_csr(features), np.asarray(targets, np.float64) - mean, "squared")
        self.coef_, self.intercept_, self.n_passes_ = found.coefficients, found.intercept + mean, found.n_passes
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predicts the number of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._margins(X)


class SparseClassifier(ClassifierMixin, _SparseLinear):  # type: ignore[misc]
    """Logistic regression on sparse features, by the solver of one's choice.

    Minimises Σ log(1 + exp(−y (θ·x + b))) + (penalty/2) ‖θ‖² with y = ±1, as scikit-learn's
    ``LogisticRegression(C=1/penalty)`` does. With more than two classes there is one regression for each against all
    others.

    Parameters
    ----------
    penalty : float, default=1.0
        Pull of the coefficients towards zero; a positive number.
    solver : {"exact", "sgd", "asgd", "sag", "saga", "svrg"}, default="saga"
        How the minimum is found. "exact" is Newton's method; "sag", "saga" and "svrg" come as near as `tol` says; "sgd"
        and "asgd", its average, come near at first and slowly then.
    fit_intercept : bool, default=True
        Whether there is an intercept b, which is not penalised.
    passes : int, default=1000
        The most passes over the rows; "sgd" and "asgd" make them all.
    tol : float, default=1e-05
        The norm of the gradient to reach, as a share of that at zero.
    seed : int, default=0
        Draws the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        θ, one row per class; of two classes one row, for the second.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        b.
    n_passes_ : int
        How many passes were made, for the class that took the most.
    n_features_in_ : int
        The number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfill.linear import SparseClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), ["no", "no", "yes", "yes"]
    >>> SparseClassifier().fit(X, y).predict(X)
    array(['no', 'no', 'yes', 'yes'], dtype='<U3')
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learns from rows of features and the class of each.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The features.
        y : array-like of shape (n_rows,)
            The classes.

        Returns
        -------
        SparseClassifier
            The estimator itself.
        """
        self._check_settings()
        features, targets = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(targets)
        self.classes_, numbers = np.unique(targets, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"there must be at least two classes, found 1 class: {shown(self.classes_[0])}")
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        csr = _csr(features)
        found = [self._solve(csr, np.where(numbers == each, 1.0, -1.0), "logistic") for each in positives]
        self.coef_ = np.array([each.coefficients for each in found])
        self.intercept_ = np.array([each.intercept for each in found])
        self.n_passes_ = max(each.n_passes for each in found)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """The margin θ·x + b of each row, one column per class; of two classes that of the second.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        margins = self._margins(X)
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probability of each class; of more than two, brought to a sum of one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        chances = scipy.special.expit(self._margins(X))
        if chances.shape[1] == 1:
            return np.hstack([1.0 - chances, chances])
        shares: Floats = chances / np.maximum(chances.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return shares

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predicts the class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        margins = self.decision_function(X)
        best = (margins > 0).astype(np.int64) if margins.ndim == 1 else margins.argmax(axis=1)
        classes: NDArray[Any] = self.classes_[best]
        return classes


def _csr(features: Any) -> Any:
    """Sparse rows in which an entry comes once."""
    rows = scipy.sparse.csr_array(features)
    rows.sum_duplicates()
    return rows
