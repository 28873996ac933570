"""A stream of ratings as columns: ratings that follow each other and have the same column are one."""

from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Rows
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
        columns = left.renumber(self.columns) if users == "columns" else self.columns
        rows = left.renumber(self.rows) if users == "rows" else self.rows
        stay = (columns >= 0) & (rows >= 0)
        return Entries(columns[stay], rows[stay], self.values[stay])

    def part(self, start: int, stop: int | None = None) -> "Entries":
        """The ratings from `start` to `stop`."""
        return Entries(self.columns[start:stop], self.rows[start:stop], self.values[start:stop])

    def plus(self, more: "Entries") -> "Entries":
        """These ratings followed by more."""
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

    @property
    def places(self) -> NDArray[np.int32] | slice:
        """Where its rows are in a table: those of a single entry as a slice, which costs less."""
        return self.rows if len(self.rows) > 1 else slice(int(self.rows[0]), int(self.rows[0]) + 1)

    def plus(self, rows: NDArray[np.int32], values: NDArray[np.float32], centre: float, known: int) -> "Run":
        """This run followed by more entries of its column."""
        return Run(self.column, np.append(self.rows, rows), np.append(self.values, values), centre, known, self.unit)

    def goes_on(self, column: int, row: int) -> bool:
        """Whether an entry belongs to this run. A pair that is rated again begins the column anew."""
        return column == self.column and row not in self.rows


class OpenColumn(NamedTuple):
    """The last column of a stream, with the state before its step."""

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
    bounds = [*_starts(entries, last), len(entries.rows)]
    n = bounds[0]
    runs = [
        Run(
            int(entries.columns[a]),
            entries.rows[a:b],
            followed.values[a:b],
            float(followed.centres[b - 1]),
            int(known[b - 1]),
            float(followed.units[a]),
        )
        for a, b in pairwise(bounds)
    ]
    if last is None or n == 0:
        return runs, False
    end = float(followed.centres[n - 1]), int(known[n - 1])
    return [last.plus(entries.rows[:n], followed.values[:n], *end), *runs], True


def _starts(entries: Entries, last: Run | None) -> Iterator[int]:
    """Yields the places where a run begins that does not continue the one before."""
    column, met = (-1, set()) if last is None else (last.column, set(last.rows.tolist()))
    for place, (own, row) in enumerate(zip(entries.columns.tolist(), entries.rows.tolist(), strict=True)):
        if own != column or row in met:
            yield place
            column, met = own, set()
        met.add(row)


def rows_of(runs: list[Run]) -> Rows:
    """The entries less the centres, one row per run; rows ascend within it."""
    if len(runs) == 1 and len(runs[0].rows) == 1:
        return Rows.of_one(int(runs[0].rows[0]), runs[0].values - np.float32(runs[0].centre))
    rows, targets = zip(*map(_ascending, runs), strict=True)
    indptr = np.array([0, *accumulate(map(len, rows))], np.int64)
    if len(runs) == 1:
        return Rows.taking(indptr, rows[0], targets[0])
    return Rows.taking(indptr, np.concatenate(rows), np.concatenate(targets))


def _ascending(run: Run) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    targets = run.values - np.float32(run.centre)
    order = run.rows.argsort()
    return run.rows[order], targets[order]


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
