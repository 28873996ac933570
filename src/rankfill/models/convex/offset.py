"""The base of models that learn factors of the residuals after an offset.

    r_ui ≈ o_ui + w_ui,   Z = D_u W D_i = left · rightᵀ

o is the `offset`, subtracted first: nothing, the mean rating, or the effects of user and item (`Bias()`). With
weighting="constant" D_u and D_i are identities; with "count" they hold the square roots of how many ratings the row
has, relative to the mean number: rows with few ratings cost less.
"""

import copy
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Ridge, padded, solve_rows
from rankfill.linalg import LowRank
from rankfill.models.base.factors import FactorModel
from rankfill.models.base.settings import SMALLEST, Weighting, check_training, check_word
from rankfill.models.bias import Bias
from rankfill.models.convex.problem import Problem, Rated, problem_of

Offset = Literal["none", "mean", "bias"]

_LARGEST_FOLDED = 1e20


class Offsets(NamedTuple):
    """The o of every pair: a constant, and what each user and each item adds to it."""

    constant: float
    users: NDArray[np.float32]
    items: NDArray[np.float32]

    def of(self, users: NDArray[np.integer], items: NDArray[np.integer]) -> NDArray[np.float64]:
        """Those of some pairs, by row number."""
        offsets: NDArray[np.float64] = self.constant + (self.users.astype(np.float64)[users] + self.items[items])
        return offsets


class OffsetModel(FactorModel):
    """Rows are (p_u, b_u, 1) and (q_i, 1, b_i) with offset="bias", the factors alone otherwise."""

    _learned: ClassVar[tuple[str, ...]] = ("penalty_",)

    offset: Offset
    weighting: Weighting
    passes: int
    tol: float | None
    seed: int
    penalty_: float
    """λ, such that a row of a side is a ridge regression on the other with that penalty."""

    def _fold_in(self, known: Ratings) -> NDArray[np.float32]:
        """The best rows for people not in training, the items as they are: (p_u, b_u, 1) with offset="bias"."""
        _check_size(max(abs(each) for each in self.range_))
        rows = padded(known.n_users, max(self._width, 1))
        if self.biased_:
            left_over = known.values - np.float32(self.offset_) - self.item_biases_[known.item_indices]
            rows[:, self.rank_] = Bias().shrunk_mean(known.user_indices, left_over, known.n_users)
            rows[:, self.rank_ + 1] = 1
        if self.rank_:
            by_count, penalty = self.weighting == "count", self.penalty_
            if by_count:
                penalty *= int(np.count_nonzero(self._user_counts.array)) / self.n_ratings_
            ridge = Ridge(
                rank=self.rank_,
                penalty=penalty,
                by_count=by_count,
                offset=self.offset_,
                held_column=self.rank_ + 1 if self.biased_ else -1,
            )
            self._fit_rows(known, rows, ridge)
        return rows[:, : self._width]

    def _fit_rows(self, known: Ratings, rows: NDArray[np.float32], ridge: Ridge) -> None:
        """Moves the factors of the rows, and not their biases, to where they are best."""
        values = known.values - rows[known.user_indices, self.rank_] if self.biased_ else known.values
        solve_rows(known.by_user._replace(values=values), rows, self._items.array, ridge)

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_training(self)
        check_word("offset", self.offset, Offset)
        check_word("weighting", self.weighting, Weighting)

    def _offset_alone(self, ratings: Ratings) -> tuple[Self, Problem]:
        """A model with these settings that knows the offset and no factors, and the problem that this leaves."""
        alone = copy.copy(self)
        alone._begin(ratings.users, ratings.items)
        alone._take_note(ratings, np.arange(ratings.n_users), np.arange(ratings.n_items))
        problem = alone._prepare(ratings)
        alone._renew_view()
        return alone, problem

    def _prepare(self, ratings: Ratings) -> Problem:
        """Takes note of the offset."""
        self._set_offset(ratings)
        return self._problem(ratings)

    def _set_offset(self, ratings: Ratings) -> None:
        biased = self.offset == "bias"
        users, items = (padded(n, 2 if biased else 1) for n in ratings.shape)
        if biased:
            effects = Bias().fit(ratings)
            users[:, 0], users[:, 1] = effects.user_effects_, 1
            items[:, 0], items[:, 1] = 1, effects.item_effects_
        self._set_factors(users, items, 0, biased=biased, offset=0.0 if self.offset == "none" else self.mean_)

    def _problem(self, ratings: Ratings) -> Problem:
        return problem_of(ratings, self._offsets_of(ratings), by_count=self.weighting == "count")

    def _offsets_of(self, ratings: Ratings) -> NDArray[np.float64]:
        """o of every rating."""
        return self._offsets().of(ratings.user_indices, ratings.item_indices)

    def _offsets(self) -> Offsets:
        return Offsets(self.offset_, self.user_biases_, self.item_biases_)

    def _rows_of(self, init: "OffsetModel", problem: Problem) -> LowRank:
        """Z of the other model at the ids that both know; zero elsewhere."""
        init._check_fitted()
        sides = []
        for theirs, own_ids, their_ids, rows, scale in (
            (init._users, self.users_, init.users_, problem.users, problem.user_scale),
            (init._items, self.items_, init.items_, problem.items, problem.item_scale),
        ):
            numbers = self._own_rows(their_ids, own_ids)[rows]
            factors = theirs.array[numbers, : init.rank_].astype(np.float64)
            factors[numbers < 0] = 0
            sides.append(factors / scale[:, None])
        return LowRank(*sides)

    def _keep(self, problem: Problem | Rated, solution: LowRank) -> None:
        """Makes Z the factors of the model."""
        sides = []
        for old, rows, factors, scale in (
            (self._users.array, problem.users, solution.left, problem.user_scale),
            (self._items.array, problem.items, solution.right, problem.item_scale),
        ):
            new = padded(len(old), max(solution.rank + 2 * self.biased_, 1))
            new[rows, : solution.rank] = factors * scale[:, None]
            if self.biased_:
                new[:, solution.rank : solution.rank + 2] = old[:, self.rank_ : self.rank_ + 2]
            sides.append(new)
        self._set_factors(sides[0], sides[1], solution.rank, biased=self.biased_, offset=self.offset_)


def _check_size(largest: float) -> None:
    """Refuses ratings whose products with factors single precision cannot hold."""
    if not (largest == 0 or SMALLEST <= largest <= _LARGEST_FOLDED):
        raise ValueError(
            f"fold_in needs a model of ratings whose largest is from {SMALLEST:g} to {_LARGEST_FOLDED:g}, found "
            f"{largest:g}; divide the ratings by {largest:.0e} before fit"
        )
