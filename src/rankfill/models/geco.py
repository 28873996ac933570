"""Greedy efficient component optimisation, GECO (Shalev-Shwartz, Gonen, Shamir, ICML 2011).

    min ½ Σ_Ω (r_ui − o_ui − w_ui)²   subject to  rank(W) ≤ rank

A pass adds the leading singular pair of the residuals to orthonormal bases U and V, finds the best core B of
W = U B Vᵀ, a least-squares problem in rank² unknowns, and turns U and V so that B is diagonal. B is found by
conjugate gradients, each step two products with the ratings of width rank; how many steps each pass took is in
`core_steps_`. There is no penalty on B: what keeps noise out is that pairs within its level (λ of `trace_norm.py`,
`penalty_`) are not added. The offset o is that of `trace_norm.py`. The problem is not convex: there is no gap.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.linalg import LowRank, leading_pairs
from rankfill.models.settings import check_whole
from rankfill.models.trace_norm import Iterate, Offset, Problem, TraceNormModel, Weighting

_STEPS, _PRECISION = 200, 1e-8
"""Of the conjugate gradients: the most, and the residual of the normal equations relative to the start."""

Block = NDArray[np.float64]


class GECO(TraceNormModel):
    """Low rank one direction at a time, the mixture of all directions found anew each time.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    penalty: Directions whose singular value is not above this are not added. None: the level of noise in the data.

    >>> from rankfill import GECO, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = GECO(rank=2, penalty=0.1, offset="none").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

    convex = False
    gap: float | None = None
    seed: int = 0
    weighting: Weighting = "constant"
    core_steps_: list[int]

    def __init__(
        self,
        *,
        rank: int = 10,
        penalty: float | None = None,
        offset: Offset = "bias",
        passes: int = 100,
        tol: float | None = 1e-5,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.penalty = penalty
        self.offset: Offset = offset
        self.passes = passes
        self.tol = tol
        self.clip = clip

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("rank", self.rank, 1)

    def _iterates(self, problem: Problem, start: LowRank) -> Iterator[Iterate]:
        self.core_steps_ = []
        users, items = (np.linalg.qr(side)[0] for side in start)
        residual = problem.residual(start)
        core = users.T @ start.left @ (items.T @ start.right).T
        while True:
            if users.shape[1] < min(self.rank, *problem.shape):
                pair = leading_pairs(problem.descent(residual), 1)
                if pair.values[0] > self.penalty_:
                    users, items = (_with(basis, new) for basis, new in ((users, pair.left), (items, pair.right)))
                    core = np.pad(core, ((0, 1), (0, 1)))
            core, residual, steps = _best_core(problem, users, core, items)
            self.core_steps_.append(steps)
            left, values, right = np.linalg.svd(core)
            users, core, items = users @ left, np.diag(values), items @ right.T
            yield Iterate(LowRank.of_pairs(users, values, items), residual)

    def _objective(self, problem: Problem, iterate: Iterate) -> float:
        return 0.5 * float(iterate.residual @ iterate.residual)

    def _keep(self, problem: Problem, solution: LowRank) -> None:
        """As many factors as asked for: zeros where there are no more directions."""
        missing = int(self.rank) - solution.rank
        super()._keep(problem, LowRank(*(np.pad(side, ((0, 0), (0, missing))) for side in solution)))

    def _start_at(self, init: TraceNormModel, problem: Problem) -> LowRank:
        init._check_fitted()
        if init.rank_ != self.rank:
            raise ValueError(f"init has rank {init.rank_}, this model {self.rank}; give both the same settings")
        return super()._start_at(init, problem)

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, about = super()._state()
        return tensors, about | {"core_steps": self.core_steps_}

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self.core_steps_ = about["core_steps"]


def _with(basis: Block, column: Block) -> Block:
    """An orthonormal basis with one direction more."""
    for _ in range(2):  # twice is enough to be orthogonal
        column = column - basis @ (basis.T @ column)
        column = column / np.linalg.norm(column)
    return np.hstack([basis, column])


def _best_core(problem: Problem, users: Block, core: Block, items: Block) -> tuple[Block, NDArray[np.float64], int]:
    """The core that fits best, its residuals, and how many steps of conjugate gradients from the given one it took."""
    residual = problem.values - problem.predicted(LowRank(users @ core, items))
    if core.size == 0:
        return core, residual, 0

    def gradient(errors: NDArray[np.float64]) -> Block:
        return users.T @ problem.descent(errors).times(items)

    enough = (_PRECISION * np.linalg.norm(gradient(problem.values))) ** 2
    downhill = gradient(residual)
    direction, square = downhill, float(np.vdot(downhill, downhill))
    for step in range(_STEPS):
        if square <= enough:
            return core, residual, step
        change = problem.predicted(LowRank(users @ direction, items))
        length = square / float(change @ change)
        core, residual = core + length * direction, residual - length * change
        downhill = gradient(residual)
        square, before = float(np.vdot(downhill, downhill)), square
        direction = downhill + (square / before) * direction
    return core, residual, _STEPS
