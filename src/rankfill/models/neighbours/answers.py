"""The answers of neighbour models: predictions for pairs, all items and newcomers; reasons, and similar ids."""

import copy
from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Rows
from rankfill.kernels.neighbours import (
    Near,
    Similarity,
    Voices,
    Weighing,
    neighbour_sums,
    neighbour_sums_of_columns,
    neighbour_sums_of_rows,
    neighbour_weights,
    similar_rows,
)
from rankfill.models.base.best_of_scores import best_of
from rankfill.models.base.online import OnlineModel
from rankfill.models.base.reasons import OwnRatings, Reading
from rankfill.models.base.settings import SideOption
from rankfill.models.bias import Bias, bias_of
from rankfill.models.neighbours.entries import (
    EMPTY,
    Baseline,
    Centre,
    Sides,
    deviations,
    deviations_of_newcomers,
    less_baseline,
    sides_of,
    stack_rows,
)
from rankfill.models.neighbours.reasons import MEANING, neighbour_parts

_SCORES_AT_ONCE, _PAIRS_AT_ONCE = 2**22, 2**17


class People(NamedTuple):
    """People for whom items are scored: rows among the users (−1: unknown), entries, rows of the bias model."""

    rows: NDArray[np.int32]
    entries: Rows
    effects: NDArray[np.float32]


class NeighbourAnswers(OnlineModel):
    """The answers of a model that has learned neighbours."""

    _learned: ClassVar[tuple[str, ...]] = (
        *("penalty_", "_ratings", "_user_effects", "_item_effects"),
        *("_level", "_near", "_weights"),
    )

    side: SideOption
    similarity: Similarity
    centre: Centre
    weights: Weighing
    k: int
    keep: int
    min_support: int
    shrinkage: float
    baseline: Baseline

    penalty_: float
    _ratings: NDArray[np.float32]
    _user_effects: NDArray[np.float32]
    _item_effects: NDArray[np.float32]
    _level: float
    _near: Near
    _weights: NDArray[np.float32] | None
    _sides: Sides
    _turned: Rows | None
    _baseline_model: Bias | None

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Returns what people not in training rated, less its baseline; the model itself stays unchanged.

        Parameters
        ----------
        new_user_ratings : Ratings
            What they rated. Ratings of items that the model does not know are left out.

        Returns
        -------
        ndarray of shape (n_users, n_items)
            One row per person, in the order of `new_user_ratings.users`: zero where nothing was rated.
        """
        view = self._view()
        entries = view._newcomers(view._in_own_items(new_user_ratings)).entries
        rows = np.zeros((entries.n_rows, len(view.items_)), np.float32)
        rows[entries.row_of_entry(), entries.indices] = entries.values
        return rows

    @abstractmethod
    def _set_entries(self, ratings: Ratings) -> None:
        """Sets the baseline, and the ratings as they are and less the baseline."""

    @abstractmethod
    def _compare(self, ratings: Ratings, rows: NDArray[np.int32]) -> Near:
        """The neighbours of some rows."""

    def _neighbours_among(self, sides: Sides, rows: NDArray[np.int32], keep: int) -> Near:
        centred = self.similarity == "pearson" and self.centre != "common"
        return similar_rows(
            *sides,
            rows,
            similarity="cosine" if centred else self.similarity,
            min_support=int(self.min_support),
            shrinkage=float(self.shrinkage),
            keep=keep,
        )

    @property
    def _heard(self) -> Near:
        """Neighbours with what they count."""
        return self._near if self._weights is None else Near(self._near.indices, self._weights)

    @property
    def _speaks_to(self) -> Rows:
        """For each row the rows whose neighbour it is; computed when scores of all items are first asked for."""
        turned = self._turned
        if turned is None:
            indices, weights = self._heard
            there = indices >= 0
            indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
            turned = self._turned = Rows.taking(indptr, indices[there], weights[there]).transposed(len(indices))
        return turned

    @property
    def _voices(self) -> Voices:
        return Voices(int(self.k), self.weights, self.penalty_)

    @property
    def _mean_square(self) -> float:
        """The mean square of what neighbours are asked for: the unit of the penalty of learned weights."""
        values = (self._sides.by_other if self.side == "items" else self._sides.by_own).values
        return float(np.mean(np.square(values, dtype=np.float64))) if len(values) else 0.0

    def _score(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.float32]:
        scores = self._bias()._score(users, items)
        for first in range(0, len(users), _PAIRS_AT_ONCE):
            block = slice(first, first + _PAIRS_AT_ONCE)
            own, other = (items[block], users[block]) if self.side == "items" else (users[block], items[block])
            known = np.flatnonzero((own >= 0) & (other >= 0))
            said = neighbour_sums(self._sides.by_other, self._heard, self._voices, own[known], other[known])
            scores[first + known] = self._with_baseline(scores[first + known], said)
        return scores

    def _with_baseline(self, baseline: NDArray[np.float32], said: NDArray[np.float32]) -> NDArray[np.float32]:
        """Adds the sums over neighbours to the baseline, or puts them in its place where there is none."""
        silent = np.isnan(said)
        total = np.where(silent, baseline, said if self.baseline == "none" else baseline + said)
        return total.astype(np.float32, copy=False)

    def _score_all(self, users: NDArray[np.int32]) -> NDArray[np.float32]:
        return self._all_scores(self._people(users))

    def _score_all_folded(self, ratings: Ratings) -> NDArray[np.float32]:
        known = self._in_own_items(ratings)
        people = self._newcomers(known)
        return self._with_newcomers(known, people)._all_scores(people)

    def _all_scores(self, people: People) -> NDArray[np.float32]:
        none = np.empty((0, len(self.items_)), np.float32)
        return np.concatenate([none, *(scores for _, scores in self._scores_of(people))])

    def _best_items(
        self,
        users: NDArray[np.int32],
        n: int,
        allowed: NDArray[np.bool_],
        seen_indptr: NDArray[np.int64],
        seen_items: NDArray[np.int32],
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        return self._best(self._people(users), n, allowed, seen_indptr, seen_items)

    def _best_items_folded(
        self, ratings: Ratings, n: int, allowed: NDArray[np.bool_], exclude_seen: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        known = self._in_own_items(ratings)
        people = self._newcomers(known)
        seen = (known.by_user.indptr, known.item_indices)
        if not exclude_seen:
            seen = (np.zeros(known.n_users + 1, np.int64), np.empty(0, np.int32))
        return self._with_newcomers(known, people)._best(people, n, allowed, *seen)

    def _best(
        self,
        people: People,
        n: int,
        allowed: NDArray[np.bool_],
        seen_indptr: NDArray[np.int64],
        seen_items: NDArray[np.int32],
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        shape = len(people.rows), n
        items, best = np.empty(shape, np.int32), np.empty(shape, np.float32)
        for block, scores in self._scores_of(people):
            bounds = seen_indptr[block.start : block.stop + 1]
            seen = seen_items[bounds[0] : bounds[-1]]
            items[block], best[block] = best_of(scores, n, allowed, bounds - bounds[0], seen)
        return items, best

    def _scores_of(self, people: People) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Predictions for every item, not clipped, by some people at a time."""
        n, step = len(people.rows), max(1, _SCORES_AT_ONCE // max(len(self.items_), 1))
        for first in range(0, n, step):
            block = slice(first, min(first + step, n))
            baseline = people.effects[block] @ self._item_effects.T
            yield block, self._with_baseline(baseline, self._said_to(people, block))

    def _said_to(self, people: People, block: slice) -> NDArray[np.float32]:
        """The sum over neighbours for every item, NaN without any."""
        if self.side == "items":
            entries = people.entries.block(block)
            columns = np.arange(entries.n_rows, dtype=np.int32)
            return neighbour_sums_of_columns(entries, self._heard, self._voices, self._speaks_to, columns)
        rows = people.rows[block]
        said = np.full((len(rows), len(self.items_)), np.nan, np.float32)
        by_own, by_other = self._sides
        known = rows >= 0
        said[known] = neighbour_sums_of_rows(by_other, self._heard, self._voices, by_own, rows[known])
        return said

    def _people(self, users: NDArray[np.int32]) -> People:
        """Users by row number, −1 for the unknown."""
        effects = self._user_effects[users] if len(self._user_effects) else np.empty((len(users), 2), np.float32)
        effects[users < 0] = 1, 0
        entries = self._sides.by_other.of_rows(users) if self.side == "items" else EMPTY
        return People(users, entries, effects)

    def _newcomers(self, known: Ratings) -> People:
        """People who were not in training; with side="users" in rows after those of the users."""
        bias = self._bias()
        effects = bias._fold_in(known)
        bias = bias_of(effects, self._item_effects, self._level)
        rows = len(self.users_) + np.arange(known.n_users, dtype=np.int32)
        return People(rows, less_baseline(known, bias, self.baseline), effects)

    def _with_newcomers(self, known: Ratings, people: People) -> Self:
        """With side="users", a copy that holds the neighbours of newcomers."""
        if self.side == "items" or self._seen is None:
            return self
        folded, n_users = copy.copy(self), len(self.users_)
        train = self._all_ratings()
        deviating, compared = train.by_user, known.by_user
        if self.similarity == "pearson":
            deviating = deviations(train, self.centre, self.side)
            compared = deviations_of_newcomers(known, train, self.centre)
        sides = sides_of(deviating, len(self.items_), self.side)
        found = self._neighbours_among(
            Sides(stack_rows(sides.by_own, compared), sides.by_other), people.rows, int(self.keep)
        )
        folded._near = Near(*(np.concatenate(pair) for pair in zip(self._near, found, strict=True)))
        folded._sides = Sides(stack_rows(self._sides.by_own, people.entries), self._sides.by_other)
        if self._weights is not None:
            unmoved = Rows.taking(np.zeros(n_users + 1, np.int64), EMPTY.indices, EMPTY.values)
            moved = Sides(stack_rows(unmoved, people.entries), self._sides.by_other)
            learned = neighbour_weights(*moved, folded._near, int(self.k), self.penalty_ * self._mean_square)
            folded._weights = np.concatenate([self._weights, learned[n_users:]])
        return folded

    def _reading(self, user: int, item: int, own: OwnRatings | None) -> Reading:
        levels = list(self._bias()._reading(user, item, None).parts)
        row, column = (item, user) if self.side == "items" else (user, item)
        if min(user, item) < 0:
            return Reading(levels)
        parts = neighbour_parts(self, row, column)
        return Reading(([] if self.baseline == "none" and parts else levels) + parts, (), MEANING[self.weights])

    def _most_similar(
        self, side: str, rows: NDArray[np.int32], n: int, learned: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The neighbours; those of the side that is not compared are found when they are asked for."""
        found = np.full((len(rows), n), -1, np.int32), np.full((len(rows), n), np.nan, np.float32)
        known = np.flatnonzero(rows >= 0)
        if side == self.side:
            near = Near(self._near.indices[rows[known]], self._near.weights[rows[known]])
        elif self._seen is None:
            raise ValueError(f"this model was saved without what users have rated and cannot compare {side}")
        else:
            flipped, ratings = type(self)(**self.get_params() | {"side": side}), self._all_ratings()
            flipped._set_entries(ratings)
            near = flipped._compare(ratings, rows[known])
        width = min(n, near.indices.shape[1])
        found[0][known, :width] = near.indices[:, :width]
        found[1][known, :width] = np.where(near.indices < 0, np.nan, near.weights)[:, :width]
        return found

    def _all_ratings(self) -> Ratings:
        by_user = self._sides.by_other if self.side == "items" else self._sides.by_own
        return Ratings(self.users_, self.items_, by_user._replace(values=self._ratings))

    def _bias(self) -> Bias:
        """The baseline as a model of its own, made when it is first asked for."""
        bias = self._baseline_model
        if bias is None:
            bias = bias_of(self._user_effects, self._item_effects, self._level)
            bias.set_params(effects={"effects": "both", "means": self.side, "none": "none"}[self.baseline])
            if self.baseline != "effects":
                bias.set_params(shrinkage=0.0)
            self._baseline_model = bias
        return bias
