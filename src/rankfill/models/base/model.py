"""The contract of every model: ratings in, predictions and recommendations by id out.

It is built in layers: `published` (what readers see), `known` (ids and counts), `answers` (predictions and lists),
`reasons` (similarity and explanations), and here learning, forgetting and saving.
"""

import copy
import os
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankfill.data import Ratings, Vocabulary
from rankfill.data.accepting import RatingsLike, as_ratings
from rankfill.data.features import Features, FeaturesLike, as_features
from rankfill.data.liked import Liked, check_liked
from rankfill.data.ratings.passing import Side
from rankfill.data.store.on_disk import OnDisk
from rankfill.data.tensors import content_of, write_content
from rankfill.models.base import model_file
from rankfill.models.base.checkpoint import Checkpoint, Place, identity_of
from rankfill.models.base.forgetting import Left, forget_rows
from rankfill.models.base.judging import error_of, prediction_errors
from rankfill.models.base.reasons import Reasons
from rankfill.models.base.seen import SeenItems
from rankfill.models.base.settings import warn_of_one_value, without_hints
from rankfill.models.base.state import Parts, snapshot
from rankfill.models.base.training import Callback
from rankfill.objectives.measures import Measure
from rankfill.objectives.scores import parse_score

WarmPath = Literal["strongest first", "weakest first", "none"]


class Model(Reasons):
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
    """The error that the model's history records."""

    warm_path: ClassVar[WarmPath] = "strongest first"
    """The order of penalties along which each solution is a good start (`init`) for the next: "strongest first" where a
    model adds the factors it lacks; "weakest first" where factors that a strong penalty has removed do not come back;
    "none" where a fit is a number of passes rather than a solution."""

    learns_in_half_passes: ClassVar[bool] = False
    """Whether a pass only moves the rows of one side against the other side, so that it can go block by block."""

    takes_features: ClassVar[bool] = False
    """Whether `fit` learns from features of items and users."""

    features_shape_all: ClassVar[bool] = False
    """Whether features also change what is learned about items and users with ratings."""

    learns_from_store: ClassVar[bool] = False
    """Whether `fit` reads ratings from a `RatingStore` without holding them all in memory."""

    _learned: ClassVar[tuple[str, ...]] = ()
    """The names of the attributes that this class learns, beside those of its bases; see `state.py`."""

    _judged_by: str | None = None
    _checkpoint: Checkpoint | None = None
    _liked: Liked = "above-mean"
    _features: dict[Side, Features]

    @property
    def needs_nonnegative(self) -> bool:
        """Whether it can learn only from ratings of zero and above."""
        return False

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
        checkpoint: str | os.PathLike[str] | Place | None = None,
        every: int = 10,
    ) -> Self:
        """Learns from these ratings and forgets what was learned before.

        Parameters
        ----------
        ratings : Ratings, or anything `as_ratings` accepts
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
            The measure on the validation ratings by which the best state is kept and training stops: any measure of
            `evaluate`, such as "mae" or "ndcg@10". By default the model's own `measure`.
        liked : {"above-mean", "above-user-mean", "all"} or float, default="above-mean"
            Which validation ratings make an item relevant, as in `evaluate`; for measures of lists, and for `Auto`.
        item_features, user_features : Features, frame or path, optional
            What is known of items and users, so that those without ratings get answers, too; see `Features`. Models
            without factors have no use for them.
        checkpoint : str or path-like, optional
            A folder in which a long fit saves its state. The same call continues from there, to the same bits as an
            uninterrupted fit; with larger `passes` it continues a finished fit. Solvers that carry more from pass to
            pass than the model learns, such as those under the trace norm, start again from the learned state at each
            checkpoint. A call with other settings or ratings is refused.
        every : int, default=10
            The number of passes between checkpoints; the last one is written at the end.

        Returns
        -------
        Model
            The model itself.
        """
        ratings = as_ratings(ratings)
        if isinstance(ratings, OnDisk) and not self.learns_from_store:
            raise _not_from_disk(self, ratings)
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
            init = self._from_factors(init, ratings)
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
            self._seen = SeenItems.of(ratings.by_user) if ratings.is_here else None
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

    def _from_factors(self, factors: tuple[ArrayLike, ArrayLike], ratings: Ratings) -> Self:
        """Makes a model with these settings that holds only factors of the users and items of these ratings."""
        raise TypeError(f"{type(self).__name__} does not start from factors; leave init out, or give a fitted model")

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
        """Removes users: their ids, rows, counts and ratings.

        Afterwards they are like any unknown user, the mean rating and the numbers of ratings are those of the others,
        and a file saved then holds nothing of them. What items have learned from their ratings, such as factors, and
        the range of all ratings stay as they are; to change those too, fit again without these users.

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

        Saving and learning on another thread wait for each other, so that a file holds one state of the model.

        Parameters
        ----------
        path : str or path
            Where to write. An existing file is replaced.
        history : bool, default=True
            Whether the file holds what each user has rated. Without it a file is smaller and tells less about people;
            the model then recommends only with `exclude_seen=False`.
        """
        with self._writing:  # rows and counts move in place
            parts = self._view()._pack(history)
            content = content_of(parts.tensors, parts.words)
        write_content(path, content)

    @abstractmethod
    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        """Learns from ratings whose row numbers are those of `users_` and `items_`."""

    def _take_features(
        self, ratings: Ratings, item_features: FeaturesLike | None, user_features: FeaturesLike | None
    ) -> dict[Side, Features]:
        """Checks the features of either side before anything is learned."""
        given: list[tuple[Side, Any, Vocabulary]] = [
            ("user", user_features, ratings.users),
            ("item", item_features, ratings.items),
        ]
        found: dict[Side, Features] = {}
        for side, data, ids in given:
            if data is None:
                continue
            if not self.takes_features:
                raise self._no_features(f"{side}_features")
            found[side] = as_features(data, ids=ids)
            tally = ratings.tally()
            self._check_features(side, found[side], ids, tally.user_counts if side == "user" else tally.item_counts)
        return found

    def _check_features(self, side: Side, features: Features, ids: Vocabulary, counts: NDArray[np.integer]) -> None:
        """Raises an error where nothing can be learned from the features of ids with these numbers of ratings."""

    def _learn_features(self, features: dict[Side, Features]) -> None:
        """Learns from the features of items and users, after the ratings."""

    def _forget(self, rows: NDArray[np.int32]) -> None:
        """Removes the rows of some users, and all that depends on them."""
        forget_rows(self, rows)

    def _forget_entries(self, left: Left) -> None:
        """Removes the entries of forgotten users from whatever is kept per rating or by row number of a user."""

    def _hint(self, ratings: Ratings) -> None:
        """Warns of ratings that another model is made for."""
        if self.predicts_ratings:
            warn_of_one_value(ratings)

    def _check(self, ratings: Ratings) -> None:
        """Raises an error for settings or ratings that the model cannot learn from."""

    def _check_checkpoints(self) -> None:
        if "passes" in vars(type(self)):
            raise ValueError(
                f"{type(self).__name__} does not learn pass by pass, so that there is nothing to go on from; "
                "leave checkpoint out"
            )

    def _depends_on_size(self, parameter: str) -> bool:
        """Whether the best value of a parameter changes with the number of ratings, so that a sample cannot tell it."""
        return parameter in ("penalty", "trace", "C")

    def _error(self, ratings: Ratings) -> float:
        """The error on ratings with any vocabulary, in the model's `measure`."""
        return prediction_errors(self, ratings, [self.measure])[0]

    def _judge(self, validation: Ratings) -> float:
        """The value of the measure that `fit` goes by."""
        return error_of(self, validation, self._judged_by or self.measure, self._liked)

    def _snapshot(self) -> dict[str, Any]:
        return snapshot(self)

    def _restore(self, learned: dict[str, Any]) -> None:
        for name, value in learned.items():
            setattr(self, name, value)

    def _pack(self, history: bool) -> Parts:
        """Arrays and words from which `_unpack` makes the same model."""
        return model_file.pack_model(self, history)

    def _unpack(self, parts: Parts) -> None:
        """Takes over what `_pack` gave away, or raises a ValueError that names the part that is damaged."""
        model_file.unpack_into(self, parts)
        self._renew_view()


def _not_from_disk(model: Model, ratings: OnDisk) -> ValueError:
    size = (24 if ratings.timestamps is not None else 16) * len(ratings)
    return ValueError(
        f"{type(model).__name__} needs all ratings in memory, this is a store on disk; load them, which takes "
        f"{size / 2**30:.1f} GiB: fit(store.load()); learn from a part of them: store.sample(n); or use "
        "PassiveAggressive, ALS, SGD or Bias, which read them from disk as they go"
    )
