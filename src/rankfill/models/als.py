"""Alternating least squares: with one side fixed, every row of the other is a ridge regression, solved exactly.

feedback="explicit" minimises the objective of `alternating.py`,

    ½ Σ_Ω (r_ui − μ − b_u − b_i − p_u·q_i)² + ½ Σ_u n_u^w (λ ‖p_u‖² + λ_b b_u²) + ½ Σ_i n_i^w (λ ‖q_i‖² + λ_b b_i²)

(Zhou, Wilkinson, Schreiber, Pan 2008 for w = 1). feedback="implicit" is for data that only says what was used and how
much (Hu, Koren, Volinsky, ICDM 2008): over all pairs of users and items, rated or not,

    ½ Σ_ui c_ui (x_ui − p_u·q_i)² + ½ λ (Σ_u n_u^w ‖p_u‖² + Σ_i n_i^w ‖q_i‖²),   no biases,

x = 1 and c = 1 + confidence · r where there is a rating, x = 0 and c = 1 where there is none: the one place where
what was not observed counts as zero, and only on request. The sum over all pairs costs no more than the ratings,
Σ_ui (p_u·q_i)² = ⟨PᵀP, QᵀQ⟩. penalty=None takes λ = ¾ (√n̄_u + √n̄_i), by count 0.065. Predictions are scores around
[0, 1], never clipped; `train` and `validation` in `history_` are root mean squares of 1 − score over the pairs used.
"""

from typing import Literal

import numpy as np

from rankfill.data import Ratings
from rankfill.kernels import gram_matrix, solve_rows
from rankfill.models.alternating import AlternatingModel, Weighting
from rankfill.models.settings import Nonnegative, check_no_negative, check_positive, check_word, warn_of_one_value
from rankfill.objectives.penalties import BY_COUNT

Solver = Literal["cholesky", "conjugate-gradient"]
Feedback = Literal["explicit", "implicit"]

_GRADIENT_STEPS = 3


class ALS(AlternatingModel):
    """Alternating least squares, for ratings and for implicit feedback.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    penalty: Pulls factors and biases to zero. None: chosen from the number and the spread of the ratings.
    biases: Learn the mean rating and what each user and item adds to it. Without effect on implicit feedback.
    solver: Each row exactly, or by three steps of conjugate gradients: faster at high rank, not for nonnegative.
    feedback: Whether ratings say how much something is liked, or only that it was used and how much.
    confidence: With implicit feedback, how much a rating of 1 weighs beside a pair without a rating.

    >>> from rankfill import ALS, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = ALS(rank=2, weighting="count").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([2.], dtype=float32)
    """

    def __init__(
        self,
        *,
        rank: int = 32,
        penalty: float | None = None,
        weighting: Weighting = "constant",
        biases: bool = True,
        nonnegative: Nonnegative = "none",
        solver: Solver = "cholesky",
        feedback: Feedback = "explicit",
        confidence: float = 1.0,
        passes: int = 15,
        tol: float | None = 1e-4,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.penalty = penalty
        self.weighting: Weighting = weighting
        self.biases = biases
        self.nonnegative: Nonnegative = nonnegative
        self.solver: Solver = solver
        self.feedback: Feedback = feedback
        self.confidence = confidence
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_word("solver", self.solver, Solver)
        check_word("feedback", self.feedback, Feedback)
        check_positive("confidence", self.confidence)
        if self.solver == "conjugate-gradient" and self.nonnegative != "none":
            raise ValueError(
                f'solver="conjugate-gradient" cannot keep nonnegative={self.nonnegative!r}; use solver="cholesky"'
            )
        if self.feedback == "implicit":
            check_no_negative(ratings, 'feedback="implicit"', "leave out what was disliked")
        else:
            warn_of_one_value(ratings, 'for data that only say what was used, ALS(feedback="implicit") is made')

    def _pass(self, ratings: Ratings) -> None:
        users, items = self._users.array, self._items.array
        user_ridge, item_ridge = self._ridges(_GRADIENT_STEPS if self.solver == "conjugate-gradient" else 0)
        solve_rows(ratings.by_user, users, items, user_ridge)
        solve_rows(ratings.by_item, items, users, item_ridge)

    @property
    def _confidence(self) -> float | None:
        return float(self.confidence) if self.feedback == "implicit" else None

    def _measured(self, ratings: Ratings) -> tuple[float, float]:
        objective, train = super()._measured(ratings)
        if self.feedback == "implicit":
            grams = (gram_matrix(rows.array).astype(np.float64) for rows in (self._users, self._items))
            objective += 0.5 * float(np.multiply(*grams).sum())
        return objective, train

    def _has_biases(self) -> bool:
        return super()._has_biases() and self.feedback == "explicit"

    def _penalties(self, ratings: Ratings) -> tuple[float, float]:
        if self.feedback == "implicit" and self.penalty is None:
            return (BY_COUNT, 0.0) if self.weighting == "count" else (self._level_of_noise(), 0.0)
        return super()._penalties(ratings)

    def _error(self, ratings: Ratings) -> float:
        if self.feedback == "implicit":
            ratings = ratings.with_values(np.ones_like)
        return super()._error(ratings)

    @property
    def _clips(self) -> bool:
        return self.clip and self.feedback == "explicit"

    @property
    def _both_unknown(self) -> float:
        if self.feedback == "implicit":
            return float(self._default_user() @ self._default_item())
        return super()._both_unknown
