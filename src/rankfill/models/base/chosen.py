"""What a user's choice says of an item of which only features are known.

People rate what they chose, and some choose better than others. With q̂_j the row that the features of item j suggest,

    s_j = the mean of p_u·(q_j − q̂_j) over those who rated j          (0 for an item without features)
    t_u = Σ_j s_j / (n_u + 10)  over the n_u items that u has rated

u's rating of an item known by its features alone is p_u·q̂_i + t_u. Once such an item has been rated n times, its row
holds part of this itself, and only t_u / (1 + n) is added. Without t_u the mean rating of the user is the better guess
on MovieLens; 0 to 30 in the place of the 10 hardly differ on MovieLens 100K and latest-small. Models of choices, whose
scores are not ratings, do without it.
"""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Features, Ratings, Vocabulary
from rankfill.data.ratings.passing import Side
from rankfill.kernels import Growing, predict_pairs
from rankfill.models.base.described import DescribedRows
from rankfill.models.base.explanation import Part
from rankfill.models.base.state import Parts

_SHRINKAGE = 10.0


class ChosenItems(DescribedRows):
    """Adds t_u to the predictions of items that are known by their features alone."""

    _learned: ClassVar[tuple[str, ...]] = ("_item_surplus", "_user_surplus")

    _item_surplus: Growing | None = None
    """s, by item."""
    _user_surplus: Growing | None = None
    """The sum of s over what the user has rated."""

    def _begin(self, users: Vocabulary, items: Vocabulary) -> None:
        super()._begin(users, items)
        self._item_surplus = self._user_surplus = None

    def _learn_features(self, features: dict[Side, Features]) -> None:
        super()._learn_features(features)
        if "item" in features and self.predicts_ratings and self._seen is not None:
            indptr, items = self._seen.all_rows()
            users = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
            surplus = self._surplus_of_items(features["item"], users, items)
            self._item_surplus = Growing(surplus)
            self._user_surplus = Growing(np.bincount(users, surplus[items], len(self.users_)))

    def _surplus_of_items(
        self, features: Features, users: NDArray[np.int32], items: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        rows, counts = self._items.array, np.bincount(items, minlength=len(self.items_))
        places = self.items_.index(features.ids.ids())
        rated = np.flatnonzero(counts[places] > 0)
        beyond = np.zeros_like(rows)
        known = places[rated]
        beyond[known, : self._width] = rows[known, : self._width] - self._map("item").rows(features)[rated]
        unused = np.zeros(rows.shape[1], np.float32)
        above = predict_pairs(users, items, self._users.array, beyond, unused, unused, 0.0)
        means: NDArray[np.float64] = np.bincount(items, above, len(rows)) / np.maximum(counts, 1)
        return means

    def _note_choices(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> None:
        """Takes note of ratings that came after the fit."""
        if self._item_surplus is not None and self._user_surplus is not None:
            np.add.at(self._user_surplus.array, users, self._item_surplus.array[items])

    def _user_lifts(self, users: NDArray[np.int32]) -> NDArray[np.float32]:
        """t of users by row number; 0 for −1."""
        assert self._user_surplus is not None
        lifts = self._user_surplus.array[users] / (self._user_counts.array[users] + _SHRINKAGE)
        lifts[users < 0] = 0
        return lifts.astype(np.float32)

    def _item_shares(self, items: NDArray[np.int32] | slice) -> NDArray[np.float32]:
        """The share of t that counts for each item; zero for items learned from ratings alone."""
        assert self._described_items is not None
        shares = self._described_items.array[items] / (1.0 + self._item_counts.array[items])
        return shares.astype(np.float32)

    def _lifts(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.float32] | None:
        """The additions to predictions for pairs of row numbers; None where there are none."""
        if self._user_surplus is None or self._described_items is None or not len(self._user_surplus):
            return None
        lifts: NDArray[np.float32] = self._user_lifts(users) * self._item_shares(items)
        lifts[items < 0] = 0
        return lifts

    def _take_choices(self, known: Ratings) -> None:
        """Puts people who were not in training, by what they rated, in the place of the users."""
        if self._item_surplus is not None:
            self._user_surplus = Growing(self._sums_of(known))
            self._user_counts = Growing(known.by_user.counts())

    def _lifts_of(self, known: Ratings) -> NDArray[np.float32] | None:
        """t of people who were not in training."""
        if self._item_surplus is None:
            return None
        lifts: NDArray[np.floating] = self._sums_of(known) / (known.by_user.counts() + _SHRINKAGE)
        return lifts.astype(np.float32)

    def _sums_of(self, known: Ratings) -> NDArray[np.float64]:
        assert self._item_surplus is not None
        surplus = self._item_surplus.array[known.item_indices]
        return np.bincount(known.user_indices, surplus, known.n_users).astype(np.float64, copy=False)

    def _lift_parts(self, user: int, item: int) -> list[Part]:
        """The addition to a prediction as a part of an explanation."""
        lifts = self._lifts(np.array([user], np.int32), np.array([item], np.int32))
        if lifts is None or not lifts[0]:
            return []
        return [Part("level", "what the user chooses", float(lifts[0]))]

    def _match_rows(self) -> None:
        super()._match_rows()
        for side in ("user", "item"):
            surplus: Growing | None = getattr(self, f"_{side}_surplus")
            if surplus is not None:
                surplus.extend(np.zeros(len(self._rows(side)) - len(surplus)))

    def _unpack(self, parts: Parts) -> None:
        super()._unpack(parts)
        for side in ("user", "item"):
            surplus: Growing | None = getattr(self, f"_{side}_surplus")
            if surplus is not None and len(surplus) != len(self._rows(side)):
                raise ValueError(f"{side}_surplus has the length {len(surplus)} instead of {len(self._rows(side))}")
