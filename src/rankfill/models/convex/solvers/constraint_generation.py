"""Constraint generation on the dual: the solver of `PrimalDual` (Xin, Jaakkola, AISTATS 2012).

    max_Q Σ_Ω (q r − ℓ*(q))  subject to  ‖Q b‖ ≤ λ for all unit vectors b

The dual starts without constraints. A pass looks for directions b that break one (`separation.py`), adds them, and
moves their multipliers v, which are the terms of Z = Σ_l v_l b_lᵀ (`rank_one_terms.py`). L = Σ ℓ + λ Σ ‖v_l‖ never
rises:

    newest      one direction a pass, only its own v is found; what came before stays
    full        one direction a pass, then all v in turn until they gain little (the O(1/r) theorem of the paper)
    retighten   several directions a pass; all v in turn, and all b likewise with users and items swapped, some times
                over; then Z is rewritten in its singular vectors, where L is the objective. Where updates are not exact
                or Z cannot be rewritten, a long step on in the same direction is tried

Two more are as published, to be compared with; the first is for ½e², the second for non-negative terms under ½e²:

    published-tightening    one direction a pass; then each b takes a power step on Q, b ← QᵀQb, and its v is found
                            anew. Nothing says that the new pair is better than the old: L can rise.
    published-weights       one direction a pass; then the weight ω of each term is found anew, a and b stay (eq. 30)

The losses with a kink, |e| and max(|e| − ε, 0), take the proximal points of `proximal_points.py`. These may raise the
objective, so a pass that does not lower it keeps the best Z so far.
"""

from collections.abc import Iterator
from typing import Literal

from rankfill.linalg import LowRank, balance
from rankfill.models.convex.objectives import Penalised
from rankfill.models.convex.problem import Iterate, Problem
from rankfill.models.convex.solvers.proximal_points import ProximalPoints
from rankfill.models.convex.solvers.rank_one_terms import BlockRule, Terms
from rankfill.models.convex.solvers.separation import Separation

Schedule = Literal["newest", "full", "retighten", "published-tightening", "published-weights"]

_FEWEST, _STARTS = 8, 8
_SWEEPS, _SLOW_SWEEPS, _GROWTH = 2, 8, 0.5
"""Turns in a pass, and where terms cannot be rewritten in singular vectors or steps fall short of the best."""
_MOST_TURNS, _LITTLE = 200, 0.05
"""With the schedule "full", a pass ends with a turn that gains less than this share of what the pass has gained."""
_PATIENCE = 5
"""Searches for a better point that count as one pass of a loss with a kink while they are in vain."""
_NARROW = 0.3
"""The width of the rounding at which the centre of `ProximalPoints` stays, in units of `rounding`."""


class ConstraintGeneration:
    """`rounding` is the width over which the kink of a loss is rounded off.

    For non-negative terms, each pass adds to `agreement` the share of the starts that found the best direction.
    """

    def __init__(
        self,
        problem: Problem,
        objective: Penalised,
        start: LowRank,
        *,
        schedule: Schedule,
        nonnegative: bool,
        max_rank: int | None,
        rounding: float,
        seed: int,
        agreement: list[float],
    ) -> None:
        self._agreement = agreement
        self._problem = problem
        self._objective = objective
        self._schedule = schedule
        self._nonnegative = nonnegative
        self._max_rank = max_rank
        self._separation = Separation(problem.shape, seed)
        width = (_NARROW if schedule == "newest" else 1.0) * rounding
        self._terms = Terms(problem, start, BlockRule.of(objective, width, nonnegative=nonnegative))

    def iterates(self) -> Iterator[Iterate]:
        """One pass at a time, for ever."""
        if self._objective.has_kink:
            yield from self._best_points()
        while True:
            self._make_pass()
            yield Iterate(self._terms.product(), self._terms.residual)

    def _best_points(self) -> Iterator[Iterate]:
        """A pass that did not find a better point, than the start to begin with, goes on for a while."""
        points, in_vain = ProximalPoints(self._terms, self._objective), 0
        points.note()
        while True:
            self._make_pass()
            better = points.note()
            if self._schedule != "newest":
                points.move()
                in_vain = 0 if better else in_vain + 1
            if in_vain % _PATIENCE == 0:
                yield points.best._replace(dual=points.dual)

    def _make_pass(self) -> None:
        rank = self._terms.rank
        self._add_constraints()
        self._move(rank)

    def _add_constraints(self) -> None:
        terms, threshold = self._terms, self._objective.penalty
        matrix = self._problem.descent(terms.slopes())
        if self._nonnegative:
            users, items, agreement = self._separation.nonnegative(matrix, _STARTS, threshold)
            self._agreement.append(agreement)
        elif self._schedule == "retighten":
            several = max(_FEWEST, int(_GROWTH * terms.rank))
            users, items, _ = self._separation.several(matrix, terms.items, several, threshold)
        else:
            users, items, _ = self._separation.leading(matrix, threshold)
        most = users.shape[1] if self._schedule == "retighten" else 1
        if self._max_rank is not None:
            most = min(most, max(0, self._max_rank - terms.rank))
        terms.add(users[:, :most], items[:, :most])

    def _move(self, old_rank: int) -> None:
        terms, exact = self._terms, self._objective.loss == "squared"
        if self._schedule == "newest":
            for _ in range(1 if exact else _SLOW_SWEEPS):
                terms.move_users(first=old_rank)
        elif self._schedule == "full":
            _move_until_still(terms)
        elif self._schedule == "published-tightening":
            terms.take_power_steps()
        elif self._schedule == "published-weights":
            terms.move_weights()
        else:
            slow = self._nonnegative or not exact
            terms.tighten()
            before = terms.product()
            for _ in range((_SLOW_SWEEPS if slow else _SWEEPS) - 1):
                terms.tighten()
            if slow:
                terms.stride(before)
            if not self._nonnegative:
                terms.hold(balance(terms.product()))


def _move_until_still(terms: Terms) -> None:
    first = before = terms.objective()
    for _ in range(_MOST_TURNS):
        terms.move_users()
        after = terms.objective()
        if before - after <= _LITTLE * (first - after):
            return
        before = after
