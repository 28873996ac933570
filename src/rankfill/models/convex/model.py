"""The base of models that complete a matrix under its trace norm: they keep the iterates of a solver and prove gaps.

The objectives with their bounds from below are in `objectives.py`, the offset and the weighting in `offset.py`.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.linalg import LowRank, balance, one_blas_thread, spectral_bound
from rankfill.models.base.forgetting import Left
from rankfill.models.base.settings import check_positive, without_hints
from rankfill.models.base.training import Callback, EpochReport, Training
from rankfill.models.convex.gap_proof import GapProof
from rankfill.models.convex.noise import effects_residual, noise_penalty, noise_trace
from rankfill.models.convex.objectives import Bounded, Objective, Penalised, relative_gap
from rankfill.models.convex.offset import OffsetModel
from rankfill.models.convex.problem import Iterate, Problem

AnyObjective = TypeVar("AnyObjective", bound=Objective)


class TraceNormModel(OffsetModel, Generic[AnyObjective]):
    """Every iterate of the solver is one pass: kept, measured and reported here."""

    gap: float | None

    @abstractmethod
    def _objective(self, problem: Problem, ratings: Ratings) -> AnyObjective:
        """Makes the objective from the settings, or from the data where they leave it open."""

    @abstractmethod
    def _learned_objective(self) -> AnyObjective:
        """The objective of the last fit."""

    def largest_penalty(self, ratings: Ratings) -> float:
        """Tells from which penalty on nothing is learned beside the offset; the model stays as it is.

        Parameters
        ----------
        ratings : Ratings
            What the model would learn from.

        Returns
        -------
        float
            λ_max, the largest singular value of the slopes of the loss at the offset, proved not to be too small.
        """
        self._check(ratings)
        with without_hints():
            _, problem = self._offset_alone(ratings)
        return self._penalised(1.0).largest_useful(problem)

    def _penalised(self, penalty: float) -> Penalised:
        return Penalised(penalty)

    def _noise_penalty(self, problem: Problem, ratings: Ratings) -> float:
        left_over = problem.values if self.biased_ else effects_residual(ratings)
        slopes = self._penalised(1.0).slopes(ratings.values, left_over)
        return noise_penalty(
            problem, slopes, by_count=self.weighting == "count", without_effects=self.biased_, seed=self.seed
        )

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        if self.gap is not None:
            check_positive("gap", self.gap)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        problem = self._prepare(ratings)
        start = LowRank.zero(*problem.shape) if init is None else self._solution_of(init, problem)
        with one_blas_thread(), Training(self, validation, [*callbacks, self._goal_reached]) as training:
            objective = self._objective(problem, ratings)
            for epochs in training.stretches():
                if training.has_begun:
                    start = self._solution_of(self, problem)
                proof = GapProof(self.gap, self.seed)
                for _, iterate in zip(epochs, self._solve(problem, objective, start), strict=False):
                    self._keep_iterate(problem, objective, iterate)
                    value = objective.value(problem, iterate)
                    gap_with = partial(relative_gap, objective, problem, iterate, value)
                    gap = proof.prove(objective.descent(problem, iterate), iterate.solution, gap_with)
                    training.report(value, float(np.sqrt(np.mean(iterate.residual**2))), gap)

    def _keep_iterate(self, problem: Problem, objective: Objective, iterate: Iterate) -> None:
        self._keep(problem, iterate.solution)
        self.penalty_ = objective.row_penalty(problem, iterate)

    @abstractmethod
    def _solve(self, problem: Problem, objective: AnyObjective, start: LowRank) -> Iterator[Iterate]:
        """One iterate per pass; training ends with them. `start` is zero, or what `init` has learned."""

    def _solution_of(self, fitted: "TraceNormModel[AnyObjective]", problem: Problem) -> LowRank:
        """Z of a fitted model, balanced."""
        return balance(self._rows_of(fitted, problem))

    def _proof(self, ratings: Ratings, seed: int) -> tuple[Iterate, float, float, float]:
        """Evaluates the model on its training ratings: Z, its value, the lower bound, and the bound of σ₁."""
        problem, objective = self._problem(ratings), self._learned_objective()
        iterate = self._learned_iterate(problem)
        largest = spectral_bound(objective.descent(problem, iterate), seed)
        value, bound = objective.value(problem, iterate), objective.lower_bound(problem, iterate, largest)
        return iterate, value, bound, largest

    def _learned_iterate(self, problem: Problem) -> Iterate:
        return problem.iterate(self._solution_of(self, problem))

    def _goal_reached(self, report: EpochReport) -> bool:
        return self.gap is not None and report.gap is not None and report.gap <= self.gap


class PenalisedModel(TraceNormModel[Penalised]):
    """Models with a penalty λ; a dual point that does not follow from residuals is kept for the certificate."""

    _learned: ClassVar[tuple[str, ...]] = ("_dual",)

    penalty: Any
    """A number, None, or a word that the model knows."""
    _dual: NDArray[np.float64]

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        self._check_penalty()

    def _check_penalty(self) -> None:
        if self.penalty is not None:
            check_positive("penalty", self.penalty)

    def _objective(self, problem: Problem, ratings: Ratings) -> Penalised:
        penalty = self._noise_penalty(problem, ratings) if self.penalty is None else float(self.penalty)
        return self._penalised(penalty)

    def _keep_iterate(self, problem: Problem, objective: Objective, iterate: Iterate) -> None:
        super()._keep_iterate(problem, objective, iterate)
        self._dual = np.zeros(0) if iterate.dual is None else iterate.dual

    def _forget_entries(self, left: Left) -> None:
        super()._forget_entries(left)
        if len(self._dual):
            self._dual = self._dual[left.entries]

    def _learned_iterate(self, problem: Problem) -> Iterate:
        iterate = super()._learned_iterate(problem)
        return iterate._replace(dual=self._dual) if len(self._dual) else iterate

    def _learned_objective(self) -> Penalised:
        return self._penalised(self.penalty_)


class BoundedModel(TraceNormModel[Bounded]):
    """Models with a bound τ."""

    _learned: ClassVar[tuple[str, ...]] = ("trace_",)

    trace: float | None
    trace_: float

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        if self.trace is not None:
            check_positive("trace", self.trace)

    def _objective(self, problem: Problem, ratings: Ratings) -> Bounded:
        given = self.trace
        self.trace_ = noise_trace(problem, self._noise_penalty(problem, ratings)) if given is None else float(given)
        return Bounded(self.trace_)

    def _learned_objective(self) -> Bounded:
        return Bounded(self.trace_)
