"""Similar items and users, and explanations of predictions, by id; part of every model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankfill.data import Ratings, Vocabulary
from rankfill.data.accepting import RatingsLike, as_ratings
from rankfill.data.vocabulary import Id
from rankfill.models.base.answers import Answers
from rankfill.models.base.explanation import Explanation, Part, in_order
from rankfill.models.base.known import as_ids
from rankfill.models.base.settings import check_whole
from rankfill.models.base.similar import Similar, most_similar


class OwnRatings(NamedTuple):
    """The ratings of one user: row numbers of items, ascending, and the values where they are known."""

    items: NDArray[np.int32]
    values: NDArray[np.float32] | None


class Reading(NamedTuple):
    """The parts of a prediction, the same prediction by the user's ratings, and a note about these."""

    parts: Sequence[Part]
    ratings: Sequence[Part] = ()
    note: str = ""


class Reasons(Answers):
    """The part of every model that finds what is similar and explains predictions."""

    def similar_items(self, ids: ArrayLike, n: int = 10) -> Similar:
        """Finds the items that are most similar to each of the given items, according to the model.

        Similarity is the cosine between the factors of two items; a model of neighbours or of item weights has its
        own. Items without ratings in training are never listed, and an id that the model has not learned about has
        an empty list.

        Parameters
        ----------
        ids : id or array-like of ids
            The items.
        n : int, default=10
            How many for each, at most as many as there are.

        Returns
        -------
        Similar
            Ids and similarities, one row per id, most similar first.

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.Ratings.from_dense([[5, 5, 1], [1, 1, 5], [4, None, 2], [None, 2, 4]])
        >>> rf.ALS(rank=1).fit(ratings).similar_items([0, 1], n=1).ids
        array([[1],
               [0]])
        """
        view = self._view()
        return view._similar("items", ids, n, view.items_, view._item_counts.array > 0)

    def similar_users(self, ids: ArrayLike, n: int = 10) -> Similar:
        """Finds the users that are most similar to each of the given users, according to the model.

        Parameters
        ----------
        ids : id or array-like of ids
            The users.
        n : int, default=10
            How many for each, at most as many as there are.

        Returns
        -------
        Similar
            Ids and similarities, one row per id, most similar first; see `similar_items`.
        """
        view = self._view()
        return view._similar("users", ids, n, view.users_, view._user_counts.array > 0)

    def explain(
        self, user: Id, item: Id, ratings: RatingsLike | None = None, titles: Mapping[Any, str] | None = None
    ) -> Explanation:
        """Explains one prediction by parts that add up to it, before it is brought into the range of the ratings.

        A model with factors is read twice: by what each factor and each bias adds, and by what each of the user's own
        ratings adds. For the second it has to know the ratings, which a model does not keep: without them the weight
        of each is told alone.

        Parameters
        ----------
        user, item : int or str
            The ids. One that the model has not learned about is explained by what stands in for it in `predict`.
        ratings : Ratings or the like, optional
            What the model has learned from, or no more than the ratings of this user.
        titles : mapping, optional
            Names of items by id, for printing; an id that is not in it stands for itself.

        Returns
        -------
        Explanation
            Prints as a table.

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.Ratings.from_dense([[5, 5, 1], [1, 1, 5], [4, None, 2], [None, 2, 4]])
        >>> found = rf.ALS(rank=1).fit(ratings).explain(2, 1, ratings)
        >>> [(part.id, part.rating) for part in found.ratings if part.kind == "rating"]
        [(2, 2.0), (0, 4.0)]
        """
        view = self._view()
        user_row, item_row = (
            int(learned(np.array([vocabulary.row_of(identity)], np.int32))[0])
            for learned, vocabulary, identity in (
                (view._learned_users, view.users_, user),
                (view._learned_items, view.items_, item),
            )
        )
        own = view._own_ratings(user, user_row, None if ratings is None else as_ratings(ratings))
        reading = view._reading(user_row, item_row, own)
        score = view._score(np.array([user_row], np.int32), np.array([item_row], np.int32))
        names = {"user": f"user {user}", "item": f"item {item}"}
        parts, own_parts = (
            in_order([part if part.name else replace(part, name=names[part.kind]) for part in each])
            for each in (reading.parts, reading.ratings)
        )
        prediction = float(np.float32(view._score_one(user_row, item_row)))
        return Explanation(user, item, float(score[0]), prediction, parts, own_parts, reading.note, titles or {})

    def _reading(self, user: int, item: int, own: OwnRatings | None) -> Reading:
        """The parts of a prediction by row numbers, −1 for what was not learned; users and items are named later."""
        score = self._score(np.array([user], np.int32), np.array([item], np.int32))
        return Reading([Part("level", "prediction", float(score[0]))])

    def _own_ratings(self, user: Id, row: int, ratings: Ratings | None) -> OwnRatings | None:
        """What a user has rated of what the model knows; None for a user of whom nothing is known."""
        if ratings is not None:
            theirs = ratings.users.row_of(user)
            if theirs < 0:
                return None
            known = self._in_own_items(ratings.select(ratings.user_indices == theirs))
            return OwnRatings(known.item_indices, known.values)
        if row < 0 or self._seen is None:
            return None
        return OwnRatings(self._seen.rows(np.array([row], np.int32))[1], None)

    def _similar(
        self, side: str, ids: ArrayLike, n: int, vocabulary: Vocabulary, learned: NDArray[np.bool_]
    ) -> Similar:
        check_whole("n", n, 1)
        asked = np.atleast_1d(as_ids(ids))
        rows = vocabulary.index(asked)
        rows = np.where(learned[rows], rows, np.int32(-1)) if len(learned) else rows
        found, similarities = self._most_similar(side, rows, min(n, max(len(learned), 1)), learned)
        names = vocabulary.ids(np.maximum(found.ravel(), 0)).reshape(found.shape)
        names[found < 0] = None if vocabulary.of_strings else -1
        return Similar(names, similarities, asked)

    def _most_similar(
        self, side: str, rows: NDArray[np.int32], n: int, learned: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Row numbers and similarities of the n most similar of one side, −1 and NaN where fewer are left."""
        return most_similar(self._vectors(side), rows, n, learned)

    def _vectors(self, side: str) -> NDArray[np.floating]:
        """The vectors of the "items" or "users", one row each."""
        raise TypeError(f"{type(self).__name__} keeps nothing by which {side} could be compared; use a factor model")
