"""A live bar for the passes of a training: on stderr, silent where that is no terminal."""

import time
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from rankfill.cli.shared import console
from rankfill.models import EpochReport


class TimeLeft(ProgressColumn):
    """Until the end announced by the last report; rich's own estimate forgets passes of more than 30 seconds."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        end = task.fields.get("end")
        left = None if end is None or task.finished else max(0, round(end - time.monotonic()))
        text = "" if left is None else f"{left // 60}:{left % 60:02d} left"
        return Text(text, style="progress.remaining")


class PassBar:
    """A callback of `fit` to be used as a context: pass, error, ratings a second, time left."""

    def __init__(self, passes: int, n_ratings: int, budget: float | None = None) -> None:
        self.passes = passes
        self.n_ratings = n_ratings
        self.budget = float("inf") if budget is None else budget
        screen = console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[error]}", style="bold"),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            TimeLeft(),
            console=screen,
            disable=not screen.is_terminal,
            transient=True,
        )
        self._task = self._progress.add_task(f"pass 1 of {passes}", total=passes, error="", speed="", end=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def trying(self, name: str, number: int, total: int) -> None:
        """A model that tries others says which one is next."""
        self._progress.update(
            self._task, completed=number, total=total + 1, description=f"{number + 1} of {total}: {name}"
        )

    def fitting(self, name: str) -> None:
        """The trials are over, and a model learns from everything."""
        self._progress.update(self._task, description=f"fitting {name}")

    def __call__(self, report: EpochReport) -> None:
        a_pass = report.seconds / report.epoch
        left = min(a_pass * (self.passes - report.epoch), self.budget - report.seconds)
        words = f"train {report.measure} {report.train:.4f}"
        if report.validation is not None:
            words = f"validation {report.validation_measure} {report.validation:.4f}"
        self._progress.update(
            self._task,
            completed=report.epoch,
            description=f"pass {min(report.epoch + 1, self.passes)} of {self.passes}",
            error=words,
            speed=f"{_short(self.n_ratings / max(a_pass, 1e-9))} ratings/s",
            end=time.monotonic() + left,
        )


def _short(number: float) -> str:
    """1.2M, 34k: three digits are enough at a glance."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.0f}"
