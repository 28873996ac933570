"""Items and users without ratings, known by their features, in a model that holds two others.

A model within that has factors makes rows of features itself (`base/described.py`). For a recommender that does not,
the score of such an item is guessed from those of the others (`guessed_scores.py`). Ids are added here and there in the
same order, so that row numbers agree; a model that knows fewer ids knows the first ones.
"""

import copy
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Features, Ratings, Vocabulary
from rankfill.data.features import FeaturesLike, as_features
from rankfill.data.ratings.passing import Side
from rankfill.kernels import Growing
from rankfill.models.auto.guessed_scores import GuessedScores
from rankfill.models.base.choosing import Found, MinRatings
from rankfill.models.base.described import DescribedRows
from rankfill.models.base.feature_map import check_features, no_map
from rankfill.models.base.model import Model

_SOME_USERS = 200
_SCORES_AT_ONCE = 2**22


class DescribedParts(Model):
    """Adds to a model of two what it takes to let both answer for what is known by features alone."""

    takes_features: ClassVar[bool] = True

    _learned: ClassVar[tuple[str, ...]] = ("_guessed", "_n_described_users")

    predictor_: Model
    recommender_: Model
    _guessed: GuessedScores | None
    _n_described_users: int
    _new_items: NDArray[np.int32]

    def add_features(
        self, *, item_features: FeaturesLike | None = None, user_features: FeaturesLike | None = None
    ) -> Self:
        """Makes items or users known that have no ratings, by what is known of them.

        The model must have been fitted with features of the same kind.

        Parameters
        ----------
        item_features, user_features : Features, frame or path, optional
            What is known of them. Columns that the model has not learned from make no difference.

        Returns
        -------
        Model
            The model itself.
        """
        self._check_fitted()
        with self._writing:
            given: list[tuple[Side, Any]] = [("user", user_features), ("item", item_features)]
            for side, data in given:
                if data is not None:
                    new = self._like_learned(side, data)
                    for part in self._described_within():
                        part.add_features(**{f"{side}_features": new})
                    self._describe(side, new)
            self._renew_view()
        return self

    def _within(self) -> list[Model]:
        """The two models, or the one that does both."""
        return list({id(part): part for part in (self.predictor_, self.recommender_)}.values())

    def _described_within(self) -> list[DescribedRows]:
        return [part for part in self._within() if isinstance(part, DescribedRows)]

    def _begin(self, users: Vocabulary, items: Vocabulary) -> None:
        super()._begin(users, items)
        self._guessed, self._n_described_users = None, 0

    def _check_features(self, side: Side, features: Features, ids: Vocabulary, counts: NDArray[np.integer]) -> None:
        check_features(features, ids, counts, side)

    def _learn_features(self, features: dict[Side, Features]) -> None:
        if not features:
            return
        if "item" in features:
            users = np.flatnonzero(self._user_counts.array).astype(np.int32)
            scores = self.recommender_._score_all(users[:: -(-len(users) // _SOME_USERS)])
            self._guessed = GuessedScores.learn(features["item"], self.items_, self._item_counts.array, scores)
        for part in self._described_within():
            part._learn_features(features)
            part._renew_view()
        for side, each in features.items():
            self._describe(side, each)

    def _like_learned(self, side: Side, data: FeaturesLike) -> Features:
        if side == "item":
            if self._guessed is None:
                raise no_map(side)
            return as_features(data, like=self._guessed.encoding, ids=self.items_)
        for part in self._described_within():
            return part._like_learned(side, data)
        raise no_map(side)

    def _describe(self, side: Side, features: Features) -> None:
        """Takes in the ids of the features."""
        if not self._owns_vocabularies:
            self.users_, self.items_ = self.users_.copy(), self.items_.copy()
            self._owns_vocabularies = True
        if side == "item":
            assert self._guessed is not None
            self.items_.add(features.ids.ids())
            self._item_counts.extend(np.zeros(len(self.items_) - len(self._item_counts), np.int64))
            self._guessed = self._guessed.with_items(features, self.items_)
            return
        self.users_.add(features.ids.ids())
        self._n_described_users = len(features.ids)
        n_new = len(self.users_) - len(self._user_counts)
        self._user_counts.extend(np.zeros(n_new, np.int64))
        self._user_sums.extend(np.zeros(n_new))

    def _with_new_items(self, features: FeaturesLike) -> Self:
        new = self._like_learned("item", features)
        other = copy.copy(self)
        other._owns_vocabularies = False
        # Not `frozen()`, which others hold, too: what is added here is for this copy alone.
        other._item_counts = Growing(self._item_counts.array.copy())
        other.predictor_, other.recommender_ = (
            part._with_new_items(new) if isinstance(part, DescribedRows) else part
            for part in (self.predictor_, self.recommender_)
        )
        if self.predictor_ is self.recommender_:
            other.predictor_ = other.recommender_
        other._describe("item", new)
        other._new_items = other.items_.index(new.ids.ids())
        other.__dict__.pop("_usual", None)
        other._renew_view()
        return other._view()

    def _described_items(self) -> NDArray[np.bool_]:
        """Which items are known by their features alone."""
        found = np.zeros(len(self.items_), np.bool_)
        if self._guessed is not None:
            found[: len(self._guessed.known)] = self._guessed.known > 0
        unrated: NDArray[np.bool_] = self._item_counts.array == 0
        return found & unrated

    def _candidates(self, min_ratings: MinRatings) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
        """By default with the items known by their features alone; with a minimum only those asked for."""
        first, later = super()._candidates(min_ratings)
        if self._guessed is None:
            return first, later
        also = self._described_items()
        if min_ratings != "auto":
            asked = np.zeros(len(also), np.bool_)
            asked[self.__dict__.get("_new_items", [])] = True
            also &= asked
        return first | also, later

    def _learned_users(self, users: NDArray[np.int32]) -> NDArray[np.int32]:
        """What one of the models within makes of features is as good as learned."""
        return users if self._n_described_users else super()._learned_users(users)

    def _learned_items(self, items: NDArray[np.int32]) -> NDArray[np.int32]:
        learned = super()._learned_items(items)
        if self._guessed is None or not len(self.items_):
            return learned
        return np.where((items >= 0) & self._described_items()[items], items, learned)

    def _list(self, users: NDArray[np.int32], n: int, allowed: NDArray[np.bool_], seen: Any) -> Found:
        """The lists of the recommender, with the items among them whose scores are guessed."""
        part = self.recommender_
        rows, guessed = users_in(part, users), self._to_guess(allowed)
        found = part._best_items(rows, min(n, len(part.items_)), (allowed & ~guessed)[: len(part.items_)], *seen)
        return self._with_guessed(found, n, guessed, lambda block: part._score_all(rows[block]))

    def _list_folded(self, known: Ratings, n: int, allowed: NDArray[np.bool_], exclude_seen: bool) -> Found:
        """The same for people who were not in training."""
        part, guessed = self.recommender_, self._to_guess(allowed)
        allowed = (allowed & ~guessed)[: len(part.items_)]
        found = part._best_items_folded(known, min(n, len(part.items_)), allowed, exclude_seen)
        scores = part._score_all_folded(known) if guessed.any() else np.empty((0, 0), np.float32)
        return self._with_guessed(found, n, guessed, lambda block: scores[block])

    def _to_guess(self, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The items whose scores the recommender cannot tell."""
        return np.zeros_like(allowed) if self.recommender_.takes_features else allowed & self._described_items()

    def _with_guessed(
        self, found: Found, n: int, guessed: NDArray[np.bool_], scores: Callable[[slice], NDArray[np.float32]]
    ) -> Found:
        """Lists with more items in them, brought to the length n."""
        (items, values), more = found, np.flatnonzero(guessed).astype(np.int32)
        if self._guessed is not None and len(more):
            step = max(1, _SCORES_AT_ONCE // len(self.items_))
            blocks = [slice(first, first + step) for first in range(0, len(items), step)]
            new = np.concatenate(
                [np.empty((0, len(more)), np.float32), *(self._guessed.scores(scores(each), more) for each in blocks)]
            )
            items = np.concatenate([items, np.broadcast_to(more, new.shape)], axis=1)
            values = np.concatenate([values, new], axis=1)
            order = np.lexsort((items, -values), axis=1)[:, :n]  # NaN, an empty place, comes last
            items, values = np.take_along_axis(items, order, axis=1), np.take_along_axis(values, order, axis=1)
        empty = ((0, 0), (0, n - items.shape[1]))
        return np.pad(items, empty, constant_values=-1), np.pad(values, empty, constant_values=np.nan)


def users_in(part: Model, users: NDArray[np.int32]) -> NDArray[np.int32]:
    """Row numbers of users, −1 for whom a model within has not learned about."""
    return part._learned_users(np.where(users < len(part.users_), users, np.int32(-1)))


def items_in(part: Model, items: NDArray[np.int32]) -> NDArray[np.int32]:
    """The same for items."""
    return part._learned_items(np.where(items < len(part.items_), items, np.int32(-1)))
