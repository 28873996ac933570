"""Bestsellers: items by how many users liked them, the baseline of lists.

    score_i = Σ_u [r_ui ≥ r̄_u] · 2^(−age_ui / half_life)

r̄_u is the mean of the ratings of user u, and the age of a rating is the time in days from it to the latest of all.
Without a half-life every rating that counts, counts 1.
"""

from collections.abc import Iterable
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.liked import liked_entries
from rankfill.kernels import Growing, padded, padded_copy
from rankfill.models.base.explanation import Part
from rankfill.models.base.factors import FactorModel
from rankfill.models.base.forgetting import Left
from rankfill.models.base.reasons import OwnRatings, Reading
from rankfill.models.base.settings import check_positive
from rankfill.models.base.state import Parts
from rankfill.models.base.training import Callback, Training

_DAY = 86_400


class Popularity(FactorModel):
    """Items in the order of how many users liked them: the baseline of lists.

    Everybody is recommended the same items, without those already rated. Use it to see what a list has to beat, or for
    people of whom nothing is known. A user likes what he or she rated no lower than his or her own mean. A prediction
    is the number of users who liked the item: a score, not a rating, and never clipped. Cold start: an unknown user is
    as any other, an unknown item has the score 0.

    Parameters
    ----------
    half_life : float, optional
        Days after which a rating counts half. Needs ratings with timestamps; by default all ratings count alike.

    Attributes
    ----------
    popularity_ : ndarray of shape (n_items,)
        How many users liked each item, in the order of `items_`; with a half-life the sum of what their ratings count.
    user_factors_, item_factors_ : ndarray of shape (n_users, 1) and (n_items, 1)
        The same as factors: ones, and the scores.
    user_biases_, item_biases_ : ndarray of shape (n_users,) and (n_items,)
        Zeros: there are no biases.
    users_, items_ : Vocabulary
        The ids, in the order of the rows.
    mean_ : float
        The mean rating.
    range_ : tuple of two floats
        The least and the greatest rating, without the few that stand far apart from all others.
    n_ratings_ : int
        The number of ratings learned from.
    rank_ : int
        The number of columns of the factors, 1.
    biased_ : bool
        Whether there are biases beside the factors: False.
    offset_ : float
        What is added to the product of the factors: 0.
    history_ : list of EpochReport
        The one pass over the ratings. Its errors compare scores with ratings and are of no use.

    Examples
    --------
    >>> from rankfill import Popularity, Ratings
    >>> users, items = ["ann", "ann", "bob", "bob", "cat"], ["tea", "milk", "tea", "beer", "beer"]
    >>> model = Popularity().fit(Ratings.from_arrays(users, items, [5, 2, 4, 4, 3]))
    >>> model.recommend("ann", n=1).items
    array([['beer']], dtype=object)
    >>> model.popularity_  # in the order of model.items_: beer, milk, tea
    array([2., 0., 2.], dtype=float32)
    """

    readable_factors: ClassVar[bool] = False
    passes, tol = 1, 0.0  # one pass is all there is
    _learned: ClassVar[tuple[str, ...]] = ("_votes",)

    _votes: NDArray[np.float32]

    def __init__(self, *, half_life: float | None = None) -> None:
        self.half_life = half_life

    @property
    def predicts_ratings(self) -> bool:
        """Whether predictions are ratings: they are numbers of users."""
        return False

    @property
    def popularity_(self) -> NDArray[np.float32]:
        """How many users liked each item, in the order of `items_`."""
        self._check_fitted()
        return self._items.array[:, 0].copy()

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        if self.half_life is None:
            return
        check_positive("half_life", self.half_life)
        if ratings.timestamps is None:
            raise ValueError(
                f"half_life={self.half_life} needs to know when ratings were given, but these have no timestamps; "
                "give them, or leave half_life out"
            )

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        with Training(self, validation, callbacks) as training:
            for _ in training.epochs():
                votes = self._count_votes(ratings)
                self._votes = votes.astype(np.float32)
                scores = np.bincount(ratings.item_indices, weights=votes, minlength=ratings.n_items)
                users = padded_copy(np.ones((ratings.n_users, 1)))
                self._set_factors(users, padded_copy(scores[:, None].astype(np.float64)), rank=1)
                train = self._error(ratings)
                training.report(train, train)

    def _count_votes(self, ratings: Ratings) -> NDArray[np.float64]:
        """How much each rating counts."""
        liked = liked_entries(ratings, "above-user-mean")
        if self.half_life is None or ratings.timestamps is None:
            return liked.astype(np.float64)
        age = (ratings.timestamps.max() - ratings.timestamps) / _DAY
        return np.asarray(liked * np.exp2(-age / self.half_life))

    def _forget_entries(self, left: Left) -> None:
        """Takes the likes of forgotten users out of the counts."""
        super()._forget_entries(left)
        assert self._seen is not None
        self._votes = self._votes[left.entries]
        items = self._seen.all_rows()[1][left.entries]
        scores = np.bincount(items, weights=self._votes, minlength=len(self.items_))
        self._items = Growing(padded_copy(scores[:, None].astype(np.float64)))

    def _pack(self, history: bool) -> Parts:
        """Leaves out the weight of each rating where the history is left out."""
        parts = super()._pack(history)
        if not history:
            parts.tensors["votes"] = self._votes[:0]
        return parts

    def _unpack(self, parts: Parts) -> None:
        super()._unpack(parts)
        rated = 0 if self._seen is None else len(self._seen.all_rows()[1])
        if len(self._votes) != rated:
            raise ValueError(f"votes has the length {len(self._votes)} instead of {rated}")

    def _fold_in(self, known: Ratings) -> NDArray[np.float32]:
        return np.ones((known.n_users, 1), np.float32)

    def _reading(self, user: int, item: int, own: OwnRatings | None) -> Reading:
        return Reading([Part("level", "users who liked it", 0.0 if item < 0 else float(self._items.array[item, 0]))])

    def _default_user(self) -> NDArray[np.float32]:
        row = padded(1, 1).ravel()
        row[0] = 1
        return row

    def _default_item(self) -> NDArray[np.float32]:
        return padded(1, 1).ravel()

    @property
    def _both_unknown(self) -> float:
        return 0.0
