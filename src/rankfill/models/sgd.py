"""Factors and biases by stochastic gradient descent, one rating at a time.

    min Σ_Ω [ s² ℓ((r_ui − r̂_ui)/s) + ½ λ ( s ‖p_u‖² + s ‖q_i‖² + b_u² + b_i² ) ],   r̂_ui = μ + b_u + b_i + p_u·q_i

ℓ is a loss of `objectives/losses.py`, λ = `penalty`. The sum of the penalty is over ratings too: a row that has n
ratings is held by n λ. s is the power of 4 nearest to the standard deviation of the ratings (1 for stars from 1 to 5;
1 for the logistic loss): rates and penalties mean the same for ratings of any size. With `biases=False`, r̂ = p_u·q_i.

A round looks at one rating and moves p_u, q_i, b_u, b_i down the gradient of its term, by a step η (`step`):

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

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, Self

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
from rankfill.models.factors import FactorModel
from rankfill.models.online import OnlineFactorModel, random_rows
from rankfill.models.settings import check_no_negative, check_positive, check_training, check_whole, check_word
from rankfill.models.training import Callback, Training, order_seed
from rankfill.objectives.losses import LossName
from rankfill.objectives.measures import Measure

Nonnegative = Literal["both", "items", "users", "none"]
Rows = tuple[NDArray[np.float32], NDArray[np.float32]]

START = 0.3
STREAM = ("scale", "level", "period", "rounds", "total")
"""What a stream goes on from, beside the rows."""


class SGD(OnlineFactorModel):
    """Factors and biases by stochastic gradient descent, for any loss, in batch and online.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.
    The two biases take two columns of the rows of factors, which come in sixteens: 14, 30 and 62 fill them.

    loss: What an error costs; logistic is for ratings of -1 and +1.
    epsilon: The width of the loss: errors up to it cost nothing (epsilon-insensitive) or their square (huber).

    >>> from rankfill import SGD, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = SGD(rank=2, passes=100, tol=None).fit(ratings)
    >>> model.predict(0, [2]) < 2.5  # nobody likes the last one
    array([ True])
    """

    _user_memory: Growing
    _item_memory: Growing
    _scale: float
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
        penalty: float = 0.05,
        averaging: bool = False,
        nonnegative: Nonnegative = "none",
        biases: bool = True,
        epsilon: float = 0.5,
        passes: int = 20,
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
        for _ in range(self.passes):
            gradient_online(known.user_indices, items.astype(np.int32), targets, 0, rows, fixed, memory, still, rule)
        return self._units(rows, 0, self._scale)[:, : self._width]

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("rank", self.rank, 1)
        check_training(self)
        check_word("loss", self.loss, LossName)
        check_word("step", self.step, StepName)
        check_word("nonnegative", self.nonnegative, Nonnegative)
        check_positive("rate", self.rate)
        check_positive("power", self.power, or_zero=True)
        check_positive("penalty", self.penalty, or_zero=True)
        check_positive("epsilon", self.epsilon, or_zero=True)
        if self.nonnegative == "both":
            check_no_negative(ratings, 'nonnegative="both"', 'use ratings.shifted(), or nonnegative="items"')
        if self.loss == "logistic" and not np.isin(ratings.values, (-1, 1)).all():
            bad = ratings.values[~np.isin(ratings.values, (-1, 1))][0]
            raise ValueError(f'loss="logistic" needs ratings of -1 and +1, found {bad:g}; use ratings.with_values(…)')

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        spread = float(ratings.values.std(dtype=np.float64))
        self._begin_rows(self.mean_, spread, len(ratings), ratings.n_users, ratings.n_items)
        if init is not None:
            self._start_from(init)
        grid = make_grid(
            ratings.user_indices,
            ratings.item_indices,
            self._targets(ratings.values),
            (ratings.n_users, ratings.n_items),
            self.seed,
        )
        moving = self._users.array, self._items.array
        if self.averaging or self._scale != 1:
            moving = self._units(moving[0], 0, 1 / self._scale), self._units(moving[1], 1, 1 / self._scale)
        with Training(self, validation, callbacks) as training:
            for epoch in training.epochs():
                sums = self._pass(grid, moving, epoch)
                self._publish(moving, epoch)
                training.report(self._objective(sums), self._train_error(sums, len(ratings)))

    def _pass(self, grid: Grid, moving: Rows, epoch: int) -> RoundSums:
        rng = np.random.default_rng(order_seed(self.seed, epoch))
        strata = rng.permutation(grid.groups).astype(np.int32)
        memory = self._user_memory.array, self._item_memory.array
        sums = gradient_pass(grid, strata, *moving, *memory, self._rule(), self._rounds)
        self._rounds += len(grid.values)
        if not np.isfinite(sums.squared):
            raise ValueError(f"rate={self.rate} is too large for these ratings: the factors grew without end; lower it")
        return sums

    def _publish(self, moving: Rows, epoch: int) -> None:
        """Shows the rows after a pass: the last ones, or with averaging the mean of those after each pass."""
        if not self.averaging and self._scale == 1:
            return
        for side, own in enumerate((self._users, self._items)):
            shown = self._units(moving[side], side, self._scale)
            if self.averaging and epoch > 1:
                shown = own.array + (shown - own.array) / np.float32(epoch)
            own.array[:] = shown

    def _objective(self, sums: RoundSums) -> float:
        """With each loss as it was before its round, in the units of the ratings."""
        s, sides = self._scale, ((self._users, self._user_counts), (self._items, self._item_counts))
        squares = 0.0
        for side, (rows, counts) in enumerate(sides):
            squares += s * float(counts.array @ np.square(rows.array[:, : self.rank_], dtype=np.float64).sum(axis=1))
            if self.biased_:
                squares += float(counts.array @ np.square(rows.array[:, self.rank_ + side], dtype=np.float64))
        return s * s * sums.loss + 0.5 * self.penalty * squares

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
            nonnegative_users=self.nonnegative in ("both", "users"),
            nonnegative_items=self.nonnegative in ("both", "items"),
            biased=self.biases,
        )

    def _begin_stream(self, ratings: Ratings) -> None:
        first = float(ratings.values[ratings.stream_order()[0]])
        self._begin_rows(first, abs(first) / 4, 1, 0, 0)  # stars from 1 to 5 deviate by 1
        self._total = 0.0

    def _learn_stream(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]) -> None:
        """The offset is the mean of the ratings so far, of each round's own too, and moves with it."""
        seen = self.n_ratings_ - len(values) + np.arange(1, len(values) + 1)
        totals = np.cumsum(np.append(self._total, values.astype(np.float64)))[1:]
        offsets = totals / seen if self.biases else np.zeros(len(values))
        targets = ((values - offsets) / self._scale).astype(np.float32)
        user_rows, user_places = np.unique(users, return_inverse=True)
        item_rows, item_places = np.unique(items, return_inverse=True)
        moving = (
            self._units(self._users.array[user_rows], 0, 1 / self._scale),
            self._units(self._items.array[item_rows], 1, 1 / self._scale),
        )
        memory = self._user_memory.array[user_rows], self._item_memory.array[item_rows]
        gradient_online(
            user_places.astype(np.int32),
            item_places.astype(np.int32),
            targets,
            self._rounds,
            *moving,
            *memory,
            self._rule(),
        )
        self._users.array[user_rows] = self._units(moving[0], 0, self._scale)
        self._items.array[item_rows] = self._units(moving[1], 1, self._scale)
        self._user_memory.array[user_rows], self._item_memory.array[item_rows] = memory
        self._rounds, self._total, self.offset_ = self._rounds + len(values), float(totals[-1]), float(offsets[-1])

    def _begin_rows(self, mean: float, spread: float, n: int, n_users: int, n_items: int) -> None:
        """Sets the units, and rows before any round."""
        size = spread or abs(mean) or 1.0
        self._scale = 1.0 if self.loss == "logistic" else 4.0 ** round(math.log(size, 4))
        self._level, self._period, self._rounds, self._total = mean, n, 0, mean * n
        self._user_memory, self._item_memory = (Growing(np.ones(rows, np.float32)) for rows in (n_users, n_items))
        self._set_factors(
            self._start_of_users(0, n_users),
            self._start_of_items(0, n_items),
            self.rank,
            biased=self.biases,
            offset=mean if self.biases else 0.0,
        )

    def _start_from(self, init: FactorModel) -> None:
        super()._start_from(init)
        self.offset_ = init.offset_

    def _start_of_users(self, first: int, last: int) -> NDArray[np.float32]:
        return self._start(first, last, 0)

    def _start_of_items(self, first: int, last: int) -> NDArray[np.float32]:
        return self._start(first, last, 1)

    def _start(self, first: int, last: int, side: int) -> NDArray[np.float32]:
        """With biases small and on both sides of zero; without, so that the mean prediction is the mean rating."""
        rows = padded(last - first, self.rank + 2 * self.biases)
        factors = random_rows(first, last, self.rank, order_seed(self.seed, side))
        nonnegative = self.nonnegative in ("both", "users" if side == 0 else "items")
        if self.biases:
            factors = START * (factors if nonnegative else factors - 0.5) * math.sqrt(self._scale / self.rank)
            rows[:, self.rank + 1 - side] = 1
        else:
            factors *= 2 * math.sqrt(abs(self._level) / self.rank) * (-1 if self._level < 0 and side == 1 else 1)
            factors = np.maximum(factors, 0) if nonnegative else factors
        rows[:, : self.rank] = factors
        return rows

    def _targets(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return ((values.astype(np.float64) - self.offset_) / self._scale).astype(np.float32)

    def _units(self, rows: NDArray[np.float32], side: int, scale: float) -> NDArray[np.float32]:
        """A copy with the factors times √scale and the bias times scale: exact, for both are powers of 2."""
        scaled = rows.copy()
        if scale != 1:
            scaled[:, : self.rank] *= np.float32(math.sqrt(scale))
            scaled[:, self.rank + side : self.rank + side + self.biases] *= np.float32(scale)
        return scaled

    def _grow(self, ratings: Ratings, order: NDArray[np.integer]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        grown = super()._grow(ratings, order)
        for memory, rows in ((self._user_memory, self._users), (self._item_memory, self._items)):
            memory.extend(np.ones(len(rows) - len(memory), np.float32))
        return grown

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, about = super()._state()
        tensors |= {"user_memory": self._user_memory.array, "item_memory": self._item_memory.array}
        stream = {name: getattr(self, f"_{name}") for name in STREAM}
        return tensors, about | {"stream": stream}

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self._user_memory, self._item_memory = Growing(tensors["user_memory"]), Growing(tensors["item_memory"])
        for name in STREAM:
            setattr(self, f"_{name}", about["stream"][name])
