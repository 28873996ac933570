"""Factors and biases by stochastic gradient descent, one rating at a time.

    min Σ_Ω s² ℓ((r_ui − r̂_ui)/s) + ½ Σ_u (λ n_u + κ)(s ‖p_u‖² + b_u²) + ½ Σ_i (λ n_i + κ)(s ‖q_i‖² + b_i²)
    r̂_ui = μ + b_u + b_i + p_u·q_i

ℓ is a loss of `objectives/losses.py`; a row with n ratings is held by λ = `penalty` for each and κ = `shrinkage` once.
s is the power of 4 nearest to the standard deviation of the ratings (1 for stars from 1 to 5, 1 for the logistic loss):
rates and penalties mean the same for ratings of any size. shrinkage=None tries a few on ratings kept aside
(`shrinkage_`), because noise needs more than signal. With `biases=False`, r̂ = p_u·q_i; for logistic loss, μ = 0.

A round looks at one rating and moves p_u, q_i, b_u, b_i down the gradient of its term, in which a row is held by
λ + κ/n, by a step η (`step`):

    constant      rate                          inverse   rate / (1 + rate λ t), which tends to 1/(λ t)
    sqrt          rate / √(1 + t/n)             power     rate · (1 + t/n)^−power
    adagrad       rate / √G of each row, G = 1 + Σ ‖gradient of the row‖²/rank
    line-search   the first of rate, rate/2, … with f(θ − η∇f) ≤ f(θ) − ½ η ‖∇f‖², f the term of this rating

t is the number of rounds before, n the number of ratings, so that t/n counts passes. Factors that `nonnegative` names
are put back to zero when a round makes them negative (biases are free).

A pass makes a round for every rating. The ratings are put once into a grid of blocks, at most 32 × 32, that depends
on the ratings and the seed alone (12 bytes a rating); blocks that share no row are worked on at the same time. So the
result is the same to the bit for any number of threads. The objective in `history_` has each loss before its round and
the penalty after the pass. `averaging` gives the mean of the factors after each pass (Polyak and Ruppert) instead of
the last; rounds go on from the last.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Growing, padded
from rankfill.kernels.gradients import (
    GradientRule,
    Grid,
    RoundSums,
    StepName,
    gradient_online,
    gradient_pass,
    make_grid,
)
from rankfill.models.base import WarmPath
from rankfill.models.online import OnlineFactorModel
from rankfill.models.scaled import SHRINKAGES, RowPair, ScaledFactorModel
from rankfill.models.settings import Nonnegative, check_positive, check_word
from rankfill.models.training import Callback, Training, order_seed
from rankfill.objectives.losses import LossName
from rankfill.objectives.measures import Measure


class SGD(ScaledFactorModel, OnlineFactorModel):
    """Factors and biases by stochastic gradient descent, for any loss, in batch and online.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.
    The two biases take two columns of the rows of factors, which come in sixteens: 14, 30 and 62 fill them.

    loss: What an error costs; logistic is for ratings of -1 and +1.
    epsilon: The width of the loss: errors up to it cost nothing (epsilon-insensitive) or their square (huber).

    >>> from rankfill import SGD, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = SGD(rank=2, shrinkage=0.0, passes=100, tol=None).fit(ratings)
    >>> model.predict(0, [2]) < 2.5  # nobody likes the last one
    array([ True])
    """

    warm_path: ClassVar[WarmPath] = "none"

    _user_memory: Growing
    _item_memory: Growing
    _period: int
    _rounds: int
    _total: float

    def __init__(
        self,
        *,
        rank: int = 30,
        loss: LossName = "squared",
        step: StepName = "adagrad",
        rate: float = 0.1,
        power: float = 0.5,
        penalty: float = 0.04,
        shrinkage: float | None = None,
        averaging: bool = False,
        nonnegative: Nonnegative = "none",
        biases: bool = True,
        epsilon: float = 0.5,
        passes: int = 30,
        tol: float | None = 0.0,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.loss: LossName = loss
        self.step: StepName = step
        self.rate = rate
        self.power = power
        self.penalty = penalty
        self.shrinkage = shrinkage
        self.averaging = averaging
        self.nonnegative: Nonnegative = nonnegative
        self.biases = biases
        self.epsilon = epsilon
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    @property
    def measure(self) -> Measure:  # type: ignore[override]
        """The history is kept in the mean absolute error for the losses that grow with it, else in RMSE."""
        return "mae" if self.loss in ("absolute", "epsilon-insensitive") else "rmse"

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Rows (p_u, b_u, 1) of people not in training: `passes` passes over their ratings, the items as they are."""
        self._check_fitted()
        known = self._in_own_items(new_user_ratings)
        rated, items = np.unique(known.item_indices, return_inverse=True)
        fixed = self._units(self._items.array[rated], 1, 1 / self._scale)
        rows = padded(known.n_users, self._width)
        rows[:, self.rank_ + 1 : self._width] = 1
        rule = replace(self._rule(), step="adagrad")
        still = np.full(len(rated), np.inf, np.float32)  # a row with an infinite sum of gradients takes no step
        memory, targets = np.ones(known.n_users, np.float32), self._targets(known.values)
        held = self._held(known.by_user.counts())[known.user_indices]
        none = np.zeros(len(known), np.float32)
        for _ in range(self.passes):
            gradient_online(
                known.user_indices, items.astype(np.int32), targets, 0, rows, fixed, memory, still, held, none, rule
            )
        return self._units(rows, 0, self._scale)[:, : self._width]

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_word("step", self.step, StepName)
        check_positive("rate", self.rate)
        check_positive("power", self.power, or_zero=True)
        check_positive("epsilon", self.epsilon, or_zero=True)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self._begin_fit(ratings, init)
        self._begin_rounds(len(ratings), self.mean_ * len(ratings))
        grid = make_grid(
            ratings.user_indices,
            ratings.item_indices,
            self._targets(ratings.values),
            (ratings.n_users, ratings.n_items),
            self.seed,
        )
        moving = self._users.array, self._items.array
        if self.averaging or self._scale != 1:
            moving = self._to_units()
        with Training(self, validation, callbacks) as training:
            for epoch in training.epochs():
                sums = self._pass(grid, moving, epoch)
                self._publish(moving, epoch)
                training.report(self._scale**2 * sums.loss + self._penalties(), self._train_error(sums, len(ratings)))

    def _pass(self, grid: Grid, moving: RowPair, epoch: int) -> RoundSums:
        rng = np.random.default_rng(order_seed(self.seed, epoch))
        strata = rng.permutation(grid.groups).astype(np.int32)
        memory = self._user_memory.array, self._item_memory.array
        held = self._held(self._user_counts.array), self._held(self._item_counts.array)
        sums = gradient_pass(grid, strata, *moving, *memory, *held, self._rule(), self._rounds)
        self._rounds += len(grid.values)
        if not np.isfinite(sums.squared):
            raise ValueError(f"rate={self.rate} is too large for these ratings: the factors grew without end; lower it")
        return sums

    def _publish(self, moving: RowPair, epoch: int) -> None:
        """Shows the rows after a pass: the last ones, or with averaging the mean of those after each pass."""
        if not self.averaging and self._scale == 1:
            return
        for side, own in enumerate((self._users, self._items)):
            shown = self._units(moving[side], side, self._scale)
            if self.averaging and epoch > 1:
                shown = own.array + (shown - own.array) / np.float32(epoch)
            own.array[:] = shown

    def _held(self, counts: NDArray[np.int64]) -> NDArray[np.float32]:
        """The penalty in each round of a row with so many ratings: λ + κ/n."""
        return (self.penalty + self.shrinkage_ / np.maximum(counts, 1)).astype(np.float32)

    def _train_error(self, sums: RoundSums, n: int) -> float:
        total = sums.absolute / n if self.measure == "mae" else float(np.sqrt(sums.squared / n))
        return self._scale * total

    def _rule(self) -> GradientRule:
        return GradientRule(
            rank=self.rank,
            loss=self.loss,
            width=self.epsilon / self._scale,
            step=self.step,
            rate=self.rate,
            power=self.power,
            penalty=self.penalty,
            period=self._period,
            nonnegative_users=self._is_nonnegative(0),
            nonnegative_items=self._is_nonnegative(1),
            biased=self.biases,
        )

    def _begin_stream(self, ratings: Ratings) -> None:
        self.shrinkage_ = SHRINKAGES[0] if self.shrinkage is None else float(self.shrinkage)
        first = float(ratings.values[ratings.stream_order()[0]])
        self._begin_rows(first, abs(first) / 4, 0, 0)  # stars from 1 to 5 deviate by 1
        self._begin_rounds(1, 0.0)

    def _learn_stream(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]) -> None:
        """The offset is the mean of the ratings so far, of each round's own too, and moves with it."""
        seen = self.n_ratings_ - len(values) + np.arange(1, len(values) + 1)
        totals = np.cumsum(np.append(self._total, values.astype(np.float64)))[1:]
        offsets = totals / seen if self._centred else np.zeros(len(values))
        targets = ((values - offsets) / self._scale).astype(np.float32)
        user_rows, user_places = np.unique(users, return_inverse=True)
        item_rows, item_places = np.unique(items, return_inverse=True)
        moving = (
            self._units(self._users.array[user_rows], 0, 1 / self._scale),
            self._units(self._items.array[item_rows], 1, 1 / self._scale),
        )
        memory = self._user_memory.array[user_rows], self._item_memory.array[item_rows]
        held = (
            self._held(self._user_counts.array[users] - _still_to_come(users)),
            self._held(self._item_counts.array[items] - _still_to_come(items)),
        )
        gradient_online(
            user_places.astype(np.int32),
            item_places.astype(np.int32),
            targets,
            self._rounds,
            *moving,
            *memory,
            *held,
            self._rule(),
        )
        self._users.array[user_rows] = self._units(moving[0], 0, self._scale)
        self._items.array[item_rows] = self._units(moving[1], 1, self._scale)
        self._user_memory.array[user_rows], self._item_memory.array[item_rows] = memory
        self._rounds, self._total, self.offset_ = self._rounds + len(values), float(totals[-1]), float(offsets[-1])

    def _begin_rounds(self, period: int, total: float) -> None:
        self._period, self._rounds, self._total = period, 0, total
        self._user_memory = Growing(np.ones(len(self._users), np.float32))
        self._item_memory = Growing(np.ones(len(self._items), np.float32))

    def _grow(self, ratings: Ratings, order: NDArray[np.integer]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        grown = super()._grow(ratings, order)
        for memory, rows in ((self._user_memory, self._users), (self._item_memory, self._items)):
            memory.extend(np.ones(len(rows) - len(memory), np.float32))
        return grown

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, about = super()._state()
        tensors |= {"user_memory": self._user_memory.array, "item_memory": self._item_memory.array}
        return tensors, about | {"period": self._period, "rounds": self._rounds, "total": self._total}

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self._user_memory, self._item_memory = Growing(tensors["user_memory"]), Growing(tensors["item_memory"])
        self._period, self._rounds, self._total = about["period"], about["rounds"], about["total"]


def _still_to_come(rows: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many entries after each are of the same row."""
    order = np.argsort(rows[::-1], kind="stable")
    grouped = rows[::-1][order]
    starts = np.flatnonzero(np.append(True, grouped[1:] != grouped[:-1]))
    rank = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
    after = np.empty(len(rows), dtype=np.int64)
    after[order] = rank
    return after[::-1]
