"""Ratings, pairs and titles from files: CSV, TSV, `::`-separated, gzipped or Parquet.

Ids that are all whole numbers are read as integers; one id such as "007" or "ab" makes the column strings, kept to
the letter. Whatever cannot be read is an error that names the line.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from rankfill.data.columns import locate_columns, usual_role
from rankfill.data.duplicates import DuplicatePairError, Duplicates
from rankfill.data.ratings import Ratings
from rankfill.data.tables import (
    ParquetTable,
    Table,
    TextTable,
    connection,
    first_line,
    is_number,
    open_table,
    split_lines,
    whole_numbers,
    whole_text,
)
from rankfill.data.vocabulary import Id, Vocabulary

Columns = dict[str, NDArray[Any]]
Positions = dict[str, int]

# An id column is read as the narrowest type its first lines allow, and again as a wider one if that did not do.
_WIDER = {"INTEGER": "BIGINT", "BIGINT": "VARCHAR"}


def read_ratings(
    path: str | Path,
    columns: Sequence[str] | None = None,
    duplicates: Duplicates = "error",
    timestamps: bool = True,
) -> Ratings:
    """Reads one rating a line; the separator is found by itself, and so is a header.

    With a header, `columns` names the columns of user, item, rating and perhaps timestamp, in this order; without
    it they are found by their usual names. In a file without a header `columns` says what stands where, such as
    `("item", "user", "rating")`, any other word being a column to skip; the default is user, item, rating and
    perhaps timestamp. Timestamps are whole seconds or ISO dates; `timestamps=False` leaves them out. For
    `duplicates` see `Ratings.from_arrays`.
    """
    table, positions = locate_columns(open_table(path), columns)
    if not timestamps:
        positions.pop("timestamp", None)
    found, strings = _read(table, positions)
    (users, user_indices), (items, item_indices) = (_numbered(found, strings, role) for role in ("user", "item"))
    try:
        return Ratings.from_indices(
            users, items, user_indices, item_indices, found["rating"], found.get("timestamp"), duplicates
        )
    except DuplicatePairError as error:
        first, second = (table.describe(row, 0)[0] for row in error.rows)
        raise error.at(f"on {first} and on {second}") from None


def read_pairs(path: str | Path, columns: Sequence[str] | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
    """The ids of user and item on every line, in the order of the file; further columns are passed over.

    `columns` works as in `read_ratings`; a header is known by its usual names, or by standing over numbers without
    being any. Ids come as int64, or as an object array of str.
    """
    table, positions = locate_columns(open_table(path), columns, need_rating=False)
    found, strings = _read(table, {role: positions[role] for role in ("user", "item")})
    users, items = (
        strings[role][found[role]] if role in strings else found[role].astype(np.int64) for role in ("user", "item")
    )
    return users, items


def read_titles(path: str | Path) -> dict[Id, str]:
    """The title of every item: the first column is the id, the second the title. UTF-8, or else Latin-1."""
    return {identity: fields[1] for identity, fields in read_items(path, 2)}


def read_items(path: str | Path, n_columns: int) -> list[tuple[Id, list[str]]]:
    """The id in the first column of every line, and the texts of all columns, of which there must be `n_columns`."""
    table = open_table(path)
    if isinstance(table, ParquetTable):
        raise ValueError(f"{table.path.name} is Parquet; titles are read from text, one line an item: id, title")
    records = list(split_lines(io.StringIO(whole_text(table), newline=""), table.delimiter))
    first, below = records[0][1][0], [fields[0] for _, fields in records[1:]]
    if not whole_numbers([first]) and (usual_role(first) == "item" or (below and whole_numbers(below))):
        del records[0]
    for line, fields in records:
        if len(fields) < n_columns:
            raise ValueError(
                f"line {line} of {table.path.name} has {len(fields)} columns, needs {n_columns} (id, title, …); "
                "complete the line or drop it"
            )
    as_id = int if whole_numbers([fields[0] for _, fields in records]) else str
    return [(as_id(fields[0]), fields) for _, fields in records]


def _numbered(found: Columns, strings: Columns, role: str) -> tuple[Vocabulary, NDArray[np.int32]]:
    return (Vocabulary(strings[role]), found[role]) if role in strings else Vocabulary.numbered(found[role])


def _read(table: Table, positions: Positions) -> tuple[Columns, Columns]:
    """The columns in the order of the file, and for string ids the strings that the numbers stand for."""
    types = {role: _id_type(table, positions[role]) for role in ("user", "item")}
    while True:
        found, strings = _fetch(table, positions, types)
        if not len(found["user"]):
            raise ValueError(f"{table.path.name} has a header but nothing below it")
        unread = {role: row for role, column in found.items() if (row := _first_unread(column)) is not None}
        if not unread:
            return found, strings
        wider = {role: _WIDER[types[role]] for role in unread if _may_widen(table, types.get(role, ""))}
        faults = {role: row for role, row in unread.items() if role not in wider}
        if faults:
            role = min(faults, key=faults.__getitem__)
            raise complaint(table, role, faults[role], positions[role])
        types |= wider


def _id_type(table: Table, position: int) -> str:
    """The type to try first for a column of ids."""
    if not table.has_numbers(position):
        return "VARCHAR"
    narrow = isinstance(table, TextTable) and all(len(text) < 10 for text in table.first_texts(position))
    return "INTEGER" if narrow else "BIGINT"


def _may_widen(table: Table, kind: str) -> bool:
    return isinstance(table, TextTable) and kind in _WIDER


def _first_unread(column: NDArray[Any]) -> int | None:
    """The first row that is NULL or not finite."""
    unread = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else np.zeros(0, dtype=bool)
    if column.dtype.kind == "f":
        unread = ~np.isfinite(np.ma.filled(column, np.nan))
    return int(np.argmax(unread)) if unread.any() else None


def _fetch(table: Table, positions: Positions, types: dict[str, str]) -> tuple[Columns, Columns]:
    as_strings = [role for role, kind in types.items() if kind == "VARCHAR"]
    for careful, strict in ((False, True), (True, True), (True, False)):
        if not strict and isinstance(table, TextTable):
            table.complain_about_lines()  # if none is at fault, lax reading copes: with mixed line ends, say
        query = query_columns(table, positions, types, table.relation(strict=strict), careful)
        try:
            with connection() as database:
                if as_strings:
                    return _fetch_strings(database, query, as_strings)
                return database.execute(query).fetchnumpy(), {}
        except duckdb.Error as error:
            fault = first_line(error)
    raise ValueError(f"{table.path.name} cannot be read: {fault}")


def _fetch_strings(database: Any, query: str, roles: Sequence[str]) -> tuple[Columns, Columns]:
    """DuckDB numbers the strings, so that there is one Python string for each distinct id, not for each rating."""
    database.execute(f"CREATE TEMP TABLE loaded AS {query}")
    strings = {}
    for role in roles:
        # Binary order of UTF-8 is the order of code points, which is Python's and so the vocabulary's.
        distinct = f'SELECT DISTINCT "{role}" AS id FROM loaded WHERE "{role}" IS NOT NULL ORDER BY id'
        database.execute(f"CREATE TEMP TYPE {role}_id AS ENUM ({distinct})")
        strings[role] = database.execute(f"SELECT unnest(enum_range(NULL::{role}_id)) AS id").fetchnumpy()["id"]
    codes = ", ".join(f'enum_code("{role}"::{role}_id)::INTEGER AS "{role}"' for role in roles)
    return database.execute(f"SELECT * REPLACE ({codes}) FROM loaded").fetchnumpy(), strings


def query_columns(table: Table, positions: Positions, types: dict[str, str], relation: str, careful: bool) -> str:
    """The columns in SQL, NULL where a field cannot be read."""
    casts, results = [], []
    for role, position in positions.items():
        casts.append(f'{_cast(table, role, position, types)} AS "{role}", {table.column(position)} AS {role}_as_is')
        if types.get(role, "VARCHAR") != "VARCHAR":
            # The way back shows whether the number is the whole id: 007 and 1.5 do not come back.
            back = "::VARCHAR" if isinstance(table, TextTable) else ""
            results.append(f'CASE WHEN "{role}"{back} = {role}_as_is THEN "{role}" END AS "{role}"')
        elif careful:
            # DuckDB moves a cast into its parser if nobody wants the text, and even TRY_CAST is an error there.
            results.append(f'CASE WHEN {role}_as_is IS NOT NULL THEN "{role}" END AS "{role}"')
        else:
            results.append(f'"{role}"')
    return f"SELECT {', '.join(results)} FROM (SELECT {', '.join(casts)} FROM {relation})"


def _cast(table: Table, role: str, position: int, types: dict[str, str]) -> str:
    column = table.column(position)
    if role == "rating":
        return f"TRY_CAST({column} AS FLOAT)"
    number = f"TRY_CAST({column} AS {types.get(role, 'BIGINT')})"
    if role != "timestamp" or table.has_numbers(position):
        return number
    date = f"floor(epoch(TRY_CAST({column} AS TIMESTAMPTZ)))::BIGINT"
    return f"COALESCE({number}, {date})" if isinstance(table, TextTable) else date


def complaint(table: Table, role: str, row: int, position: int) -> ValueError:
    place, text = table.describe(row, position)
    if not text:
        return ValueError(f"{place}: the {role} is empty; fill it in or drop it")
    if role == "timestamp":
        rule = "neither whole seconds nor an ISO date; correct it, or read without times: timestamps=False"
    elif role == "rating":
        rule = f"not a {'finite 32-bit ' if is_number(text) else ''}number; correct it or drop it"
    else:
        rule = "neither a whole number of 64 bits nor a string; correct it"
    return ValueError(f"{place}: {role} {text!r} is {rule}")
