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
from numbers import Integral, Real
from typing import ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings, Vocabulary
from rankfill.kernels import (
    Losses,
    Root,
    Rule,
    Slack,
    padded,
    passive_aggressive_online,
    passive_aggressive_pass,
)
from rankfill.models.factors import FactorModel
from rankfill.models.seen import SeenItems
from rankfill.models.training import Callback, Training
from rankfill.objectives.measures import Measure

Nonnegative = Literal["both", "items", "users", "none"]


class PassiveAggressive(FactorModel):
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

    def partial_fit(self, ratings: Ratings) -> Self:
        """Goes on from what was learned, one round a rating in the order of the stream; new ids get new rows."""
        self._check(ratings)
        if len(ratings) == 0:
            return self
        if not hasattr(self, "users_"):
            empty = Vocabulary(ratings.users.ids()[:0]), Vocabulary(ratings.items.ids()[:0])
            self._begin(*empty)
            self._seen = SeenItems(np.zeros(1, np.int64), np.empty(0, np.int32))
            self._set_factors(padded(0, self.rank), padded(0, self.rank), self.rank)
        elif self.rank != self.rank_:
            raise ValueError(f"rank is {self.rank}, what was learned has {self.rank_}; fit anew, or set rank back")
        order = ratings.stream_order()
        users, items = self._grow(ratings, order)
        user_rows, item_rows = users[ratings.user_indices[order]], items[ratings.item_indices[order]]
        self._take_note(ratings, users, items)
        self._seen.add(user_rows, item_rows)
        passive_aggressive_online(
            user_rows, item_rows, ratings.values[order], self._users.array, self._items.array, *self._rules()
        )
        return self

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Factors of people not in training: `passes` passes over their ratings against the items as they are."""
        self._check_fitted()
        known = self._in_own_items(new_user_ratings)
        rows = padded(known.n_users, self.rank_)
        for epoch in range(1, self.passes + 1):
            passive_aggressive_pass(known.by_user, rows, self._items.array, self._rules()[0], self._order_seed(epoch))
        return rows[:, : self.rank_]

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        for name, value, least in (("rank", self.rank, 1), ("passes", self.passes, 1), ("seed", self.seed, 0)):
            if not isinstance(value, Integral) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, found {value!r}")
        if self.tol is not None and not (isinstance(self.tol, Real) and self.tol == self.tol):
            raise ValueError(f"tol must be a number, or None to make every pass, found {self.tol!r}")
        if self.nonnegative not in get_args(Nonnegative):
            raise ValueError(
                f"nonnegative must be one of {', '.join(get_args(Nonnegative))}, found {self.nonnegative!r}"
            )
        self._rules()
        if self.nonnegative == "both" and (ratings.values < 0).any():
            bad = int(np.flatnonzero(ratings.values < 0)[0])
            user = ratings.users.ids([ratings.user_indices[bad]])[0]
            item = ratings.items.ids([ratings.item_indices[bad]])[0]
            raise ValueError(
                f'nonnegative="both" needs ratings >= 0, found {ratings.values[bad]:g} of user {user!r} for item '
                f'{item!r}; use ratings.shifted(), or nonnegative="items"'
            )

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self._set_factors(padded(ratings.n_users, self.rank), self._start_of_items(0, ratings.n_items), rank=self.rank)
        if init is not None:
            self._start_from(init)
        with Training(self, validation, callbacks) as training:
            for epoch in training.epochs():
                losses = self._alternate(ratings, epoch)
                training.report(losses.loss, losses.absolute / len(ratings))

    def _alternate(self, ratings: Ratings, epoch: int) -> Losses:
        users, items, seed = self._users.array, self._items.array, self._order_seed(epoch)
        user_rule, item_rule = self._rules()
        passive_aggressive_pass(ratings.by_user, users, items, user_rule, seed)
        return passive_aggressive_pass(ratings.by_item, items, users, item_rule, seed + 1)

    def _rules(self) -> tuple[Rule, Rule]:
        """What a round does to a user's row and to an item's."""
        return tuple(  # type: ignore[return-value]
            Rule(self.C, self.epsilon, self.slack, self.root, nonnegative=self.nonnegative in ("both", side))
            for side in ("users", "items")
        )

    def _order_seed(self, epoch: int) -> int:
        """Seeds the order of the entries within rows: another one in every pass."""
        return int(np.random.SeedSequence([self.seed, epoch]).generate_state(1, np.uint64)[0] >> np.uint64(1))

    def _start_of_items(self, first: int, last: int) -> NDArray[np.float32]:
        """Uniform rows first … last − 1: a row depends on the seed and its number, not on when it is asked for."""
        bits = np.random.PCG64(self.seed)
        bits.advance(int(first * self.rank))
        rows = padded(last - first, self.rank)
        rows[:, : self.rank] = np.random.Generator(bits).random((last - first, self.rank))
        return rows

    def _start_from(self, init: Self) -> None:
        init._check_fitted()
        if init.rank_ != self.rank:
            raise ValueError(f"init has rank {init.rank_}, this model {self.rank}; give both the same")
        for own, theirs, own_ids, their_ids in (
            (self._users, init._users, self.users_, init.users_),
            (self._items, init._items, self.items_, init.items_),
        ):
            rows = self._own_rows(their_ids, own_ids)
            own.array[rows >= 0] = theirs.array[rows[rows >= 0]]

    def _grow(self, ratings: Ratings, order: NDArray[np.integer]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows of the ratings' users and items here; new ids are numbered in the order in which they arrive."""
        if not self._owns_vocabularies:
            self.users_, self.items_ = self.users_.copy(), self.items_.copy()
            self._owns_vocabularies = True
        user_ids = ratings.users.ids(_by_first_appearance(ratings.user_indices[order]))
        item_ids = ratings.items.ids(_by_first_appearance(ratings.item_indices[order]))
        n_items = len(self.items_)
        self.items_.index(item_ids)  # ids of the wrong kind are refused before anything has grown
        self.users_.add(user_ids)
        self.items_.add(item_ids)
        self._users.extend(padded(len(self.users_) - len(self._users), self.rank))
        self._items.extend(self._start_of_items(n_items, len(self.items_)))
        for counts, ids in ((self._user_counts, self.users_), (self._item_counts, self.items_)):
            counts.extend(np.zeros(len(ids) - len(counts), dtype=np.int64))
        return self.users_.index(ratings.users.ids()), self.items_.index(ratings.items.ids())


def _by_first_appearance(indices: NDArray[np.int32]) -> NDArray[np.int32]:
    distinct, first = np.unique(indices, return_index=True)
    return distinct[np.argsort(first)]
