"""Primal–dual completion by constraint generation (Xin, Jaakkola, AISTATS 2012).

    J(W) = Σ_Ω ℓ(r_ui − o_ui − w_ui) + λ ‖W‖_*        dual: max_Q Σ_Ω (q r − ℓ*(q))  subject to  ‖Q b‖ ≤ λ, ‖b‖ = 1

The dual starts without constraints. A pass looks for directions b that break one (separation: leading singular pairs of
the residuals' slopes Q), adds them, and moves the multipliers v of the constraints, which are the terms of
W = Σ_l v_l b_lᵀ, by the block updates of `rank_one_terms.py`. L = Σ ℓ + λ Σ ‖v_l‖ ≥ J never rises, whatever the
schedule:

    newest      one direction a pass, only its own v is found; what came before stays
    full        one direction a pass, then all v in turn until L stays (the O(1/r) theorem of the paper)
    retighten   several directions a pass; all v in turn, and all b likewise with users and items swapped; then Z is
                rewritten in its singular vectors, where L = J. The paper tightens b by power steps on Q, which can
                raise L.

λ, the offset o and the weighting are those of `trace_norm.py`. Losses other than ½e² are moved along parabolas that
touch them from above (method 1 of the paper); |e| is rounded off below a width that shrinks from pass to pass, and the
objective counts e²/2δ + ½δ there. With nonnegative=True,

    Σ_Ω ½(r − w)² + λ Σ_l ‖a_l‖ ‖b_l‖,   W = Σ_l a_l b_lᵀ,  a, b ≥ 0:

the same updates with max(s, 0), and a separation a ∝ max(0, Q b), b ∝ max(0, Qᵀ a) from several random starts. That is
NP-hard, so a start may miss: `agreement_` tells the share of the starts of each pass that found the best direction.
Its gap is proved against the problem without the constraint: the true one is smaller.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import BlockLoss, Ridge, residuals
from rankfill.linalg import LowRank, balanced
from rankfill.models.rank_one_terms import BlockRule, Terms
from rankfill.models.separation import Separation
from rankfill.models.settings import check_no_negative, check_positive, check_signs, check_whole, check_word
from rankfill.models.trace_norm import Iterate, Offset, Problem, TraceNormModel, Weighting
from rankfill.models.training import Callback
from rankfill.objectives.losses import CURVATURE, loss_conjugates, loss_slopes, loss_values

Schedule = Literal["newest", "full", "retighten"]

_FEWEST, _STARTS = 8, 8
_SWEEPS, _SLOW_SWEEPS, _GROWTH = 2, 8, 0.5
"""Turns in a pass, and where terms cannot be rewritten in singular vectors or steps fall short of the best."""
_FULL_SWEEPS, _FULL_GAIN = 50, 1e-6
_FOLD_IN_STEPS = 50
_STILL = 1e-4
"""A pass that gains less than this share makes the rounding of |e| narrower."""
_FIRST_WIDTH, _LAST_WIDTH, _FOLD_IN_WIDTH = 1.0, 1e-3, 0.3
"""Of the rounding of |e|, in units of the mean deviation of the ratings."""


class PrimalDual(TraceNormModel):
    """Convex completion one direction at a time: low rank from the start, any loss, non-negative on request.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    penalty: How far singular values are pulled to zero; more gives a lower rank. None: the level of noise in the data.
    loss: What an error costs; logistic is for ratings of -1 and +1 and needs offset="none".
    epsilon: Up to this size the loss huber is the square of the error.
    nonnegative: Terms with non-negative factors only; needs offset="none".
    schedule: What moves in a pass: the newest term, all of them on one side, or all on both sides.
    max_rank: The most terms. None: as many as break their constraints.

    >>> from rankfill import PrimalDual, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = PrimalDual(penalty=0.5, offset="none").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

    agreement_: list[float]

    def __init__(
        self,
        *,
        penalty: float | None = None,
        loss: BlockLoss = "squared",
        epsilon: float = 0.5,
        nonnegative: bool = False,
        schedule: Schedule = "retighten",
        max_rank: int | None = None,
        offset: Offset = "bias",
        weighting: Weighting = "constant",
        gap: float | None = None,
        passes: int = 300,
        tol: float | None = 1e-5,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.penalty = penalty
        self.loss: BlockLoss = loss
        self.epsilon = epsilon
        self.nonnegative = nonnegative
        self.schedule: Schedule = schedule
        self.max_rank = max_rank
        self.offset: Offset = offset
        self.weighting: Weighting = weighting
        self.gap = gap
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_word("loss", self.loss, BlockLoss)
        check_word("schedule", self.schedule, Schedule)
        check_positive("epsilon", self.epsilon)
        if self.max_rank is not None:
            check_whole("max_rank", self.max_rank, 1)
        if self.loss == "logistic":
            check_signs(ratings)
        for needs, words in ((self.nonnegative, "nonnegative=True"), (self.loss == "logistic", 'loss="logistic"')):
            if needs and self.offset != "none":
                raise ValueError(
                    f'{words} learns the ratings as they are, found offset={self.offset!r}; use offset="none"'
                )
        if self.nonnegative:
            check_no_negative(ratings, "nonnegative=True", "use ratings.shifted()")

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self.agreement_ = []
        self._spread = float(np.abs(ratings.values - ratings.mean()).mean(dtype=np.float64)) or 1.0
        self._rounding = _FIRST_WIDTH * self._spread
        super()._learn(ratings, validation, callbacks, init)

    def _iterates(self, problem: Problem, start: LowRank) -> Iterator[Iterate]:
        terms = Terms(problem, start, BlockRule(self.penalty_, self.loss, nonnegative=bool(self.nonnegative)))
        separation = Separation(problem.shape, self.seed)
        objective = np.inf
        while True:
            terms.rule = terms.rule._replace(width=self._loss_width)
            rank = terms.rank
            self._add_constraints(problem, terms, separation)
            self._move(problem, terms, rank)
            iterate = Iterate(terms.product(), terms.residual)
            before, objective = objective, self._objective(problem, iterate)
            yield iterate
            if objective > (1 - _STILL) * before:
                self._rounding = max(0.5 * self._rounding, _LAST_WIDTH * self._spread)

    def _add_constraints(self, problem: Problem, terms: Terms, separation: Separation) -> None:
        room = min(problem.shape) if self.max_rank is None else self.max_rank - terms.rank
        matrix = self._descent(problem, Iterate(terms.product(), terms.residual))
        if self.nonnegative:
            users, items, agreement = separation.nonnegative(matrix, _STARTS, self.penalty_)
            self.agreement_.append(agreement)
        elif self.schedule == "retighten":
            most = max(_FEWEST, int(_GROWTH * terms.rank))
            users, items, _ = separation.several(matrix, terms.items, most, self.penalty_)
        else:
            users, items, _ = separation.leading(matrix, self.penalty_)
        most = max(0, room if self.schedule == "retighten" else min(room, 1))
        terms.add(users[:, :most], items[:, :most])

    def _move(self, problem: Problem, terms: Terms, old_rank: int) -> None:
        if self.schedule == "newest":
            terms.move_users(first=old_rank)
        elif self.schedule == "full":
            self._move_until_still(problem, terms)
        else:
            slow = self.nonnegative or self.loss != "squared"
            for _ in range(_SLOW_SWEEPS if slow else _SWEEPS):
                terms.tighten()
            if not self.nonnegative:
                terms.hold(balanced(terms.product()))

    def _move_until_still(self, problem: Problem, terms: Terms) -> None:
        objective = np.inf
        for _ in range(_FULL_SWEEPS):
            terms.move_users()
            lower = self._objective(problem, Iterate(terms.product(), terms.residual))
            if lower >= objective * (1 - _FULL_GAIN):
                return
            objective = lower

    @property
    def _loss_width(self) -> float:
        return self._rounding if self.loss == "absolute" else float(self.epsilon)

    def _objective(self, problem: Problem, iterate: Iterate) -> float:
        width, ratings = self._loss_width, problem.pattern.by_user.values
        if self.loss == "absolute":
            costs = loss_values("huber", ratings, iterate.residual, width) / width + 0.5 * width
        else:
            costs = loss_values(self.loss, ratings, iterate.residual, width)
        return float(costs.sum()) + self.penalty_ * iterate.solution.trace_norm

    def _slopes(self, ratings: NDArray[np.float32], residual: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._slopes_of_width(ratings, residual, self._loss_width)

    def _slopes_of_width(
        self, ratings: NDArray[np.float32], residual: NDArray[np.floating], width: float
    ) -> NDArray[np.float64]:
        if self.loss == "absolute":
            return loss_slopes("huber", ratings, residual, width) / width
        return loss_slopes(self.loss, ratings, residual, width)

    def _lower_bound(self, problem: Problem, iterate: Iterate, largest: float) -> float:
        if self.loss == "squared":
            return super()._lower_bound(problem, iterate, largest)
        ratings = problem.pattern.by_user.values
        share = min(1.0, self.penalty_ / largest) if largest > 0 else 1.0
        dual = share * self._slopes(ratings, iterate.residual)
        return float(dual @ problem.values - loss_conjugates(self.loss, ratings, dual).sum())

    def _fit_rows(self, known: Ratings, rows: NDArray[np.float32], ridge: Ridge) -> None:
        """For losses other than ½e², on parabolas that touch them from above and have the same curvature everywhere."""
        ridge = replace(ridge, nonnegative=bool(self.nonnegative))
        if self.loss == "squared":
            return super()._fit_rows(known, rows, ridge)
        width = _FOLD_IN_WIDTH * self._spread if self.loss == "absolute" else self._loss_width
        curvature = CURVATURE.get(self.loss, 1 / width)
        ridge = replace(ridge, penalty=ridge.penalty / curvature)
        for _ in range(_FOLD_IN_STEPS):
            errors = residuals(known.by_user, rows, self._items.array, self.offset_)
            towards = self._slopes_of_width(known.values, errors, width) / curvature - errors
            super()._fit_rows(known.with_values(towards.__add__), rows, ridge)
        return None

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, about = super()._state()
        return tensors, about | {"agreement": self.agreement_, "spread": self._spread, "rounding": self._rounding}

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self.agreement_, self._spread, self._rounding = about["agreement"], about["spread"], about["rounding"]
