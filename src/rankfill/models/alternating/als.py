"""Alternating least squares: with one side fixed, every row of the other is a ridge regression, solved exactly.

feedback="explicit" minimises the objective of `objective.py`,

    ½ Σ_Ω (r_ui − μ − b_u − b_i − p_u·q_i)² + ½ Σ_u n_u^w (λ ‖p_u‖² + λ_b b_u²) + ½ Σ_i n_i^w (λ ‖q_i‖² + λ_b b_i²)

(Zhou, Wilkinson, Schreiber, Pan 2008 for w = 1). feedback="implicit" is for data that only says what was used and how
much (Hu, Koren, Volinsky, ICDM 2008): over all pairs of users and items, rated or not,

    ½ Σ_ui c_ui (x_ui − p_u·q_i)² + ½ λ (Σ_u s_u ‖p_u‖² + Σ_i s_i ‖q_i‖²),   no biases,

x = 1 and c = 1 + confidence · r where there is a rating, x = 0 and c = 1 where there is none: the one place where
what was not observed counts as zero, and only on request. The sum over all pairs costs no more than the ratings,
Σ_ui (p_u·q_i)² = ⟨PᵀP, QᵀQ⟩. The penalty is scaled by s = 1, by n^ν, or with weighting="frequency" by

    s_u = (n_u + n_items / confidence)^ν,   s_i = (n_i + n_users / confidence)^ν,   ν = exponent.

With ratings of 1 and λ = λ' (1 + α₀) / α₀, confidence = 1 / α₀, that is the iALS of Rendle, Krichene, Zhang and Koren
(2021) with the weight α₀ of the unobserved and the penalty λ', all scores multiplied by 1 + α₀. What is not given of
penalty, confidence and rank is found on lists kept aside; see `choice.py`. Predictions are scores around [0, 1], never
clipped; `train` and `validation` in `history_` are root mean squares of 1 − score over the pairs used.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.liked import Liked, check_liked, liked_entries
from rankfill.kernels import Ridge, Rows, SquaredErrors, gram_matrix, solve_rows, squared_errors
from rankfill.models.alternating import choice
from rankfill.models.alternating.objective import AlternatingModel
from rankfill.models.base.settings import (
    Feedback,
    Nonnegative,
    SideOption,
    check_no_negative,
    check_positive,
    check_word,
)
from rankfill.models.base.training import Callback

Solver = Literal["auto", "cholesky", "block", "conjugate-gradient"]
WeightingOption = Literal["auto", "constant", "count", "frequency"]

_GRADIENT_STEPS = 3
_BLOCK = 64
HEAVIEST = 1e12
"""The largest weight of a pair, beside 1 for a pair without a rating, that single precision can solve with."""


@dataclass(frozen=True)
class Solve:
    """A half pass: every row solved; with `measured` the sums are those of `SquaredErrors` afterwards.

    Implicit feedback asks for all fixed rows, of which a step may see a part: they are in `gram`.
    """

    ridge: Ridge
    measured: bool = False
    gram: NDArray[np.float32] | None = None

    @property
    def goes_on(self) -> bool:
        return self.ridge.steps > 0 or self.ridge.block > 0 or self.ridge.nonnegative

    def __call__(
        self, rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], first: int
    ) -> tuple[float, ...]:
        if self.ridge.held_column >= 0:
            moving[:, self.ridge.held_column] = 1
        solve_rows(rows, moving, fixed, self.ridge, self.gram)
        return tuple(squared_errors(rows, moving, fixed, self.ridge)) if self.measured else ()


class ALS(AlternatingModel):
    """Alternating least squares, for ratings and for implicit feedback.

    With one side fixed, every row of the other is a ridge regression, which is solved exactly. A good first choice for
    ratings of any kind; for events without ratings use ``feedback="implicit"``. Cold start: an unknown user is the mean
    user, an unknown item the mean item, and for a pair of both the answer is the mean rating.

    Parameters
    ----------
    rank : int, optional
        Number of factors, at least 1. More of them fit finer tastes; the time of a pass grows with the square of the
        rank, at high rank with its cube. By default 32; with implicit feedback from 64 to 256, as many as gain on lists
        kept aside.
    penalty : float, optional
        Pull of factors and biases towards zero, zero or more. By default it is chosen from the number and the spread of
        the ratings, with implicit feedback on lists kept aside; see `penalty_`. A larger one keeps more noise out and
        fits less.
    weighting : {"auto", "constant", "count", "frequency"}, default="auto"
        Whether the penalty is the same for every row, or grows with the number of its ratings. With "count" a
        penalty means the same whatever the number of ratings; 0.03 to 0.1 is usual. "frequency" adds to that number
        the weight of all pairs without a rating; it is for implicit feedback. "auto" is "constant", and where the
        penalty of implicit feedback is chosen "count" with an exponent of ½.
    exponent : float, default=1.0
        The power of that number by which the penalty grows, from 0 to 2. Without effect on "auto" and "constant".
    biases : bool, default=True
        Learn how far each user and item is above the mean rating, beside the factors. Without effect on implicit
        feedback.
    nonnegative : {"none", "both", "items", "users"}, default="none"
        Which factors must not be negative. Biases are free.
    solver : {"auto", "cholesky", "block", "conjugate-gradient"}, default="auto"
        How a row is solved. "cholesky" solves it exactly. "block" solves 64 factors after the other, each time exactly
        with the rest as it is, which is faster at high rank. "conjugate-gradient" takes three steps towards the
        solution, which is faster still and cannot keep factors non-negative. "auto" takes "cholesky" for explicit
        ratings, "conjugate-gradient" for implicit feedback, and "block" where factors must not be negative there.
    feedback : {"explicit", "implicit"}, default="explicit"
        Whether ratings say how much something is liked, or only that it was used. With "implicit" a rating is a weight,
        such as a count, and every pair without a rating counts as not used.
    confidence : float, optional
        How much a rating of 1 weighs with implicit feedback. A pair weighs 1 + confidence · rating, one without a
        rating 1, so that 1 / confidence is the weight of the unobserved beside a rating of 1; confidence · rating is at
        most 1e12. By default it is chosen on lists kept aside; see `confidence_`.
    liked : {"all", "above-mean", "above-user-mean"} or float, default="all"
        Which ratings say with implicit feedback that something was used: all; those of at least the mean rating, of
        all users or of this one; or those of at least that number. The others count as pairs without a rating.
    passes : int, default=15
        The most passes over the ratings, at least 1.
    tol : float, optional, default=1e-4
        Stop when three passes have each lowered the objective, or the error on validation ratings, by less than this
        share. None makes every pass.
    seed : int, default=0
        Seed of the random start of the items.
    clip : bool, default=True
        Keep predictions within the range of the ratings. Without effect on implicit feedback.

    Attributes
    ----------
    user_factors_, item_factors_ : ndarray of shape (n_users, rank) and (n_items, rank)
        The factors, one row per user and per item in the order of `users_` and `items_`; read-only.
    user_biases_, item_biases_ : ndarray of shape (n_users,) and (n_items,)
        How far each user and each item is above the mean rating; zeros without biases.
    penalty_ : float
        The penalty of the factors that was used.
    confidence_ : float
        The confidence that was used; 1 with explicit feedback, where it has no effect.
    bias_penalty_ : float
        The penalty of the biases that was used.
    rank_ : int
        The number of factors.
    biased_ : bool
        Whether biases were learned.
    offset_ : float
        What is added to biases and factors: the mean rating with biases, 0 without.
    users_, items_ : Vocabulary
        The ids, in the order of the rows.
    mean_ : float
        The mean rating.
    range_ : tuple of two floats
        The least and the greatest rating, without the few that stand far apart from all others.
    n_ratings_ : int
        The number of ratings learned from.
    history_ : list of EpochReport
        One report per pass: seconds, objective, errors.

    Examples
    --------
    >>> from rankfill import ALS, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = ALS(rank=2, weighting="count").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([2.], dtype=float32)

    What people used, and how often:

    >>> visits = Ratings.from_dense([[9, 8, None, None], [7, 9, None, None], [None, None, 3, 5], [None, None, 6, None]])
    >>> ALS(rank=2, feedback="implicit").fit(visits).recommend(3, n=1).items
    array([[3]])
    """

    learns_in_half_passes: ClassVar[bool] = True
    learns_from_store: ClassVar[bool] = True

    _learned: ClassVar[tuple[str, ...]] = ("confidence_",)
    _weightings: ClassVar[object] = WeightingOption

    confidence_: float
    _settled: choice.Settled

    def __init__(
        self,
        *,
        rank: int | None = None,
        penalty: float | None = None,
        weighting: WeightingOption = "auto",
        exponent: float = 1.0,
        biases: bool = True,
        nonnegative: Nonnegative = "none",
        solver: Solver = "auto",
        feedback: Feedback = "explicit",
        confidence: float | None = None,
        liked: Liked = "all",
        passes: int = 15,
        tol: float | None = 1e-4,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.penalty = penalty
        self.weighting: WeightingOption = weighting
        self.exponent = exponent
        self.biases = biases
        self.nonnegative: Nonnegative = nonnegative
        self.solver: Solver = solver
        self.feedback: Feedback = feedback
        self.confidence = confidence
        self.liked: Liked = liked
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    @property
    def needs_nonnegative(self) -> bool:
        """Whether it can learn only from ratings of zero and above."""
        return self.feedback == "implicit"

    @property
    def predicts_ratings(self) -> bool:
        """Whether predictions are ratings; with implicit feedback they are scores that only put items in order."""
        return self.feedback == "explicit"

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_word("solver", self.solver, Solver)
        check_word("feedback", self.feedback, Feedback)
        check_positive("exponent", self.exponent, or_zero=True, most=2.0)
        check_liked(self.liked)
        if self.confidence is not None:
            check_positive("confidence", self.confidence)
        if self.solver == "conjugate-gradient" and self.nonnegative != "none":
            raise ValueError(
                f'solver="conjugate-gradient" cannot keep nonnegative={self.nonnegative!r}; use solver="cholesky"'
            )
        if self.feedback == "implicit":
            self._check_implicit(ratings)
        elif self.weighting == "frequency":
            raise ValueError('weighting="frequency" counts pairs without a rating; use weighting="count" for ratings')

    def _check_implicit(self, ratings: Ratings) -> None:
        check_no_negative(ratings, 'feedback="implicit"', "leave out what was disliked")
        largest = max(ratings.bounds()[1], 0.0) * float(self.confidence or 0.0)
        if largest > HEAVIEST:
            raise ValueError(
                f'feedback="implicit" takes weights confidence · rating up to {HEAVIEST:g}, found {largest:g}; '
                "use a smaller confidence, or the logarithms of the ratings"
            )

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        if self.feedback == "implicit":
            ratings = self._used_ratings(ratings)
            if len(ratings) == 0:
                raise ValueError(f"liked={self.liked!r} leaves no rating to learn from; give a lower one")
            self._settled = choice.settle(self, ratings)
        self.confidence_ = self._settled.confidence if self.feedback == "implicit" else 1.0
        super()._learn(ratings, validation, callbacks, init)

    def _used_ratings(self, ratings: Ratings) -> Ratings:
        """The ratings that say that something was used."""
        if self.feedback == "explicit" or self.liked == "all":
            return ratings
        if not ratings.is_here:
            raise ValueError(
                f"liked={self.liked!r} needs all ratings in one place; leave out of the frame what was not liked, "
                'and use liked="all"'
            )
        return ratings.select(liked_entries(ratings, self.liked, self.mean_))

    def _fold_in(self, known: Ratings) -> NDArray[np.float32]:
        return super()._fold_in(self._used_ratings(known))

    def _pass(self, ratings: Ratings) -> SquaredErrors:
        users, items = self._users.array, self._items.array
        user_ridge, item_ridge = (self._with_solver(ridge) for ridge in self._ridges())
        ratings.half_pass("user", Solve(user_ridge, gram=self._gram_of(items)), users, items)
        item_step = Solve(item_ridge, measured=True, gram=self._gram_of(users))
        return SquaredErrors(*ratings.half_pass("item", item_step, items, users))

    def _gram_of(self, fixed: NDArray[np.float32]) -> NDArray[np.float32] | None:
        return gram_matrix(fixed) if self.feedback == "implicit" else None

    def _with_solver(self, ridge: Ridge) -> Ridge:
        """Adds to the problem of a row the way in which it is solved."""
        solver = self.solver
        if solver == "auto" and self.feedback == "implicit":
            solver = "conjugate-gradient" if self.nonnegative == "none" else "block"
        if solver == "block":
            return replace(ridge, block=_BLOCK)
        return replace(ridge, steps=_GRADIENT_STEPS) if solver == "conjugate-gradient" else ridge

    def _ridge(self, side: SideOption) -> Ridge:
        ridge, n_others = super()._ridge(side), 0
        if self._row_weighting[0] == "frequency":
            others = self._item_counts if side == "users" else self._user_counts
            n_others = int(np.count_nonzero(others.array))
        return replace(ridge, **self._scaling(self.confidence_, n_others))

    def _scaling(self, confidence: float, n_others: int) -> dict[str, Any]:
        """The options of the kernel that scale the penalty of a row; `n_others` counts the rows of the other side."""
        weighting, exponent = self._row_weighting
        base = n_others / confidence if weighting == "frequency" else 0.0
        return {"by_count": weighting != "constant", "exponent": exponent, "base": base}

    @property
    def _row_weighting(self) -> tuple[WeightingOption, float]:
        """The weighting and the exponent, where these were left open the ones that "auto" stands for."""
        if self.weighting != "auto":
            return self.weighting, float(self.exponent)
        return ("count", 0.5) if self.feedback == "implicit" and self.penalty is None else ("constant", 1.0)

    @property
    def _by_count(self) -> bool:
        return self._row_weighting[0] != "constant"

    @property
    def _confidence(self) -> float | None:
        return self.confidence_ if self.feedback == "implicit" else None

    def _rank_to_learn(self) -> int:
        return self._settled.rank if self.feedback == "implicit" else super()._rank_to_learn()

    def _objective_and_error(self, ratings: Ratings, errors: SquaredErrors) -> tuple[float, float]:
        objective, train = super()._objective_and_error(ratings, errors)
        if self.feedback == "implicit":
            grams = (gram_matrix(rows.array).astype(np.float64) for rows in (self._users, self._items))
            objective += 0.5 * float(np.multiply(*grams).sum())
        return objective, train

    def _size_of_targets(self, ratings: Ratings, offset: float) -> float:
        return super()._size_of_targets(ratings, offset) if self.feedback == "explicit" else 1.0

    @property
    def _unit_exponent(self) -> int:
        """Ratings of implicit feedback are weights, which have no unit."""
        return super()._unit_exponent if self.feedback == "explicit" else 0

    def _has_biases(self) -> bool:
        return super()._has_biases() and self.feedback == "explicit"

    def _penalties(self, ratings: Ratings) -> tuple[float, float]:
        if self.feedback == "implicit":
            return self._settled.penalty, 0.0
        return super()._penalties(ratings)

    def _error(self, ratings: Ratings) -> float:
        if self.feedback == "implicit":
            ratings = self._used_ratings(ratings).with_values(np.ones_like)
        return super()._error(ratings)

    @property
    def _both_unknown(self) -> float:
        if self.feedback == "implicit":
            return float(self._default_user() @ self._default_item())
        return super()._both_unknown
