"""Fitting anew in the background, from the ratings the model began with and all that came in since."""

import logging
import os
import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankfill.data import Features, Ratings
from rankfill.data.vocabulary import Id
from rankfill.service.learning import Learning, catch_up, learning_with
from rankfill.service.log import EventLog
from rankfill.service.writer import Submission, Writer

_CATCH_UP = 5000
"""Where no more events than this are left, the writer does the rest."""

_logger = logging.getLogger("rankfill.service")


def current_ratings(base: Ratings | None, log: EventLog) -> tuple[Ratings, int]:
    """The ratings that hold now, the last one per pair unless taken back, and their last sequence number."""
    last: dict[tuple[Id, Id], float | None] = {}
    sequence = 0
    for events in log.since(0):
        sequence += len(events)
        for user, item, rating in zip(events.users, events.items, events.ratings, strict=True):
            if user is not None:
                last[user, item] = rating
    came = [(user, item, rating) for (user, item), rating in last.items() if rating is not None]
    columns = [list(column) for column in zip(*came, strict=True)] if came else [[], [], []]
    if base is None:
        return Ratings.from_arrays(columns[0], columns[1], columns[2]), sequence
    kept = ~log.is_forgotten(base.users.ids().tolist())[base.user_indices] & ~_among(base, list(last))
    users, items = base.users.ids(base.user_indices[kept]), base.items.ids(base.item_indices[kept])
    if not came:
        return Ratings.from_arrays(users, items, base.values[kept]), sequence
    return Ratings.from_arrays(
        np.concatenate([users, np.array(columns[0], users.dtype)]),
        np.concatenate([items, np.array(columns[1], items.dtype)]),
        np.concatenate([base.values[kept], np.array(columns[2], np.float32)]),
    ), sequence


def _among(base: Ratings, pairs: list[tuple[Id, Id]]) -> NDArray[np.bool_]:
    """Marks the ratings of one of the pairs."""
    if not pairs:
        return np.zeros(len(base), bool)
    users = base.users.index(np.array([user for user, _ in pairs], base.users.ids().dtype)).astype(np.int64)
    items = base.items.index(np.array([item for _, item in pairs], base.items.ids().dtype))
    packed = (users << 32 | items)[(users >= 0) & (items >= 0)]
    return np.isin(base.user_indices.astype(np.int64) << 32 | base.item_indices, packed)


class Refits:
    """Starts a refit when enough events or time have passed; one at a time, at low priority."""

    def __init__(
        self, writer: Writer, base: Ratings | None, features: Features | None = None, *, after: int, every: float
    ) -> None:
        self._writer, self._base, self._after, self._every = writer, base, after, every
        self._features: dict[str, Any] = {} if features is None else {"item_features": features}
        self._fitted_to = writer.applied
        self._running: threading.Thread | None = None
        self.troubles: list[str] = []

    def due(self, elapsed: float) -> bool:
        """Whether it is time: `elapsed` seconds after the last one."""
        news = self._writer.applied - self._fitted_to
        return news > 0 and ((0 < self._after <= news) or (0 < self._every <= elapsed))

    def start(self, loop: AbstractEventLoop, done: Callable[[], None] = lambda: None) -> bool:
        """Begins a refit unless one is running."""
        if self._running is not None and self._running.is_alive():
            return False
        self._fitted_to = self._writer.applied
        self._running = threading.Thread(target=self._run, args=(loop, done), name="rankfill-refit", daemon=True)
        self._running.start()
        return True

    def running(self) -> bool:
        """Whether a refit is on its way."""
        return self._running is not None and self._running.is_alive()

    def _run(self, loop: AbstractEventLoop, done: Callable[[], None]) -> None:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)  # of this thread and those it starts
        try:
            ratings, sequence = current_ratings(self._base, self._writer.log)
            fresh = learning_with(clone(self._writer.learning.model).fit(ratings, **self._features), ratings)
            self._describe_items(fresh, sequence)
            while self._writer.log.last - sequence > _CATCH_UP:
                sequence = catch_up(fresh, self._writer.log, sequence)
            submission = Submission(deed=lambda: self._writer.replace(fresh, sequence))
            loop.call_soon_threadsafe(self._writer.submit, submission, loop)
        except Exception as error:  # a refit that fails leaves the model as it was
            _logger.exception("the refit failed; the model goes on as it is")
            self.troubles.append(f"a refit failed: {error}")
        finally:
            done()

    def _describe_items(self, learning: Learning, sequence: int) -> None:
        """Items that were described before the refit are known to the new model, too."""
        for events in self._writer.log.since(0) if learning.takes_features() else ():
            for user, item, features in zip(events.users, events.items, events.ratings, strict=True):
                if sequence > 0 and user is None and item is not None:
                    learning.describe(item, features)
                sequence -= 1
