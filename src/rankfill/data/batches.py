"""Ratings a batch at a time, in the order of their stream: from memory, or from a file of any size.

Every batch numbers its own ids, so that its size and not that of the whole decides what it costs.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from rankfill.data.columns import locate_columns
from rankfill.data.duplicates import DuplicatePairError, Duplicates
from rankfill.data.ratings import Ratings
from rankfill.data.ratings.choosing import cut
from rankfill.data.readers import complaint, query_columns, store_at
from rankfill.data.tables import Table, TextTable, connection, first_line, open_table
from rankfill.shown import shown

Columns = dict[str, tuple[Any, ...]]

MOST = 20_000


def batches_of(ratings: Ratings, size: int = MOST) -> Iterator[Ratings]:
    """Yields the ratings in the order of their stream, up to `size` at a time."""
    return cut(ratings, _sizes(size))


class FileBatches:
    """A file to be gone through a batch at a time, as often as one likes; made by `read_batches`."""

    def __init__(
        self, table: Table, positions: dict[str, int], size: int, duplicates: Duplicates, text_ids: bool
    ) -> None:
        self._table = table
        self._positions = {role: place for role, place in positions.items() if role != "timestamp"}
        self._size = size
        self._duplicates: Duplicates = duplicates
        self._numbers = {role for role in ("user", "item") if not text_ids and table.has_numbers(self._positions[role])}

    def __iter__(self) -> Iterator[Ratings]:
        table, first = self._table, 0
        with connection() as database:
            try:
                result = database.execute(self._query())
                for size in _sizes(self._size):
                    rows = result.fetchmany(size)
                    if not rows:
                        break
                    yield self._batch(dict(zip(self._positions, zip(*rows, strict=True), strict=True)), first)
                    first += len(rows)
            except duckdb.Error as error:
                if isinstance(table, TextTable):
                    table.complain_about_lines()
                raise ValueError(f"{table.name} cannot be read in batches: {first_line(error)}") from None
        if first == 0:
            raise ValueError(f"{table.name} has a header but nothing below it")

    def _query(self) -> str:
        types = {role: "BIGINT" if role in self._numbers else "VARCHAR" for role in ("user", "item")}
        return query_columns(self._table, self._positions, types, self._table.relation(), careful=True)

    def _batch(self, columns: Columns, first: int) -> Ratings:
        """The ratings of a batch that begins at row `first` of the file."""
        for role, column in columns.items():
            if None in column:
                raise self._complaint(role, first + column.index(None))
        values = np.array(columns["rating"], np.float32) if "rating" in columns else None
        if values is not None and not np.isfinite(values).all():
            raise self._complaint("rating", first + int(np.argmin(np.isfinite(values))))
        try:
            return Ratings.from_arrays(columns["user"], columns["item"], values, duplicates=self._duplicates)
        except DuplicatePairError as error:
            one, two = (self._table.describe(first + row, 0)[0] for row in error.rows)
            raise error.at(f"on {one} and on {two}") from None

    def _complaint(self, role: str, row: int) -> ValueError:
        place, text = self._table.describe(row, self._positions[role])
        if role in self._numbers and text and isinstance(self._table, TextTable):
            return ValueError(
                f"{place}: {role} {shown(text)} is no whole number like those before; read with text_ids=True"
            )
        return complaint(self._table, role, row, self._positions[role])


class StoreBatches:
    """A store to be gone through a batch at a time, as often as one likes; made by `read_batches`."""

    def __init__(self, store: Ratings, size: int) -> None:
        self._store, self._size = store, size

    def __iter__(self) -> Iterator[Ratings]:
        return batches_of(self._store, self._size)


def read_batches(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    size: int = MOST,
    duplicates: Duplicates = "error",
    text_ids: bool = False,
) -> FileBatches | StoreBatches:
    """Reads a file of ratings a batch at a time, in memory that does not grow with the file.

    The order of the file is that of the stream, and timestamps are skipped. The file is checked as a whole first.
    A store goes by in the order of time where it has timestamps, else shuffled.

    Parameters
    ----------
    path : str or Path
        The file, or the folder of a store, as in `read_ratings`.
    columns : sequence of str, optional
        The columns of user, item and rating, as in `read_ratings`.
    size : int, default=20000
        The most ratings in a batch. The first batches are smaller, so that a model soon knows something.
    duplicates : {"error", "last", "first", "mean", "sum", "count"}, default="error"
        What to do with a pair that comes more than once in a batch, as in `Ratings.from_arrays`. One that comes again
        in a later batch is one more rating.
    text_ids : bool, default=False
        Whether to take all ids for text. By default they are numbers where the first lines have numbers.

    Returns
    -------
    FileBatches or StoreBatches
        Yields `Ratings`; can be gone through as often as one likes.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ratings.csv"
    >>> _ = path.write_text("user,item,rating\\n" + "".join(f"{k},{k % 7},3\\n" for k in range(100)))
    >>> [len(batch) for batch in read_batches(path, size=30)]
    [1, 1, 1, 1, 1, 1, 2, 2, 3, 4, 5, 7, 9, 12, 16, 22, 12]
    """
    if duplicates == "decay":
        raise ValueError('a stream skips timestamps, so duplicates="decay" cannot be had; use "sum" or "count"')
    if (store := store_at(path)) is not None:
        return StoreBatches(store, size)
    return FileBatches(*locate_columns(open_table(path), columns), size, duplicates, text_ids)


def _sizes(most: int) -> Iterator[int]:
    """1, 1, … then a third of what went before, so that a model is soon asked about what it can know, up to `most`."""
    total = 0
    while True:
        size = min(max(total // 3, 1), most)
        yield size
        total += size
