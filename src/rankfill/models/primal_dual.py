"""Primal–dual completion by constraint generation (Xin, Jaakkola, AISTATS 2012).

    J(W) = Σ_Ω ℓ(r_ui − o_ui − w_ui) + λ ‖W‖_*        dual: max_Q Σ_Ω (q r − ℓ*(q))  subject to  ‖Q b‖ ≤ λ, ‖b‖ = 1

The dual starts without constraints. A pass looks for directions b that break one (separation: leading singular pairs of
the residuals' slopes Q), adds them, and moves the multipliers v of the constraints, which are the terms of
W = Σ_l v_l b_lᵀ, by the block updates of `rank_one_terms.py`. L = Σ ℓ + λ Σ ‖v_l‖ ≥ J never rises, whatever the
schedule:

    newest      one direction a pass, only its own v is found; what came before stays
    full        one direction a pass, then all v in turn until they gain little (the O(1/r) theorem of the paper)
    retighten   several directions a pass; all v in turn, and all b likewise with users and items swapped, some times
                over; then Z is rewritten in its singular vectors, where L = J. Where updates are not exact or Z cannot
                be rewritten, a long step on in the same direction is tried. The paper tightens b by power steps on Q,
                which can raise L.

λ, the offset o and the weighting are those of `trace_norm.py`. Losses other than ½e² are moved along parabolas that
touch them from above (method 1 of the paper); |e| has a kink, which takes the proximal points of `proximal_points.py`.
These may raise the objective, so a pass that does not lower it keeps the best W so far. With nonnegative=True,

    Σ_Ω ½(r − w)² + λ Σ_l ‖a_l‖ ‖b_l‖,   W = Σ_l a_l b_lᵀ,  a, b ≥ 0:

the same updates with max(s, 0), and a separation a ∝ max(0, Q b), b ∝ max(0, Qᵀ a) from several random starts. That is
NP-hard, so a start may miss: `agreement_` tells the share of the starts of each search that found the best direction.
Its gap is proved against the problem without the constraint: the true one is smaller.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import BlockLoss, Ridge, residuals
from rankfill.linalg import LowRank, SparseMatrix, balanced
from rankfill.models.proximal_points import ProximalPoints
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
_MOST_TURNS, _LITTLE = 200, 0.05
"""Of the schedule full: turns in a pass end with one that gains less than this share of what the pass has gained."""
_FOLD_IN_STEPS = 50
_PATIENCE = 5
"""Searches for a better point that count as one pass of the absolute loss while they are in vain."""
_NARROW = 0.3
"""Where the centre of `ProximalPoints` stays: the width of the rounding, in units of the spread of the ratings."""


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
        self._dual = np.zeros(0)
        self._spread = float(np.abs(ratings.values - ratings.mean()).mean(dtype=np.float64)) or 1.0
        super()._learn(ratings, validation, callbacks, init)

    def _iterates(self, problem: Problem, start: LowRank) -> Iterator[Iterate]:
        terms = Terms(problem, start, self._block_rule(_NARROW if self.schedule == "newest" else 1.0))
        passes = self._endless_passes(problem, terms)
        if self.loss == "absolute":
            return self._best_points(terms, passes)
        return (Iterate(terms.product(), terms.residual) for _ in passes)

    def _block_rule(self, width: float = 1.0) -> BlockRule:
        """With |e| rounded off over so much, in units of the spread of the ratings."""
        absolute = self.loss == "absolute"
        width = width * self._spread if absolute else float(self.epsilon)
        return BlockRule(self.penalty_, self.loss, width, bool(self.nonnegative))

    def _endless_passes(self, problem: Problem, terms: Terms) -> Iterator[None]:
        separation = Separation(problem.shape, self.seed)
        while True:
            rank = terms.rank
            self._add_constraints(problem, terms, separation)
            self._move(terms, rank)
            yield

    def _best_points(self, terms: Terms, passes: Iterator[None]) -> Iterator[Iterate]:
        """A pass that did not find a better point goes on for a while."""
        points, in_vain = ProximalPoints(terms), 0
        for _ in passes:
            better = points.note()
            if self.schedule != "newest":
                points.move()
                in_vain = 0 if better else in_vain + 1
            if in_vain % _PATIENCE == 0:
                self._dual = points.dual
                yield points.best

    def _add_constraints(self, problem: Problem, terms: Terms, separation: Separation) -> None:
        room = min(problem.shape) if self.max_rank is None else self.max_rank - terms.rank
        matrix = problem.descent(terms.slopes())
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

    def _move(self, terms: Terms, old_rank: int) -> None:
        exact = self.loss == "squared"
        if self.schedule == "newest":
            for _ in range(1 if exact else _SLOW_SWEEPS):
                terms.move_users(first=old_rank)
        elif self.schedule == "full":
            self._move_until_still(terms)
        else:
            slow = self.nonnegative or not exact
            terms.tighten()
            before = terms.product()
            for _ in range((_SLOW_SWEEPS if slow else _SWEEPS) - 1):
                terms.tighten()
            if slow:
                terms.stride(before)
            if not self.nonnegative:
                terms.hold(balanced(terms.product()))

    def _move_until_still(self, terms: Terms) -> None:
        first = before = terms.objective()
        for _ in range(_MOST_TURNS):
            terms.move_users()
            after = terms.objective()
            if before - after <= _LITTLE * (first - after):
                return
            before = after

    def _objective(self, problem: Problem, iterate: Iterate) -> float:
        costs = loss_values(self.loss, problem.pattern.by_user.values, iterate.residual, self.epsilon)
        return float(costs.sum()) + self.penalty_ * iterate.solution.trace_norm

    def _slopes(self, ratings: NDArray[np.float32], residual: NDArray[np.float64]) -> NDArray[np.float64]:
        return loss_slopes(self.loss, ratings, residual, self.epsilon)

    def _descent(self, problem: Problem, iterate: Iterate) -> SparseMatrix:
        return problem.descent(self._dual) if self.loss == "absolute" else super()._descent(problem, iterate)

    def _lower_bound(self, problem: Problem, iterate: Iterate, largest: float) -> float:
        if self.loss == "squared":
            return super()._lower_bound(problem, iterate, largest)
        ratings = problem.pattern.by_user.values
        share = min(1.0, self.penalty_ / largest) if largest > 0 else 1.0
        dual = share * (self._dual if self.loss == "absolute" else self._slopes(ratings, iterate.residual))
        return float(dual @ problem.values - loss_conjugates(self.loss, ratings, dual).sum())

    def _fit_rows(self, known: Ratings, rows: NDArray[np.float32], ridge: Ridge) -> None:
        """For losses other than ½e², on parabolas that touch them from above and have the same curvature everywhere;
        for |e| around a centre that moves with each, as in `proximal_points.py`.
        """
        ridge = replace(ridge, nonnegative=bool(self.nonnegative))
        if self.loss == "squared":
            return super()._fit_rows(known, rows, ridge)
        rule = self._block_rule()
        curvature = CURVATURE.get(self.loss, 1 / rule.width)
        ridge = replace(ridge, penalty=ridge.penalty / curvature)
        centre = np.zeros(len(known))
        for _ in range(_FOLD_IN_STEPS):
            errors = residuals(known.by_user, rows, self._items.array, self.offset_)
            steps = rule.slopes(known.values, errors + centre) / curvature
            towards = steps - centre - errors
            if self.loss == "absolute":
                towards, centre = towards + steps, steps
            super()._fit_rows(known.with_values(towards.__add__), rows, ridge)
        return None

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, about = super()._state()
        about |= {"agreement": self.agreement_, "spread": self._spread}
        return tensors | {"dual": self._dual.astype(np.float32)}, about

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self.agreement_, self._spread = about["agreement"], about["spread"]
        self._dual = tensors["dual"].astype(np.float64)
