"""What every model is asked for: predictions and recommendations by id.

Subclasses answer by row number in `_score` and `_best_items`, for people not in training in `_score_all_folded` and
`_best_items_folded`.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankfill.data import Ratings
from rankfill.data.features import FeaturesLike
from rankfill.models.base.choosing import POOL, Found, MinRatings, fewest_ratings, find_lists, pick_varied
from rankfill.models.base.known import ONE, Known, as_ids
from rankfill.models.base.recommendations import Recommendations
from rankfill.models.base.settings import check_share, check_whole


class Answers(Known):
    """The part of every model that predicts and recommends."""

    clip: bool
    _usual: tuple[NDArray[np.bool_], NDArray[np.bool_] | None]

    @property
    def predicts_ratings(self) -> bool:
        """Whether predictions are ratings; otherwise they are scores that only put items in order."""
        return True

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Predicts the rating of each pair of ids.

        Parameters
        ----------
        users, items : array-like of ids
            One item for each user. A single user may go with many items, and a single item with many users.

        Returns
        -------
        ndarray of float32
            Within the range of the ratings learned, unless the model has `clip=False`.

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 3, 5])
        >>> rf.Bias(shrinkage=0).fit(ratings).predict("bob", ["tea", "milk"])
        array([5., 3.], dtype=float32)
        """
        view = self._view()
        if isinstance(users, ONE) and isinstance(items, ONE):
            return np.array(view._score_one(view.users_.row_of(users), view.items_.row_of(items)), np.float32)
        user_rows, item_rows, shape = view._pair_rows(users, items)
        return view._clip(view._score(user_rows, item_rows)).reshape(shape)

    def predict_all(self, users: ArrayLike | None = None) -> NDArray[np.float32]:
        """Predicts how each of the users would rate every item, in the order of `items_`.

        Parameters
        ----------
        users : array-like of ids, optional
            Whom to predict for; everybody in `users_` by default. Takes 4 bytes for each user and item.

        Returns
        -------
        ndarray of shape (n_users, n_items)
        """
        view = self._view()
        rows = np.arange(len(view.users_), dtype=np.int32)
        if users is not None:
            rows = view._user_rows(users)
        return view._clip(view._score_all(view._learned_users(rows)))

    def predict_folded(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Predicts how people who were not in training would rate every item, in the order of `items_`.

        Parameters
        ----------
        new_user_ratings : Ratings
            What is known of them; see `fold_in`.

        Returns
        -------
        ndarray of shape (n_users, n_items)
        """
        view = self._view()
        return view._clip(view._score_all_folded(new_user_ratings))

    def recommend(
        self,
        users: ArrayLike | Ratings,
        n: int = 10,
        exclude_seen: bool = True,
        *,
        items: ArrayLike | None = None,
        exclude: ArrayLike | None = None,
        min_ratings: MinRatings = "auto",
        diversify: float = 0.0,
        new_items: FeaturesLike | None = None,
    ) -> Recommendations:
        """Finds the items with the highest predictions for each user.

        Parameters
        ----------
        users : array-like of ids, or Ratings
            Whom to recommend to: ids, or the ratings of people who were not in training (see `fold_in`).
        n : int, default=10
            How many items for each user, at most as many as there are. Lists are padded where fewer are left.
        exclude_seen : bool, default=True
            Whether items that the user has rated are left out.
        items : array-like of ids, optional
            The candidates: nothing else is recommended. By default all items. Those without ratings in training are
            passed over, unless the model was fitted with features of them.
        exclude : array-like of ids, optional
            Items that nobody is to be recommended.
        min_ratings : int or "auto", default="auto"
            Items with fewer ratings in training are never recommended: what one person loved says little about others.
            With "auto", items that a model of ratings knows too little about come after all others instead. Those are
            the least rated ones that have 5 % of the ratings together, and none with 30 ratings or more. Scores that
            are no ratings need no such care, nor do items without any ratings that are known by their features.
        diversify : float, default=0.0
            From 0 to 1: how much an item loses by its likeness to those further up. Each place goes to the item with
            the best balance of score and novelty (maximal marginal relevance), among the 10 n best. Scores are then not
            in descending order.
        new_items : Features, frame or path, optional
            Items that nobody has rated, which compete with the others by what is known of them. The model must have
            been fitted with `item_features`. To rank these alone, name them in `items`, too.

        Returns
        -------
        Recommendations
            Ids and scores, one row per user, best first.

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.Ratings.from_arrays(["ann", "ann", "bob", "cid"], ["tea", "milk", "tea", "beer"], [4, 3, 5, 5])
        >>> model = rf.Bias().fit(ratings)
        >>> model.recommend("bob", n=1).items
        array([['beer']], dtype=object)
        >>> model.recommend("bob", n=1, exclude=["beer"]).items
        array([['milk']], dtype=object)
        """
        view = self._view() if new_items is None else self._view()._with_new_items(new_items)
        check_whole("n", n, 1)
        check_share("diversify", diversify)
        first, later = view._allowed_items(items, exclude, min_ratings)
        asked, people, find = view._finder(users, exclude_seen)
        wanted = min(n, len(view.items_))
        if diversify:
            pool = find_lists(find, min(POOL * n, len(view.items_)), first, later)
            indices, scores = pick_varied(pool, wanted, float(diversify), view._item_vectors)
        else:
            indices, scores = find_lists(find, wanted, first, later)
        found = view.items_.ids(np.maximum(indices.ravel(), 0)).reshape(indices.shape)
        found[indices < 0] = None if view.items_.of_strings else -1
        return Recommendations(found, scores, asked, view._ratings_of_lists(people, indices))

    @abstractmethod
    def _score(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.float32]:
        """Predictions for pairs of row numbers, −1 for what was not learned."""

    @abstractmethod
    def _score_all_folded(self, ratings: Ratings) -> NDArray[np.float32]:
        """Predictions for every item by people who were not in training."""

    @abstractmethod
    def _best_items(
        self,
        users: NDArray[np.int32],
        n: int,
        allowed: NDArray[np.bool_],
        seen_indptr: NDArray[np.int64],
        seen_items: NDArray[np.int32],
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Row numbers and scores of the n best allowed items of each user, −1 and NaN where fewer are left."""

    @abstractmethod
    def _best_items_folded(
        self, ratings: Ratings, n: int, allowed: NDArray[np.bool_], exclude_seen: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """As `_best_items`, for people who were not in training."""

    def _with_new_items(self, features: FeaturesLike) -> Self:
        """A view that knows more items, by their features."""
        raise self._no_features("new_items")

    def _no_features(self, name: str) -> TypeError:
        return TypeError(
            f"{type(self).__name__} has no factors that features could stand for; leave {name} out, or use a model "
            "with factors, such as ALS"
        )

    def _finder(
        self, users: ArrayLike | Ratings, exclude_seen: bool
    ) -> tuple[NDArray[Any], NDArray[np.int32] | Ratings, Callable[[int, NDArray[np.bool_]], Found]]:
        """The ids of these users, their rows (newcomers: ratings), and a function that finds their n best items."""
        if isinstance(users, Ratings):
            newcomers = users
            return (
                users.users.ids(),
                users,
                lambda n, allowed: self._best_items_folded(newcomers, n, allowed, exclude_seen),
            )
        rows = self._user_rows(users)
        learned, seen = self._learned_users(rows), self._seen_by(rows, exclude_seen)
        return np.atleast_1d(as_ids(users)), learned, lambda n, allowed: self._best_items(learned, n, allowed, *seen)

    def _allowed_items(
        self, items: ArrayLike | None, exclude: ArrayLike | None, min_ratings: MinRatings
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
        """Marks the items that may be recommended, and those that may only follow them."""
        first, later = self._candidates(min_ratings)
        if items is None and exclude is None:
            return first, later
        chosen = np.full(len(first), items is None)
        if items is not None:
            chosen[self._item_rows(items)] = True
        if exclude is not None:
            chosen[self._item_rows(exclude)] = False
        return first & chosen, None if later is None else later & chosen

    def _candidates(self, min_ratings: MinRatings) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
        """As `_allowed_items`, where the caller names no items."""
        if min_ratings == "auto":
            return self._usual_items()
        check_whole("min_ratings", min_ratings, 1)
        return self._item_counts.array >= min_ratings, None

    def _usual_items(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
        """As `_candidates` with the automatic minimum; a view computes it once."""
        usual: tuple[NDArray[np.bool_], NDArray[np.bool_] | None] | None = self.__dict__.get("_usual")
        if usual is None:
            counts = self._item_counts.array
            fewest = fewest_ratings(counts) if self.predicts_ratings else 1
            usual = counts >= fewest, (counts > 0) & (counts < fewest) if fewest > 1 else None
            self._usual = usual
        return usual

    def _item_vectors(self, items: NDArray[np.int32]) -> NDArray[np.float32]:
        """One row per item; the cosine of two rows says how similar the model takes the items to be.

        For a model without factors a row holds predictions for some users, less what they are for an unknown item.
        """
        users = np.flatnonzero(self._user_counts.array).astype(np.int32)
        users = users[:: max(1, len(users) // _USERS_OF_A_VECTOR)]
        scores = self._score(np.tile(users, len(items)), np.repeat(items, len(users))).reshape(len(items), len(users))
        return scores - self._score(users, np.full(len(users), -1, np.int32))

    def _score_all(self, users: NDArray[np.int32]) -> NDArray[np.float32]:
        """Predictions for every item, one row per user."""
        n_items = len(self.items_)
        items = self._learned_items(np.arange(n_items, dtype=np.int32))
        scores = np.empty((len(users), n_items), np.float32)
        at_once = max(1, 2**20 // max(n_items, 1))
        for first in range(0, len(users), at_once):
            some = users[first : first + at_once]
            pairs = np.repeat(some, n_items), np.tile(items, len(some))
            scores[first : first + at_once] = self._score(*pairs).reshape(len(some), n_items)
        return scores

    def _score_folded(
        self, ratings: Ratings, people: NDArray[np.integer], items: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """Predictions for pairs of a person who was not in training, by row of `ratings`, and an item, by row here."""
        scores: NDArray[np.float32] = self._score_all_folded(ratings)[people, items]
        return scores

    def _ratings_of_lists(
        self, people: NDArray[np.int32] | Ratings, items: NDArray[np.int32]
    ) -> NDArray[np.float32] | None:
        """The predicted ratings of lists of row numbers, where the scores of these are something else."""
        return None

    def _score_one(self, user: int, item: int) -> float:
        """The prediction for one pair of row numbers, clipped."""
        user = user if user >= 0 and self._user_counts.array[user] > 0 else -1
        item = item if item >= 0 and self._item_counts.array[item] > 0 else -1
        score = float(self._score(np.array([user], np.int32), np.array([item], np.int32))[0])
        return min(max(score, self.range_[0]), self.range_[1]) if self._clips else score

    @property
    def _clips(self) -> bool:
        """Whether predictions are kept within the range of the ratings."""
        return self.predicts_ratings and self.clip

    def _clip(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.clip(scores, *self.range_) if self._clips else scores

    def _predict_ratings(self, ratings: Ratings) -> NDArray[np.float32]:
        """The prediction for each of the ratings, looked up by row numbers instead of ids."""
        users = self._learned_users(self._own_rows(self.users_, ratings.users))[ratings.user_indices]
        items = self._learned_items(self._own_rows(self.items_, ratings.items))[ratings.item_indices]
        return self._clip(self._score(users, items))


_USERS_OF_A_VECTOR = 64
"""Items without factors are compared by the predictions for about this many users."""
