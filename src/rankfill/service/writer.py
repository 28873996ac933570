"""The one thread that writes: it drains the queue, commits a group, learns it, and wakes those who wait.

What an acknowledgement means: the event is on disk, and every answer given from then on comes from a model that has
learned it. Readers take turns with the writer, which has its own while rows move, so that no reader
sees a row half moved.
"""

import logging
import queue
import sqlite3
import threading
import time
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rankfill.data.vocabulary import Id
from rankfill.service.events import Events, Refused
from rankfill.service.learning import Learning, catch_up
from rankfill.service.log import EventLog
from rankfill.service.metrics import Metrics
from rankfill.service.snapshots import Frozen, Snapshots
from rankfill.service.turns import Turns

_LARGEST_GROUP = 20_000
_AT_ONCE = 1000
"""The number of events learned before readers get a turn."""

_TROUBLES = 20
"""Troubles that are remembered."""

_logger = logging.getLogger("rankfill.service")


@dataclass
class Submission:
    """Events that wait to be written, or a deed to be done between two groups."""

    events: Events = field(default_factory=Events)
    names: list[str | None] = field(default_factory=list)
    deed: Callable[[], Any] | None = None
    waiting: "Future[Any] | None" = None

    @property
    def size(self) -> int:
        """The places it takes in the queue."""
        return len(self.events) or 1


class Writer(threading.Thread):
    """Owns the log and the model; `applied` is the sequence number of the last event learned."""

    def __init__(
        self,
        learning: Learning,
        log: EventLog,
        snapshots: Snapshots,
        metrics: Metrics,
        *,
        applied: int,
        longest_queue: int,
        snapshot_every: int,
    ) -> None:
        super().__init__(name="rankfill-writer", daemon=True)
        self.learning, self.log, self.snapshots, self.metrics = learning, log, snapshots, metrics
        self.applied, self.snapshot_sequence = applied, snapshots.sequences()[0]
        self.troubles: list[str] = []
        self.turns = Turns()
        self._longest_queue, self._snapshot_every = longest_queue, snapshot_every
        self._queue: queue.SimpleQueue[Submission | None] = queue.SimpleQueue()
        self._submitted = self._handled = 0  # events: the first counted by the event loop, the second by this thread
        self._latest_time = 0
        self._saving: threading.Thread | None = None
        self._saved_sequence = self.snapshot_sequence
        self.failure: str | None = None
        """The error that has ended all learning, if any."""

    def submit(self, submission: Submission, loop: AbstractEventLoop) -> "Future[Any]":
        """Puts events or a deed in the queue, on the thread of the event loop; the future tells when they are done."""
        if self.waiting() + submission.size > self._longest_queue:
            raise Refused("too many ratings are waiting to be written; send them again in a second", 429, retry_after=1)
        if self.failure is not None:
            raise Refused(self.failure, 503)
        self._submitted += submission.size
        submission.waiting = loop.create_future()
        self._queue.put(submission)
        return submission.waiting

    def waiting(self) -> int:
        """The number of events that wait to be written."""
        return self._submitted - self._handled

    def stop(self) -> None:
        """Ends after what is in the queue has been written."""
        self._queue.put(None)
        self.join()
        if self._saving is not None:
            self._saving.join()

    def now(self) -> int:
        """The time in seconds, never earlier than that of an event before."""
        self._latest_time = max(self._latest_time, int(time.time()))
        return self._latest_time

    def run(self) -> None:
        while True:
            group, deed, ended = self._next_group()
            try:
                if group:
                    self._write(group)
                if deed is not None:
                    self._do(deed)
            except Exception as error:  # on disk but not learned: nothing more is taken
                if self.failure is None:
                    _logger.exception("the model cannot go on learning")
                    self.failure = f"the model cannot go on learning: {error}; restart the service, nothing is lost"
                left = [*group, *([deed] if deed is not None else [])]
                self._tell(left, [Refused(self.failure, 503)] * len(left))
            if ended:
                return

    def _next_group(self) -> tuple[list[Submission], Submission | None, bool]:
        """Takes what waits, up to the first deed: (submissions of events, the deed, whether this is the end)."""
        group: list[Submission] = []
        total, block = 0, True
        while total < _LARGEST_GROUP:
            try:
                submission = self._queue.get(block)
            except queue.Empty:
                break
            if submission is None or submission.deed is not None:
                return group, submission, submission is None
            group.append(submission)
            total += len(submission.events)
            block = False
        return group, None, False

    def _write(self, group: list[Submission]) -> None:
        self._go_on()
        events, answers, names = self._without_repetitions(group)
        started = time.perf_counter()
        try:
            if len(events):
                self.log.append(events, names)
        except sqlite3.Error as error:
            self._tell(group, [_write_failure(error)] * len(group))
            return
        committed = time.perf_counter()
        self._learn(events)
        self.metrics.group(len(events), committed - started, time.perf_counter() - committed)
        self._tell(group, answers)
        if self._snapshot_every and self.applied - self.snapshot_sequence >= self._snapshot_every:
            self.save_in_background()

    def _without_repetitions(self, group: list[Submission]) -> tuple[Events, list[Any], list[tuple[str, int]]]:
        """The events that are new, what to answer to each submission, and the names with their sequence numbers."""
        asked = [name for submission in group for name in submission.names if name is not None]
        known = self.log.sequences_of(asked) if asked else {}
        events, answers, names = Events(), [], []
        for submission in group:
            if not asked or not any(submission.names):
                events.extend(submission.events)
                n = len(submission.events)
                answers.append({"sequence": self.log.last + len(events), "accepted": n, "repeated": 0})
                continue
            sequences, repeated = [], 0
            for place, name in enumerate(submission.names):
                if name is not None and name in known:
                    sequences.append(known[name])
                    repeated += 1
                    continue
                events.extend(submission.events.part(place, place + 1))
                sequences.append(self.log.last + len(events))
                if name is not None:
                    known[name] = sequences[-1]
                    names.append((name, sequences[-1]))
            answers.append({"sequence": max(sequences), "accepted": len(sequences) - repeated, "repeated": repeated})
        return events, answers, names

    def _learn(self, events: Events) -> None:
        for first in range(0, len(events), _AT_ONCE):
            some = events.part(first, first + _AT_ONCE)
            with self.turns.writing():
                self.metrics.surprise(self.learning, some)
                self.learning.follow(some)
                self.applied += len(some)

    def _do(self, submission: Submission) -> None:
        self._go_on()
        try:
            answer = submission.deed() if submission.deed is not None else None
        except Refused as refusal:
            answer = refusal
        except sqlite3.Error as error:
            answer = _write_failure(error)
        self._tell([submission], [answer])

    def _go_on(self) -> None:
        if self.failure is not None:
            raise RuntimeError("it has failed before")

    def _tell(self, group: list[Submission], answers: list[Any]) -> None:
        """Wakes all who wait, with one call into the event loop."""
        waiting = [(each.waiting, answer) for each, answer in zip(group, answers, strict=True) if each.waiting]
        self._handled += sum(each.size for each in group)
        if waiting:
            with suppress(RuntimeError):  # the event loop has been closed, and nobody waits any more
                waiting[0][0].get_loop().call_soon_threadsafe(_wake, waiting)

    def take_back(self, user: Id, item: Id) -> dict[str, int]:
        """A deed: a rating no longer counts."""
        events = Events([user], [item], [None], [self.now()])
        self.log.append(events)
        self._learn(events)
        return {"sequence": self.applied}

    def put_items(self, titles: dict[Id, str], features: dict[Id, dict[str, Any]]) -> dict[str, int]:
        """A deed: keeps titles, and makes items known by their features."""
        for known in features.values():
            self.learning.check_features(known)
        n = len(features)
        events = Events([None] * n, list(features), list(features.values()), [self.now()] * n)
        self.log.append(events, titles={str(item): title for item, title in titles.items()})
        self._learn(events)
        return {"sequence": self.applied}

    def forget(self, user: Id) -> dict[str, int]:
        """A deed: leaves nothing of a user in model, log and snapshots."""
        self.learning.check_forgettable(user)
        if self._saving is not None:
            self._saving.join()
        self.log.forget(user)
        with self.turns.writing():
            self.learning.forget(user)
            self.applied = self.log.last
        n_troubles = len(self.troubles)
        self.save()
        if len(self.troubles) > n_troubles:
            raise Refused(f"forgotten, but an old snapshot stays until the next is written: {self.troubles[-1]}", 507)
        return {"sequence": self.applied}

    def replace(self, learning: Learning, sequence: int) -> None:
        """A deed: publishes a model that was fitted up to a sequence number, after it has learned what came since."""
        catch_up(learning, self.log, sequence)
        with self.turns.writing():
            self.learning = learning
        self.metrics.refits.inc()
        if self._saving is not None:
            self._saving.join()
        self.save_in_background()

    def save_in_background(self) -> None:
        """Starts to write a snapshot, unless one is being written."""
        if self._saving is not None and self._saving.is_alive():
            return
        with self.turns.reading():
            frozen, sequence = Frozen(self.learning.model), self.applied
        alone = self.log.last_forgotten() > self._saved_sequence  # an older one knows somebody who was forgotten
        if alone:
            self.log.tidy()
        self.snapshot_sequence = sequence
        self._saving = threading.Thread(target=self._save, args=(frozen, sequence, alone), daemon=True)
        self._saving.start()

    def save(self) -> None:
        """Writes a snapshot and waits for it."""
        if self._saving is not None:
            self._saving.join()
        self.save_in_background()
        if self._saving is not None:
            self._saving.join()

    def _save(self, frozen: Frozen, sequence: int, alone: bool) -> None:
        try:
            self.snapshots.write(frozen.parts(), sequence, alone=alone)
            self._saved_sequence = sequence
        except OSError as error:
            _logger.warning("no snapshot at %d: %s", sequence, error)
            self.troubles = [*self.troubles, f"no snapshot at {sequence}: {error}"][-_TROUBLES:]


def _write_failure(error: sqlite3.Error) -> Refused:
    full = "full" in str(error)
    message = "the disk is full" if full else f"the log cannot be written: {error}"
    return Refused(f"{message}; nothing of this request was taken", 507 if full else 503)


def _wake(waiting: list[tuple["Future[Any]", Any]]) -> None:
    for future, answer in waiting:
        if future.done():  # whoever asked has gone
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
