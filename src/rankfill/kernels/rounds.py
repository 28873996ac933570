"""Passive-aggressive rounds: one update, a pass over rows, and rounds in order of arrival."""

from dataclasses import dataclass
from numbers import Real
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.factors import LANES
from rankfill.kernels.rows import Rows
from rankfill.kernels.threads import get_threads, instruction_set

_GOLDEN = 0x9E3779B97F4A7C15

Slack = Literal["none", "linear", "quadratic"]
Root = Literal["exact", "bisection", "published-bisection", "approximate"]


@dataclass(frozen=True)
class Rule:
    """What one round does. `nonnegative` speaks of the row that moves.

    `averaged` says where a pass leaves a row: 0 where its last round left it; otherwise at the mean of where its rounds
    left it and where it began, the beginning counted this many times. Rounds in order of arrival know no mean.
    """

    C: float = 0.01
    epsilon: float = 0.0
    slack: Slack = "linear"
    root: Root = "approximate"
    nonnegative: bool = True
    averaged: float = 0.0

    def __post_init__(self) -> None:
        for name, word, allowed in (("slack", self.slack, Slack), ("root", self.root, Root)):
            if word not in get_args(allowed):
                raise ValueError(f"{name} must be one of {', '.join(get_args(allowed))}, found {word!r}")
        if not (isinstance(self.C, Real) and 0 < self.C < np.inf):
            raise ValueError(f"C must be a positive number, found {self.C!r}; small values (0.001 to 0.1) move gently")
        if not (isinstance(self.epsilon, Real) and 0 <= self.epsilon < np.inf):
            raise ValueError(f"epsilon must be zero or a positive number, found {self.epsilon!r}")
        if not (isinstance(self.averaged, Real) and 0 <= self.averaged < np.inf):
            raise ValueError(f"averaged must be zero or a positive number, found {self.averaged!r}")

    def native(self) -> _native.Rule:
        return _native.Rule(
            slack=self.slack,
            root=self.root,
            nonnegative=self.nonnegative,
            C=self.C,
            epsilon=self.epsilon,
            averaged=self.averaged,
        )


class Losses(NamedTuple):
    """Sums over the rounds of a pass, each taken before its update.

    `loss` is Σ ℓ, or Σ ℓ² under quadratic slack, with ℓ = max(|y − ŷ| − ε, 0); `absolute` is Σ |y − ŷ|.
    """

    loss: float
    absolute: float


def passive_aggressive_update(
    w: NDArray[np.floating],
    x: NDArray[np.floating],
    y: float,
    *,
    C: float = 0.01,
    epsilon: float = 0.0,
    slack: Slack = "linear",
    root: Root = "exact",
    nonnegative: bool = True,
) -> NDArray[np.floating]:
    """One round: the row nearest to `w` whose product with `x` is within `epsilon` of `y`, up to the slack.

    Computes in float32 when both rows are float32, otherwise in float64; `w` is left as it is.

    >>> passive_aggressive_update(np.array([1.0, 1.0]), np.array([1.0, 3.0]), 2.0, slack="none")
    array([0.8, 0.4])
    """
    rule = Rule(C=C, epsilon=epsilon, slack=slack, root=root, nonnegative=nonnegative)
    w, x = np.asarray(w), np.asarray(x)
    if w.ndim != 1 or w.shape != x.shape:
        raise ValueError(f"w and x must be vectors of one length, found shapes {w.shape} and {x.shape}")
    if nonnegative and (w < 0).any():
        raise ValueError(f"nonnegative=True needs w >= 0, found {w.min()}")
    if root == "published-bisection" and not (nonnegative and y >= 0 and (x >= 0).all()):
        raise ValueError('root="published-bisection" is for w, x and y of zero and above; use root="bisection"')
    dtype = np.float32 if w.dtype == x.dtype == np.float32 else np.float64
    moved, fixed = np.zeros((2, -(-max(len(w), 1) // LANES) * LANES), dtype=dtype)
    moved[: len(w)], fixed[: len(x)] = w, x
    _native.update(moved, fixed, y, rule.native(), instruction_set())
    return moved[: len(w)]


def passive_aggressive_pass(
    rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], rule: Rule, seed: int, first: int = 0
) -> Losses:
    """Moves every row once through its entries, in an order drawn from (seed, row), the other side fixed.

    Of a block of rows `first` is the number of the first, by which they are drawn as in the whole matrix.
    """
    sums = 0.0, 0.0
    for (place, block), own in rows.blocks_with(moving):
        sums = _native.passive_aggressive_pass(
            block.pattern,
            block.values,
            own,
            fixed,
            rule.native(),
            (seed + _GOLDEN * (first + place)) % 2**64,  # a row's draws depend on seed + golden · row alone
            plainly=False,
            threads=get_threads(),
            isa=instruction_set(),
            before=sums,
        )
    return Losses(*sums)


def passive_aggressive_online(
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    values: NDArray[np.float32],
    user_factors: NDArray[np.float32],
    item_factors: NDArray[np.float32],
    user_rule: Rule,
    item_rule: Rule,
) -> Losses:
    """Rounds in the order given: p_u moves against q_i, and q_i against the p_u of before the round."""
    sums = _native.passive_aggressive_online(
        users, items, values, user_factors, item_factors, user_rule.native(), item_rule.native(), instruction_set()
    )
    return Losses(*sums)
