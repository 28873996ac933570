"""Coming up: lock the folder, load the newest snapshot, replay the log, listen."""

import asyncio
import fcntl
import ipaddress
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
import uvloop

from rankfill.data import Features, Ratings
from rankfill.service.answers import Answers, titles_of
from rankfill.service.app import App, Limits
from rankfill.service.connections import Impatient
from rankfill.service.events import Rule
from rankfill.service.learning import catch_up, learning_with
from rankfill.service.log import EventLog
from rankfill.service.metrics import Metrics
from rankfill.service.refit import Refits
from rankfill.service.snapshots import Snapshots
from rankfill.service.topic_lists import TopicLists
from rankfill.service.writer import Writer

_logger = logging.getLogger("rankfill.service")


@dataclass
class Settings:
    """The settings of a service.

    Attributes
    ----------
    state : Path
        The folder that holds log and snapshots; made if it is not there.
    model : Path, optional
        The model file to begin with. Needed only where the folder is new.
    ratings : Ratings, optional
        What the model was fitted to: for refits, and for models that do not learn from single ratings.
    item_features : Features, optional
        What the model was told of its items, for refits.
    titles : mapping
        Names of items by id.
    scale : tuple of float, optional
        The lowest and the highest rating that is taken. By default those of the model.
    host, port : str, int
        Where to listen.
    token : str, optional
        What callers have to show. Needed on any address but this machine's own.
    refit_after, refit_every : int, float
        Events and seconds after which the model is fitted anew; 0 for never.
    snapshot_every : int
        Events between two snapshots.
    longest_queue : int
        Events that may wait to be written before callers are asked to come back.
    limits : Limits
        How much a request may hold.
    """

    state: Path
    model: Path | None = None
    ratings: Ratings | None = None
    item_features: Features | None = None
    titles: Mapping[Any, str] = field(default_factory=dict)
    scale: tuple[float, float] | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    refit_after: int = 0
    refit_every: float = 0.0
    snapshot_every: int = 100_000
    longest_queue: int = 100_000
    limits: Limits = field(default_factory=Limits)


class Service:
    """The parts of a service that has come up; `close` writes a snapshot and lets go of the folder."""

    def __init__(self, settings: Settings) -> None:
        _check_address(settings)
        started = time.perf_counter()
        settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _lock(settings.state)
        self.log = EventLog(settings.state / "events.sqlite")
        snapshots = Snapshots(settings.state / "snapshots")
        if not snapshots.sequences():
            if settings.model is None:
                raise ValueError(f"{settings.state} holds no model yet; give a model file to begin with")
            snapshots.begin_with(settings.model)
        model, sequence, troubles = snapshots.newest(self.log.last)
        for trouble in troubles:
            _logger.warning("an earlier snapshot is used: %s", trouble)
        learning = learning_with(model, settings.ratings)
        begin = sequence if learning.all_in_model else 0
        replayed = catch_up(learning, self.log, begin) - begin
        lowest, highest = settings.scale or model.range_
        if model.needs_nonnegative and lowest < 0:
            name = type(model).__name__
            raise ValueError(f"{name} learns from ratings of at least 0, but the scale begins at {lowest:g}")
        rule = Rule(model.users_.of_strings, model.items_.of_strings, lowest, highest)
        metrics = Metrics()
        self.writer = Writer(
            learning,
            self.log,
            snapshots,
            metrics,
            applied=self.log.last,
            longest_queue=settings.longest_queue,
            snapshot_every=settings.snapshot_every,
        )
        self.refits = Refits(
            self.writer,
            settings.ratings,
            settings.item_features,
            after=settings.refit_after,
            every=settings.refit_every,
        )
        seconds = time.perf_counter() - started
        readiness = {
            "snapshot": sequence,
            "replayed": replayed,
            "recovery_seconds": seconds,
            "troubles": troubles,
            "learns": type(learning).__name__.lower(),
        }
        titles = titles_of(settings.titles, self.log.items(), rule)
        answers = Answers(self.writer, TopicLists(self.writer, settings.ratings), titles)
        self.app = App(
            self.writer, answers, rule, metrics, self.refits, readiness, token=settings.token, limits=settings.limits
        )
        self.readiness = readiness
        if self.log.last_forgotten() > sequence:  # it ended before the snapshots were rid of somebody
            self.writer.save()
        self.writer.start()

    async def watch(self) -> None:
        """Starts refits when they are due."""
        last, loop = time.monotonic(), asyncio.get_running_loop()
        while True:
            await asyncio.sleep(1.0)
            if self.refits.due(time.monotonic() - last) and self.refits.start(loop):
                last = time.monotonic()

    def close(self) -> None:
        """Writes what waits and a snapshot."""
        self.writer.stop()
        if self.writer.failure is None and self.writer.applied > self.writer.snapshot_sequence:
            self.writer.save()
        self.log.close()
        os.close(self._lock)


def serve(settings: Settings, listening: Callable[[str, dict[str, Any]], None] | None = None) -> None:
    """Comes up, listens until it is told to stop, and leaves a snapshot.

    Parameters
    ----------
    settings : Settings
        How to serve.
    listening : callable, optional
        Is told the address, and how the service came up, as soon as it answers.
    """
    service = Service(settings)
    config = uvicorn.Config(
        service.app,
        http=Impatient,
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,
    )
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_listen(uvicorn.Server(config), service, listening or (lambda *_: None)))
    finally:
        service.close()


async def _listen(server: uvicorn.Server, service: Service, listening: Callable[..., None]) -> None:
    async def tell() -> None:
        while not server.started:
            await asyncio.sleep(0.01)
        host, port = server.servers[0].sockets[0].getsockname()[:2]
        listening(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}", service.readiness)

    beside = [asyncio.create_task(service.watch()), asyncio.create_task(tell())]
    try:
        await server.serve()
    finally:
        for task in beside:
            task.cancel()


def _lock(state: Path) -> int:
    handle = os.open(state / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise ValueError(f"another service is working in {state}; stop it, or use another folder") from None
    return handle


def _check_address(settings: Settings) -> None:
    """Whoever is reached from other machines asks for a token."""
    try:
        own = ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        own = settings.host == "localhost"
    if not own and not settings.token:
        raise ValueError(
            f"on {settings.host} others can reach the service, so it needs a token: --token-file FILE; "
            "or listen on 127.0.0.1"
        )
