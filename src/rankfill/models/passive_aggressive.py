"""Passive-aggressive factorisation without a learning rate (Blondel, Kubo, Ueda, AISTATS 2014).

One round looks at one rating r and moves one row w against a fixed row x by

    min ½‖w' − w‖²                s.t.  |w'·x − r| ≤ ε               slack="none"       (eq. 3,  NN-PA)
    min ½‖w' − w‖² + C ξ          s.t.  |w'·x − r| ≤ ε + ξ           slack="linear"     (eq. 12, NN-PA-I)
    min ½‖w' − w‖² + C ξ²         s.t.  |w'·x − r| ≤ ε + ξ           slack="quadratic"  (NN-PA-II)

with w' ≥ 0 on the sides that `nonnegative` names. A pass takes every rating twice: all rows of P against a
fixed Q, then all rows of Q against a fixed P. P starts at 0, Q uniform on [0, 1).
The objective in `history_` is Σ ℓ (Σ ℓ² under quadratic slack), ℓ = max(|r − p_u·q_i| − ε, 0), over the Q half of
the pass, each term taken before its update; `train` is the mean absolute error over the same rounds.
"""

from collections.abc import Iterable
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import (
    Losses,
    Root,
    Rule,
    Slack,
    padded,
    padded_copy,
    passive_aggressive_online,
    passive_aggressive_pass,
)
from rankfill.models.online import OnlineFactorModel, random_rows
from rankfill.models.settings import check_no_negative, check_training, check_whole, check_word
from rankfill.models.training import Callback, Training, order_seed
from rankfill.objectives.measures import Measure

Nonnegative = Literal["both", "items", "users", "none"]


class PassiveAggressive(OnlineFactorModel):
    """Non-negative factors, learned a rating at a time, without a learning rate.

    C caps how far one rating may move a row: small is cautious. Cold start: an unknown user is the mean user,
    an unknown item the mean item, a pair of both the mean rating.

    >>> from rankfill import PassiveAggressive, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = PassiveAggressive(rank=2, C=0.1, passes=50, tol=None).fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

    measure: ClassVar[Measure] = "mae"

    def __init__(
        self,
        *,
        rank: int = 30,
        C: float = 0.01,
        epsilon: float = 0.0,
        slack: Slack = "linear",
        root: Root = "approximate",
        nonnegative: Nonnegative = "both",
        passes: int = 10,
        tol: float | None = 0.0,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.C = C
        self.epsilon = epsilon
        self.slack: Slack = slack
        self.root: Root = root
        self.nonnegative: Nonnegative = nonnegative
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Factors of people not in training: `passes` passes over their ratings against the items as they are."""
        self._check_fitted()
        known = self._in_own_items(new_user_ratings)
        rows = padded(known.n_users, self.rank_)
        for epoch in range(1, self.passes + 1):
            passive_aggressive_pass(
                known.by_user, rows, self._items.array, self._rules()[0], order_seed(self.seed, epoch)
            )
        return rows[:, : self.rank_]

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("rank", self.rank, 1)
        check_training(self)
        check_word("nonnegative", self.nonnegative, Nonnegative)
        self._rules()
        if self.nonnegative == "both":
            check_no_negative(ratings, 'nonnegative="both"', 'use ratings.shifted(), or nonnegative="items"')

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self._set_factors(self._start_of_users(0, ratings.n_users), self._start_of_items(0, ratings.n_items), self.rank)
        if init is not None:
            self._start_from(init)
        with Training(self, validation, callbacks) as training:
            for epoch in training.epochs():
                losses = self._alternate(ratings, epoch)
                training.report(losses.loss, losses.absolute / len(ratings))

    def _alternate(self, ratings: Ratings, epoch: int) -> Losses:
        users, items, seed = self._users.array, self._items.array, order_seed(self.seed, epoch)
        user_rule, item_rule = self._rules()
        passive_aggressive_pass(ratings.by_user, users, items, user_rule, seed)
        return passive_aggressive_pass(ratings.by_item, items, users, item_rule, seed + 1)

    def _rules(self) -> tuple[Rule, Rule]:
        """What a round does to a user's row and to an item's."""
        return tuple(  # type: ignore[return-value]
            Rule(self.C, self.epsilon, self.slack, self.root, nonnegative=self.nonnegative in ("both", side))
            for side in ("users", "items")
        )

    def _learn_stream(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]) -> None:
        passive_aggressive_online(users, items, values, self._users.array, self._items.array, *self._rules())

    def _start_of_users(self, first: int, last: int) -> NDArray[np.float32]:
        return padded(last - first, self.rank)

    def _start_of_items(self, first: int, last: int) -> NDArray[np.float32]:
        return padded_copy(random_rows(first, last, self.rank, self.seed))
