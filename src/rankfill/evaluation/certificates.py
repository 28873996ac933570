"""How far a trace-norm model is from the best possible one, proved."""

from dataclasses import dataclass

import numpy as np

from rankfill.data import Ratings
from rankfill.models import Model
from rankfill.models.trace_norm import TraceNormModel


@dataclass(frozen=True)
class Certificate:
    """The objective of a model, and a number that no model with the same settings can get below."""

    primal: float
    dual: float
    rank: int
    trace_norm: float
    largest: float
    """A bound from above of the largest singular value of the residual: at most the penalty at the optimum."""

    @property
    def gap(self) -> float:
        return max(self.primal - self.dual, 0.0)

    @property
    def relative_gap(self) -> float:
        return self.gap / self.primal if self.primal > 0 else 0.0

    def __str__(self) -> str:
        percent = f"{100 * self.relative_gap:.2g}" if self.relative_gap >= 5e-7 else "0.0001"
        return (
            f"within {percent} % of the best possible: objective {self.primal:.8g}, no less than {self.dual:.8g} for "
            f"any matrix; rank {self.rank}, trace norm {self.trace_norm:.6g}, largest singular value of the residual "
            f"at most {self.largest:.6g}"
        )


def certificate(model: Model, ratings: Ratings) -> Certificate:
    """A proof of how near a fitted trace-norm model is to the global optimum on the ratings it has learned from.

    The dual value comes from the residual of the model, scaled until its largest singular value is proved to be at
    most the penalty (`linalg.spectral_bound`). It does not depend on how the model was found. Where residuals do not
    tell it (loss="absolute"), the model has kept the dual point of its last pass.

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
    iterate, primal, dual, largest = model._proof(_as_learned(model, ratings))
    return Certificate(primal, dual, iterate.solution.rank, iterate.solution.trace_norm, largest)


def _as_learned(model: TraceNormModel, ratings: Ratings) -> Ratings:
    """The ratings numbered as in the model, which must have learned from as many."""
    users = model._learned_users(model._own_rows(model.users_, ratings.users))[ratings.user_indices]
    items = model._learned_items(model._own_rows(model.items_, ratings.items))[ratings.item_indices]
    if len(ratings) != model.n_ratings_ or np.any(users < 0) or np.any(items < 0):
        raise ValueError(
            f"a certificate needs the {model.n_ratings_} ratings the model has learned from, found {len(ratings)} "
            "or ids it does not know; give it what was given to fit"
        )
    return Ratings.from_indices(model.users_, model.items_, users, items, ratings.values)
