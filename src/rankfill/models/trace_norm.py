"""What models share that complete a matrix under its trace norm, the sum of its singular values.

    J(W) = ½ Σ_Ω (r_ui − o_ui − w_ui)² + λ ‖D_u W D_i‖_*

The offset o and the weighting D are those of `offset_model.py`. The unknown of all solvers is Z = D_u W D_i, as
Z = left · rightᵀ; entries are w_ui = c_ui z_ui, c_ui = 1/(d_u d_i).

**Certificate.** The dual is max_q Σ_Ω (q r − ½ q²) subject to σ₁(c ∘ q) ≤ λ. From the residual e of any iterate,
q = s e is feasible for 0 ≤ s ≤ λ/σ₁(c ∘ e); the best s is Σ e r / Σ e², within that. J minus the dual value bounds how
far J is from the best possible. σ₁ is bounded from above (`linalg.spectral_bound`), so the gap is proved, not guessed.

penalty=None takes, with e what `Bias()` leaves over, s its root mean square and n̄ the mean numbers of ratings,

    constant   λ = min(s · max(15, ¾ (√n̄_u + √n̄_i)), 0.9 σ₁(e ∘ ±1))        count   λ = s · 0.065 √(n̄_u n̄_i)

as `ALS` does: about the spectral norm of noise of that size, which λ has to exceed for noise not to be learned. On
small matrices that norm is taken from the data, with signs that are random.
"""

import copy
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import partial
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.linalg import (
    LowRank,
    SparseMatrix,
    balanced,
    leading_pairs,
    one_blas_thread,
    spectral_bound,
)
from rankfill.models.bias import Bias
from rankfill.models.completion import Iterate, Problem
from rankfill.models.gap_proof import GapProof
from rankfill.models.offset_model import Offset, OffsetModel, Weighting
from rankfill.models.settings import check_positive
from rankfill.models.training import Callback, EpochReport, Training
from rankfill.objectives.penalties import BY_COUNT, LEAST, norm_of_noise

__all__ = ["Iterate", "Offset", "Problem", "TraceNormModel", "Weighting"]


class TraceNormModel(OffsetModel):
    """Subclasses make `_iterates`; each of them is a pass: kept, measured and reported here."""

    convex: ClassVar[bool] = True
    """Whether what it finds is the solution of the problem above: then there is a certificate."""
    gap: float | None

    @abstractmethod
    def _iterates(self, problem: Problem, start: LowRank) -> Iterator[Iterate]:
        """One a pass; training ends with them. `start` is the zero matrix, or what `init` has learned; Z balanced."""

    def largest_penalty(self, ratings: Ratings) -> float:
        """λ_max: from this penalty on nothing is learned beside the offset."""
        self._check(ratings)
        probe = copy.copy(self)
        probe._begin(ratings.users, ratings.items)
        probe._take_note(ratings, np.arange(ratings.n_users), np.arange(ratings.n_items))
        problem = probe._prepare(ratings)
        return spectral_bound(problem.descent(probe._slopes(ratings.values, problem.values)))

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        if self.gap is not None:
            check_positive("gap", self.gap)
        if getattr(self, "penalty", None) is not None:
            check_positive("penalty", self.penalty)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        problem = self._prepare(ratings)
        start = LowRank.zero(*problem.shape) if init is None else self._start_at(init, problem)
        proof = GapProof(self.gap, self.seed)
        with one_blas_thread(), Training(self, validation, [*callbacks, self._goal_reached]) as training:
            for _, iterate in zip(training.epochs(), self._iterates(problem, start), strict=False):
                self._keep(problem, iterate.solution)
                objective = self._objective(problem, iterate)
                gap_with = partial(self._relative_gap, problem, iterate, objective)
                descent = self._descent(problem, iterate)
                gap = proof.proved(descent, iterate.solution, gap_with) if self.convex else None
                training.report(objective, float(np.sqrt(np.mean(iterate.residual**2))), gap)

    def _falling_penalties(self, problem: Problem) -> Iterator[float]:
        """For the first passes from nothing: a third of λ_max, a third of that, … above λ. They keep the rank low."""
        penalty = float(leading_pairs(problem.descent(problem.values), 1, tol=1e-2).values[0]) / 3
        while penalty > self.penalty_:
            yield penalty
            penalty /= 3

    def _prepare(self, ratings: Ratings) -> Problem:
        """Takes note of λ as well, where the settings or the data give it."""
        problem = super()._prepare(ratings)
        penalty: float | None = getattr(self, "penalty", None)
        self.penalty_ = self._level_of_noise(problem, ratings) if penalty is None else float(penalty)
        return problem

    def _level_of_noise(self, problem: Problem, ratings: Ratings) -> float:
        left_over = problem.values
        if not self.biased_:
            effects = Bias().fit(ratings)
            left_over = ratings.values - effects.predict_rows(ratings.user_indices, ratings.item_indices)
        slopes = self._slopes(ratings.values, left_over)
        size = float(np.sqrt(np.mean(slopes**2)))
        if self.weighting == "count":
            return BY_COUNT * size * len(ratings) / math.sqrt(math.prod(problem.shape)) or 1.0
        signs = np.random.default_rng(self.seed).choice([-1.0, 1.0], len(ratings))
        noise = float(leading_pairs(problem.descent(slopes * signs), 1, tol=1e-3).values[0])
        return min(size * max(LEAST, norm_of_noise(len(ratings), *problem.shape)), 0.9 * noise) or 1.0

    def _start_at(self, init: "TraceNormModel", problem: Problem) -> LowRank:
        return balanced(self._rows_of(init, problem))

    def _objective(self, problem: Problem, iterate: Iterate) -> float:
        return problem.objective(iterate, self.penalty_)

    def _descent(self, problem: Problem, iterate: Iterate) -> SparseMatrix:
        """What the certificate needs the largest singular value of."""
        return problem.descent(self._slopes(problem.pattern.by_user.values, iterate.residual))

    def _slopes(self, ratings: NDArray[np.float32], residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """dℓ/de at every residual e."""
        return residual

    def _lower_bound(self, problem: Problem, iterate: Iterate, largest: float) -> float:
        """A number below the best possible objective; `largest` is at least σ₁ of `_descent`."""
        return problem.dual(iterate.residual, largest, self.penalty_)

    def _relative_gap(self, problem: Problem, iterate: Iterate, objective: float, largest: float) -> float:
        return (objective - self._lower_bound(problem, iterate, largest)) / objective if objective > 0 else 0.0

    def _proof(self, ratings: Ratings) -> tuple[Iterate, float, float, float]:
        """What this model makes of the ratings it learned from: Z, J, the dual value and the bound of σ₁."""
        if not self.convex:
            name = type(self).__name__
            raise TypeError(f"the problem of {name} is not convex, so that there is no certificate; try TraceTradeoff")
        problem = self._problem(ratings)
        iterate = problem.iterate(self._start_at(self, problem))
        largest = spectral_bound(self._descent(problem, iterate))
        return iterate, self._objective(problem, iterate), self._lower_bound(problem, iterate, largest), largest

    def _goal_reached(self, report: EpochReport) -> bool:
        return self.gap is not None and report.gap is not None and report.gap <= self.gap
