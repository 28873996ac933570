"""What models share that minimise the regularised squared error, one side at a time.

    ½ Σ_Ω (r_ui − μ − b_u − b_i − p_u·q_i)²
      + ½ λ (Σ_u n_u^w ‖p_u‖² + Σ_i n_i^w ‖q_i‖²) + ½ λ_b (Σ_u n_u^w b_u² + Σ_i n_i^w b_i²)

n_u, n_i count the ratings of a user and of an item; w = 1 for weighting="count", 0 for "constant". μ, the mean rating,
and the biases b only with biases=True. A `penalty` is λ and λ_b alike: with weighting="constant" and without biases
it is the λ of ½ Σ e² + λ ‖W‖_*. penalty=None takes

    constant   λ = s · max(15, ¾ (√n̄_u + √n̄_i)),  λ_b = 5        count   λ = s · 0.065,  λ_b = 0.065

with s the standard deviation of the ratings and n̄ the mean numbers of ratings. The first is about the spectral norm
of noise of that size on as many entries, which is what λ has to exceed for noise not to be learned; on sparse data
it leaves the biases alone. What was taken is in `penalty_` and `bias_penalty_`.
"""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Ridge, padded, solve_rows, squared_errors
from rankfill.models.base import WarmPath
from rankfill.models.factors import FactorModel
from rankfill.models.online import random_rows
from rankfill.models.settings import Nonnegative, check_positive, check_training, check_whole, check_word
from rankfill.models.training import Callback, Training
from rankfill.objectives.penalties import BY_COUNT, LEAST, norm_of_noise

Weighting = Literal["constant", "count"]


class AlternatingModel(FactorModel):
    """Users start at zero, items at small random numbers; a pass moves the users, then the items."""

    warm_path: ClassVar[WarmPath] = "weakest first"

    rank: int
    penalty: float | None
    weighting: Weighting
    biases: bool
    nonnegative: Nonnegative
    passes: int
    tol: float | None
    seed: int
    penalty_: float
    bias_penalty_: float

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """The best rows for people not in training, the items as they are: (p_u, b_u, 1) with biases, else p_u."""
        self._check_fitted()
        known = self._in_own_items(new_user_ratings)
        rows = padded(known.n_users, self._width)
        rows[:, self.rank_ + 1 : self._width] = 1
        solve_rows(known.by_user, rows, self._items.array, self._ridges()[0])
        return rows[:, : self._width]

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("rank", self.rank, 1)
        check_training(self)
        check_word("weighting", self.weighting, Weighting)
        check_word("nonnegative", self.nonnegative, Nonnegative)
        if self.penalty is not None:
            check_positive("penalty", self.penalty, or_zero=True)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self._start(ratings, init)
        with Training(self, validation, callbacks) as training:
            for _ in training.epochs():
                self._pass(ratings)
                training.report(*self._measured(ratings))

    @abstractmethod
    def _pass(self, ratings: Ratings) -> None:
        """Moves all users, then all items."""

    def _start(self, ratings: Ratings, init: Self | None) -> None:
        self.penalty_, self.bias_penalty_ = self._penalties(ratings)
        rank, biased = int(self.rank), self._has_biases()
        users, items = (padded(n, rank + 2 * biased) for n in (ratings.n_users, ratings.n_items))
        numbers = random_rows(0, ratings.n_items, rank, self.seed)
        level = self.mean_ if biased else 0.0
        spread = np.sqrt(np.mean((ratings.values - level) ** 2, dtype=np.float64))
        signed = self.nonnegative not in ("both", "items")
        items[:, :rank] = np.sqrt(spread / rank) * (numbers - 0.5 if signed else numbers)
        self._set_factors(users, items, rank, biased=biased, offset=self.mean_ if biased else 0.0)
        if init is not None:
            self._start_from(init)
        if biased:
            users[:, rank + 1] = items[:, rank] = 1
        users[self._user_counts.array == 0, :rank] = 0  # nothing speaks against the penalty
        items[self._item_counts.array == 0, :rank] = 0

    def _depends_on_size(self, parameter: str) -> bool:
        return parameter == "penalty" and self.weighting == "constant"

    def _has_biases(self) -> bool:
        return bool(self.biases)

    def _penalties(self, ratings: Ratings) -> tuple[float, float]:
        """λ and λ_b."""
        if self.penalty is not None:
            return float(self.penalty), float(self.penalty)
        spread = float(np.std(ratings.values, dtype=np.float64)) or 1.0
        if self.weighting == "count":
            return BY_COUNT * spread, BY_COUNT
        return spread * max(LEAST, self._level_of_noise()), 5.0

    def _level_of_noise(self) -> float:
        n_users, n_items = (int((counts.array > 0).sum()) for counts in (self._user_counts, self._item_counts))
        return norm_of_noise(self.n_ratings_, n_users, n_items)

    @property
    def _confidence(self) -> float | None:
        """Of implicit feedback; None where ratings are explicit."""
        return None

    def _ridges(self, steps: int = 0) -> tuple[Ridge, Ridge]:
        """What a row of the users solves and what one of the items."""
        users, items = (
            Ridge(
                rank=self.rank_,
                penalty=self.penalty_,
                bias_penalty=self.bias_penalty_,
                by_count=self.weighting == "count",
                nonnegative=self.nonnegative in ("both", side),
                offset=self.offset_,
                confidence=self._confidence,
                steps=steps,
            )
            for side in ("users", "items")
        )
        return (users.of_users(), items.of_items()) if self.biased_ else (users, items)

    def _measured(self, ratings: Ratings) -> tuple[float, float]:
        """The objective and the error on the ratings learned from."""
        errors = squared_errors(ratings.by_user, self._users.array, self._items.array, self._ridges()[0])
        return 0.5 * (errors.weighted + self._penalty_terms()), (errors.plain / len(ratings)) ** 0.5

    def _penalty_terms(self) -> float:
        total = 0.0
        for rows, counts, biases in (
            (self._users.array, self._user_counts.array, self.user_biases_),
            (self._items.array, self._item_counts.array, self.item_biases_),
        ):
            factors = rows[:, : self.rank_]
            weights = counts if self.weighting == "count" else np.ones(len(counts))
            norms = np.einsum("ij,ij->i", factors, factors, dtype=np.float64)
            total += self.penalty_ * float(weights @ norms)
            total += self.bias_penalty_ * float(weights @ biases.astype(np.float64) ** 2)
        return total

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, about = super()._state()
        return tensors, about | {"penalty": self.penalty_, "bias_penalty": self.bias_penalty_}

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self.penalty_, self.bias_penalty_ = about["penalty"], about["bias_penalty"]
