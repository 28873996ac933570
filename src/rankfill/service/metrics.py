"""The counters of the service, for Prometheus and for its page."""

import math
import time
from collections import deque

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from rankfill.service.events import Events
from rankfill.service.learning import Learning

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0)
_MINUTE = 60
_CURVE = 500
"""Points of the learning curve that are kept."""

_PER_POINT = 200
"""Ratings in one point of it."""

_JUDGED = 20
"""Ratings of one group that are compared with their predictions, at most."""


class Metrics:
    """Counters, and the error on each rating just before it was learned."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.events = Counter("rankfill_events", "Events learned", registry=registry)
        self.requests = Counter("rankfill_requests", "Requests answered", ["route", "status"], registry=registry)
        self.seconds = Histogram(
            "rankfill_request_seconds", "Time to answer", ["route"], buckets=_SECONDS, registry=registry
        )
        self.commits = Counter("rankfill_commits", "Groups of events written to disk", registry=registry)
        self.commit_seconds = Counter("rankfill_commit_seconds", "Time spent writing them", registry=registry)
        self.learn_seconds = Counter("rankfill_learn_seconds", "Time spent learning them", registry=registry)
        self.refits = Counter("rankfill_refits", "Times the model was fitted anew", registry=registry)
        self.sequence = Gauge("rankfill_sequence", "Sequence number of the model", registry=registry)
        self.queue = Gauge("rankfill_queue", "Events waiting to be written", registry=registry)
        self.curve: deque[tuple[int, float]] = deque(maxlen=_CURVE)
        self._recent: deque[tuple[float, int]] = deque()
        self._errors, self._judged, self._seen = 0.0, 0, 0

    def group(self, n: int, commit: float, learn: float) -> None:
        """A group of n events was written and learned."""
        self.events.inc(n)
        self.commits.inc()
        self.commit_seconds.inc(commit)
        self.learn_seconds.inc(learn)
        self._recent.append((time.monotonic(), n))
        self._drop_old()

    def surprise(self, learning: Learning, events: Events) -> None:
        """Compares ratings with what the model says of them before it learns them."""
        rows = list(zip(events.users, events.items, events.ratings, strict=True))[-_JUDGED:]
        given = [row for row in rows if row[0] is not None and row[2] is not None]
        self._seen += len(events)
        if given and learning.model.predicts_ratings:
            users, items, ratings = zip(*given, strict=True)
            errors = np.subtract(learning.model.predict(list(users), list(items)), ratings)
            self._errors += float(np.square(errors).sum())
            self._judged += len(given)
        if self._judged and self._seen >= _PER_POINT:
            self.curve.append((int(self.events._value.get()) + len(events), math.sqrt(self._errors / self._judged)))
            self._errors, self._judged, self._seen = 0.0, 0, 0

    def rate(self) -> float:
        """Events per second over the last minute."""
        self._drop_old()
        recent = list(self._recent)
        if not recent:
            return 0.0
        return sum(n for _, n in recent) / max(time.monotonic() - recent[0][0], 1.0)

    def text(self, sequence: int, waiting: int) -> bytes:
        """All of it in the format of Prometheus."""
        self.sequence.set(sequence)
        self.queue.set(waiting)
        return generate_latest(self.registry)

    def _drop_old(self) -> None:
        while self._recent and self._recent[0][0] < time.monotonic() - _MINUTE:
            self._recent.popleft()
