"""The contract of every model: ratings in, predictions and recommendations by id out.

**Reading while learning.** A model answers from a view, which is renewed by swapping one reference at the end of a fit,
of each pass of it, and of every call of `partial_fit` or `learn_one`. The ids, counts, factors and seen items of a view
belong together, so that any number of threads may ask while one learns; two threads that learn take turns. Rows are
moved in place: an answer given while a row is moving may use numbers from before and after.
"""

import copy
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from rankfill.data import Ratings, Vocabulary
from rankfill.data.accepting import RatingsLike, as_ratings
from rankfill.data.features import Features, FeaturesLike, as_features
from rankfill.data.liked import Liked, check_liked
from rankfill.data.tensors import write_tensors
from rankfill.kernels import Growing, Rows
from rankfill.models.base import model_file
from rankfill.models.base.checkpoint import Checkpoint, identity_of
from rankfill.models.base.choosing import POOL, Found, MinRatings, fewest_ratings, find_lists, pick_varied
from rankfill.models.base.forgetting import Left, forget_rows
from rankfill.models.base.judging import error_of
from rankfill.models.base.reasons import Reasons
from rankfill.models.base.recommendations import Recommendations
from rankfill.models.base.seen import SeenItems
from rankfill.models.base.settings import check_share, check_whole, warn_of_one_value, without_hints
from rankfill.models.base.state import Parts, snapshot
from rankfill.models.base.training import Callback, EpochReport
from rankfill.objectives.measures import MEASURES, Measure
from rankfill.objectives.scores import parse_score

Side = Literal["user", "item"]
WarmPath = Literal["strongest first", "weakest first", "none"]


class Model(Reasons, BaseEstimator, ABC):  # type: ignore[misc]
    """The contract of every model: `fit` it to ratings, then ask it by ids.

    `fit` starts fresh; `predict` and `recommend` never change the model. An id that the model has not learned about, be
    it unknown or without ratings, gets the cold-start value that the model documents. Subclasses learn in `_learn` and
    answer in `_score` and `_best_items`.

    Attributes
    ----------
    users_ : Vocabulary
        The ids of the users, in the order of their rows.
    items_ : Vocabulary
        The ids of the items, in the order of their rows.
    n_ratings_ : int
        Number of ratings learned from.
    mean_ : float
        Their mean.
    range_ : tuple of float
        Their scale, within which predictions are kept with ``clip=True``.
    history_ : list of EpochReport
        One report per pass.

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> [name for name, cls in rf.MODELS.items() if not issubclass(cls, rf.Model)]
    []
    >>> model = rf.MODELS["bias"]().fit(ratings)
    >>> model.n_ratings_, model.range_
    (6, (1.0, 5.0))
    """

    measure: ClassVar[Measure] = "rmse"
    """The error in which the model's history is kept."""

    warm_path: ClassVar[WarmPath] = "strongest first"
    """In which order of the strength of its regularisation each solution is a good start (`init`) for the next:
    "strongest first" where a model adds what it lacks; "weakest first" where factors that a strong penalty has removed
    do not come back; "none" where a fit is so many passes rather than a solution."""

    takes_features: ClassVar[bool] = False
    """Whether `fit` learns from features of items and users."""

    features_shape_all: ClassVar[bool] = False
    """Whether features change what is learned of those with ratings, too, not only of those without."""

    _learned: ClassVar[tuple[str, ...]] = ()
    """The names of the attributes that this class learns, beside those of its bases; see `state.py`."""

    clip: bool
    users_: Vocabulary
    items_: Vocabulary
    n_ratings_: int
    mean_: float
    range_: tuple[float, float]
    history_: list[EpochReport]
    _judged_by: str | None = None
    _checkpoint: Checkpoint | None = None
    _liked: Liked = "above-mean"
    _sum: float
    _user_counts: Growing
    _user_sums: Growing
    _item_counts: Growing
    _seen: SeenItems | None
    _writing: threading.RLock
    _published: Self
    _usual: tuple[NDArray[np.bool_], NDArray[np.bool_] | None]
    _features: dict[Side, Features]

    def __new__(cls, *_: Any, **__: Any) -> Self:
        model: Self = super().__new__(cls)
        model._writing = threading.RLock()
        return model

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock and the view, which a copy makes anew."""
        state = dict(super().__getstate__())
        return {name: value for name, value in state.items() if name not in ("_writing", "_published")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "users_"):
            self._renew_view()

    @property
    def needs_nonnegative(self) -> bool:
        """Whether it can learn only from ratings of zero and above."""
        return False

    @property
    def predicts_ratings(self) -> bool:
        """Whether predictions are ratings; otherwise they are scores that only put items in order."""
        return True

    @property
    def ranks_by_prediction(self) -> bool:
        """Whether lists are of the items with the highest predictions."""
        return True

    def fit(
        self,
        ratings: RatingsLike,
        validation: RatingsLike | None = None,
        callbacks: Iterable[Callback] = (),
        init: Self | tuple[ArrayLike, ArrayLike] | None = None,
        *,
        measure: str | None = None,
        liked: Liked = "above-mean",
        item_features: FeaturesLike | None = None,
        user_features: FeaturesLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: int = 10,
    ) -> Self:
        """Learns from the ratings alone, forgetting what was learned before.

        Parameters
        ----------
        ratings : Ratings, or whatever `as_ratings` makes some of
            What to learn from: at least one rating.
        validation : Ratings or the like, optional
            Ratings kept aside. The model returned is the best on them, and training stops when they gain no more.
        callbacks : iterable of callable, default=()
            Called with an `EpochReport` after every pass; one that returns True stops the training.
        init : Model or (user_factors, item_factors), optional
            What to start from: a fitted model of the same class; or, for models that learn factors from a start, two
            arrays of one row per user and per item, in the order of `ratings.users` and `ratings.items`, and as many
            columns as the model has factors. Biases then start as they would without.
        measure : str, optional
            What says which state is best on the validation ratings and when they gain no more: any measure of
            `evaluate`, such as "mae" or "ndcg@10". By default the model's own `measure`.
        liked : {"above-mean", "above-user-mean", "all"} or float, default="above-mean"
            Which validation ratings make an item relevant, as in `evaluate`; for measures of lists, and for `Auto`.
        item_features, user_features : Features, frame or path, optional
            What is known of items and users, so that those without ratings get answers, too; see `Features`. Models
            without factors have no use for them.
        checkpoint : str or path-like, optional
            A folder in which a long fit notes how far it has come. The same call goes on from there, to the same bits
            as a fit that was never cut off, and with larger `passes` from where a fit ended. Solvers that carry more
            from pass to pass than they learn, such as those under the trace norm, begin anew from what is learned at
            each checkpoint. A call with other settings or ratings is refused.
        every : int, default=10
            After how many passes a checkpoint replaces the one before; one is written at the end, too.

        Returns
        -------
        Model
            The model itself.
        """
        ratings = as_ratings(ratings)
        self._check(ratings)
        features = self._take_features(ratings, item_features, user_features)
        if len(ratings) == 0:
            raise ValueError("there are no ratings to learn from; give at least one")
        if validation is not None:
            validation = as_ratings(validation)
            if len(validation) == 0:
                raise ValueError("there are no validation ratings; leave validation out to train without")
        check_liked(liked)
        if measure is not None:
            measure = parse_score(measure).label
            if validation is None:
                raise ValueError(f"measure={measure!r} needs validation ratings to be measured on; give validation")
        self._hint(ratings)
        if isinstance(init, tuple):
            init = self._holding(init, ratings)
        if init is not None and not isinstance(init, type(self)):
            raise TypeError(f"init must be a fitted {type(self).__name__}, found {type(init).__name__}")
        kept = None
        if checkpoint is not None:
            self._check_checkpoints()
            told: dict[str, Any] = {f"{side}_features": given for side, given in features.items()}
            told |= {"ratings": ratings, "validation": validation, "init": init, "measure": measure, "liked": liked}
            kept = Checkpoint(checkpoint, every, identity_of(self, told))
        with self._writing:
            if init is self:  # what it has learned is about to be forgotten
                init = copy.copy(self)
            self._begin(ratings.users, ratings.items)
            self._take_note(ratings, np.arange(ratings.n_users), np.arange(ratings.n_items))
            self.range_ = ratings.scale()
            self._seen = SeenItems.of(ratings.by_user)
            self._judged_by, self._liked = measure if measure != self.measure else None, liked
            self._features, self._checkpoint = features, kept
            try:
                with without_hints():
                    self._learn(ratings, validation, callbacks, init)
            finally:
                self._checkpoint = None
            self._learn_features(features)
            self._features = {}
            self._renew_view()
        return self

    def _holding(self, factors: tuple[ArrayLike, ArrayLike], ratings: Ratings) -> Self:
        """A model with these settings that holds nothing but factors of the users and items of these ratings."""
        raise TypeError(f"{type(self).__name__} does not start from factors; leave init out, or give a fitted model")

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Predicts the rating of each pair of ids.

        Parameters
        ----------
        users, items : array-like of ids
            As many of one as of the other; a single user goes with many items and the reverse.

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
        if isinstance(users, _ONE) and isinstance(items, _ONE):
            return np.array(view._score_one(view.users_.row_of(users), view.items_.row_of(items)), np.float32)
        user_rows, item_rows, shape = view._pair_rows(users, items)
        return view._clipped(view._score(user_rows, item_rows)).reshape(shape)

    def predict_all(self, users: ArrayLike | None = None) -> NDArray[np.float32]:
        """Predicts the rating of every item, in the order of `items_`, by each of the users.

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
        return view._clipped(view._score_all(view._learned_users(rows)))

    def predict_folded(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Predicts the rating of every item, in the order of `items_`, by people who were not in training.

        Parameters
        ----------
        new_user_ratings : Ratings
            What is known of them; see `fold_in`.

        Returns
        -------
        ndarray of shape (n_users, n_items)
        """
        view = self._view()
        return view._clipped(view._score_all_folded(new_user_ratings))

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
        find = view._finder(users, exclude_seen)
        wanted = min(n, len(view.items_))
        if diversify:
            pool = find_lists(find, min(POOL * n, len(view.items_)), first, later)
            indices, scores = pick_varied(pool, wanted, float(diversify), view._item_vectors)
        else:
            indices, scores = find_lists(find, wanted, first, later)
        found = view.items_.ids(np.maximum(indices.ravel(), 0)).reshape(indices.shape)
        found[indices < 0] = None if view.items_.of_strings else -1
        asked = users.users.ids() if isinstance(users, Ratings) else np.atleast_1d(_as_array(users))
        people = users if isinstance(users, Ratings) else view._learned_users(view._user_rows(users))
        return Recommendations(found, scores, asked, view._ratings_of_lists(people, indices))

    @abstractmethod
    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Learns about people not in training; the model itself stays unchanged.

        Parameters
        ----------
        new_user_ratings : Ratings
            What they rated. Ratings of items that the model does not know are left out.

        Returns
        -------
        ndarray
            One row per person, in the order of `new_user_ratings.users`.
        """

    def forget(self, users: ArrayLike) -> Self:
        """Removes users, and what follows from them alone: their ids, rows, counts and what they have rated.

        Afterwards they are as any unknown user, the mean rating and the numbers of ratings are those of the others, and
        a file saved then holds nothing of them. What cannot be undone is what items have learned from them, such as the
        factors of the items they rated, nor the range of all ratings: that takes a new fit without them.

        Parameters
        ----------
        users : id or array-like of ids
            Whom to forget. Ids that the model does not know are passed over.

        Returns
        -------
        Model
            The model itself.

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 3, 4])
        >>> model = rf.Bias().fit(ratings).forget("ann")
        >>> model.users_.ids().tolist(), model.n_ratings_, model.mean_
        (['bob'], 1, 4.0)
        """
        self._check_fitted()
        with self._writing:
            rows = np.unique(self._user_rows(users))
            rows = rows[rows >= 0]
            if len(rows) and self._seen is None:
                raise ValueError(
                    "this model was saved without what users have rated, so that it cannot take that out of its "
                    "counts; fit it again without them, or save it with history=True"
                )
            if len(rows) and len(rows) == len(self.users_):
                raise ValueError(f"all {len(rows)} users are to be forgotten, which leaves no model; delete it instead")
            if len(rows):
                self._forget(rows)
                self._renew_view()
        return self

    def save(self, path: str | os.PathLike[str], history: bool = True) -> None:
        """Writes the model to one file, whole or not at all; `rankfill.load` reads it.

        Parameters
        ----------
        path : str or path
            Where to. A file that is there is replaced.
        history : bool, default=True
            Whether the file holds what each user has rated. Without it a file is smaller and tells less about people;
            the model then recommends only with `exclude_seen=False`.
        """
        parts = self._view()._packed(history)
        write_tensors(path, parts.tensors, parts.words)

    @abstractmethod
    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        """Learns from ratings whose row numbers are those of `users_` and `items_`."""

    def _take_features(
        self, ratings: Ratings, item_features: FeaturesLike | None, user_features: FeaturesLike | None
    ) -> dict[Side, Features]:
        """The features of either side, refused in words before anything is learned."""
        item_counts = np.bincount(ratings.item_indices, minlength=ratings.n_items)
        given: list[tuple[Side, Any, Vocabulary, NDArray[np.integer]]] = [
            ("user", user_features, ratings.users, ratings.by_user.counts()),
            ("item", item_features, ratings.items, item_counts),
        ]
        found: dict[Side, Features] = {}
        for side, data, ids, counts in given:
            if data is None:
                continue
            if not self.takes_features:
                raise self._no_features(f"{side}_features")
            found[side] = as_features(data, ids=ids)
            self._check_features(side, found[side], ids, counts)
        return found

    def _no_features(self, name: str) -> TypeError:
        return TypeError(
            f"{type(self).__name__} has no factors that features could stand for; leave {name} out, or use a model "
            "with factors, such as ALS"
        )

    def _with_new_items(self, features: FeaturesLike) -> Self:
        """A view that knows more items, by their features."""
        raise self._no_features("new_items")

    def _check_features(self, side: Side, features: Features, ids: Vocabulary, counts: NDArray[np.integer]) -> None:
        """Raises in words where nothing can be learned from the features of ids with so many ratings."""

    def _learn_features(self, features: dict[Side, Features]) -> None:
        """Learns what features say of items and users, after the ratings."""

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
        """The same for people who were not in training."""

    def _finder(self, users: ArrayLike | Ratings, exclude_seen: bool) -> Callable[[int, NDArray[np.bool_]], Found]:
        """What finds the n best allowed items of each of these users."""
        if isinstance(users, Ratings):
            newcomers = users
            return lambda n, allowed: self._best_items_folded(newcomers, n, allowed, exclude_seen)
        rows = self._user_rows(users)
        learned, seen = self._learned_users(rows), self._seen_by(rows, exclude_seen)
        return lambda n, allowed: self._best_items(learned, n, allowed, *seen)

    def _allowed_items(
        self, items: ArrayLike | None, exclude: ArrayLike | None, min_ratings: MinRatings
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
        """Which items may be recommended, and which ones only after those."""
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
        """The same for all items."""
        if min_ratings == "auto":
            return self._usual_items()
        check_whole("min_ratings", min_ratings, 1)
        return self._item_counts.array >= min_ratings, None

    def _usual_items(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
        """The same with the automatic minimum; a view finds it once."""
        usual: tuple[NDArray[np.bool_], NDArray[np.bool_] | None] | None = self.__dict__.get("_usual")
        if usual is None:
            counts = self._item_counts.array
            fewest = fewest_ratings(counts) if self.predicts_ratings else 1
            usual = counts >= fewest, (counts > 0) & (counts < fewest) if fewest > 1 else None
            self._usual = usual
        return usual

    def _item_vectors(self, items: NDArray[np.int32]) -> NDArray[np.float32]:
        """A row for each item; the cosine of two tells how alike the model takes them to be.

        Here how far what some users are predicted of it is above what they are predicted of an unknown item.
        """
        users = np.flatnonzero(self._user_counts.array).astype(np.int32)
        users = users[:: max(1, len(users) // _USERS_OF_A_VECTOR)]
        scores = self._score(np.tile(users, len(items)), np.repeat(items, len(users))).reshape(len(items), len(users))
        return scores - self._score(users, np.full(len(users), -1, np.int32))

    def _forget(self, rows: NDArray[np.int32]) -> None:
        """Takes out the rows of some users, and what follows."""
        forget_rows(self, rows)

    def _forget_entries(self, left: Left) -> None:
        """Takes out of what goes by rating, or by row number of a user, what belongs to those to be forgotten."""

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

    def _pair_rows(
        self, users: ArrayLike, items: ArrayLike
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], tuple[int, ...]]:
        """The row numbers of pairs of ids, −1 for what was not learned, and the shape in which they were given."""
        pairs = np.broadcast_arrays(_as_array(users), _as_array(items))
        return (
            self._learned_users(self.users_.index(pairs[0].ravel())),
            self._learned_items(self.items_.index(pairs[1].ravel())),
            pairs[0].shape,
        )

    def _user_rows(self, users: ArrayLike) -> NDArray[np.int32]:
        """The row numbers of one id or several, −1 for what is unknown."""
        if isinstance(users, _ONE):
            return np.array([self.users_.row_of(users)], np.int32)
        return self.users_.index(np.atleast_1d(_as_array(users)))

    def _item_rows(self, items: ArrayLike) -> NDArray[np.int32]:
        """The row numbers of those ids that are known."""
        rows = self.items_.index(np.atleast_1d(_as_array(items)))
        return rows[rows >= 0]

    def _hint(self, ratings: Ratings) -> None:
        """Warns of ratings that another model is made for."""
        if self.predicts_ratings:
            warn_of_one_value(ratings)

    def _check(self, ratings: Ratings) -> None:
        """Raises in words what the model cannot do with its settings or these ratings."""

    def _check_checkpoints(self) -> None:
        if "passes" in vars(type(self)):
            raise ValueError(
                f"{type(self).__name__} does not learn pass by pass, so that there is nothing to go on from; "
                "leave checkpoint out"
            )

    def _check_fitted(self) -> None:
        if not hasattr(self, "users_"):
            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet; call fit first")

    def _view(self) -> Self:
        """The model as it was last published, which nobody changes any more."""
        view: Self | None = self.__dict__.get("_published")
        if view is None:
            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet; call fit first")
        return view

    def _renew_view(self) -> None:
        """Lets readers see what has been learned up to now."""
        view = object.__new__(type(self))
        view.__dict__ = {
            name: value.frozen() if type(value) in _GROWING else value for name, value in self.__dict__.items()
        }
        view._published = view
        self._published = view

    def _begin(self, users: Vocabulary, items: Vocabulary) -> None:
        self.users_, self.items_ = users, items
        self._owns_vocabularies = False
        self._user_counts = Growing(np.zeros(len(users), dtype=np.int64))
        self._user_sums = Growing(np.zeros(len(users)))
        self._item_counts = Growing(np.zeros(len(items), dtype=np.int64))
        self.n_ratings_, self.mean_, self.range_ = 0, 0.0, (np.inf, -np.inf)
        self._sum = 0.0
        self.history_ = []

    def _take_note(self, ratings: Ratings, users: NDArray[np.integer], items: NDArray[np.integer]) -> None:
        """Counts, means and range; `users` and `items` are the rows here of the rows of the ratings, −1 if unrated."""
        self.n_ratings_ += len(ratings)
        self._user_counts.array[users[users >= 0]] += ratings.by_user.counts()[users >= 0]
        sums = np.bincount(ratings.user_indices, ratings.values, minlength=ratings.n_users)
        self._user_sums.array[users[users >= 0]] += sums[users >= 0]
        item_counts = np.bincount(ratings.item_indices, minlength=ratings.n_items)
        self._item_counts.array[items[items >= 0]] += item_counts[items >= 0]
        values = ratings.values
        self._sum += float(values.sum(dtype=np.float64))
        self.mean_ = self._sum / max(self.n_ratings_, 1)
        self.range_ = (
            float(values.min(initial=self.range_[0])),
            float(values.max(initial=self.range_[1])),
        )

    def _user_means(self, users: Vocabulary) -> NDArray[np.float64]:
        """The mean of the ratings of each user, NaN for one without any."""
        rows = self._own_rows(self.users_, users)
        means = np.full(len(rows), np.nan)
        rated = rows[rows >= 0]
        known = np.flatnonzero(rows >= 0)[self._user_counts.array[rated] > 0]
        means[known] = self._user_sums.array[rows[known]] / self._user_counts.array[rows[known]]
        return means

    def _learned_users(self, users: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(self._user_counts.array[users] > 0, users, np.int32(-1)) if len(self.users_) else users

    def _learned_items(self, items: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(self._item_counts.array[items] > 0, items, np.int32(-1)) if len(self.items_) else items

    def _seen_by(self, users: NDArray[np.int32], exclude: bool) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """(indptr, items): what each user has seen; nothing where it is not to be excluded."""
        if not exclude:
            return np.zeros(len(users) + 1, np.int64), np.empty(0, np.int32)
        if self._seen is None:
            raise ValueError(
                "this model was saved without what users have rated, so that it cannot leave that out of a list; "
                "use exclude_seen=False, or save it with history=True"
            )
        return self._seen.rows(users)

    def _depends_on_size(self, parameter: str) -> bool:
        """Whether the best value of a parameter changes with the number of ratings, so that a sample cannot tell it."""
        return parameter in ("penalty", "trace", "C")

    @property
    def _clips(self) -> bool:
        """Whether predictions are kept within the range of the ratings."""
        return self.predicts_ratings and self.clip

    def _clipped(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.clip(scores, *self.range_) if self._clips else scores

    def _error(self, ratings: Ratings) -> float:
        """The error on ratings with any vocabulary, in the model's `measure`."""
        return MEASURES[self.measure](ratings.values, self._predicted(ratings))

    def _judge(self, validation: Ratings) -> float:
        """The value of the measure that `fit` goes by."""
        return error_of(self, validation, self._judged_by or self.measure, self._liked)

    def _predicted(self, ratings: Ratings) -> NDArray[np.float32]:
        """What `predict` says of each rating, found by row numbers instead of ids."""
        users = self._learned_users(self._own_rows(self.users_, ratings.users))[ratings.user_indices]
        items = self._learned_items(self._own_rows(self.items_, ratings.items))[ratings.item_indices]
        return self._clipped(self._score(users, items))

    def _in_own_items(self, ratings: Ratings) -> Ratings:
        """The ratings of the items learned, numbered as here, users as there; without their times."""
        items = self._learned_items(self._own_rows(self.items_, ratings.items))[ratings.item_indices]
        known = items >= 0
        users, items, values = ratings.user_indices[known], items[known], ratings.values[known]
        order = np.argsort(users.astype(np.int64) << 32 | items)
        indptr = np.zeros(ratings.n_users + 1, np.int64)
        np.cumsum(np.bincount(users, minlength=ratings.n_users), out=indptr[1:])
        return Ratings(ratings.users, self.items_, Rows(indptr, items[order], values[order]))

    @staticmethod
    def _own_rows(own: Vocabulary, other: Vocabulary) -> NDArray[np.int32]:
        return np.arange(len(own), dtype=np.int32) if own.is_same(other) else own.index(other.ids())

    def _snapshot(self) -> dict[str, Any]:
        return snapshot(self)

    def _restore(self, learned: dict[str, Any]) -> None:
        for name, value in learned.items():
            setattr(self, name, value)

    def _packed(self, history: bool) -> Parts:
        """Arrays and words from which `_unpack` makes the same model."""
        return model_file.packed(self, history)

    def _unpack(self, parts: Parts) -> None:
        """Takes over what `_packed` gave away, or raises a ValueError that names the part that is damaged."""
        model_file.unpack_into(self, parts)
        self._renew_view()


_GROWING = {Growing, SeenItems, Vocabulary}
"""Each of them has a view that stays as it is, `frozen`."""


_USERS_OF_A_VECTOR = 64
"""By about how many users' predictions items are compared where they have no factors."""


_ONE = int | str
"""The type of a single id, as most callers give it."""


def _as_array(ids: ArrayLike) -> NDArray[Any]:
    array = np.asarray(ids)
    return array.astype(object) if array.dtype.kind == "U" else array
