"""Proofs of how far a trace-norm model is from the best possible one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankfill.data import Ratings
from rankfill.models import Model
from rankfill.models.base.settings import check_whole
from rankfill.models.convex.model import TraceNormModel

_ROUNDING = 1e-6
"""Rounding can put an objective this share below the bound, since factors are kept in single precision."""


@dataclass(frozen=True)
class Certificate:
    """A proof of how near a model is to the global optimum of its objective. Prints as a sentence.

    Attributes
    ----------
    primal : float
        The objective of the model.
    dual : float
        A number that no matrix can get below with the same settings.
    rank : int
        Number of factors of the model.
    trace_norm : float
        Sum of the singular values of the model.
    largest : float
        A bound from above of the largest singular value of the residual: at most the penalty at the optimum.
    gap : float
        `primal` minus `dual`: at least the distance to the optimum. A negative gap cannot be, and is the sign of an
        error in the model or in the proof; up to rounding it is shown as 0.
    relative_gap : float
        The gap as a share of the objective.

    Examples
    --------
    >>> proof = Certificate(primal=100.0, dual=99.0, rank=3, trace_norm=20.0, largest=2.0)
    >>> proof.gap, proof.relative_gap
    (1.0, 0.01)
    >>> str(proof).split(":")[0]
    'within 1 % of the best possible'
    """

    primal: float
    dual: float
    rank: int
    trace_norm: float
    largest: float

    @property
    def gap(self) -> float:
        gap = self.primal - self.dual
        return 0.0 if -_ROUNDING * abs(self.dual) <= gap < 0 else gap

    @property
    def relative_gap(self) -> float:
        size = self.primal if self.primal > 0 else abs(self.dual)
        return self.gap / size if size > 0 else 0.0

    def __str__(self) -> str:
        if self.gap < 0:
            found = f"the objective {self.primal:.8g} is below {self.dual:.8g}, which no matrix can get below"
            return f"not a proof: {found}; please report it"
        percent = f"{100 * self.relative_gap:.2g}" if self.relative_gap >= 5e-7 else "0.0001"
        return (
            f"within {percent} % of the best possible: objective {self.primal:.8g}, no less than {self.dual:.8g} for "
            f"any matrix; rank {self.rank}, trace norm {self.trace_norm:.6g}, largest singular value of the residual "
            f"at most {self.largest:.6g}"
        )


def certificate(model: Model, ratings: Ratings, *, seed: int | None = None) -> Certificate:
    """Proves how near a fitted trace-norm model is to the global optimum on the ratings it has learned from.

    The dual value comes from the residual of the model, scaled until its largest singular value is proved to be at
    most the penalty. It does not depend on how the model was found. Where residuals do not tell it (loss="absolute"),
    the model has kept the dual point of its last pass.

    Parameters
    ----------
    model : Model
        A fitted SoftImpute, TraceTradeoff, TraceBounded, JaggiSulovsky or PrimalDual.
    ratings : Ratings
        The ratings that were given to `fit`.
    seed : int, optional
        Seeds the random directions in which the largest singular value is looked for. By default the seed of the
        model. On matrices with more than some thousand rows and columns the proof fails for one seed in 10⁹: another
        seed checks it independently.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> proof = rf.certificate(rf.SoftImpute(penalty=0.5, tol=None).fit(ratings), ratings)
    >>> proof.relative_gap < 1e-4
    True
    >>> str(proof).split(":")[0]
    'within 0.0001 % of the best possible'
    """
    if not isinstance(model, TraceNormModel):
        raise TypeError(f"only trace-norm models have a certificate, found {type(model).__name__}; try SoftImpute")
    model._check_fitted()
    if seed is not None:
        check_whole("seed", seed, 0)
    iterate, primal, dual, largest = model._proof(_as_learned(model, ratings), model.seed if seed is None else seed)
    return Certificate(primal, dual, iterate.solution.rank, iterate.solution.trace_norm, largest)


def _as_learned(model: TraceNormModel[Any], ratings: Ratings) -> Ratings:
    """The ratings numbered as in the model, which must have learned from as many."""
    users = model._learned_users(model._own_rows(model.users_, ratings.users))[ratings.user_indices]
    items = model._learned_items(model._own_rows(model.items_, ratings.items))[ratings.item_indices]
    if len(ratings) != model.n_ratings_ or np.any(users < 0) or np.any(items < 0):
        raise ValueError(
            f"a certificate needs the {model.n_ratings_} ratings the model has learned from, found {len(ratings)} "
            "or ids it does not know; give it what was given to fit"
        )
    return Ratings.from_indices(model.users_, model.items_, users, items, ratings.values)
