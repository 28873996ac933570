"""The lock of the model: many may read at once, one alone may write."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A lock for readers and one writer.

    Quick readers never wait for one another, nor for a writer that only waits. Patient ones, who take long, let a
    waiting writer go first, so that it waits for one of them at most.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = self._waiting = 0
        self._writing = False

    @contextmanager
    def reading(self, patient: bool = False) -> Iterator[None]:
        """While this lasts nobody writes."""
        with self._changed:
            while self._writing or (patient and self._waiting):
                self._changed.wait()
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                if not self._readers:
                    self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While this lasts nobody reads."""
        with self._changed:
            self._waiting += 1
            while self._readers or self._writing:
                self._changed.wait()
            self._waiting -= 1
            self._writing = True
        try:
            yield
        finally:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
