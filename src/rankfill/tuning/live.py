"""A live table of a search: on stderr, silent where that is no terminal."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from rankfill.tuning.search import Progress
from rankfill.tuning.table import trial_table

_ROWS = 10
_EVERY = 0.1


class LiveTable:
    """A context; `show` draws the best so far and how much is left."""

    def __init__(self, *, shown: bool) -> None:
        console = Console(stderr=True, markup=False, highlight=False, emoji=False)
        self._live = (
            Live(console=console, transient=True, auto_refresh=False) if shown and console.is_terminal else None
        )
        self._last = 0.0

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, progress: Progress) -> None:
        if self._live is not None and time.monotonic() - self._last > _EVERY:
            self._last = time.monotonic()
            self._live.update(
                Group(trial_table(progress.trials, most_rows=_ROWS), Text(_state(progress))), refresh=True
            )


def _state(progress: Progress) -> str:
    if progress.total is None:
        return f"{progress.done:,} ratings, {_clock(progress.seconds)}"
    left = progress.seconds / progress.done * (progress.total - progress.done)
    return f"fit {progress.done} of {progress.total}, {_clock(progress.seconds)} gone, about {_clock(left)} left"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
