"""Passive-aggressive factorisation without a learning rate (Blondel, Kubo, Ueda, AISTATS 2014).

One round looks at one rating r and moves one row w against a fixed row x by

    min ½‖w' − w‖²                s.t.  |w'·x − r| ≤ ε               slack="none"       (eq. 3,  NN-PA)
    min ½‖w' − w‖² + C ξ          s.t.  |w'·x − r| ≤ ε + ξ           slack="linear"     (eq. 12, NN-PA-I)
    min ½‖w' − w‖² + C ξ²         s.t.  |w'·x − r| ≤ ε + ξ           slack="quadratic"  (NN-PA-II)

with w' ≥ 0 on the sides that `nonnegative` names. A pass takes every rating twice: all rows of P against a
fixed Q, then all rows of Q against a fixed P.

recipe="paper": P starts at 0, Q uniform on [0, 1), C stays the same, a row goes on from its last round.
recipe="averaged": the last two factors start as the effects of users and items (`levels.py`), the others of Q uniform
on [0, a c): a = 0.0007 for C up to 0.4, where factors come in one after the other, and a = 0.0007 (C/0.4)^5.5 up to
0.1 at C = 1, where they come in at once. C is 0.72 times what it was in the pass before. A pass leaves each row at the
mean of its iterates, its beginning counted 20 times.

C="auto" tries C from 1 down (`CAPS`; under quadratic slack over c²) on at most 500,000 ratings: every C makes ten
passes of the recipe over four fifths of them (the fold of a rating is a hash of its user and item) and is scored on the
other fifth, by the larger of its mean absolute and root mean square errors, each relative to that of the start. It
stops at the first C that does worse than the best, once the start is beaten. What was taken is in `C_`. `partial_fit`
goes on with the C of the tenth pass; a stream that begins with nothing has C = 0.5 before its fall.

The objective in `history_` is Σ ℓ (Σ ℓ² under quadratic slack), ℓ = max(|r − p_u·q_i| − ε, 0), over the Q half of
the pass, each term taken before its update; `train` is the mean absolute error over the same rounds.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.folds import hashed_folds
from rankfill.data.submatrix import some_users
from rankfill.kernels import (
    Losses,
    Root,
    Rule,
    Slack,
    padded,
    passive_aggressive_online,
    passive_aggressive_pass,
    predict_pairs,
)
from rankfill.models.levels import Levels, effects_of
from rankfill.models.online import OnlineFactorModel, random_rows
from rankfill.models.settings import Nonnegative, check_no_negative, check_training, check_whole, check_word
from rankfill.models.training import Callback, Training, order_seed
from rankfill.objectives.measures import Measure, mae, rmse

Recipe = Literal["averaged", "paper"]
RowPair = tuple[NDArray[np.float32], NDArray[np.float32]]

CAPS = (1.0, 0.6, 0.42, 0.3, 0.2, 0.12, 0.06, 0.02, 0.005, 0.001, 0.0002)
FALL, BEGINNING, SMALL = 0.72, 20.0, 0.0007
STREAM = 0.5
FOLDS, SAMPLE, TRIAL = 5, 500_000, 10
SIDES = ("users", "items")


class PassiveAggressive(OnlineFactorModel):
    """Non-negative factors, learned a rating at a time, without a learning rate.

    With nothing set it starts from the effects of users and items and finds out by itself how boldly to go on from
    there; where nothing more can be learned it stays with them. Cold start: an unknown user is the mean user, an
    unknown item the mean item, a pair of both the mean rating.

    recipe: averaged starts from the effects of users and items, C falls, rows are means; paper is as published.

    >>> from rankfill import PassiveAggressive, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = PassiveAggressive(rank=2, C=0.1, recipe="paper", passes=50, tol=None).fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    """

    measure: ClassVar[Measure] = "mae"

    C_: float
    _levels: Levels

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

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Factors of people not in training: `passes` passes over their ratings against the items as they are."""
        self._check_fitted()
        known = self._in_own_items(new_user_ratings)
        rows = self._start_of_users(0, known.n_users)
        for epoch in range(1, self.passes + 1):
            user_rule, _ = self._rules(self._cap(epoch))
            passive_aggressive_pass(known.by_user, rows, self._items.array, user_rule, order_seed(self.seed, epoch))
        return rows[:, : self.rank_]

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("rank", self.rank, 1)
        check_training(self)
        check_word("nonnegative", self.nonnegative, Nonnegative)
        check_word("recipe", self.recipe, Recipe)
        self._rules(CAPS[0] if self.C == "auto" else self.C)
        if self.nonnegative == "both":
            check_no_negative(ratings, 'nonnegative="both"', 'use ratings.shifted(), or nonnegative="items"')

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self._levels = Levels.of(ratings.values, self.nonnegative, self.rank)
        with Training(self, validation, callbacks) as training:
            for epoch in training.epochs():
                if epoch == 1:
                    self.C_ = self._chosen_cap(ratings) if self.C == "auto" else self.C
                    self._set_factors(*self._start(ratings), self.rank)
                    if init is not None:
                        self._start_from(init)
                losses = self._alternate(ratings, epoch)
                training.report(losses.loss, losses.absolute / len(ratings))

    def _alternate(self, ratings: Ratings, epoch: int) -> Losses:
        return self._pass(ratings, (self._users.array, self._items.array), epoch)

    def _pass(self, ratings: Ratings, rows: RowPair, epoch: int) -> Losses:
        users, items = rows
        user_rule, item_rule = self._rules(self._cap(epoch))
        seed = order_seed(self.seed, epoch)
        passive_aggressive_pass(ratings.by_user, users, items, user_rule, seed)
        return passive_aggressive_pass(ratings.by_item, items, users, item_rule, seed + 1)

    def _chosen_cap(self, ratings: Ratings) -> float:
        """The C that learns best from four fifths of the ratings, by its errors on the rest."""
        sample = some_users(ratings, SAMPLE, self.seed)
        held_out = hashed_folds(sample, FOLDS, self.seed) == 0
        learned, rest = sample.select(~held_out), sample.select(held_out)
        before, best, chosen = (np.nan, np.nan), np.inf, CAPS[0]
        for cap in CAPS if self.slack != "none" and min(len(learned), len(rest)) > 0 else ():
            self.C_ = cap / self._unit
            rows = self._start(learned)
            before = self._errors(rows, rest) if cap == CAPS[0] else before
            for epoch in range(1, TRIAL + 1):
                self._pass(learned, rows, epoch)
            score = max(_ratio(*pair) for pair in zip(self._errors(rows, rest), before, strict=True))
            if score < best:
                best, chosen = score, cap
            elif best < 1:
                break
        return chosen / self._unit

    @property
    def _unit(self) -> float:
        """What C is divided by to mean the same for ratings of any size."""
        return self._levels.unit**2 if self.slack == "quadratic" else 1.0

    def _errors(self, rows: RowPair, ratings: Ratings) -> tuple[float, float]:
        """The mean absolute and the root mean square error."""
        unused = np.zeros(rows[0].shape[1], np.float32)
        scores = predict_pairs(ratings.user_indices, ratings.item_indices, *rows, unused, unused, 0.0)
        scores = np.clip(scores, *self.range_) if self.clip else scores
        return mae(ratings.values, scores), rmse(ratings.values, scores)

    def _cap(self, epoch: int) -> float:
        """C in a pass."""
        return self.C_ if self.recipe == "paper" else self.C_ * FALL ** (epoch - 1)

    def _rules(self, C: float) -> tuple[Rule, Rule]:
        """What a round does to a user's row and to an item's."""
        averaged = BEGINNING if self.recipe == "averaged" else 0.0
        return tuple(  # type: ignore[return-value]
            Rule(C, self.epsilon, self.slack, self.root, self.nonnegative in ("both", side), averaged) for side in SIDES
        )

    def _begin_stream(self, ratings: Ratings) -> None:
        """Without a fit before it a stream goes by its first rating, the only one that does not depend on its cuts."""
        self._levels = Levels.of(ratings.values[ratings.stream_order()[:1]], self.nonnegative, self.rank)
        self.C_ = STREAM if self.C == "auto" else self.C
        super()._begin_stream(ratings)

    def _learn_stream(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]) -> None:
        rules = self._rules(self._cap(TRIAL))
        passive_aggressive_online(users, items, values, self._users.array, self._items.array, *rules)

    def _start(self, ratings: Ratings) -> RowPair:
        """All rows before the first pass."""
        if self.recipe == "paper":
            return self._start_of_users(0, ratings.n_users), self._start_of_items(0, ratings.n_items)
        user_effects, item_effects = effects_of(ratings, self._levels.mean)
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
        rows, rank = padded(last - first, self.rank), int(self.rank)
        if side == 1:
            rows[:, :rank] = self._small * random_rows(first, last, rank, self.seed)
        if self.recipe == "averaged":
            constrained = self.nonnegative in ("both", SIDES[side])
            self._levels.fill(rows, side, rank, effects, nonnegative=constrained)
        return rows

    @property
    def _small(self) -> float:
        """The width of the uniform start of the items."""
        if self.recipe == "paper":
            return 1.0
        return float(SMALL * np.clip(self.C_ * self._unit / 0.4, 1, 2.5) ** 5.5) * self._levels.unit

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, about = super()._state()
        return tensors, about | {"C": self.C_, "levels": list(self._levels)}

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self.C_, self._levels = about["C"], Levels(*about["levels"])


def _ratio(error: float, before: float) -> float:
    return error / before if before > 0 else float(error > 0)
