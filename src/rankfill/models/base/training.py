"""The training loop around the passes of an iterative model: clock, reports, stopping, keeping the best state.

The clock runs only while the model learns; measuring errors and callbacks is not charged to it.
"""

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.objectives.measures import Measure
from rankfill.objectives.scores import parse_score

if TYPE_CHECKING:
    from rankfill.models.base.checkpoint import Checkpoint

PATIENCE = 3


@dataclass(frozen=True)
class EpochReport:
    """The report of one pass over the data: an entry of `history_`, and the argument of callbacks.

    Attributes
    ----------
    epoch : int
        Number of the pass, from 1.
    seconds : float
        Time spent learning so far; measuring and callbacks are not charged to it.
    objective : float
        Value of what the model minimises.
    train : float
        The error on the training ratings, in `measure`.
    validation : float or None
        The value on the validation ratings, in `validation_measure`; None without any.
    gap : float or None
        How far the objective is at most above the best possible, as a share of it; None where there is no proof.
    measure : str
        The name of the error: "rmse", "mae" or "nmae".
    judged_by : str or None
        The measure that `fit` was asked to go by on the validation ratings, such as "ndcg@10"; None for `measure`.
    validation_measure : str
        The name of what `validation` is: that measure.
    loss : float
        The number that the best pass minimises: `validation`, negated where more is better; without any, `objective`.

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(60, 40, n_ratings=900, seed=0)
    >>> model = rf.SGD(rank=2, passes=3).fit(ratings, callbacks=[lambda report: print(report.epoch)])
    1
    2
    3
    >>> model.history_[-1].measure
    'rmse'
    """

    epoch: int
    seconds: float
    objective: float
    train: float
    validation: float | None = None
    gap: float | None = None
    measure: Measure = "rmse"
    judged_by: str | None = None

    @property
    def validation_measure(self) -> str:
        return self.judged_by or self.measure

    @property
    def loss(self) -> float:
        return self.objective if self.validation is None else parse_score(self.validation_measure).loss(self.validation)


Callback = Callable[[EpochReport], bool | None]


class InterruptedWarning(UserWarning):
    """Warns that Ctrl-C ended a training early."""


@contextmanager
def ended_by_interruption() -> Iterator[None]:
    """Makes Ctrl-C end everything done within, where a single fit would keep its model and let the rest go on."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedWarning)
        try:
            yield
        except InterruptedWarning:
            raise KeyboardInterrupt from None


class Learner(Protocol):
    """The part of a model that its training uses."""

    passes: int
    tol: float | None
    measure: ClassVar[Measure]
    history_: list[EpochReport]

    _judged_by: str | None
    _checkpoint: "Checkpoint | None"

    def _judge(self, validation: Ratings) -> float: ...
    def _snapshot(self) -> Any: ...
    def _restore(self, snapshot: Any) -> None: ...
    def _renew_view(self) -> None: ...


def order_seed(seed: int, epoch: int) -> int:
    """Derives the seed of the random order within a pass; it differs from pass to pass."""
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def asked_to_stop(callbacks: Iterable[Callable[[Any], Any]], report: Any) -> bool:
    """Calls all callbacks; returns whether one of them returned True."""
    wishes = [callback(report) for callback in callbacks]
    return any(isinstance(wish, bool | np.bool_) and bool(wish) for wish in wishes)


class TimeBudget:
    """A callback that stops the training after a number of seconds of learning.

    The pass in which the time runs out is completed.

    Parameters
    ----------
    seconds : float
        Time to learn; measuring errors and other callbacks do not count.

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(60, 40, n_ratings=900, seed=0)
    >>> model = rf.SGD(rank=2, passes=50).fit(ratings, callbacks=[rf.TimeBudget(0.0)])
    >>> len(model.history_)
    1
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, report: EpochReport) -> bool:
        return report.seconds >= self.seconds


class Progress(NamedTuple):
    """What a training remembers beside what the model has learned."""

    history: list[EpochReport]
    best: float
    best_state: dict[str, Any] | None
    since_best: int
    carried: dict[str, NDArray[Any]]


class Training:
    """Counts passes, writes `history_`, stops in time, and hands back the best model on the validation ratings.

    It stops when a callback returns True, or when the measure of the validation ratings (without any: the objective)
    has not become better by more than `tol`, relative to the best so far, for three passes (never with `tol=None`).
    Ctrl-C ends the training without an error and keeps what has been learned, the best state where validation ratings
    tell it. With a checkpoint it goes on where the same training was cut off.
    """

    def __init__(self, model: Learner, validation: Ratings | None, callbacks: Iterable[Callback]) -> None:
        self.model = model
        self.tol = model.tol
        self.validation = validation
        self.callbacks = tuple(callbacks)
        self._seconds = 0.0
        self._best = float("inf")
        self._best_state: Any = None
        self._since_best = 0
        self._stop = False
        self._carried: dict[str, NDArray[Any]] = {}
        self._carried_before: dict[str, NDArray[Any]] = {}

    def __enter__(self) -> "Training":
        self.model.history_ = []
        if self.model._checkpoint is not None:
            self._go_on_from(self.model._checkpoint)
        return self

    def _go_on_from(self, checkpoint: "Checkpoint") -> None:
        progress = checkpoint.resume(self.model)
        if progress is None:
            return
        made = len(progress.history)
        if made > self.model.passes:
            raise ValueError(
                f"checkpoint {str(checkpoint.place)!r} has made {made} passes already, more than the "
                f"{self.model.passes} asked for; ask for at least as many, or name another folder"
            )
        self.model.history_, self._carried_before = progress.history, progress.carried
        self._best, self._best_state, self._since_best = progress.best, progress.best_state, progress.since_best
        self._seconds = progress.history[-1].seconds
        self.model._renew_view()
        self._stop = asked_to_stop(self.callbacks, progress.history[-1]) or self._since_best >= PATIENCE

    @property
    def has_begun(self) -> bool:
        """Whether the model holds the result of a pass, in this run or a resumed one."""
        return bool(self.model.history_)

    def carry(self, **arrays: NDArray[Any]) -> None:
        """Adds to checkpoints what passes change beside what the model learns; restores it in a resumed training."""
        self._carried = arrays
        for name, array in self._carried_before.items():
            arrays[name][...] = array

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt) and bool(self.model.history_)
        if (kind is None or interrupted) and self._best_state is not None:
            self.model._restore(self._best_state)
        if interrupted:
            done = f"interrupted after {len(self.model.history_)} passes; the model is kept"
            warnings.warn(done, InterruptedWarning, stacklevel=3)
        return interrupted

    def epochs(self) -> Iterator[int]:
        """Numbers of the passes to make, from 1."""
        for epoch in range(len(self.model.history_) + 1, self.model.passes + 1):
            if self._stop:
                return
            self._resumed = time.perf_counter()
            yield epoch

    def stretches(self) -> Iterator[Iterator[int]]:
        """Divides the passes into stretches that end with a checkpoint; without checkpoints there is one stretch.

        A solver starts again in each stretch. A stretch that ends early is the last.
        """
        checkpoint, made = self.model._checkpoint, len(self.model.history_)
        while not self._stop and made < self.model.passes:
            size = self.model.passes if checkpoint is None else checkpoint.every - made % checkpoint.every
            yield islice(self.epochs(), size)
            made, before = len(self.model.history_), made
            if made < before + size:
                return

    def report(self, objective: float, train: float, gap: float | None = None) -> None:
        """Ends a pass: measures, remembers, decides whether another follows."""
        self._seconds += time.perf_counter() - self._resumed
        model = self.model
        model._renew_view()
        validation = None if self.validation is None else self._judge(self.validation)
        number, judged_by = len(model.history_) + 1, model._judged_by
        report = EpochReport(number, self._seconds, objective, train, validation, gap, model.measure, judged_by)
        model.history_.append(report)
        watched = report.loss
        first = len(model.history_) == 1
        gained = first or self.tol is None or watched < self._best - self.tol * abs(self._best)
        self._since_best = 0 if gained else self._since_best + 1
        if first or watched < self._best:
            self._best = watched
            self._best_state = None if validation is None else model._snapshot()
        self._stop = asked_to_stop(self.callbacks, report) or self._since_best >= PATIENCE
        checkpoint = model._checkpoint
        if checkpoint is not None and (self._stop or number % checkpoint.every == 0 or number == model.passes):
            state = Progress(model.history_, self._best, self._best_state, self._since_best, self._carried)
            checkpoint.write(model, state)

    def _judge(self, validation: Ratings) -> float:
        value = self.model._judge(validation)
        if math.isnan(value) and self.model._judged_by is not None:
            raise ValueError(
                f"measure={self.model._judged_by!r} cannot be told on these validation ratings: nobody there has rated "
                "enough, or liked anything; give others, or another rule of what is liked"
            )
        return value
