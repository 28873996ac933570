"""The base of models that minimise the regularised squared error, one side at a time.

    ½ Σ_Ω (r_ui − μ − b_u − b_i − p_u·q_i)²
      + ½ λ (Σ_u n_u^w ‖p_u‖² + Σ_i n_i^w ‖q_i‖²) + ½ λ_b (Σ_u n_u^w b_u² + Σ_i n_i^w b_i²)

n_u, n_i count the ratings of a user and of an item; w = 0 for weighting="constant", for "count" w = 1 or what the model
sets for it. μ, the mean rating,
and the biases b only with biases=True. A `penalty` is λ and λ_b alike: with weighting="constant" and without biases
it is the λ of ½ Σ e² + λ ‖W‖_*. penalty=None takes

    constant   λ = s · max(15, ¾ (√n̄_u + √n̄_i)),  λ_b = 5        count   λ = s · 0.065,  λ_b = 0.065

with s the standard deviation of the ratings and n̄ the mean numbers of ratings. The first is about the spectral norm
of noise of that size on as many entries, which is what λ has to exceed for noise not to be learned; on sparse data
it leaves the biases alone. What was taken is in `penalty_` and `bias_penalty_`.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Growing, Ridge, SquaredErrors, padded, solve_rows
from rankfill.models.base.factors import FactorModel
from rankfill.models.base.model import WarmPath
from rankfill.models.base.nonnegative import project
from rankfill.models.base.settings import (
    LARGEST,
    Nonnegative,
    SideOption,
    Weighting,
    check_positive,
    check_training,
    check_whole,
    check_word,
)
from rankfill.models.base.starts import set_random
from rankfill.models.base.training import Callback, Training
from rankfill.models.base.units import exponent_of, rows_in_units
from rankfill.objectives.penalties import BY_COUNT, LEAST, norm_of_noise

RANK = 32
"""The number of factors where none is given."""


class AlternatingModel(FactorModel):
    """Users start at zero, items at small random numbers; a pass moves the users, then the items."""

    warm_path: ClassVar[WarmPath] = "weakest first"
    starts_from_factors: ClassVar[bool] = True

    _learned: ClassVar[tuple[str, ...]] = ("penalty_", "bias_penalty_")
    _weightings: ClassVar[object] = Weighting

    rank: int | None
    penalty: float | None
    weighting: str
    biases: bool
    nonnegative: Nonnegative
    passes: int
    tol: float | None
    seed: int
    penalty_: float
    bias_penalty_: float

    def _fold_in(self, known: Ratings) -> NDArray[np.float32]:
        """The best rows for people not in training, the items as they are: (p_u, b_u, 1) with biases, else p_u."""
        exponent, moving = self._unit_exponent, self._in_units()
        rows = padded(known.n_users, self._width)
        rows[:, self.rank_ + 1 : self._width] = 1
        solve_rows(_in_units(known, exponent).by_user, rows, moving._items.array, moving._ridge_of_users())
        return self._users_in_units(rows, -exponent)[:, : self._width]

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        if self.rank is not None:
            check_whole("rank", self.rank, 1)
        check_training(self)
        check_word("weighting", self.weighting, self._weightings)
        check_word("nonnegative", self.nonnegative, Nonnegative)
        if self.penalty is not None:
            check_positive("penalty", self.penalty, or_zero=True)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self._start(ratings, init)
        exponent = self._unit_exponent
        targets = _in_units(ratings, exponent)
        with Training(self, validation, callbacks) as training:
            moving = self._in_units()
            for _ in training.epochs():
                errors = moving._pass(targets)
                objective, train = moving._objective_and_error(targets, errors)
                if moving is not self:
                    self._users.array[:] = self._users_in_units(moving._users.array, -exponent)
                    self._items.array[:] = self._items_in_units(moving._items.array, -exponent)
                training.report(math.ldexp(objective, 2 * exponent), math.ldexp(train, exponent))

    @abstractmethod
    def _pass(self, ratings: Ratings) -> SquaredErrors:
        """Moves all users, then all items; what is left over."""

    def _start(self, ratings: Ratings, init: Self | None) -> None:
        self.penalty_, self.bias_penalty_ = self._penalties(ratings)
        rank, biased = self._rank_to_learn(), self._has_biases()
        users, items = (padded(n, rank + 2 * biased) for n in (ratings.n_users, ratings.n_items))
        offset = self.mean_ if biased else 0.0
        signed = self.nonnegative not in ("both", "items")
        size = np.sqrt(self._size_of_targets(ratings, offset) / rank)
        set_random(items, 0, rank, self.seed, lambda numbers: size * (numbers - 0.5 if signed else numbers))
        self._set_factors(users, items, rank, biased=biased, offset=offset)
        if init is not None:
            self._start_from(init)
            project(users[:, :rank], items[:, :rank], self.nonnegative)
        if biased:
            users[:, rank + 1] = items[:, rank] = 1
        users[ratings.by_user.counts() == 0, :rank] = 0  # nothing speaks against the penalty
        items[ratings.by_item.counts() == 0, :rank] = 0

    def _rank_to_learn(self) -> int:
        return int(self.rank or RANK)

    def _size_of_targets(self, ratings: Ratings, offset: float) -> float:
        """The root mean square of what the factors have to explain."""
        return ratings.distance_from(offset)

    @property
    def _unit_exponent(self) -> int:
        """The e of `units.py`: in units of 2ᵉ the objective of r, μ, b, p, q and λ is that of all of them over 4ᵉ."""
        return exponent_of(max(map(abs, self.range_)))

    def _in_units(self) -> Self:
        """The model in units in which ratings are of ordinary size: itself, if they are."""
        if self._unit_exponent == 0:
            return self
        scaled, exponent = copy(self), self._unit_exponent
        scaled._users = Growing(self._users_in_units(self._users.array, exponent))
        scaled._items = Growing(self._items_in_units(self._items.array, exponent))
        scaled.offset_ = math.ldexp(self.offset_, -exponent)
        scaled.penalty_ = min(math.ldexp(self.penalty_, -exponent), LARGEST)
        return scaled

    def _users_in_units(self, rows: NDArray[np.float32], exponent: int) -> NDArray[np.float32]:
        return rows_in_units(rows, self.rank_, exponent, self.rank_ if self.biased_ else None)

    def _items_in_units(self, rows: NDArray[np.float32], exponent: int) -> NDArray[np.float32]:
        return rows_in_units(rows, self.rank_, exponent, self.rank_ + 1 if self.biased_ else None)

    def _depends_on_size(self, parameter: str) -> bool:
        return parameter == "penalty" and not self._by_count

    @property
    def _by_count(self) -> bool:
        """Whether the penalty of a row grows with the number of its ratings."""
        return self.weighting != "constant"

    def _has_biases(self) -> bool:
        return bool(self.biases)

    def _penalties(self, ratings: Ratings) -> tuple[float, float]:
        """λ and λ_b."""
        if self.penalty is not None:
            return float(self.penalty), float(self.penalty)
        spread = ratings.distance_from(self.mean_) or 1.0
        if self._by_count:
            return BY_COUNT * spread, BY_COUNT
        return spread * max(LEAST, self._level_of_noise()), 5.0

    def _level_of_noise(self) -> float:
        n_users, n_items = (int((counts.array > 0).sum()) for counts in (self._user_counts, self._item_counts))
        return norm_of_noise(self.n_ratings_, n_users, n_items)

    @property
    def _confidence(self) -> float | None:
        """The weight of one event of implicit feedback; None where ratings are explicit."""
        return None

    def _ridges(self) -> tuple[Ridge, Ridge]:
        """The problems that rows of users and rows of items solve."""
        return self._ridge("users"), self._ridge("items")

    def _ridge(self, side: SideOption) -> Ridge:
        """The problem that a row of one side solves."""
        ridge = Ridge(
            rank=self.rank_,
            penalty=self.penalty_,
            bias_penalty=self.bias_penalty_,
            by_count=self._by_count,
            nonnegative=self.nonnegative in ("both", side),
            offset=self.offset_,
            confidence=self._confidence,
        )
        if not self.biased_:
            return ridge
        return ridge.of_users() if side == "users" else ridge.of_items()

    def _ridge_of_users(self) -> Ridge:
        return self._ridge("users")

    def _objective_and_error(self, ratings: Ratings, errors: SquaredErrors) -> tuple[float, float]:
        """The objective and the error on the ratings learned from."""
        penalties = self._penalty_terms(ratings, self._ridges())
        return 0.5 * (errors.weighted + penalties), (errors.plain / len(ratings)) ** 0.5

    def _penalty_terms(self, ratings: Ratings, ridges: tuple[Ridge, Ridge]) -> float:
        total = 0.0
        for rows, counts, biases, ridge in (
            (self._users.array, ratings.by_user.counts(), self.user_biases_, ridges[0]),
            (self._items.array, ratings.by_item.counts(), self.item_biases_, ridges[1]),
        ):
            factors, weights = rows[:, : self.rank_], ridge.scales(counts)
            norms = np.einsum("ij,ij->i", factors, factors, dtype=np.float64)
            total += self.penalty_ * float(weights @ norms)
            total += self.bias_penalty_ * float(weights @ biases.astype(np.float64) ** 2)
        return total


def _in_units(ratings: Ratings, exponent: int) -> Ratings:
    if exponent == 0:
        return ratings
    return ratings.with_values(lambda values: np.clip(np.ldexp(values, -exponent), -LARGEST, LARGEST))
