"""A stream of ratings as columns: ratings that follow each other and have the same column are one."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.columns import DictionaryGram
from rankfill.models.base.forgetting import Left
from rankfill.models.columns.statistics import Followed


class Entries(NamedTuple):
    """Ratings in the order of a stream."""

    columns: NDArray[np.int32]
    rows: NDArray[np.int32]
    values: NDArray[np.float32]

    @classmethod
    def none(cls) -> "Entries":
        """No ratings yet."""
        return cls(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32))

    def without(self, left: Left, users: Literal["columns", "rows"]) -> "Entries":
        """Without the ratings of users who are forgotten, the others by their new numbers."""
        columns = left.renumbered(self.columns) if users == "columns" else self.columns
        rows = left.renumbered(self.rows) if users == "rows" else self.rows
        stay = (columns >= 0) & (rows >= 0)
        return Entries(columns[stay], rows[stay], self.values[stay])

    def part(self, start: int, stop: int | None = None) -> "Entries":
        """The ratings from `start` to `stop`."""
        return Entries(self.columns[start:stop], self.rows[start:stop], self.values[start:stop])

    def followed_by(self, more: "Entries") -> "Entries":
        """These ratings and then more."""
        return Entries(
            np.append(self.columns, more.columns), np.append(self.rows, more.rows), np.append(self.values, more.values)
        )


class Run(NamedTuple):
    """Entries of one column as they came in a stream.

    `centre` and `known` are the centre of the ratings and the number of rows known after its last entry, `unit` is the
    unit of the ratings before its first.
    """

    column: int
    rows: NDArray[np.int32]
    values: NDArray[np.float32]
    centre: float
    known: int
    unit: float


class OpenColumn(NamedTuple):
    """The last column of a stream, and all that its step has changed as it was before."""

    run: Run
    x: NDArray[np.float32]
    rows: NDArray[np.float32]
    gram: DictionaryGram


def runs_of(
    entries: Entries, followed: Followed, known: NDArray[np.integer], last: Run | None = None
) -> tuple[list[Run], bool]:
    """The runs of the entries, and whether the first of them is the run before with more entries.

    A pair that is rated again begins the column anew.
    """
    n = 0
    if last is not None:
        others = np.flatnonzero((entries.columns != last.column) | np.isin(entries.rows, last.rows))
        n = int(others[0]) if len(others) else len(entries.rows)
    cuts = np.flatnonzero(entries.columns[n + 1 :] != entries.columns[n:-1]) + n + 1
    bounds = pairwise([n, *cuts.tolist(), len(entries.rows)] if n < len(entries.rows) else [])
    runs = [
        Run(
            int(entries.columns[a]),
            entries.rows[a:b],
            followed.values[a:b],
            float(followed.centres[b - 1]),
            int(known[b - 1]),
            float(followed.units[a]),
        )
        for a, b in bounds
    ]
    if last is None or n == 0:
        return runs, False
    joined = Run(
        last.column,
        np.append(last.rows, entries.rows[:n]),
        np.append(last.values, followed.values[:n]),
        float(followed.centres[n - 1]),
        int(known[n - 1]),
        last.unit,
    )
    return [joined, *runs], True


def parts_of(runs: list[Run]) -> Iterator[list[Run]]:
    """The runs in parts, cut where a column comes again, new rows are met or the unit changes."""
    part: list[Run] = []
    columns: set[int] = set()
    for run in runs:
        if part and (run.column in columns or (run.known, run.unit) != (part[-1].known, part[-1].unit)):
            yield part
            part, columns = [], set()
        part.append(run)
        columns.add(run.column)
    if part:
        yield part
