"""What models share that complete a matrix under its trace norm, the sum of its singular values.

    J(W) = ½ Σ_Ω (r_ui − o_ui − w_ui)² + λ ‖D_u W D_i‖_*

o is the `offset`, subtracted first: nothing, the mean rating, or the effects of user and item (`Bias()`). With
weighting="constant" D_u and D_i are identities; with "count" they hold the square roots of how many ratings the row
has, relative to the mean number: rows with few ratings cost less. The unknown of all solvers is Z = D_u W D_i, as
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
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Ridge, padded, solve_rows
from rankfill.linalg import (
    LowRank,
    SparseMatrix,
    balanced,
    leading_pairs,
    one_blas_thread,
    spectral_bound,
)
from rankfill.models.bias import Bias
from rankfill.models.completion import Iterate, Problem, problem_of
from rankfill.models.factors import FactorModel
from rankfill.models.gap_proof import GapProof
from rankfill.models.settings import check_positive, check_training, check_word
from rankfill.models.training import Callback, EpochReport, Training
from rankfill.objectives.penalties import BY_COUNT, LEAST, norm_of_noise

__all__ = ["Iterate", "Offset", "Problem", "TraceNormModel", "Weighting"]

Offset = Literal["none", "mean", "bias"]
Weighting = Literal["constant", "count"]


class TraceNormModel(FactorModel):
    """Subclasses make `_iterates`; each of them is a pass: kept, measured and reported here."""

    convex: ClassVar[bool] = True
    """Whether what it finds is the solution of the problem above: then there is a certificate."""
    offset: Offset
    weighting: Weighting
    gap: float | None
    passes: int
    tol: float | None
    seed: int
    penalty_: float

    @abstractmethod
    def _iterates(self, problem: Problem, start: LowRank) -> Iterator[Iterate]:
        """One a pass; training ends with them. `start` is the zero matrix, or what `init` has learned; Z balanced."""

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """The best rows for people not in training, the items as they are: (p_u, b_u, 1) with offset="bias"."""
        self._check_fitted()
        known = self._in_own_items(new_user_ratings)
        rows = padded(known.n_users, max(self._width, 1))
        if self.biased_:
            left_over = known.values - np.float32(self.offset_) - self.item_biases_[known.item_indices]
            rows[:, self.rank_] = Bias().shrunk_mean(known.user_indices, left_over, known.n_users)
            rows[:, self.rank_ + 1] = 1
        if self.rank_:
            by_count = self.weighting == "count"
            rated = int((self._user_counts.array > 0).sum())
            ridge = Ridge(
                rank=self.rank_,
                penalty=self.penalty_ * rated / self.n_ratings_ if by_count else self.penalty_,
                by_count=by_count,
                offset=self.offset_,
                held_column=self.rank_ + 1 if self.biased_ else -1,
            )
            self._fit_rows(known, rows, ridge)
        return rows[:, : self._width]

    def _fit_rows(self, known: Ratings, rows: NDArray[np.float32], ridge: Ridge) -> None:
        """Moves the factors of the rows, and not their biases, to where they are best."""
        values = known.values - rows[known.user_indices, self.rank_] if self.biased_ else known.values
        solve_rows(known.by_user._replace(values=values), rows, self._items.array, ridge)

    def largest_penalty(self, ratings: Ratings) -> float:
        """λ_max: from this penalty on nothing is learned beside the offset."""
        self._check(ratings)
        probe = copy.copy(self)
        probe._begin(ratings.users, ratings.items)
        probe._take_note(ratings, np.arange(ratings.n_users), np.arange(ratings.n_items))
        return probe._prepare(ratings).largest_penalty

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_training(self)
        check_word("offset", self.offset, Offset)
        check_word("weighting", self.weighting, Weighting)
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
        """Takes note of the offset, and of λ where the settings or the data give it."""
        effects = Bias().fit(ratings)
        biased = self.offset == "bias"
        width = 2 * biased
        users, items = (padded(n, max(width, 1)) for n in ratings.shape)
        if biased:
            users[:, 0], users[:, 1] = effects.user_factors_[:, 1], 1
            items[:, 0], items[:, 1] = 1, effects.item_factors_[:, 0] - np.float32(self.mean_)
        self._set_factors(users, items, 0, biased=biased, offset=0.0 if self.offset == "none" else self.mean_)
        problem = problem_of(ratings, self._levels(ratings), by_count=self.weighting == "count")
        penalty: float | None = getattr(self, "penalty", None)
        self.penalty_ = self._level_of_noise(problem, ratings, effects) if penalty is None else float(penalty)
        return problem

    def _levels(self, ratings: Ratings) -> NDArray[np.float64]:
        """o of every rating."""
        biases = self.user_biases_.astype(np.float64)[ratings.user_indices] + self.item_biases_[ratings.item_indices]
        return self.offset_ + biases

    def _level_of_noise(self, problem: Problem, ratings: Ratings, effects: Bias) -> float:
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

    def _rows_of(self, init: "TraceNormModel", problem: Problem) -> LowRank:
        """Z of the other model at the ids that both know; zero elsewhere."""
        init._check_fitted()
        sides = []
        for theirs, own_ids, their_ids, rows, scale in (
            (init._users, self.users_, init.users_, problem.users, problem.user_scale),
            (init._items, self.items_, init.items_, problem.items, problem.item_scale),
        ):
            numbers = self._own_rows(their_ids, own_ids)[rows]
            factors = theirs.array[numbers, : init.rank_].astype(np.float64)
            factors[numbers < 0] = 0
            sides.append(factors / scale[:, None])
        return LowRank(*sides)

    def _keep(self, problem: Problem, solution: LowRank) -> None:
        """Makes Z the factors of the model."""
        sides = []
        for old, rows, factors, scale in (
            (self._users.array, problem.users, solution.left, problem.user_scale),
            (self._items.array, problem.items, solution.right, problem.item_scale),
        ):
            new = padded(len(old), max(solution.rank + 2 * self.biased_, 1))
            new[rows, : solution.rank] = factors * scale[:, None]
            if self.biased_:
                new[:, solution.rank : solution.rank + 2] = old[:, self.rank_ : self.rank_ + 2]
            sides.append(new)
        self._set_factors(sides[0], sides[1], solution.rank, biased=self.biased_, offset=self.offset_)

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
        problem = problem_of(ratings, self._levels(ratings), by_count=self.weighting == "count")
        iterate = problem.iterate(self._start_at(self, problem))
        largest = spectral_bound(self._descent(problem, iterate))
        return iterate, self._objective(problem, iterate), self._lower_bound(problem, iterate, largest), largest

    def _goal_reached(self, report: EpochReport) -> bool:
        return self.gap is not None and report.gap is not None and report.gap <= self.gap

    def _snapshot(self) -> Any:
        return *super()._snapshot(), self.rank_

    def _restore(self, snapshot: Any) -> None:
        super()._restore(snapshot[:2])
        self.rank_ = snapshot[2]

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, about = super()._state()
        return tensors, about | {"penalty": self.penalty_}

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self.penalty_ = about["penalty"]
