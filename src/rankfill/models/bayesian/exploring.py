"""Lists that try out what is not known well: by an upper bound of what an item may be worth, or by chance.

With ŝ_ui the mean prediction and s_ui^k that of sample k, less the mean of these over all samples, lists are ordered by

    "mean"      ŝ_ui
    "upper"     ŝ_ui + 1.28 (mean over k of (s_ui^k)²)^½    which the truth exceeds once in ten times
    "thompson"  ŝ_ui + s_ui^k    for a k that is drawn for each user (Thompson 1933)

The noise of a single rating is no part of it: what cannot be learned is not worth exploring.
"""

import copy
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from rankfill.data import Ratings
from rankfill.data.features import FeaturesLike
from rankfill.linalg.blas import one_blas_thread
from rankfill.models.base.best_of_scores import best_of
from rankfill.models.base.choosing import MinRatings
from rankfill.models.base.recommendations import Recommendations
from rankfill.models.base.settings import check_seed, check_word
from rankfill.models.bayesian.ordered import Ordered

Explore = Literal["mean", "upper", "thompson"]
Rows = NDArray[np.float32]

_REACH = float(ndtri(0.9))
_AT_ONCE = 2**22
"""Scores that are made at a time."""


class _How(NamedTuple):
    explore: Explore
    seed: int


class Exploring(Ordered):
    """Adds to a model of samples lists that explore."""

    _exploring: _How

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
        explore: Explore = "mean",
        seed: int = 0,
    ) -> Recommendations:
        """Finds the best items for each user: those with the highest predictions, or those worth a try.

        Parameters
        ----------
        users : array-like of ids, or Ratings
            Whom to recommend to: ids, or the ratings of people who were not in training.
        n : int, default=10
            How many items for each user.
        exclude_seen : bool, default=True
            Whether items that the user has rated are left out.
        items : array-like of ids, optional
            The candidates; by default all items.
        exclude : array-like of ids, optional
            Items that nobody is to be recommended.
        min_ratings : int or "auto", default="auto"
            Items with fewer ratings in training are never recommended; see `Model.recommend` for "auto".
        diversify : float, default=0.0
            From 0 to 1: how much an item loses by its likeness to those further up.
        new_items : Features, frame or path, optional
            Items that nobody has rated, which compete with the others by what is known of them.
        explore : {"mean", "upper", "thompson"}, default="mean"
            "mean" goes by predictions. "upper" adds to each how unsure it is, so that little-known items come up: the
            score is exceeded with a chance of one in ten. "thompson" takes for each user one sample of all that the
            model holds possible: an item is first as often as it is probable that it is the best.
        seed : int, default=0
            Which samples "thompson" takes; give another number every time that lists are made.

        Returns
        -------
        Recommendations
            Ids and scores, one row per user, best first. Scores are those that lists go by.

        Examples
        --------
        >>> import rankfill as rf
        >>> model = rf.BayesianMF(rank=2, sweeps=20).fit(rf.synthetic.low_rank(40, 30, n_ratings=400, seed=0))
        >>> cautious, curious = (model.recommend(0, explore=each).scores for each in ("mean", "upper"))
        >>> bool((curious > cautious).all())
        True
        """
        check_word("explore", explore, Explore)
        check_seed(seed)
        view = self._view()
        if explore != "mean":
            view = copy.copy(view)
            view._exploring = _How(explore, int(seed))
            view._renew_view()
        return super(Exploring, view).recommend(
            users,
            n,
            exclude_seen,
            items=items,
            exclude=exclude,
            min_ratings=min_ratings,
            diversify=diversify,
            new_items=new_items,
        )

    def _best_items(
        self,
        users: NDArray[np.int32],
        n: int,
        allowed: NDArray[np.bool_],
        seen_indptr: NDArray[np.int64],
        seen_items: NDArray[np.int32],
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        how = self.__dict__.get("_exploring")
        if how is None:
            return super()._best_items(users, n, allowed, seen_indptr, seen_items)
        samples = self._samples
        known = np.where(users < samples.users.shape[1] - 1, users, -1)
        random = np.random.default_rng(how.seed)
        chosen = random.integers(0, samples.count, size=(samples.users.shape[1],))[known]
        found, scores = np.empty((len(users), n), np.int32), np.empty((len(users), n), np.float32)
        at_once = max(1, _AT_ONCE // max(len(self.items_), 1))
        for first in range(0, len(users), at_once):
            some = slice(first, first + at_once)
            rows = (each[known[some]] for each in samples.users)
            explored = self._as_latents()._score_all(users[some]) + self._worth_a_try(rows, chosen[some], how)
            indptr = seen_indptr[first : first + len(users[some]) + 1]
            seen = seen_items[indptr[0] : indptr[-1]]
            found[some], scores[some] = best_of(self._expectation(explored), n, allowed, indptr - indptr[0], seen)
        return found, scores

    def _best_items_folded(
        self, ratings: Ratings, n: int, allowed: NDArray[np.bool_], exclude_seen: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        how = self.__dict__.get("_exploring")
        if how is None:
            return super()._best_items_folded(ratings, n, allowed, exclude_seen)
        known = self._in_own_items(ratings)
        chosen = np.random.default_rng(how.seed).integers(0, self._samples.count, size=(ratings.n_users,))
        rows = (folded.draws for folded in self._fold_rows(known, how.seed << 10))
        explored = self._as_latents()._score_all_folded(ratings) + self._worth_a_try(rows, chosen, how)
        seen = (known.by_user.indptr, known.item_indices)
        if not exclude_seen:
            seen = np.zeros(ratings.n_users + 1, np.int64), np.empty(0, np.int32)
        return best_of(self._expectation(explored), n, allowed, *seen)

    def _worth_a_try(self, users: Iterable[Rows], chosen: NDArray[np.integer], how: _How) -> Rows:
        """What exploring adds to the predictions of all items: `users` are their rows in one sample after the other."""
        samples, n_items = self._samples, len(self.items_)
        rank = samples.users.shape[2] - 1
        places = np.minimum(np.arange(n_items), samples.items.shape[1] - 1)
        total, squares, taken = (np.zeros((len(chosen), n_items)) for _ in range(3))
        with one_blas_thread():
            for s, (rows, items) in enumerate(zip(users, samples.items, strict=True)):
                scores = rows[:, :rank].astype(np.float64) @ items[places, :rank].T.astype(np.float64)
                scores += rows[:, rank:] + items[places, rank]
                total += scores
                squares += scores**2
                taken[chosen == s] = scores[chosen == s]
        mean = total / samples.count
        if how.explore == "upper":
            added = _REACH * np.sqrt(np.maximum(squares / samples.count - mean**2, 0.0))
        else:
            added = taken - mean
        return (self._scale * added).astype(np.float32)
