"""Learning from events in the service: online learning, or knowing more about each person.

Online    a model with `learn_many` moves its rows with every rating
Folding   any other model stays as it is, and a person's answers are folded in from all ratings known of him or her;
          what the model knows of items changes with the next refit

`catch_up` brings either up to the end of a log, after a start and after a refit.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from rankfill.data import Features, Ratings
from rankfill.data.vocabulary import Id
from rankfill.models import Explanation, Model, Recommendations
from rankfill.models.base.online import OnlineModel
from rankfill.service.events import Events, Refused
from rankfill.service.log import EventLog

_AT_ONCE = 200_000
"""Events that are learned in one go when there are many."""

_logger = logging.getLogger("rankfill.service")


class Learning(ABC):
    """A model that follows a stream of events and answers from what it knows."""

    all_in_model: ClassVar[bool]
    """Whether the model holds all that was learned, so that a snapshot of it stands for the events before."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def follow(self, events: Events) -> None:
        """Takes in events in their order: ratings, and ratings taken back."""
        if None not in events.users and None not in events.ratings:
            if len(events):
                self.learn(events)
            return
        rows = list(zip(events.users, events.items, events.ratings, strict=True))
        for kind, places in groupby(range(len(rows)), key=lambda place: _kind(*rows[place])):
            some = list(places)
            if kind == "rated":
                self.learn(events.part(some[0], some[-1] + 1))
            for user, item, features in (rows[place] for place in some):
                if kind == "taken back":
                    self.take_back(user, item)
                elif kind == "described":
                    self.describe(item, features)

    def check_features(self, features: dict[str, Any]) -> None:
        """Refuses features that the model cannot read, before anything is written."""
        if self.takes_features():
            try:
                self._described(0, features)
            except ValueError as error:
                raise Refused(str(error)) from error

    def describe(self, item: Id, features: dict[str, Any]) -> None:
        """Makes an item known by its features, where the model was fitted with features."""
        if self.takes_features():
            try:
                self.model.add_features(item_features=self._described(item, features))
            except ValueError as error:  # the model was fitted to other features when the item was described
                _logger.warning("the features of item %s are passed over: %s", item, error)

    def _described(self, item: Id, features: dict[str, Any]) -> Features:
        table = {name: [value] for name, value in features.items()}
        return Features.from_table([item], table, like=self.model._item_map.encoding)

    def takes_features(self) -> bool:
        """Whether features make an item known."""
        return getattr(self.model, "_item_map", None) is not None

    @abstractmethod
    def learn(self, events: Events) -> None:
        """Learns from ratings in their order."""

    @abstractmethod
    def take_back(self, user: Id, item: Id) -> None:
        """Removes what the user gave the item from what is known."""

    def people(self) -> list[Id]:
        """Everybody of whom there is something to forget."""
        return list(self.model.users_)

    def check_forgettable(self, user: Id) -> None:
        """Refuses what the model cannot do, before anything is written."""
        model = self.model
        if model.users_.row_of(user) >= 0 and (model._seen is None or len(model.users_) == 1):
            why = "it knows nobody else" if len(model.users_) == 1 else "it was saved without what users have rated"
            raise Refused(f"the model cannot forget {user}: {why}; refit it, or begin anew in another folder", 409)

    def forget(self, user: Id) -> None:
        """Leaves nothing of a user."""
        self.model.forget(user)

    def knows(self, user: Id) -> bool:
        """Whether anything has been learned of a user."""
        row = self.model.users_.row_of(user)
        return bool(row >= 0 and self.model._user_counts.array[row] > 0)

    def rated_by(self, user: Id) -> list[Id]:
        """The ratings of a user, as far as the model remembers them."""
        seen = self.model._seen
        row = self.model.users_.row_of(user)
        return (
            [] if seen is None or row < 0 else self.model.items_.ids(seen.rows(np.array([row], np.int32))[1]).tolist()
        )

    def recommend(self, user: Id, n: int, exclude_seen: bool) -> Recommendations:
        """The user's list."""
        return self.model.recommend(user, n=n, exclude_seen=exclude_seen)

    def predict(self, user: Id, items: Sequence[Id]) -> list[float]:
        """The user's predictions."""
        return [float(self.model.predict(user, item)) for item in items]

    def explain(self, user: Id, item: Id) -> Explanation:
        """Why a prediction is what it is."""
        return self.model.explain(user, item)


class Online(Learning):
    """A model that learns from each rating."""

    all_in_model = True
    model: OnlineModel

    def learn(self, events: Events) -> None:
        self.model.learn_many(events.users, events.items, events.ratings)

    def take_back(self, user: Id, item: Id) -> None:
        rows = self.model.users_.row_of(user), self.model.items_.row_of(item)
        if self.model._seen is not None and min(rows) >= 0:
            self.model._seen.discard(*rows)
            self.model._renew_view()


class Folding(Learning):
    """A model that stays as it is beside what has become known of people."""

    all_in_model = False

    def __init__(self, model: Model, base: Ratings | None) -> None:
        super().__init__(model)
        self._base = base
        self._known: dict[Id, dict[Id, float]] = {}

    def learn(self, events: Events) -> None:
        for user, item, rating in zip(events.users, events.items, events.ratings, strict=True):
            self._of(user)[item] = rating

    def take_back(self, user: Id, item: Id) -> None:
        self._of(user).pop(item, None)

    def people(self) -> list[Id]:
        before = [] if self._base is None else self._base.users.ids().tolist()
        return list({*super().people(), *self._known, *before})

    def forget(self, user: Id) -> None:
        super().forget(user)
        self._known[user] = {}

    def knows(self, user: Id) -> bool:
        return bool(self._known[user]) if user in self._known else super().knows(user)

    def rated_by(self, user: Id) -> list[Id]:
        return list(self._known[user]) if user in self._known else super().rated_by(user)

    def recommend(self, user: Id, n: int, exclude_seen: bool) -> Recommendations:
        own = self._ratings_of(user)
        return super().recommend(user, n, exclude_seen) if own is None else self.model.recommend(own, n, exclude_seen)

    def predict(self, user: Id, items: Sequence[Id]) -> list[float]:
        own = self._ratings_of(user)
        if own is None:
            return super().predict(user, items)
        predicted, rows = self.model.predict_folded(own)[0], [self.model.items_.row_of(item) for item in items]
        return [
            float(predicted[row]) if row >= 0 else float(self.model.predict(user, item))
            for row, item in zip(rows, items, strict=True)
        ]

    def explain(self, user: Id, item: Id) -> Explanation:
        own = self._ratings_of(user)
        return super().explain(user, item) if own is None else self.model.explain(user, item, ratings=own)

    def _of(self, user: Id) -> dict[Id, float]:
        """All that is known of a user; what the model was fitted to is looked up once."""
        if user not in self._known:
            self._known[user] = _row_of(self._base, user) if self._base is not None else {}
        return self._known[user]

    def _ratings_of(self, user: Id) -> Ratings | None:
        """The ratings of a user of whom there is news; None for others."""
        known = self._known.get(user)
        if not known:
            return None
        return Ratings.from_arrays([user] * len(known), list(known), list(known.values()))


def _kind(user: Id | None, item: Id | None, rating: Any) -> str:
    if user is not None:
        return "taken back" if rating is None else "rated"
    return "forgotten" if item is None else "described"


def learning_with(model: Model, base: Ratings | None) -> Learning:
    """The way in which a model follows a stream; `base` is what it was fitted to, where that is known."""
    return Online(model) if isinstance(model, OnlineModel) else Folding(model, base)


def catch_up(learning: Learning, log: EventLog, sequence: int) -> int:
    """Learns what the log holds behind a sequence number, without people who were forgotten since.

    Whoever is forgotten on another thread meanwhile is so behind the sequence number reached, which is returned: the
    next round takes care of it.
    """
    end = log.last
    people = learning.people()
    for place in np.flatnonzero(log.is_forgotten(people, after=sequence)):
        learning.forget(people[place])
    waiting = Events()
    for events in log.since(sequence):
        waiting.extend(events.part(0, end - sequence - len(waiting)))
        if len(waiting) >= _AT_ONCE:
            learning.follow(waiting)
            sequence, waiting = sequence + len(waiting), Events()
        if sequence + len(waiting) >= end:
            break
    learning.follow(waiting)
    return sequence + len(waiting)


def _row_of(ratings: Ratings, user: Id) -> dict[Id, float]:
    row = ratings.users.row_of(user)
    if row < 0:
        return {}
    here = slice(ratings.by_user.indptr[row], ratings.by_user.indptr[row + 1])
    return dict(
        zip(
            ratings.items.ids(ratings.by_user.indices[here]).tolist(),
            ratings.by_user.values[here].tolist(),
            strict=True,
        )
    )
