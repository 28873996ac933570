"""The contract of every model: ratings in, predictions and recommendations by id out."""

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from rankfill.data import Ratings, Vocabulary
from rankfill.data.tensors import write_tensors
from rankfill.kernels import Growing
from rankfill.models.seen import SeenItems
from rankfill.models.settings import check_whole
from rankfill.models.training import Callback, EpochReport
from rankfill.objectives.measures import MEASURES, Measure

FORMAT_VERSION = 1

WarmPath = Literal["strongest first", "weakest first", "none"]


class Recommendations(NamedTuple):
    """Row r is for the r-th user asked for, best first. Padding has id −1 (None among strings) and score NaN."""

    items: NDArray[Any]
    scores: NDArray[np.float32]


class Model(BaseEstimator, ABC):  # type: ignore[misc]
    """Base of all models. Subclasses learn in `_learn` and answer in `_score` and `_best_items`.

    `fit` starts fresh, `predict` and `recommend` never change the model. An id the model has not learned
    about, be it unknown or without ratings, gets the cold-start value that the subclass documents.
    """

    measure: ClassVar[Measure] = "rmse"
    """The error in which the model's history is kept."""

    warm_path: ClassVar[WarmPath] = "strongest first"
    """In which order of the strength of its regularisation each solution is a good start (`init`) for the next:
    "strongest first" where a model adds what it lacks; "weakest first" where factors that a strong penalty has removed
    do not come back; "none" where a fit is so many passes rather than a solution."""

    clip: bool
    users_: Vocabulary
    items_: Vocabulary
    mean_: float
    range_: tuple[float, float]
    history_: list[EpochReport]

    def fit(
        self,
        ratings: Ratings,
        validation: Ratings | None = None,
        callbacks: Iterable[Callback] = (),
        init: Self | None = None,
    ) -> Self:
        """Learns from the ratings alone, forgetting what was learned before.

        With `validation` ratings the model returned is the best on them; `callbacks` are called after every
        pass and stop the training by returning True; `init` is a fitted model to start from.
        """
        self._check(ratings)
        if len(ratings) == 0:
            raise ValueError("there are no ratings to learn from; give at least one")
        if validation is not None:
            Model._check(self, validation)
            if len(validation) == 0:
                raise ValueError("there are no validation ratings; leave validation out to train without")
        if init is not None and not isinstance(init, type(self)):
            raise TypeError(f"init must be a fitted {type(self).__name__}, found {type(init).__name__}")
        if init is self:  # what it has learned is about to be forgotten
            init = copy.copy(self)
        self._begin(ratings.users, ratings.items)
        self._take_note(ratings, np.arange(ratings.n_users), np.arange(ratings.n_items))
        self._seen = SeenItems.of(ratings.by_user)
        self._learn(ratings, validation, callbacks, init)
        return self

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """The predicted rating of each pair of ids; a single user goes with many items and the reverse.

        >>> import rankfill as rf
        >>> ratings = rf.Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 3, 5])
        >>> rf.Bias(shrinkage=0).fit(ratings).predict("bob", ["tea", "milk"])
        array([5., 3.], dtype=float32)
        """
        self._check_fitted()
        pairs = np.broadcast_arrays(_as_array(users), _as_array(items))
        shape = pairs[0].shape
        scores = self._score(
            self._learned_users(self.users_.index(pairs[0].ravel())),
            self._learned_items(self.items_.index(pairs[1].ravel())),
        )
        return (np.clip(scores, *self.range_) if self._clips else scores).reshape(shape)

    def recommend(
        self, users: ArrayLike | Ratings, n: int = 10, exclude_seen: bool = True, min_ratings: int = 1
    ) -> Recommendations:
        """The n items with the highest predictions for each user, best first, padded where fewer are left.

        `users` are ids, or the `Ratings` of people who were not in training (see `fold_in`). Items with fewer than
        `min_ratings` in training are never recommended (what one person loved says little about others), items the
        user has rated only with `exclude_seen=False`.
        """
        self._check_fitted()
        check_whole("n", n, 1)
        check_whole("min_ratings", min_ratings, 1)
        allowed = self._item_counts.array >= min_ratings
        if isinstance(users, Ratings):
            learned = self._learned_items(self._own_rows(self.items_, users.items)) >= 0
            known = users.select(learned[users.item_indices])
            indices, scores = self._best_items_folded(known, n, allowed, exclude_seen)
        else:
            rows = self.users_.index(np.atleast_1d(_as_array(users)))
            seen = self._seen.rows(rows if exclude_seen else np.full_like(rows, -1))
            indices, scores = self._best_items(self._learned_users(rows), n, allowed, *seen)
        items = self.items_.ids(np.maximum(indices.ravel(), 0)).reshape(indices.shape)
        items[indices < 0] = None if self.items_.of_strings else -1
        return Recommendations(items, scores)

    @property
    def n_ratings_(self) -> int:
        """How many ratings the model has learned from."""
        return int(self._user_counts.array.sum())

    @abstractmethod
    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """What the model learns about people not in training, a row each; the model itself stays unchanged."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to one file, whole or not at all; `rankfill.load` reads it."""
        self._check_fitted()
        tensors, about = self._state()
        write_tensors(path, tensors, about)

    @abstractmethod
    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        """Learns from ratings whose row numbers are those of `users_` and `items_`."""

    @abstractmethod
    def _score(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.float32]:
        """Predictions for pairs of row numbers, −1 for what was not learned."""

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

    def _check(self, ratings: Ratings) -> None:
        """Raises in words what the model cannot do with its settings or these ratings."""
        if not isinstance(ratings, Ratings):
            raise TypeError(f"a model learns from Ratings, found {type(ratings).__name__}; use Ratings.from_…")

    def _check_fitted(self) -> None:
        if not hasattr(self, "users_"):
            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet; call fit first")

    def _begin(self, users: Vocabulary, items: Vocabulary) -> None:
        self.users_, self.items_ = users, items
        self._owns_vocabularies = False
        self._user_counts = Growing(np.zeros(len(users), dtype=np.int64))
        self._item_counts = Growing(np.zeros(len(items), dtype=np.int64))
        self.mean_, self.range_ = 0.0, (np.inf, -np.inf)
        self.history_ = []

    def _take_note(self, ratings: Ratings, users: NDArray[np.integer], items: NDArray[np.integer]) -> None:
        """Counts, mean and range; `users` and `items` are the rows here of the rows of the ratings, −1 if unrated."""
        before, new = self.n_ratings_, len(ratings)
        self._user_counts.array[users[users >= 0]] += ratings.by_user.counts()[users >= 0]
        item_counts = np.bincount(ratings.item_indices, minlength=ratings.n_items)
        self._item_counts.array[items[items >= 0]] += item_counts[items >= 0]
        self.mean_ = (self.mean_ * before + ratings.mean() * new) / max(before + new, 1)
        values = ratings.values
        self.range_ = (
            float(values.min(initial=self.range_[0])),
            float(values.max(initial=self.range_[1])),
        )

    def _learned_users(self, users: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(self._user_counts.array[users] > 0, users, np.int32(-1)) if len(self.users_) else users

    def _learned_items(self, items: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(self._item_counts.array[items] > 0, items, np.int32(-1)) if len(self.items_) else items

    def _depends_on_size(self, parameter: str) -> bool:
        """Whether the best value of a parameter changes with the number of ratings, so that a sample cannot tell it."""
        return parameter in ("penalty", "trace", "C")

    @property
    def _clips(self) -> bool:
        """Whether predictions are kept within the range of the ratings."""
        return self.clip

    def _error(self, ratings: Ratings) -> float:
        """The error on ratings with any vocabulary, in the model's `measure`."""
        return MEASURES[self.measure](ratings.values, self._predicted(ratings))

    def _predicted(self, ratings: Ratings) -> NDArray[np.float32]:
        """What `predict` says of each rating, found by row numbers instead of ids."""
        users = self._learned_users(self._own_rows(self.users_, ratings.users))[ratings.user_indices]
        items = self._learned_items(self._own_rows(self.items_, ratings.items))[ratings.item_indices]
        scores = self._score(users, items)
        return np.clip(scores, *self.range_) if self._clips else scores

    @staticmethod
    def _own_rows(own: Vocabulary, other: Vocabulary) -> NDArray[np.int32]:
        return np.arange(len(own), dtype=np.int32) if own is other else own.index(other.ids())

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and words from which `_set_state` makes the same model."""
        self._seen.compact()
        tensors = {
            "user_counts": self._user_counts.array,
            "item_counts": self._item_counts.array,
            "seen_indptr": self._seen.indptr,
            "seen_items": self._seen.items,
        }
        for side, vocabulary in (("user", self.users_), ("item", self.items_)):
            names = ("bytes", "offsets") if vocabulary.of_strings else ("ids",)
            tensors |= {f"{side}_{name}": keys for name, keys in zip(names, vocabulary.keys, strict=True)}
        about = {
            "rankfill": FORMAT_VERSION,
            "model": type(self).__name__,
            "parameters": {
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in self.get_params(deep=False).items()
            },
            "mean": self.mean_,
            "range": list(self.range_),
            "history": [vars(report) for report in self.history_],
        }
        return tensors, about

    def _set_state(self, tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        vocabularies = [
            Vocabulary.from_keys(
                (tensors[f"{side}_bytes"], tensors[f"{side}_offsets"])
                if f"{side}_bytes" in tensors
                else (tensors[f"{side}_ids"],)
            )
            for side in ("user", "item")
        ]
        self._begin(*vocabularies)
        self._owns_vocabularies = True
        self._user_counts, self._item_counts = Growing(tensors["user_counts"]), Growing(tensors["item_counts"])
        self._seen = SeenItems(tensors["seen_indptr"], tensors["seen_items"])
        self.mean_, self.range_ = about["mean"], tuple(about["range"])
        self.history_ = [EpochReport(**report) for report in about["history"]]


def _as_array(ids: ArrayLike) -> NDArray[Any]:
    array = np.asarray(ids)
    return array.astype(object) if array.dtype.kind == "U" else array
