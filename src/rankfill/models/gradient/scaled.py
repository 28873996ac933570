"""The base of gradient methods: starts, and units in which steps and penalties suit ratings of any size.

With s the power of 4 nearest to the standard deviation of the ratings, a kernel sees the targets (r − μ)/s, the factors
p/√s and q/√s, and the biases b/s. Multiplying by powers of 2 is exact, so the change of units costs no bits.
"""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import RowPair, padded
from rankfill.kernels.gradients import LossName
from rankfill.models.base.factors import FactorModel
from rankfill.models.base.held_out import Predict, choose_held_out
from rankfill.models.base.model import WarmPath
from rankfill.models.base.settings import (
    Nonnegative,
    check_no_negative,
    check_positive,
    check_signs,
    check_training,
    check_whole,
    check_word,
)
from rankfill.models.base.starts import set_random
from rankfill.models.base.training import order_seed
from rankfill.models.base.units import all_finite
from rankfill.models.bias import Bias

START, START_ALONE = 0.3, 0.1
"""The width of the uniform start of factors: beside biases over √rank; alone as a share of what would give the size of
the ratings at once. Small starts end better: the factors come in one after the other."""


BIAS_SHRINKAGE = 5.0
"""The most of the shrinkage that holds biases too: as much as `Bias` takes for effects alone. Strong shrinkage is there
to keep noise out of the factors; held as strongly, biases lost to `Bias` by up to 20 %."""

SHRINKAGES = 3.0, 6.0, 10.0, 20.0
ENOUGH_RATINGS, TRIAL_RATINGS, WITHOUT_TRIAL = 2000, 100_000, 10.0
"""The candidates of shrinkage=None, the numbers of ratings of a trial, and the value where there are fewer."""


class ScaledFactorModel(FactorModel):
    """A factor model with or without biases whose kernels work in units of the ratings' own size."""

    warm_path: ClassVar[WarmPath] = "weakest first"
    starts_from_factors: ClassVar[bool] = True

    _learned: ClassVar[tuple[str, ...]] = ("shrinkage_", "_scale", "_level", "_size")

    rank: int
    seed: int
    tol: float | None
    penalty: float
    shrinkage: float | None
    shrinkage_: float
    loss: LossName = "squared"
    nonnegative: Nonnegative = "none"
    biases: bool = True

    _scale: float
    _level: float
    _size: float

    @property
    def needs_nonnegative(self) -> bool:
        """Whether it can learn only from ratings of zero and above."""
        return self.nonnegative == "both"

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("rank", self.rank, 1)
        check_training(self)
        check_word("loss", self.loss, LossName)
        check_word("nonnegative", self.nonnegative, Nonnegative)
        check_positive("penalty", self.penalty, or_zero=True)
        if self.shrinkage is not None:
            check_positive("shrinkage", self.shrinkage, or_zero=True)
        if self.nonnegative == "both":
            check_no_negative(ratings, 'nonnegative="both"', 'use ratings.shifted(), or nonnegative="items"')
        if self.loss == "logistic":
            check_signs(ratings)

    def _depends_on_size(self, parameter: str) -> bool:
        return False

    @property
    def _centred(self) -> bool:
        """Whether the mean is taken off first; the logistic loss needs its targets as they are."""
        return self.biases and self.loss != "logistic"

    def _begin_rows(self, mean: float, spread: float, n_users: int, n_items: int) -> None:
        """Sets the units, and rows before any round."""
        self._scale = 1.0 if self.loss == "logistic" else nearest_scale(spread or abs(mean) or 1.0)
        self._level, self._size = mean, math.hypot(mean, spread)
        self.rank_, self.biased_ = self.rank, self.biases
        self._set_factors(
            self._start_of_users(0, n_users),
            self._start_of_items(0, n_items),
            self.rank,
            biased=self.biases,
            offset=mean if self._centred else 0.0,
        )

    def _begin_fit(self, ratings: Ratings, init: FactorModel | None) -> None:
        self.shrinkage_ = self._chosen_shrinkage(ratings) if self.shrinkage is None else float(self.shrinkage)
        spread = ratings.distance_from(self.mean_)
        self._begin_rows(self.mean_, spread, ratings.n_users, ratings.n_items)
        if init is not None:
            self._start_from(init)
            self.offset_ = self.offset_ if init._bare else init.offset_
            for side, rows in enumerate((self._users, self._items)):
                if self._is_nonnegative(side):  # the rows may come from a model that did not ask for it
                    np.maximum(rows.array[:, : self.rank_], 0, out=rows.array[:, : self.rank_])

    def _chosen_shrinkage(self, ratings: Ratings) -> float:
        """The best of `SHRINKAGES` on ratings kept aside, from the weakest up to where more does not help."""
        if not self._centred:
            return SHRINKAGES[0]
        if len(ratings) < ENOUGH_RATINGS:
            return WITHOUT_TRIAL

        def learn(shrinkage: float, part: Ratings) -> Predict:
            settings = self.get_params() | {"shrinkage": shrinkage, "tol": None}  # noise is learned late
            return type(self)(**settings).fit(part)._predict_ratings

        def effects(part: Ratings) -> Predict:
            return Bias(clip=self.clip).fit(part)._predict_ratings

        chosen = choose_held_out(
            ratings,
            SHRINKAGES,
            learn,
            baseline=effects,
            measures=(self.measure,),
            until="worse",
            sample=TRIAL_RATINGS,
            seed=self.seed,
        )
        return WITHOUT_TRIAL if chosen is None else chosen

    @property
    def _bias_share(self) -> float:
        """The part β of its row's penalty that holds a bias."""
        return min(1.0, BIAS_SHRINKAGE / self.shrinkage_) if self.shrinkage_ else 1.0

    def _start_of_users(self, first: int, last: int) -> NDArray[np.float32]:
        return self._start(first, last, 0)

    def _start_of_items(self, first: int, last: int) -> NDArray[np.float32]:
        return self._start(first, last, 1)

    def _start(self, first: int, last: int, side: int) -> NDArray[np.float32]:
        """Draws rows: with biases on both sides of zero; without, one-sided as far as the ratings are.

        Ratings that are all alike begin on one side, those of mean zero on both.
        """
        rows = padded(last - first, self.rank_ + 2 * self.biased_)
        if self.biased_:
            rows[:, self.rank_ + 1 - side] = 1
        set_random(
            rows, first, self.rank_, order_seed(self.seed, side), lambda numbers: self._first_factors(numbers, side)
        )
        return rows

    def _first_factors(self, numbers: NDArray[np.float64], side: int) -> NDArray[np.float64]:
        """The factors to start from, of random numbers between 0 and 1."""
        nonnegative = self._is_nonnegative(side)
        if self.biased_:
            factors = START * (numbers if nonnegative else numbers - 0.5) * math.sqrt(self._scale / self.rank_)
        else:
            one_sided = 1.0 if nonnegative or not self._size else abs(self._level) / self._size
            sign = -1 if self._level < 0 and side == (0 if self._is_nonnegative(1) else 1) else 1
            factors = sign * (numbers - 0.5 * (1 - one_sided)) * START_ALONE * 2 * math.sqrt(self._size / self.rank_)
        return np.maximum(factors, 0) if nonnegative else factors

    def _is_nonnegative(self, side: int) -> bool:
        return self.nonnegative in ("both", ("users", "items")[side])

    def _targets(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        with np.errstate(over="ignore"):
            targets = ((values.astype(np.float64) - self.offset_) / self._scale).astype(np.float32)
        return self._representable(targets)

    def _to_units(self) -> RowPair:
        """The rows as the kernels want them, for them to change."""
        return self._units(self._users.array, 0, 1 / self._scale), self._units(self._items.array, 1, 1 / self._scale)

    def _units(self, rows: NDArray[np.float32], side: int, scale: float) -> NDArray[np.float32]:
        """A copy with the factors times √scale and the bias times scale, in double: scale may not fit into float32."""
        scaled = rows.copy()
        if scale != 1:
            scaled[:, : self.rank_] *= np.float32(math.sqrt(scale))
            bias = slice(self.rank_ + side, self.rank_ + side + self.biased_)
            with np.errstate(over="ignore"):
                scaled[:, bias] = rows[:, bias] * np.float64(scale)
        return scaled

    def _in_ratings(self, rows: NDArray[np.float32], side: int) -> NDArray[np.float32]:
        """The rows of the kernels in the units of the ratings."""
        return self._representable(self._units(rows, side, self._scale))

    def _representable(self, numbers: NDArray[np.float32]) -> NDArray[np.float32]:
        """Refuses in words what float32 cannot hold."""
        if not all_finite(numbers):
            raise ValueError(
                f"these ratings do not fit into 32-bit numbers in a model of ratings from {self.range_[0]:g} to "
                f"{self.range_[1]:g}; divide them by their size first"
            )
        return numbers

    def _publish(self, rows: RowPair) -> None:
        """Shows rows of the kernels as those of the model."""
        self._users.array[:], self._items.array[:] = self._in_ratings(rows[0], 0), self._in_ratings(rows[1], 1)

    def _penalty_term(self) -> float:
        """½ Σ over rows of (λ n + κ) (s ‖factors‖² + β bias²), in the units of the ratings; unrated rows aside."""
        total = 0.0
        for side, (rows, counts) in enumerate(((self._users, self._user_counts), (self._items, self._item_counts))):
            held = np.where(counts.array > 0, self.penalty * counts.array + self.shrinkage_, 0.0)
            factors, biases = rows.array[:, : self.rank_], rows.array[:, self.rank_ + side]
            total += self._scale * float(held @ np.square(factors, dtype=np.float64).sum(axis=1))
            total += self._bias_share * float(held @ np.square(biases, dtype=np.float64)) if self.biased_ else 0.0
        return 0.5 * total


def nearest_scale(size: float) -> float:
    """The power of 4 nearest to a size: the square root of such a scale, too, is a power of 2."""
    return float(4.0 ** round(math.log(size, 4)))
