"""The answers of item regressions: a user's row of X times the weights, plus an offset."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Growing, Rows, padded_copy, sparse_times
from rankfill.models.base.best_of_scores import best_of
from rankfill.models.base.explanation import Part
from rankfill.models.base.model import Model
from rankfill.models.base.reasons import OwnRatings, Reading
from rankfill.models.base.state import Parts
from rankfill.models.bias import Bias, bias_of
from rankfill.models.regression.entries import EntryWeighting, Scale, residuals_of
from rankfill.models.regression.neighbours import Neighbours
from rankfill.models.regression.people import Effects, People
from rankfill.models.regression.raters import Link, inputs_over_raters
from rankfill.models.regression.reasons import ENTRIES, MARGINS, entry_parts, in_proportion, most_alike


class AnswersByRows(Model):
    """Predictions and lists from weights of items; `ItemRegression` learns them."""

    _learned: ClassVar[tuple[str, ...]] = (
        *("penalty_", "weighting_", "damping_", "_scale", "_entries", "_default_scores"),
        *("_effects", "_link", "_item_effects", "_dense", "_neighbours"),
    )

    penalty_: float
    weighting_: EntryWeighting
    damping_: float
    _scale: Scale
    _entries: NDArray[np.float32]
    _default_scores: NDArray[np.float32]
    _effects: Effects | None
    _link: Link | None
    _item_effects: NDArray[np.float32] | None
    _dense: NDArray[np.float32] | None
    _neighbours: Neighbours | None
    _by_source: "scipy.sparse.csr_array"

    @property
    def item_weights_(self) -> "NDArray[np.float32] | scipy.sparse.csr_array":
        """The weight of each item, by row, for each other item, by column."""
        self._check_fitted()
        if self._dense is None:
            return self._by_source.copy()
        weights = self._dense.view()
        weights.flags.writeable = False
        return weights

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Returns the rows of X of people not in training; the model itself stays unchanged.

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

    def _score(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.float32]:
        bias = self._bias()
        scores = np.zeros(len(users), np.float32) if bias is None else bias._score(users, items)
        known = np.flatnonzero(items >= 0)
        distinct, numbers = np.unique(users[known], return_inverse=True)
        order = np.argsort(numbers, kind="stable")
        for block, all_scores in self._all(self._people(distinct)):
            first, last = np.searchsorted(numbers[order], (block.start, block.stop))
            pairs = order[first:last]
            scores[known[pairs]] = all_scores[numbers[pairs] - block.start, items[known[pairs]]]
        return scores

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
        seen = (known.by_user.indptr, known.item_indices)
        if not exclude_seen:
            seen = (np.zeros(known.n_users + 1, np.int64), np.empty(0, np.int32))
        return self._best(self._newcomers(known), n, allowed, *seen)

    def _score_all_folded(self, ratings: Ratings) -> NDArray[np.float32]:
        people = self._newcomers(self._in_own_items(ratings))
        return np.concatenate([np.empty((0, len(self.items_)), np.float32), *(block for _, block in self._all(people))])

    def _best(
        self,
        people: People,
        n: int,
        allowed: NDArray[np.bool_],
        seen_indptr: NDArray[np.int64],
        seen_items: NDArray[np.int32],
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        shape = people.entries.n_rows, n
        items, best = np.empty(shape, np.int32), np.empty(shape, np.float32)
        for block, scores in self._all(people):
            bounds = seen_indptr[block.start : block.stop + 1]
            seen = seen_items[bounds[0] : bounds[-1]]
            items[block], best[block] = best_of(scores, n, allowed, bounds - bounds[0], seen)
        return items, best

    def _all(self, people: People) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Predictions for every item, not clipped, by some people at a time."""
        for block, some in people.blocks(len(self.items_)):
            scores = self._products(some.entries)
            scores[some.entries.counts() == 0] = self._default_scores
            from_effects = np.ones(len(self.items_), bool)
            if self._link is not None and self._item_effects is not None:
                scores += self._link.features(len(scores)) @ self._item_effects.T
                scores = self._link.answers(scores)
                if self._link.logistic:
                    from_effects = self._item_counts.array == 0
                    scores[:, from_effects] = 0
            if self._effects is not None and some.effects is not None:
                scores[:, from_effects] += some.effects @ self._effects.items[from_effects].T
            yield block, scores

    def _products(self, entries: Rows) -> NDArray[np.float32]:
        """(XB)_ui for every item."""
        if self._dense is not None:
            return sparse_times(entries, entries.values, self._dense)
        shape = entries.n_rows, len(self.items_)
        rows = scipy.sparse.csr_array((entries.values, entries.indices, entries.indptr), shape)
        products: NDArray[np.float32] = (rows @ self._by_source).toarray()
        return products

    def _people(self, users: NDArray[np.int32]) -> People:
        """The rows of users: empty for user −1, and for all of them where a file was saved without history."""
        if self._seen is None:
            entries = Rows.taking(np.zeros(len(users) + 1, np.int64), np.empty(0, np.int32), self._entries[:0])
        else:
            indptr, items = self._seen.rows(users)
            starts = self._seen.all_rows()[0][np.maximum(users, 0)]
            places = np.repeat(starts - indptr[:-1], np.diff(indptr)) + np.arange(indptr[-1])
            entries = Rows.taking(indptr, items, self._entries[places])
        effects = None
        if self._effects is not None:
            effects = self._effects.users[users]
            effects[users < 0] = 1, 0
        return People(entries, effects)

    def _newcomers(self, known: Ratings) -> People:
        """The rows of people who were not in training."""
        bias = self._bias()
        effects = None
        if bias is not None:
            effects = bias._fold_in(known)
            bias._users = Growing(padded_copy(effects))
        return People(known.by_user._replace(values=self._entries_of(known, bias)), effects)

    def _reading(self, user: int, item: int, own: OwnRatings | None) -> Reading:
        people = self._people(np.array([user], np.int32))
        bias = self._bias()
        levels = [] if bias is None else bias._reading(user, item, None).parts
        if item < 0:
            return Reading([*levels, Part("level", "score of an unknown item", 0.0)])
        parts = [Part("level", "score of an unknown user", float(self._default_scores[item]))]
        if len(people.entries.indices):
            weights = self._weights_of(item)[people.entries.indices]
            parts = entry_parts(people.entries, weights, self.items_, own)
        if self._link is None or self._item_effects is None:
            return Reading([*levels, *parts], (), ENTRIES if len(people.entries.indices) else "")
        of_item = float(self._item_effects[item, 0])
        if not self._link.logistic:
            parts = [Part("level", "that somebody rates it", of_item), *parts]
            return Reading([*levels, *in_proportion(parts, self._link.half)], (), ENTRIES)
        parts = [Part("level", "odds of the item", of_item), *parts]
        total, middle = sum(part.contribution for part in parts), (self._link.low + self._link.high) / 2
        score = float(self._score(np.array([user], np.int32), np.array([item], np.int32))[0])
        shown = in_proportion(parts, (score - middle) / total if total else 0.0)
        return Reading([Part("level", "even odds", middle if total else score), *shown], (), MARGINS)

    def _weights_of(self, item: int) -> NDArray[np.float32]:
        """The weight of each item for one item."""
        if self._dense is not None:
            return self._dense[:, item]
        weights: NDArray[np.float32] = self._by_source[:, [item]].toarray()[:, 0]
        return weights

    def _most_similar(
        self, side: str, rows: NDArray[np.int32], n: int, learned: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Items by how much they speak for one; users by the cosine of their entries."""
        if side == "users":
            everybody = np.arange(len(self.users_), dtype=np.int32)
            return most_alike(self._people(everybody).entries, len(self.items_), rows, n, learned)
        found, similarities = np.full((len(rows), n), -1, np.int32), np.full((len(rows), n), np.nan, np.float32)
        for place, item in enumerate(rows.tolist()):
            if item >= 0:
                weights = np.array(self._weights_of(item))[None]
                itself = np.array([0, 1]), np.array([item], np.int32)
                found[place], similarities[place] = (each[0] for each in best_of(weights, n, learned, *itself))
        return found, similarities

    def _bias(self) -> Bias | None:
        if self._effects is None:
            return None
        bias = bias_of(*self._effects, self.mean_)
        if self._link is not None and self._link.logistic:
            bias.effects = "items"  # of newcomers too
        return bias

    def _entries_of(self, ratings: Ratings, bias: Bias | None) -> NDArray[np.float32]:
        if bias is None:
            return self._scale.entries(ratings.values, self.weighting_)
        entries = residuals_of(ratings, bias)
        return (
            entries if self._link is None else inputs_over_raters(ratings.by_user._replace(values=entries), self._link)
        )

    def _pack(self, history: bool) -> Parts:
        """Without history leaves out the rows of X: of users only effects are left; newcomers still get lists."""
        parts = super()._pack(history)
        if not history:
            parts.tensors["entries"] = self._entries[:0]
        return parts

    def _unpack(self, parts: Parts) -> None:
        super()._unpack(parts)
        n_items = len(self.items_)
        rated = 0 if self._seen is None else self.n_ratings_
        if len(self._entries) != rated:
            raise ValueError(f"entries has the length {len(self._entries)} instead of {rated}")
        if (self._dense is None) == (self._neighbours is None):
            raise ValueError("dense and neighbours must be one or the other")
        weights = self._dense if self._neighbours is None else self._neighbours.weights
        assert weights is not None
        if len(weights) != n_items or len(self._default_scores) != n_items:
            raise ValueError(f"the weights have the shape {weights.shape}, which is not that of {n_items} items")
        if self._item_effects is not None and self._link is not None and self._item_effects.shape != (n_items, 1):
            raise ValueError(
                f"item_effects has the shape {self._item_effects.shape}, which does not fit {n_items} items"
            )
        if self._neighbours is not None:
            self._neighbours.check(n_items)
            self._by_source = self._neighbours.by_source()
            self._renew_view()
