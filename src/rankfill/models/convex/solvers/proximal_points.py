"""Proximal points for losses with a kink in primal–dual completion.

The dual of Σ_Ω |e_ui| + λ ‖Z‖_* is max_q Σ_Ω q r subject to |q| ≤ 1 and σ₁(c ∘ q) ≤ λ: it is flat, and block updates of
the primal get stuck at the kinks of |e|. So q is looked for near a centre q⁰,

    max_q Σ_Ω (q r − ½ δ (q − q⁰)²)      whose primal is      min_Z Σ_Ω (h(e + δ q⁰) − ½ δ q⁰²) + λ ‖Z‖_*

with h(x) = x²/2δ up to δ, |x| − ½ δ beyond: smooth, and made for block updates with the ratings moved by δ q⁰. Once
they gain little, q = h'(e + δ q⁰) becomes the centre. Where it stays, q and Z solve the problem with |e|, for any δ.
On the way Σ |e| + λ ‖Z‖_* may rise; what counts is the best Z so far.

The loss max(|e| − ε, 0) takes the same way: the dual has − ε Σ |q| besides, and h is that of max(|x| − ε, 0).
"""

import numpy as np
from numpy.typing import NDArray

from rankfill.models.convex.objectives import Penalised
from rankfill.models.convex.problem import Iterate
from rankfill.models.convex.solvers.rank_one_terms import Terms
from rankfill.objectives.losses import loss_values

_LITTLE = 0.03
"""A pass that lowers the objective of the smooth problem by less than this share has done enough."""


class ProximalPoints:
    """The centre, the terms that solve the problem around it, and the best so far."""

    best: Iterate
    dual: NDArray[np.float64]

    def __init__(self, terms: Terms, objective: Penalised) -> None:
        self._objective = objective
        self._terms = terms
        self._centre = np.zeros(len(terms.residual))
        self._smooth = self._least = np.inf

    def note(self) -> bool:
        """Takes q and, if they are better, Z and e from the terms; whether they are."""
        terms = self._terms
        self.dual = terms.slopes()
        residual = terms.residual - terms.rule.width * self._centre
        costs = loss_values(self._objective.loss, terms.ratings, residual, self._objective.width)
        objective = float(costs.sum()) + terms.rule.penalty * float(terms.weights.sum())
        better = objective < self._least
        if better:
            self._least, self.best = objective, Iterate(terms.product(), residual)
        return better

    def move(self) -> None:
        """Makes q the centre, if it is time."""
        before, self._smooth = self._smooth, self._smooth_objective()
        if self._smooth > (1 - _LITTLE) * before:
            self._terms.move_ratings(self._terms.rule.width * (self.dual - self._centre))
            self._centre = self.dual
            self._smooth = self._smooth_objective()

    def _smooth_objective(self) -> float:
        return self._terms.objective() - 0.5 * self._terms.rule.width * float(self._centre @ self._centre)
