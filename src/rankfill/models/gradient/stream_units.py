"""The units of a stream: its scale and its offset, found anew as ratings arrive, the same however it is cut into calls.

The first ratings of a stream may mislead: one of 0.5 before ratings up to 100, or a stray one of 1e6. So the last 1024
ratings are kept, and after each of the first 32 and then whenever the number of ratings has doubled they are looked at
again, without those that are implausible: further from the middle seven eighths than four times their width.

    scale    the power of 4 nearest to the standard deviation (without an offset: to a quarter of the root mean square,
             for stars from 1 to 5 deviate by 1). After 1024 ratings, or a fit, it changes only when it is off by
             more than a factor of 16: the ratings are of another kind then.
    offset   the mean of the ratings so far. An implausible one counts as the limit of what is plausible.

A change of scale leaves rows as they are in units of the scale: what was learned in too large a unit was too large.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.models.gradient.scaled import nearest_scale

KEPT, EACH = 1024, 32
TRIMMED, WIDTHS = 16, 4.0
LATE_FACTOR = 16.0
LARGEST = float(np.finfo(np.float64).max)


class StreamUnits(NamedTuple):
    """The state of a stream after `seen` ratings whose plausible parts add up to `total`."""

    scale: float
    seen: int = 0
    total: float = 0.0
    low: float = -LARGEST
    high: float = LARGEST
    settled: bool = False

    @property
    def look_is_due(self) -> bool:
        """Whether the next rating is one after which the recent ones are looked at again."""
        return self.seen < EACH or (self.seen + 1) & self.seen == 0

    def with_one_more(self, plausible: float) -> "StreamUnits":
        """After one more rating, when no look is due."""
        return StreamUnits(self.scale, self.seen + 1, self.total + plausible, self.low, self.high, self.settled)


class Stretch(NamedTuple):
    """Ratings of a call under one scale: their places, they themselves made plausible, the offset of each."""

    places: slice
    values: NDArray[np.float64]
    offsets: NDArray[np.float64]
    units: StreamUnits


def units_after(ratings: Ratings, total: float, scale: float) -> tuple[StreamUnits, NDArray[np.float32]]:
    """Units to go on from after ratings learned at once, and ratings from all over them to stand for the last ones."""
    recent = np.zeros(KEPT, np.float32)
    n = len(ratings)
    some = ratings._values_at(np.linspace(0, n - 1, min(n, KEPT)).round().astype(np.int64))
    recent[: len(some)] = some
    low, high = _plausible(np.sort(some.astype(np.float64)))
    return StreamUnits(scale, n, total, low, high, settled=True), recent


def stretches(
    units: StreamUnits, recent: NDArray[np.float32], values: NDArray[np.float32], *, centred: bool
) -> Iterator[Stretch]:
    """Takes note of the ratings that arrive; `recent` is a ring in which rating t is at t mod 1024."""
    begin = 0
    while begin < len(values):
        next_look = 1 << units.seen.bit_length()
        due = units.look_is_due
        end = begin + 1 if due else min(len(values), begin + next_look - 1 - units.seen)
        new = values[begin:end]
        numbers = units.seen + np.arange(len(new))
        recent[numbers[-KEPT:] % KEPT] = new[-KEPT:]
        if due:
            units = _look_again(units, recent[: units.seen + 1].astype(np.float64), centred)
        plausible = np.clip(new.astype(np.float64), units.low, units.high)
        # One sum after the other, so that the cuts of a stream do not show; a look has counted its own rating.
        totals = np.array([units.total]) if due else np.cumsum(np.append(units.total, plausible))[1:]
        units = units._replace(seen=int(numbers[-1]) + 1, total=float(totals[-1]))
        yield Stretch(slice(begin, end), plausible, totals / (numbers + 1) if centred else 0 * totals, units)
        begin = end


def _look_again(units: StreamUnits, recent: NDArray[np.float64], centred: bool) -> StreamUnits:
    """The units after one more rating, which is among the recent ones."""
    low, high = _plausible(np.sort(recent))
    newest = recent[units.seen % KEPT]
    total = units.total + float(np.clip(newest, low, high))
    inside = recent[(recent >= low) & (recent <= high)]
    spread = float(inside.std()) if centred else float(np.sqrt(np.square(inside).mean())) / 4
    scale, settled = units.scale, units.settled or units.seen >= KEPT
    if spread > 0 and not (settled and 1 / LATE_FACTOR <= spread / scale <= LATE_FACTOR):
        scale = nearest_scale(spread)
    if units.seen < KEPT or scale != units.scale:
        total = float(inside.mean()) * (units.seen + 1)
    return units._replace(scale=scale, total=total, low=low, high=high)


def _plausible(ascending: NDArray[np.float64]) -> tuple[float, float]:
    """The limits of what is plausible beside these; none for few ratings, and where most are the same."""
    trimmed = len(ascending) // TRIMMED
    least, most = float(ascending[trimmed]), float(ascending[-1 - trimmed])
    if trimmed == 0 or least == most:
        return -LARGEST, LARGEST
    return least - WIDTHS * (most - least), most + WIDTHS * (most - least)


def still_to_come(rows: NDArray[np.int32]) -> NDArray[np.int64]:
    """Counts, for each entry, the later entries of the same row."""
    if len(rows) == 1:
        return np.zeros(1, np.int64)
    order = np.argsort(rows[::-1], kind="stable")
    grouped = rows[::-1][order]
    starts = np.flatnonzero(np.append(True, grouped[1:] != grouped[:-1]))
    rank = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
    after = np.empty(len(rows), dtype=np.int64)
    after[order] = rank
    return after[::-1]
