"""Files of ratings, read by DuckDB into a table on disk, with every fault named by its line.

The table holds ids, ratings and times in the order of the files. Ids that are text become numbers there (an ENUM), so
that no string for a rating ever comes to Python.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from rankfill.data.columns import locate_columns
from rankfill.data.readers import WIDER, complaint, id_type, may_widen, query_columns
from rankfill.data.store.faults import OnError, leave_out, split_lines_into
from rankfill.data.store.writing import Progress
from rankfill.data.tables import ParquetTable, Table, TextTable, first_line, interruptible, open_table
from rankfill.data.vocabulary import Vocabulary
from rankfill.kernels import get_threads

CHUNK = 1 << 21
"""Rows that are taken from the table at a time."""


class Loaded:
    """The table of ratings, with the vocabularies of its ids and how many ratings each user has."""

    def __init__(self, database: Any, n_rows: int, timed: bool, has_rating: bool) -> None:
        self.database, self.n_rows, self.timed, self._has_rating = database, n_rows, timed, has_rating
        self.users, self.user_counts = self._number_ids("user")
        self.items, _ = self._number_ids("item")

    def _number_ids(self, role: str) -> tuple[Vocabulary, NDArray[np.int64]]:
        query = f'SELECT "{role}" AS id, count(*) AS n FROM loaded GROUP BY ALL ORDER BY id'
        if self._is_text(role):
            query = f"SELECT id::VARCHAR AS id, n FROM ({query})"
        found = self.database.execute(query).fetchnumpy()
        return Vocabulary(found["id"]), np.asarray(found["n"], np.int64)

    def _is_text(self, role: str) -> bool:
        (kind,) = self.database.execute(f'SELECT any_value(typeof("{role}")) FROM loaded').fetchone()
        return str(kind).startswith("ENUM")

    def chunks(self) -> Iterator[list[NDArray[Any]]]:
        """Row numbers of users and items, ratings and times, in the order of the files."""
        ids = [f'enum_code("{role}")::INTEGER' if self._is_text(role) else f'"{role}"' for role in ("user", "item")]
        rating = '"rating"' if self._has_rating else "1::FLOAT"
        columns = ", ".join(
            [f"{ids[0]} AS u", f"{ids[1]} AS i", f"{rating} AS r", *(["timestamp AS t"] if self.timed else [])]
        )
        tables = [
            None if self._is_text(role) else _Places(each)
            for role, each in (("user", self.users), ("item", self.items))
        ]
        for first in range(0, self.n_rows, CHUNK):
            query = f"SELECT {columns} FROM loaded WHERE rowid >= {first} AND rowid < {first + CHUNK} ORDER BY rowid"
            found = self.database.execute(query).fetchnumpy()
            rows = [
                np.asarray(found[name]) if table is None else table.rows(np.asarray(found[name]))
                for name, table in zip("ui", tables, strict=True)
            ]
            yield [
                *rows,
                np.asarray(found["r"], np.float32),
                *([np.asarray(found["t"], np.int64)] if self.timed else []),
            ]


class _Places:
    """Row numbers of ids that are numbers: by a table where they lie close together."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary, (ids,) = vocabulary, vocabulary.keys
        self._lowest = int(ids[0]) if len(ids) else 0
        self._table = None
        if len(ids) and int(ids[-1]) - self._lowest < 4 * len(ids) + 1024:
            self._table = np.full(int(ids[-1]) - self._lowest + 1, -1, np.int32)
            self._table[ids - self._lowest] = np.arange(len(ids), dtype=np.int32)

    def rows(self, ids: NDArray[np.integer]) -> NDArray[np.int32]:
        return self._vocabulary.index(ids) if self._table is None else self._table[ids - self._lowest]


@contextmanager
def load_table(
    source: Path,
    folder: Path,
    columns: Sequence[str] | None,
    timestamps: bool,
    memory: int,
    on_error: OnError,
    rejects: Path | None,
    progress: Progress,
) -> Iterator[tuple[Loaded, int]]:
    """The ratings of a file or of a folder of Parquet files, in a database in `folder`; and how many were left out."""
    table, positions = locate_columns(open_source_table(source), columns)
    if not timestamps:
        positions.pop("timestamp", None)
    limits = {
        "memory_limit": f"{max(memory >> 20, 64)}MB",
        "temp_directory": str(folder / "spill"),
        "threads": get_threads(),
    }
    quiet = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    database = duckdb.connect(
        str(folder / "loading.duckdb"), config={**limits, **quiet, "preserve_insertion_order": True}
    )
    try:
        with interruptible(database):
            database.execute("SET TimeZone = 'UTC'")
            progress("reading", 0, 1)
            left_out = _load(database, table, positions, on_error, rejects)
            (n_rows,) = database.execute("SELECT count(*) FROM loaded").fetchone()
            if n_rows == 0:
                raise ValueError(f"{table.name} has no rating that can be read")
            progress("numbering ids", 0, 1)
            yield Loaded(database, n_rows, "timestamp" in positions, "rating" in positions), left_out
    finally:
        database.close()


def open_source_table(source: Path) -> Table:
    """The table in a file, or in all Parquet files of a folder together."""
    if any(mark in source.name for mark in "*?[") and not source.exists():
        files = sorted(source.parent.glob(source.name))
    elif source.is_dir():
        files = sorted(source.glob("*.parquet"))
    else:
        return open_table(source)
    if not files:
        raise FileNotFoundError(f"there is no Parquet file in {source}; name a file, or a folder with *.parquet")
    tables = []
    for each in map(open_table, files):
        if not isinstance(each, ParquetTable):
            raise ValueError(f"{each.name} is no Parquet file; only such files are read several at a time")
        tables.append(each)
        if each.names != tables[0].names:
            raise ValueError(f"{each.name} has other columns than {tables[0].name}; convert them apart, and append")
    return replace(tables[0], more=tuple(each.source for each in tables[1:]))


def _load(database: Any, table: Table, positions: dict[str, int], on_error: OnError, rejects: Path | None) -> int:
    """Fills the table `load_table`; returns how many lines were left out."""
    types: dict[str, str] = {role: id_type(table, positions[role], None) for role in ("user", "item")}
    relation = table.relation()
    if on_error == "skip" and isinstance(table, TextTable):
        relation = split_lines_into(database, table)
    while True:
        _create(database, table, positions, types, relation)
        unread = {role: row for role in positions if (row := _first_unread(database, role)) is not None}
        wider = {role: WIDER[types[role]] for role in unread if may_widen(table, types.get(role, ""), None)}
        if not wider:
            break
        types |= wider
    left_out = 0
    if on_error == "skip":
        left_out = leave_out(database, table, list(positions), rejects)
    elif unread:
        role = min(unread, key=unread.__getitem__)
        raise complaint(table, role, unread[role], positions[role])
    for role in ("user", "item"):
        if types[role] == "VARCHAR":
            # Binary order of UTF-8 is the order of code points, which is Python's and so the vocabulary's.
            database.execute(f'CREATE TYPE {role}_id AS ENUM (SELECT DISTINCT "{role}" FROM loaded ORDER BY 1)')
            database.execute(f'ALTER TABLE loaded ALTER "{role}" TYPE {role}_id')
    return left_out


def _create(database: Any, table: Table, positions: dict[str, int], types: dict[str, str], relation: str) -> None:
    for careful in (False, True):
        query = query_columns(table, positions, types, relation, careful)
        try:
            database.execute(f"CREATE OR REPLACE TABLE loaded AS {query}")
            return
        except duckdb.Error as error:
            fault = first_line(error)
            if isinstance(table, TextTable):
                table.complain_about_lines()
    raise ValueError(f"{table.name} cannot be read: {fault}")


def _first_unread(database: Any, role: str) -> int | None:
    """The first row in which a column is NULL, or a rating is not finite."""
    fault = f'"{role}" IS NULL' + (f' OR NOT isfinite("{role}")' if role == "rating" else "")
    row: int | None = database.execute(f"SELECT min(rowid) FROM loaded WHERE {fault}").fetchone()[0]
    return row
