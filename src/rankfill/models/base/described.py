"""Rows that come from features: items and users without ratings of which something else is known.

Such an item is *described*: it has an id and a row, as if it had been learned, but no ratings. Ratings that come later
(`partial_fit`) move that row on.
"""

import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Features, Vocabulary
from rankfill.data.features import FeaturesLike, as_features
from rankfill.data.ratings.passing import Side
from rankfill.kernels import Growing
from rankfill.models.base.choosing import MinRatings
from rankfill.models.base.feature_map import FeatureMap, check_features, learn_map, no_map
from rankfill.models.base.model import Model
from rankfill.models.base.state import Parts


class DescribedRows(Model):
    """Adds rows made from features to a model whose rows are in `_users` and `_items`."""

    takes_features: ClassVar[bool] = True

    _learned: ClassVar[tuple[str, ...]] = ("_user_map", "_item_map", "_described_users", "_described_items")

    _user_map: FeatureMap | None
    _item_map: FeatureMap | None
    _described_users: Growing | None
    _described_items: Growing | None
    _new_items: NDArray[np.int32]

    def add_features(
        self, *, item_features: FeaturesLike | None = None, user_features: FeaturesLike | None = None
    ) -> Self:
        """Adds items or users without ratings, with rows made from their features.

        They get predictions and can be recommended; later ratings (`partial_fit`) move their rows on. The model
        must have been fitted with features of the same kind.

        Parameters
        ----------
        item_features, user_features : Features, frame or path, optional
            What is known of them. Columns that the model has not learned from make no difference.

        Returns
        -------
        Model
            The model itself.

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.synthetic.low_rank(50, 4, n_ratings=100, seed=0)
        >>> films = rf.Features.from_table([0, 1, 2, 3], {"kind": ["old", "old", "new", "new"]})
        >>> model = rf.ALS(rank=2, passes=3).fit(ratings, item_features=films)
        >>> model.add_features(item_features=rf.Features.from_table([77], {"kind": ["old"]}, like=films))
        ALS(passes=3, rank=2)
        >>> len(model.items_)
        5
        """
        self._check_fitted()
        with self._writing:
            given: list[tuple[Side, Any]] = [("user", user_features), ("item", item_features)]
            for side, data in given:
                if data is not None:
                    self._describe(side, self._like_learned(side, data))
            self._renew_view()
        return self

    def _begin(self, users: Vocabulary, items: Vocabulary) -> None:
        super()._begin(users, items)
        self._user_map = self._item_map = self._described_users = self._described_items = None

    def _check_features(self, side: Side, features: Features, ids: Vocabulary, counts: NDArray[np.integer]) -> None:
        check_features(features, ids, counts, side)

    def _learn_features(self, features: dict[Side, Features]) -> None:
        for side, each in features.items():
            setattr(self, f"_{side}_map", self._learn_map(side, each))
        for side, each in features.items():
            self._describe(side, each)

    def _learn_map(self, side: Side, features: Features) -> FeatureMap:
        others = "item" if side == "user" else "user"
        learned = self._counts(others).array > 0
        return learn_map(
            features,
            self._ids(side),
            self._rows(side).array[:, : self._width],
            self._counts(side).array,
            self._rows(others).array[learned, : self._width],
        )

    @property
    def _width(self) -> int:
        """How many columns of the rows are in use."""
        raise NotImplementedError

    def _ids(self, side: str) -> Vocabulary:
        found: Vocabulary = getattr(self, f"{side}s_")
        return found

    def _rows(self, side: str) -> Growing:
        found: Growing = getattr(self, f"_{side}s")
        return found

    def _counts(self, side: str) -> Growing:
        found: Growing = getattr(self, f"_{side}_counts")
        return found

    def _map(self, side: Side) -> FeatureMap:
        found: FeatureMap | None = getattr(self, f"_{side}_map")
        if found is None:
            raise no_map(side)
        return found

    def _like_learned(self, side: Side, data: FeaturesLike) -> Features:
        return as_features(data, like=self._map(side).encoding, ids=self._ids(side))

    def _describe(self, side: Side, features: Features) -> None:
        """Gives rows to the ids without ratings among those of the features."""
        if not self._owns_vocabularies:
            self.users_, self.items_ = self.users_.copy(), self.items_.copy()
            self._owns_vocabularies = True
        rows, counts = self._rows(side), self._counts(side)
        places = self._ids(side).add(features.ids.ids())
        n_new = len(self._ids(side)) - len(rows)
        rows.extend(np.zeros((n_new, rows.array.shape[1]), np.float32))
        counts.extend(np.zeros(n_new, np.int64))
        if side == "user":
            self._user_sums.extend(np.zeros(n_new))
        described: Growing | None = getattr(self, f"_described_{side}s")
        if described is None:
            described = Growing(np.zeros(len(rows) - n_new, np.uint8))
            setattr(self, f"_described_{side}s", described)
        described.extend(np.zeros(len(rows) - len(described), np.uint8))
        unrated = counts.array[places] == 0
        described.array[places[unrated]] = 1
        rows.array[places[unrated], : self._width] = self._map(side).rows(features)[unrated]
        self._match_rows()

    def _match_rows(self) -> None:
        """Extends whatever else is kept per row to the number of rows."""
        for side in ("user", "item"):
            described: Growing | None = getattr(self, f"_described_{side}s")
            if described is not None:
                described.extend(np.zeros(len(self._rows(side)) - len(described), np.uint8))

    def _with_new_items(self, features: FeaturesLike) -> Self:
        other = copy.copy(self)
        other._owns_vocabularies = False
        for name, value in vars(self).items():
            if isinstance(value, Growing):
                written = name in ("_items", "_described_items")
                # Not `frozen()`, which other views share: rows added here are for this copy alone.
                setattr(other, name, Growing(value.array.copy() if written else value.array))
        new = self._like_learned("item", features)
        other._describe("item", new)
        other._new_items = other.items_.index(new.ids.ids())
        other.__dict__.pop("_usual", None)
        other._renew_view()
        return other._view()

    def _candidates(self, min_ratings: MinRatings) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
        """By default with all items known by features alone; given a minimum, with the new ones of the call only."""
        first, later = super()._candidates(min_ratings)
        if self._described_items is None:
            return first, later
        also = self._described_items.array > 0
        if min_ratings != "auto":
            also = np.zeros(len(first), dtype=np.bool_)
            also[self.__dict__.get("_new_items", [])] = True
        return first | (also & (self._item_counts.array == 0)), later

    def _is_described(self, side: Side, row: int) -> bool:
        described: Growing | None = getattr(self, f"_described_{side}s")
        return described is not None and bool(described.array[row])

    def _learned_users(self, users: NDArray[np.int32]) -> NDArray[np.int32]:
        return _add_described(users, super()._learned_users(users), self._described_users)

    def _learned_items(self, items: NDArray[np.int32]) -> NDArray[np.int32]:
        return _add_described(items, super()._learned_items(items), self._described_items)

    def _unpack(self, parts: Parts) -> None:
        super()._unpack(parts)
        for side in ("user", "item"):
            described, found = getattr(self, f"_described_{side}s"), getattr(self, f"_{side}_map")
            if described is not None and len(described) != len(self._rows(side)):
                raise ValueError(
                    f"described_{side}s has the length {len(described)} instead of {len(self._rows(side))}"
                )
            if found is not None and len(found.intercept) != self._width:
                raise ValueError(f"{side}_map makes rows of {len(found.intercept)} numbers instead of {self._width}")


def _add_described(rows: NDArray[np.int32], learned: NDArray[np.int32], described: Growing | None) -> NDArray[np.int32]:
    if described is None or not len(described):
        return learned
    return np.where(described.array[rows] > 0, rows, learned)
