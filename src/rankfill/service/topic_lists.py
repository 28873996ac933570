"""The topics that the service shows: those of all ratings that hold, or of the model where only the model is known."""

import threading
from collections.abc import Mapping
from typing import Any

from rankfill.data import Ratings
from rankfill.service.refit import current_ratings
from rankfill.service.writer import Writer
from rankfill.topics import Topic, topics

_KEPT_FOR = 100_000
"""Events after which topics are found anew."""


class TopicLists:
    """Finds topics when they are asked for, and keeps them while little changes."""

    def __init__(self, writer: Writer, base: Ratings | None) -> None:
        self._writer, self._base = writer, base
        self._finding = threading.Lock()
        self._found: tuple[Any, int, list[Topic]] | None = None

    def lists(self, n: int, titles: Mapping[Any, str]) -> tuple[int, list[Topic]]:
        """The sequence number up to which ratings count, and the topics with n items each."""
        writer = self._writer
        if self._base is None:
            with writer.turns.reading(patient=True):
                return writer.applied, topics(writer.learning.model, n=n, titles=titles)
        with self._finding:
            learning = writer.learning
            state = n, id(learning), writer.log.last_forgotten(), writer.applied // _KEPT_FOR
            if self._found is None or self._found[0] != state:
                ratings, sequence = current_ratings(self._base, writer.log)
                self._found = state, sequence, topics(ratings, n=n, titles=titles)
            return self._found[1:]
