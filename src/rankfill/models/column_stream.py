"""A stream of ratings as columns: ratings that follow each other and have the same column are one."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.columns import DictionaryGram


class Run(NamedTuple):
    """Entries of one column as they came in a stream, the mean rating by then, and how many rows were known by then."""

    column: int
    rows: NDArray[np.int32]
    values: NDArray[np.float32]
    mean: float
    known: int


class OpenColumn(NamedTuple):
    """The last column of a stream, and all that its step has changed as it was before."""

    run: Run
    x: NDArray[np.float32]
    rows: NDArray[np.float32]
    gram: DictionaryGram


def runs_of(
    columns: NDArray[np.int32],
    rows: NDArray[np.int32],
    values: NDArray[np.float32],
    means: NDArray[np.float64],
    known: NDArray[np.integer],
) -> list[Run]:
    starts = np.flatnonzero(np.append(True, columns[1:] != columns[:-1])).tolist()
    return [
        Run(int(columns[a]), rows[a:b], values[a:b], float(means[b - 1]), int(known[b - 1]))
        for a, b in pairwise([*starts, len(columns)])
    ]


def joined_runs(last: Run, runs: list[Run]) -> list[Run] | None:
    """With the last run before where the first goes on with its column; None where it does not.

    A pair that is rated again begins the column anew.
    """
    first = runs[0]
    again = np.flatnonzero(np.isin(first.rows, last.rows))
    n = int(again[0]) if len(again) else len(first.rows)
    if last.column != first.column or n == 0:
        return None
    joined = first._replace(rows=np.append(last.rows, first.rows[:n]), values=np.append(last.values, first.values[:n]))
    rest = [first._replace(rows=first.rows[n:], values=first.values[n:])] if n < len(first.rows) else []
    return [joined, *rest, *runs[1:]]


def parts_of(runs: list[Run]) -> Iterator[list[Run]]:
    """Cut where a column comes again or new rows are met."""
    part: list[Run] = []
    columns: set[int] = set()
    for run in runs:
        if run.column in columns or (part and run.known != part[-1].known):
            yield part
            part, columns = [], set()
        part.append(run)
        columns.add(run.column)
    if part:
        yield part
