"""The objectives of the convex models over Z = D_u W D_i, with lower bounds that hold for every matrix.

    Penalised(λ)    Σ_Ω ℓ(e_ui) + λ ‖Z‖_*                            ℓ(e) = ½ e² unless another loss is named
    Bounded(τ)      ½ Σ_Ω e_ui²    subject to  ‖Z‖_* ≤ τ
    Exact           ‖Z‖_*          subject to  e_ui = 0 on Ω

‖Z‖_* is the trace norm, the sum of the singular values; e_ui = r_ui − o_ui − w_ui is the residual with the offset o and
the weighting D of `offset.py`; entries are w_ui = c_ui z_ui, c_ui = 1/(d_u d_i).

**Penalised.** The dual is max_q Σ_Ω (q r − ℓ*(q)) subject to σ₁(c ∘ q) ≤ λ. From the residual e of any iterate with
slopes q = ℓ'(e), s q is feasible for 0 ≤ s ≤ λ/σ₁(c ∘ q); for ½ e² the best s is Σ e r / Σ e², within that.

**Bounded.** No Z within the bound has a loss below f(Z) + Σ e w − τ σ₁(c ∘ e) (Frank and Wolfe). With τ the trace norm
of a solution of Penalised(λ), both have the same solution; the other way round λ = Σ e w/τ (theorem 4.1 of Zeng et al.,
IJCAI 2015).

**Exact.** The limit of Penalised for λ → 0, for ratings without noise (Candès, Recht 2009). The dual is max_q Σ_Ω q r
subject to σ₁(c ∘ q) ≤ 1. An iterate meets the ratings but for its residual; Z with the residual put in its place meets
them, and its trace norm is at most ‖Z‖_* + √m ‖e/c‖_F with m the shorter side: that is the value.

The value of an iterate less its lower bound tells how far it is from the best possible at most. σ₁ is bounded from
above (`linalg.spectral_bound`), so that this gap is proved, not guessed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import LossName
from rankfill.linalg import LowRank, SparseMatrix, leading_pairs, spectral_bound
from rankfill.models.convex.problem import Iterate, Problem
from rankfill.objectives.losses import loss_conjugates, loss_slopes, loss_values

KINKED: tuple[LossName, ...] = ("absolute", "epsilon-insensitive")
"""The losses with a kink."""


class Objective(Protocol):
    """The interface of the objective of a trace-norm model."""

    def value(self, problem: Problem, iterate: Iterate) -> float:
        """The value that is minimised."""

    def descent(self, problem: Problem, iterate: Iterate) -> SparseMatrix:
        """c ∘ q: `lower_bound` needs its largest singular value."""

    def lower_bound(self, problem: Problem, iterate: Iterate, largest: float) -> float:
        """A number that no Z gets below; `largest` is at least σ₁ of `descent`."""

    def row_penalty(self, problem: Problem, iterate: Iterate) -> float:
        """λ, such that each row of a solution is a ridge regression on the other side with that penalty."""


@dataclass(frozen=True)
class Penalised:
    """Losses plus a multiple of the trace norm."""

    penalty: float
    loss: LossName = "squared"
    width: float = 0.0
    """δ of the loss huber, ε of epsilon-insensitive."""

    @property
    def has_kink(self) -> bool:
        """Whether the loss has a slope but no curvature."""
        return self.loss in KINKED

    @property
    def tube(self) -> float:
        """Errors up to this size cost nothing."""
        return self.width if self.loss == "epsilon-insensitive" else 0.0

    def value(self, problem: Problem, iterate: Iterate) -> float:
        return self.costs(problem, iterate.residual) + self.penalty * iterate.solution.trace_norm

    def costs(self, problem: Problem, residual: NDArray[np.float64]) -> float:
        """Σ ℓ."""
        if self.loss == "squared":
            return 0.5 * float(residual @ residual)
        return float(loss_values(self.loss, problem.ratings, residual, self.width).sum())

    def slopes(self, ratings: NDArray[np.float32], residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """dℓ/de of every residual."""
        return loss_slopes(self.loss, ratings, residual, self.width)

    def descent(self, problem: Problem, iterate: Iterate) -> SparseMatrix:
        return problem.descent(self._dual(problem, iterate))

    def lower_bound(self, problem: Problem, iterate: Iterate, largest: float) -> float:
        dual = self._dual(problem, iterate)
        along = float(dual @ problem.values)
        if self.loss == "squared":
            square = float(dual @ dual)
            if square == 0.0:
                return 0.0
            share = min(max(along / square, 0.0), self.penalty / largest) if largest > 0 else along / square
            return share * along - 0.5 * share**2 * square
        share = min(1.0, self.penalty / largest) if largest > 0 else 1.0
        return share * along - float(loss_conjugates(self.loss, problem.ratings, share * dual, self.width).sum())

    def row_penalty(self, problem: Problem, iterate: Iterate) -> float:
        return self.penalty

    def largest_useful(self, problem: Problem) -> float:
        """λ_max of this loss: from this penalty on the best Z is zero."""
        return spectral_bound(problem.descent(self.slopes(problem.ratings, problem.values)))

    def estimate_of_largest(self, problem: Problem) -> float:
        """λ_max from below, to about a percent: much quicker than to prove it."""
        descent = problem.descent(self.slopes(problem.ratings, problem.values))
        return float(leading_pairs(descent, 1, tol=1e-2).values[0])

    def from_above(self, largest: float) -> Iterator[Self]:
        """The same with a third of λ_max, a third of that, … above λ: first passes with these keep the rank low."""
        penalty = largest / 3
        while penalty > self.penalty:
            yield replace(self, penalty=penalty)
            penalty /= 3

    def _dual(self, problem: Problem, iterate: Iterate) -> NDArray[np.float64]:
        return self.slopes(problem.ratings, iterate.residual) if iterate.dual is None else iterate.dual


@dataclass(frozen=True)
class Exact(Penalised):
    """The least trace norm of all matrices that meet the ratings; `penalty` is the length of the steps to it."""

    def value(self, problem: Problem, iterate: Iterate) -> float:
        correction = float(np.linalg.norm(iterate.residual / problem.scale))
        return iterate.solution.trace_norm + float(np.sqrt(min(problem.shape))) * correction

    def lower_bound(self, problem: Problem, iterate: Iterate, largest: float) -> float:
        along = float(self._dual(problem, iterate) @ problem.values)
        return max(along, 0.0) / largest if largest > 0 else 0.0

    def row_penalty(self, problem: Problem, iterate: Iterate) -> float:
        return 0.0


@dataclass(frozen=True)
class Bounded:
    """Squared errors within a bound on the trace norm."""

    trace: float

    def value(self, problem: Problem, iterate: Iterate) -> float:
        return 0.5 * float(iterate.residual @ iterate.residual)

    def descent(self, problem: Problem, iterate: Iterate) -> SparseMatrix:
        return problem.descent(iterate.residual)

    def lower_bound(self, problem: Problem, iterate: Iterate, largest: float) -> float:
        return max(self.value(problem, iterate) + _along(problem, iterate) - self.trace * largest, 0.0)

    def row_penalty(self, problem: Problem, iterate: Iterate) -> float:
        """Zero where the bound is zero or holds nothing back."""
        if iterate.row_penalty is not None:
            return iterate.row_penalty
        return max(_along(problem, iterate), 0.0) / self.trace if self.trace > 0 else 0.0

    def within(self, product: LowRank) -> LowRank:
        """The product, or the multiple of it whose trace norm is τ where its own is larger."""
        if product.trace_norm <= self.trace:
            return product
        return LowRank(*(side * np.sqrt(self.trace / product.trace_norm) for side in product))


def relative_gap(objective: Objective, problem: Problem, iterate: Iterate, value: float, largest: float) -> float:
    """The largest possible distance of this value from the optimum, as a share of the value."""
    return (value - objective.lower_bound(problem, iterate, largest)) / value if value > 0 else 0.0


def _along(problem: Problem, iterate: Iterate) -> float:
    """Σ e w."""
    return float(iterate.residual @ (problem.values - iterate.residual))
