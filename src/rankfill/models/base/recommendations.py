"""Lists of recommendations, as arrays and as a table."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data.frames import Library, make_frame
from rankfill.shown import html_table

_USERS_SHOWN, _PLACES_SHOWN = 20, 10


class _Lists(NamedTuple):
    items: NDArray[Any]
    scores: NDArray[np.float32]


class Recommendations(_Lists):
    """Lists of recommendations: one row per user asked for, best first.

    Attributes
    ----------
    items : ndarray of shape (n_users, n)
        Ids of the items. Where fewer than n are left, the rest of the row is −1, or None among strings.
    scores : ndarray of shape (n_users, n)
        The prediction for each item, NaN where there is none.
    users : ndarray of shape (n_users,) or None
        Ids of the users asked for. No part of the tuple: ``items, scores = model.recommend(…)``.
    ratings : ndarray of shape (n_users, n) or None
        The predicted rating of each item, where scores are something else: of `Auto`. No part of the tuple.

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 3, 5])
    >>> items, scores = rf.Bias().fit(ratings).recommend(["bob"], n=2)
    >>> items
    array([['milk', None]], dtype=object)
    """

    users: NDArray[Any] | None = None
    ratings: NDArray[np.float32] | None = None

    def __new__(
        cls,
        items: NDArray[Any],
        scores: NDArray[np.float32],
        users: NDArray[Any] | None = None,
        ratings: NDArray[np.float32] | None = None,
    ) -> Self:
        lists = super().__new__(cls, items, scores)
        lists.users, lists.ratings = users, ratings
        return lists

    def to_frame(self, library: Library | None = None) -> Any:
        """A data frame of one recommendation per row, best first for each user; empty places are left out.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            Whose frame. By default that of the first of the three that is installed.

        Returns
        -------
        DataFrame or Table
            With the columns user, place (from 1), item, score and, where there are `ratings`, rating. Where `users` is
            None, a user is a row number.

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.Ratings.from_arrays(["ann", "bob", "bob"], ["tea", "milk", "tea"], [5, 3, 5])
        >>> rf.Bias(shrinkage=0).fit(ratings).recommend(["ann", "bob"]).to_frame("pandas")
          user  place  item  score
        0  ann      1  milk    3.0
        """
        rows, places = np.nonzero(~np.isnan(self.scores))
        users = np.arange(len(self.items)) if self.users is None else self.users
        columns: dict[str, NDArray[Any]] = {
            "user": users[rows],
            "place": places + 1,
            "item": self.items[rows, places],
            "score": self.scores[rows, places],
        }
        if self.ratings is not None:
            columns["rating"] = self.ratings[rows, places]
        return make_frame(columns, library)

    def _repr_html_(self) -> str:
        """A row for each of the first users, a column for each of the first places."""
        users = range(len(self.items)) if self.users is None else self.users
        places = min(self.items.shape[1], _PLACES_SHOWN)
        rows = [
            [str(user), *("" if np.isnan(scores[at]) else f"{items[at]} ({scores[at]:.3g})" for at in range(places))]
            for user, items, scores in zip(users, self.items[:_USERS_SHOWN], self.scores[:_USERS_SHOWN], strict=False)
        ]
        table = html_table(rows, header=["user", *(str(1 + at) for at in range(places))])
        more = len(self.items) - len(rows)
        return table + (f"<p>and {more:,} more users</p>" if more else "")
