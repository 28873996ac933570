"""What gradient methods share: units in which steps and penalties mean the same for ratings of any size, and starts.

With s the power of 4 nearest to the standard deviation of the ratings, a kernel sees the targets (r − μ)/s, the factors
p/√s and q/√s, and the biases b/s. Multiplying by powers of 2 is exact, so the change of units costs no bits.
"""

import math
from copy import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings, split
from rankfill.data.submatrix import some_users
from rankfill.kernels import padded
from rankfill.models.base import WarmPath
from rankfill.models.bias import Bias
from rankfill.models.factors import FactorModel
from rankfill.models.online import random_rows
from rankfill.models.settings import (
    Nonnegative,
    check_no_negative,
    check_positive,
    check_signs,
    check_training,
    check_whole,
    check_word,
)
from rankfill.models.training import order_seed
from rankfill.objectives.losses import LossName
from rankfill.objectives.measures import MEASURES

RowPair = tuple[NDArray[np.float32], NDArray[np.float32]]

START, START_ALONE = 0.3, 0.1
"""The width of the uniform start of factors: beside biases over √rank; alone as a share of what would give the mean
rating at once. Small starts end better: the factors come in one after the other."""


SHRINKAGES = 3.0, 10.0, 20.0, 40.0
ENOUGH_RATINGS, TRIAL_RATINGS, WITHOUT_TRIAL = 10_000, 100_000, 8.0
"""What shrinkage=None chooses from, on how many ratings, and what it takes where there are fewer."""


class ScaledFactorModel(FactorModel):
    """A factor model with or without biases whose kernels work in units of the ratings' own size."""

    warm_path: ClassVar[WarmPath] = "weakest first"

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
        size = spread or abs(mean) or 1.0
        self._scale = 1.0 if self.loss == "logistic" else 4.0 ** round(math.log(size, 4))
        self._level = mean
        self._set_factors(
            self._start_of_users(0, n_users),
            self._start_of_items(0, n_items),
            self.rank,
            biased=self.biases,
            offset=mean if self._centred else 0.0,
        )

    def _begin_fit(self, ratings: Ratings, init: FactorModel | None) -> None:
        self.shrinkage_ = self._tried_shrinkage(ratings) if self.shrinkage is None else float(self.shrinkage)
        spread = float(ratings.values.std(dtype=np.float64))
        self._begin_rows(self.mean_, spread, ratings.n_users, ratings.n_items)
        if init is not None:
            self._start_from(init)
            self.offset_ = init.offset_

    def _tried_shrinkage(self, ratings: Ratings) -> float:
        """The weakest of `SHRINKAGES` with which the factors do not lose to the effects of users and items alone.

        Tried on a tenth of the ratings kept aside, of some of the users where there are many ratings.
        """
        if not self._centred:
            return SHRINKAGES[0]
        if len(ratings) < ENOUGH_RATINGS:  # too few to keep any aside, and to learn much from
            return WITHOUT_TRIAL
        learned, aside = split(some_users(ratings, TRIAL_RATINGS, self.seed), test=0.1, by="entry", seed=self.seed)
        effects = Bias(clip=self.clip).fit(learned)
        allowed = MEASURES[self.measure](aside.values, effects._predicted(aside))
        trial = copy(self)
        trial.tol = None  # noise is learned late
        errors = {}
        for shrinkage in SHRINKAGES:
            trial.shrinkage = shrinkage
            errors[shrinkage] = trial.fit(learned)._error(aside)
            if errors[shrinkage] <= allowed:
                break
        return min(errors, key=errors.__getitem__)

    def _start_of_users(self, first: int, last: int) -> NDArray[np.float32]:
        return self._start(first, last, 0)

    def _start_of_items(self, first: int, last: int) -> NDArray[np.float32]:
        return self._start(first, last, 1)

    def _start(self, first: int, last: int, side: int) -> NDArray[np.float32]:
        """With biases on both sides of zero; without, on the side that the mean rating is on."""
        rows = padded(last - first, self.rank + 2 * self.biases)
        factors = random_rows(first, last, self.rank, order_seed(self.seed, side))
        nonnegative = self._is_nonnegative(side)
        if self.biases:
            factors = START * (factors if nonnegative else factors - 0.5) * math.sqrt(self._scale / self.rank)
            rows[:, self.rank + 1 - side] = 1
        else:
            sign = -1 if self._level < 0 and side == (0 if self._is_nonnegative(1) else 1) else 1
            factors *= sign * START_ALONE * 2 * math.sqrt(abs(self._level) / self.rank)
        rows[:, : self.rank] = np.maximum(factors, 0) if nonnegative else factors
        return rows

    def _is_nonnegative(self, side: int) -> bool:
        return self.nonnegative in ("both", ("users", "items")[side])

    def _targets(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return ((values.astype(np.float64) - self.offset_) / self._scale).astype(np.float32)

    def _to_units(self) -> RowPair:
        """The rows as the kernels want them, for them to change."""
        return self._units(self._users.array, 0, 1 / self._scale), self._units(self._items.array, 1, 1 / self._scale)

    def _units(self, rows: NDArray[np.float32], side: int, scale: float) -> NDArray[np.float32]:
        """A copy with the factors times √scale and the bias times scale."""
        scaled = rows.copy()
        if scale != 1:
            scaled[:, : self.rank] *= np.float32(math.sqrt(scale))
            scaled[:, self.rank + side : self.rank + side + self.biases] *= np.float32(scale)
        return scaled

    def _penalties(self) -> float:
        """½ Σ over rows of (λ n + κ) (s ‖factors‖² + bias²), in the units of the ratings; unrated rows aside."""
        total = 0.0
        for side, (rows, counts) in enumerate(((self._users, self._user_counts), (self._items, self._item_counts))):
            held = np.where(counts.array > 0, self.penalty * counts.array + self.shrinkage_, 0.0)
            factors, biases = rows.array[:, : self.rank_], rows.array[:, self.rank_ + side]
            total += self._scale * float(held @ np.square(factors, dtype=np.float64).sum(axis=1))
            total += float(held @ np.square(biases, dtype=np.float64)) if self.biased_ else 0.0
        return 0.5 * total

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, about = super()._state()
        return tensors, about | {"scale": self._scale, "level": self._level, "shrinkage_": self.shrinkage_}

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self._scale, self._level, self.shrinkage_ = about["scale"], about["level"], about["shrinkage_"]
