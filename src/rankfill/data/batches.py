"""Ratings a batch at a time, in the order of their stream: from memory, or from a file of any size.

Every batch numbers its own ids, so that its size and not that of the whole decides what it costs.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from rankfill.data.columns import locate_columns
from rankfill.data.duplicates import DuplicatePairError, Duplicates
from rankfill.data.ratings import Ratings
from rankfill.data.readers import complaint, query_columns
from rankfill.data.tables import Table, TextTable, connection, first_line, open_table
from rankfill.data.vocabulary import Vocabulary
from rankfill.kernels.hashing import select

Columns = dict[str, tuple[Any, ...]]

MOST = 20_000


def batches_of(ratings: Ratings, size: int = MOST) -> Iterator[Ratings]:
    """The ratings in the order of their stream, up to `size` at a time."""
    order, users, first = ratings.stream_order(), ratings.user_indices, 0
    for length in _sizes(size):
        if first >= len(ratings):
            return
        chosen = order[first : first + length]
        first += length
        (user_ids, user_rows), (item_ids, item_rows) = (
            _renumbered(ratings.users, users[chosen]),
            _renumbered(ratings.items, ratings.item_indices[chosen]),
        )
        yield Ratings.from_indices(user_ids, item_ids, user_rows, item_rows, ratings.values[chosen])


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
                raise ValueError(f"{table.path.name} cannot be read in batches: {first_line(error)}") from None
        if first == 0:
            raise ValueError(f"{table.path.name} has a header but nothing below it")

    def _query(self) -> str:
        types = {role: "BIGINT" if role in self._numbers else "VARCHAR" for role in ("user", "item")}
        return query_columns(self._table, self._positions, types, self._table.relation(), careful=True)

    def _batch(self, columns: Columns, first: int) -> Ratings:
        """The ratings of a batch that begins at row `first` of the file."""
        for role, column in columns.items():
            if None in column:
                raise self._complaint(role, first + column.index(None))
        values = np.array(columns["rating"], np.float32)
        if not np.isfinite(values).all():
            raise self._complaint("rating", first + int(np.argmin(np.isfinite(values))))
        try:
            return Ratings.from_arrays(columns["user"], columns["item"], values, duplicates=self._duplicates)
        except DuplicatePairError as error:
            one, two = (self._table.describe(first + row, 0)[0] for row in error.rows)
            raise error.at(f"on {one} and on {two}") from None

    def _complaint(self, role: str, row: int) -> ValueError:
        place, text = self._table.describe(row, self._positions[role])
        if role in self._numbers and text and isinstance(self._table, TextTable):
            return ValueError(f"{place}: {role} {text!r} is no whole number like those before; read with text_ids=True")
        return complaint(self._table, role, row, self._positions[role])


def read_batches(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    size: int = MOST,
    duplicates: Duplicates = "error",
    text_ids: bool = False,
) -> FileBatches:
    """A file in its own order, up to `size` ratings at a time, in memory that does not grow with the file.

    `columns` works as in `read_ratings`, and so do `duplicates` within a batch; a pair that comes again in a later
    batch is one more rating. Ids are numbers where the first lines have numbers, or text with `text_ids`. Timestamps
    are passed over: the order of the file is that of the stream.
    """
    return FileBatches(*locate_columns(open_table(path), columns), size, duplicates, text_ids)


def _sizes(most: int) -> Iterator[int]:
    """1, 1, … then a third of what went before, so that a model is soon asked about what it can know, up to `most`."""
    total = 0
    while True:
        size = min(max(total // 3, 1), most)
        yield size
        total += size


def _renumbered(vocabulary: Vocabulary, indices: NDArray[np.int32]) -> tuple[Vocabulary, NDArray[np.int32]]:
    """The vocabulary of the ids used alone, and their numbers in it."""
    used, rows = np.unique(indices, return_inverse=True)
    return Vocabulary.from_keys(select(vocabulary.keys, used)), rows.astype(np.int32)
