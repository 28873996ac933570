"""Passive-aggressive factorisation without a learning rate (Blondel, Kubo, Ueda, AISTATS 2014).

One round looks at one rating r and moves one row w against a fixed row x by

    min ½‖w' − w‖²                s.t.  |w'·x − r| ≤ ε               slack="none"       (eq. 3,  NN-PA)
    min ½‖w' − w‖² + C ξ          s.t.  |w'·x − r| ≤ ε + ξ           slack="linear"     (eq. 12, NN-PA-I)
    min ½‖w' − w‖² + C ξ²         s.t.  |w'·x − r| ≤ ε + ξ           slack="quadratic"  (NN-PA-II)

with w' ≥ 0 on the sides that `nonnegative` names. A pass takes every rating twice: all rows of P against a
fixed Q, then all rows of Q against a fixed P.

recipe="paper": P starts at 0, Q uniform on [0, 1), C stays the same, a row goes on from its last round.
recipe="averaged": the last two factors start as the effects of users and items (`effect_columns.py`), the others of Q
uniform on [0, a c): a = 0.0007 for C up to 0.4, where factors come in one after the other, and a = 0.0007 (C/0.4)^5.5
up to 0.1 at C = 1, where they come in at once. C is 0.72 times what it was in the pass before. A pass leaves each row
at the mean of its iterates, its beginning counted 20 times.

C="auto" tries C from 1 down (`CAPS`; under quadratic slack over c²) on at most 500,000 ratings. Every C makes ten
passes of the recipe over four fifths of them and is scored on the other fifth (`held_out.py`; where a fifth has fewer
than 10,000 ratings, on further fifths as well), by the larger of its mean absolute and root mean square errors, each
relative to that of the start. The search stops at the first C that does worse than the best, once the start is beaten.
What was taken is in `C_`. `partial_fit` goes on with the C of the tenth pass; a stream that begins with nothing has
C = 0.5 (under quadratic slack over c²) before its fall, and takes the size of the ratings from its first ones
(`beginning.py`).

The objective in `history_` is Σ ℓ (Σ ℓ² under quadratic slack), ℓ = max(|r − p_u·q_i| − ε, 0), over the Q half of
the pass, each term taken before its update; `train` is the mean absolute error over the same rounds.
"""

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import (
    Losses,
    Root,
    RowPair,
    Rows,
    Rule,
    Slack,
    padded,
    passive_aggressive_online,
    passive_aggressive_pass,
    predict_pairs,
)
from rankfill.models.base.forgetting import Left
from rankfill.models.base.held_out import Predict, choose_held_out
from rankfill.models.base.means import MeanRow
from rankfill.models.base.nonnegative import project
from rankfill.models.base.online import OnlineFactorModel
from rankfill.models.base.settings import (
    Nonnegative,
    check_no_negative,
    check_positive,
    check_training,
    check_whole,
    check_word,
)
from rankfill.models.base.starts import set_random
from rankfill.models.base.state import Parts
from rankfill.models.base.training import Callback, Training, order_seed
from rankfill.models.passive_aggressive.beginning import ENOUGH, Beginning
from rankfill.models.passive_aggressive.effect_columns import EffectColumns, effects_of
from rankfill.objectives.measures import Measure

Recipe = Literal["averaged", "paper"]

CAPS = (1.0, 0.6, 0.42, 0.3, 0.2, 0.12, 0.06, 0.02, 0.005, 0.001, 0.0002)
FALL, BEGINNING, SMALL = 0.72, 20.0, 0.0007
STREAM = 0.5
FOLDS, SAMPLE, SCORED, TRIAL = 5, 500_000, 10_000, 10
SIDES = ("users", "items")


@dataclass(frozen=True)
class Rounds:
    """A half pass: every row through its ratings, in the order of the seed and its number; the sums are `Losses`."""

    rule: Rule
    seed: int
    goes_on: ClassVar[bool] = True

    def __call__(
        self, rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], first: int
    ) -> tuple[float, ...]:
        return tuple(passive_aggressive_pass(rows, moving, fixed, self.rule, self.seed, first))


class PassiveAggressive(OnlineFactorModel):
    """Non-negative factors, learned one rating at a time, without a learning rate.

    Use it for streams of ratings, and where factors should be readable as topics. With nothing set it starts from the
    effects of users and items and finds out by itself how boldly to go on from there; where nothing more can be learned
    it stays with them. Cold start: an unknown user is the mean user, an unknown item the mean item, and for a pair of
    both the answer is the mean rating.

    Parameters
    ----------
    rank : int, default=32
        Number of factors, at least 1. With the averaged recipe two of them hold the effects of users and items.
    C : float or "auto", default="auto"
        How far one rating may move a row, above 0. Small values (0.001 to 0.1) move gently and keep noise out; "auto"
        tries several on ratings kept aside, see `C_`. Without effect under slack="none".
    epsilon : float, default=0.0
        Errors up to this size are not corrected, zero or more.
    slack : {"linear", "quadratic", "none"}, default="linear"
        What an error that is left costs. "linear" hardly heeds ratings that are far off, "quadratic" follows them more
        the further they are, and "none" meets every rating exactly.
    root : {"approximate", "exact", "bisection", "published-bisection"}, default="approximate"
        How the step of a non-negative row is found. The paper finds "approximate" as good as the others, and it is
        the fastest. "published-bisection" is the paper's algorithm 2 as it stands, from the widest bracket; it needs
        nonnegative="both". "bisection" begins near the root and knows rows of either sign.
    nonnegative : {"both", "items", "users", "none"}, default="both"
        Which factors must not be negative. With "both" ratings must not be negative either.
    recipe : {"averaged", "paper"}, default="averaged"
        How a fit goes about it. "averaged" starts from the effects of users and items, lets C fall from pass to pass
        and takes means of rows; "paper" is as published.
    passes : int, default=10
        The most passes over the ratings, at least 1. People who are folded in take as many.
    tol : float, optional, default=0.0
        Stop when three passes have each lowered the objective, or the error on validation ratings, by less than this
        share. None makes every pass.
    seed : int, default=0
        Seed of the random start of the items, of the order of the ratings, and of those kept aside.
    clip : bool, default=True
        Keep predictions within the range of the ratings.

    Attributes
    ----------
    C_ : float
        The C that was used in the first pass.
    user_factors_, item_factors_ : ndarray of shape (n_users, rank) and (n_items, rank)
        The factors, one row per user and per item in the order of `users_` and `items_`; read-only.
    user_biases_, item_biases_ : ndarray of shape (n_users,) and (n_items,)
        Zeros: the effects of users and items are part of the factors.
    rank_ : int
        The number of factors.
    biased_ : bool
        Whether there are biases beside the factors: False.
    offset_ : float
        What is added to the product of the factors: 0.
    users_, items_ : Vocabulary
        The ids, in the order of the rows.
    mean_ : float
        The mean rating.
    range_ : tuple of two floats
        The least and the greatest rating, without the few that stand far apart from all others.
    n_ratings_ : int
        The number of ratings learned from.
    history_ : list of EpochReport
        One report per pass of `fit`: seconds, objective, errors.

    Examples
    --------
    >>> from rankfill import PassiveAggressive, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = PassiveAggressive(rank=2, C=0.1, recipe="paper", passes=50, tol=None).fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)

    A stream goes on where it left off; new ids get rows of their own:

    >>> model.partial_fit(Ratings.from_arrays([0, 3], [2, 0], [1.0, 5.0])).n_ratings_
    8
    """

    measure: ClassVar[Measure] = "mae"
    starts_from_factors: ClassVar[bool] = True
    learns_in_half_passes: ClassVar[bool] = True
    learns_from_store: ClassVar[bool] = True

    _learned: ClassVar[tuple[str, ...]] = ("C_", "_columns", "_beginning")

    C_: float
    _columns: EffectColumns
    _beginning: Beginning

    def __init__(
        self,
        *,
        rank: int = 32,
        C: float | Literal["auto"] = "auto",
        epsilon: float = 0.0,
        slack: Slack = "linear",
        root: Root = "approximate",
        nonnegative: Nonnegative = "both",
        recipe: Recipe = "averaged",
        passes: int = 10,
        tol: float | None = 0.0,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.C: float | Literal["auto"] = C
        self.epsilon = epsilon
        self.slack: Slack = slack
        self.root: Root = root
        self.nonnegative: Nonnegative = nonnegative
        self.recipe: Recipe = recipe
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _fold_in(self, known: Ratings) -> NDArray[np.float32]:
        """Factors of people not in training: `passes` passes over their ratings against the items as they are."""
        rows = self._start_of_users(0, known.n_users)
        for epoch in range(1, self.passes + 1):
            user_rule, _ = self._rules(self._cap(epoch))
            passive_aggressive_pass(known.by_user, rows, self._items.array, user_rule, order_seed(self.seed, epoch))
        return rows[:, : self.rank_]

    @property
    def needs_nonnegative(self) -> bool:
        """Whether it can learn only from ratings of zero and above."""
        return self.nonnegative == "both"

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("rank", self.rank, 1)
        check_training(self)
        check_word("nonnegative", self.nonnegative, Nonnegative)
        check_word("recipe", self.recipe, Recipe)
        check_word("slack", self.slack, Slack)
        check_word("root", self.root, Root)
        check_positive("epsilon", self.epsilon, or_zero=True)
        if self.root == "published-bisection" and self.nonnegative != "both":
            raise ValueError(
                f'root="published-bisection" needs nonnegative="both", found {self.nonnegative!r}; use root="bisection"'
            )
        if self.C != "auto":
            check_positive("C", self.C, remedy="small values (0.001 to 0.1) move gently")
        if self.nonnegative == "both":
            check_no_negative(ratings, 'nonnegative="both"', 'use ratings.shifted(), or nonnegative="items"')

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self.rank_ = int(self.rank)
        self._columns = EffectColumns.of(ratings, self.mean_, self.nonnegative, self.rank_)
        self._beginning = Beginning.empty(ENOUGH)
        with Training(self, validation, callbacks) as training:
            for epoch in training.epochs():
                if epoch == 1:
                    self.C_ = self._choose_cap(ratings) if self.C == "auto" else self.C
                    self._set_factors(*self._start(ratings), self.rank)
                    if init is not None:
                        self._start_from(init)
                        project(self._users.array, self._items.array, self.nonnegative)
                losses = self._alternate(ratings, epoch)
                training.report(losses.loss, losses.absolute / len(ratings))

    def _alternate(self, ratings: Ratings, epoch: int) -> Losses:
        return self._pass(ratings, (self._users.array, self._items.array), epoch)

    def _pass(self, ratings: Ratings, rows: RowPair, epoch: int) -> Losses:
        users, items = rows
        user_rule, item_rule = self._rules(self._cap(epoch))
        seed = order_seed(self.seed, epoch)
        ratings.half_pass("user", Rounds(user_rule, seed), users, items)
        return Losses(*ratings.half_pass("item", Rounds(item_rule, seed + 1), items, users))

    def _choose_cap(self, ratings: Ratings) -> float:
        """The C that learns best from four fifths of the ratings, by its errors on the rest."""
        trial = copy(self)

        def learn(cap: float, part: Ratings, passes: int = TRIAL) -> Predict:
            trial.C_ = cap / self._unit
            rows = trial._start(part)
            for epoch in range(1, passes + 1):
                trial._pass(part, rows, epoch)
            return partial(trial._predict_with, rows)

        caps = CAPS if self.slack != "none" else CAPS[:1]
        chosen = choose_held_out(
            ratings,
            caps,
            learn,
            baseline=partial(learn, caps[0], passes=0),
            measures=("mae", "rmse"),
            sample=SAMPLE,
            aside=FOLDS,
            scored=SCORED,
            seed=self.seed,
        )
        return (chosen or caps[0]) / self._unit

    @property
    def _unit(self) -> float:
        """The divisor of C, by which it means the same for ratings of any size."""
        return self._columns.unit**2 if self.slack == "quadratic" else 1.0

    def _predict_with(self, rows: RowPair, ratings: Ratings) -> NDArray[np.float32]:
        """The predictions of these rows for each rating."""
        unused = np.zeros(rows[0].shape[1], np.float32)
        scores = predict_pairs(ratings.user_indices, ratings.item_indices, *rows, unused, unused, 0.0)
        return np.clip(scores, *self.range_) if self.clip else scores

    def _cap(self, epoch: int) -> float:
        """C in a pass."""
        return self.C_ if self.recipe == "paper" else self.C_ * FALL ** (epoch - 1)

    def _rules(self, C: float) -> tuple[Rule, Rule]:
        """The rules of a round for the row of a user and of an item."""
        return _rules(C, self.epsilon, self.slack, self.root, self.nonnegative, self.recipe)

    def _begin_stream(self, ratings: Ratings) -> None:
        self.rank_ = int(self.rank)
        self._beginning = Beginning.empty()
        self._rest_on(ratings.values[ratings.stream_order()[:1]])
        super()._begin_stream(ratings)

    def _rest_on(self, values: NDArray[np.float32]) -> None:
        """Takes the size of the ratings from the first ones of a stream."""
        self._columns = EffectColumns.of_few(values, self.nonnegative, self.rank_)
        self.C_ = STREAM / self._unit if self.C == "auto" else self.C

    def _learn_stream(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]) -> None:
        if self._beginning.rests_on < ENOUGH:
            all_so_far = self._beginning.plus(users, items, values)
            rests_on, self._beginning = all_so_far.settle()
            if rests_on > all_so_far.rests_on:
                self._rest_on(all_so_far.values[:rests_on])
                self._start_again()
                users, items, values = all_so_far[:3]
        rules = self._rules(self._cap(TRIAL))
        passive_aggressive_online(users, items, values, self._users.array, self._items.array, *rules)

    def _start_again(self) -> None:
        """Starts again in new arrays, since readers may use the old ones."""
        users, items = self._start_of_users(0, len(self._users)), self._start_of_items(0, len(self._items))
        self._set_factors(users, items, self.rank_)
        self._mean_user = MeanRow(self._users, self._user_counts)
        self._mean_item = MeanRow(self._items, self._item_counts)

    def _forget_entries(self, left: Left) -> None:
        super()._forget_entries(left)
        self._beginning = self._beginning.without(left)

    def _unpack(self, parts: Parts) -> None:
        super()._unpack(parts)
        self._beginning.check(len(self.users_), len(self.items_))

    def _start(self, ratings: Ratings) -> RowPair:
        """All rows before the first pass."""
        if self.recipe == "paper":
            return self._start_of_users(0, ratings.n_users), self._start_of_items(0, ratings.n_items)
        user_effects, item_effects = effects_of(ratings, self._columns.mean)
        return self._start_rows(0, 0, ratings.n_users, user_effects), self._start_rows(
            1, 0, ratings.n_items, item_effects
        )

    def _start_of_users(self, first: int, last: int) -> NDArray[np.float32]:
        return self._start_rows(0, first, last)

    def _start_of_items(self, first: int, last: int) -> NDArray[np.float32]:
        return self._start_rows(1, first, last)

    def _start_rows(
        self, side: int, first: int, last: int, effects: NDArray[np.float64] | float = 0.0
    ) -> NDArray[np.float32]:
        rank = self.rank_
        rows = padded(last - first, rank)
        if side == 1:
            set_random(rows, first, rank, self.seed, lambda numbers: self._small * numbers)
        if self.recipe == "averaged":
            constrained = self.nonnegative in ("both", SIDES[side])
            self._columns.fill(rows, side, rank, effects, nonnegative=constrained)
        return rows

    @property
    def _small(self) -> float:
        """The width of the uniform start of the items."""
        if self.recipe == "paper":
            return 1.0
        return float(SMALL * np.clip(self.C_ * self._unit / 0.4, 1, 2.5) ** 5.5) * self._columns.unit


@lru_cache(maxsize=64)
def _rules(
    C: float, epsilon: float, slack: Slack, root: Root, nonnegative: Nonnegative, recipe: Recipe
) -> tuple[Rule, Rule]:
    """Kept, because a stream asks for the same ones with every rating."""
    averaged = BEGINNING if recipe == "averaged" else 0.0
    users, items = (Rule(C, epsilon, slack, root, nonnegative in ("both", side), averaged) for side in SIDES)
    return users, items
