"""Ratings, pairs and titles from files: CSV, TSV, `::`-separated, gzipped or Parquet.

Ids that are all whole numbers are read as integers; one id such as "007" or "ab" makes the column strings, kept to
the letter. Whatever cannot be read is an error that names the line.
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, overload

import duckdb
import numpy as np
from numpy.typing import NDArray

from rankfill.data.checks import whole_seconds
from rankfill.data.columns import locate_columns, usual_role
from rankfill.data.duplicates import DuplicatePairError, Duplicates
from rankfill.data.grouped import grouped_files, read_grouped
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
from rankfill.shown import shown

Columns = dict[str, NDArray[Any]]
Positions = dict[str, int]

# An id column is read as the narrowest type its first lines allow, and again as a wider one if that did not do.
WIDER = {"INTEGER": "BIGINT", "BIGINT": "VARCHAR"}


_MOST_GENRES = 100


def read_ratings(
    path: str | Path,
    columns: Sequence[str] | None = None,
    duplicates: Duplicates = "error",
    timestamps: bool = True,
    *,
    users: Vocabulary | None = None,
    items: Vocabulary | None = None,
) -> Ratings:
    """Reads a file of ratings, one per line.

    The separator, a header and gzip are recognised from the content, not from the name. The file is checked as a whole:
    whatever cannot be read is an error that names the line.

    Parameters
    ----------
    path : str or Path
        The file: CSV, TSV, text with ``::`` ``;`` or ``|`` between the columns, any of these gzipped, or Parquet. A
        pipe will do, and ``"-"`` is standard input. Text must be UTF-8. The files of the Netflix Prize (``mv_*.txt``,
        ``combined_data_*.txt``) and of the KDD Cup 2011 (``trainIdx1.txt``) will do, too, and a folder of them.
        The folder of a store is opened (`open_store`).
    columns : sequence of str, optional
        With a header, the names of the columns of user, item and perhaps rating and timestamp, in this order; by
        default they are found by their usual names. A count, plays, clicks, views or quantity is a rating, too. Without
        a header, what stands where, such as ``("item", "user", "rating")``, any other word being a column to skip; by
        default user, item, rating and timestamp as far as there are columns. Where there is no rating (two columns, or
        two and a timestamp) every line is a positive, a rating of 1.
    duplicates : {"error", "last", "first", "mean", "sum", "count", "decay"}, default="error"
        What to do with a pair that comes more than once, as in `Ratings.from_arrays`.
    timestamps : bool, default=True
        Whether to read the timestamps where there are any: whole seconds or ISO dates.
    users, items : Vocabulary, optional
        Known ids, such as ``model.users_``. The ids of the file come in their type, and one that cannot is an error.
        By default ids that are all whole numbers become integers, and one such as ``"007"``, ``"3.0"`` or ``"ab"``
        makes the column strings, kept to the letter.

    Returns
    -------
    Ratings

    Raises
    ------
    ValueError
        If the file is no table of ratings; the message names the line and says what to do.
    OSError
        If it cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ratings.csv"
    >>> _ = path.write_text("user,item,rating\\nann,tea,5\\nann,milk,3\\nbob,tea,4\\n")
    >>> read_ratings(path)
    Ratings(3 ratings, 2 users, 2 items, values 3 to 5)
    """
    if (store := store_at(path)) is not None:
        return store
    if columns is None and users is None and items is None and (files := grouped_files(path)):
        return read_grouped(files, timestamps=timestamps, duplicates=duplicates)
    table, positions = locate_columns(open_table(path), columns)
    if not timestamps:
        positions.pop("timestamp", None)
    found, strings = _read(table, positions, {"user": users, "item": items})
    (own_users, user_indices), (own_items, item_indices) = (
        _number_ids(found, strings, role) for role in ("user", "item")
    )
    try:
        return Ratings.from_indices(
            own_users, own_items, user_indices, item_indices, found.get("rating"), found.get("timestamp"), duplicates
        )
    except DuplicatePairError as error:
        first, second = (table.describe(row, 0)[0] for row in error.rows)
        raise error.at(f"on {first} and on {second}") from None


def store_at(path: str | Path) -> Ratings | None:
    """The store of ratings in a folder, if it is one."""
    from rankfill.data.store.manifest import MANIFEST  # a store reads files by what is here
    from rankfill.data.store.store import open_store

    return open_store(path) if (Path(path).expanduser() / MANIFEST).is_file() else None


@overload
def read_pairs(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    users: Vocabulary | None = None,
    items: Vocabulary | None = None,
    timestamps: Literal[False] = False,
) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def read_pairs(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    users: Vocabulary | None = None,
    items: Vocabulary | None = None,
    timestamps: Literal[True],
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64] | None]: ...


def read_pairs(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    users: Vocabulary | None = None,
    items: Vocabulary | None = None,
    timestamps: bool = False,
) -> tuple[NDArray[Any], ...] | tuple[NDArray[Any], NDArray[Any], NDArray[np.int64] | None]:
    """Reads pairs of user and item, one per line, in the order of the file; further columns are skipped.

    Parameters
    ----------
    path : str or Path
        The file, as in `read_ratings`.
    columns : sequence of str, optional
        The columns of user and item, as in `read_ratings`. A header is known by its usual names, or by words over
        columns of numbers.
    users, items : Vocabulary, optional
        Known ids, as in `read_ratings`.
    timestamps : bool, default=False
        Whether to read a column of times as well, as in `read_ratings`.

    Returns
    -------
    users, items : ndarray
        Ids as int64, or as objects that are str.
    times : ndarray of int64, or None
        Seconds since 1970; None where there is no such column. Only with `timestamps=True`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "pairs.csv"
    >>> _ = path.write_text("1,tea\\n1,milk\\n")
    >>> read_pairs(path)
    (array([1, 1]), array(['tea', 'milk'], dtype=object))
    """
    table, positions = locate_columns(open_table(path), columns, need_rating=False)
    roles = ("user", "item", "timestamp") if timestamps else ("user", "item")
    wanted = {role: positions[role] for role in roles if role in positions}
    found, strings = _read(table, wanted, {"user": users, "item": items})
    user_ids, item_ids = (
        strings[role][found[role]] if role in strings else found[role].astype(np.int64) for role in ("user", "item")
    )
    if not timestamps:
        return user_ids, item_ids
    times = found.get("timestamp")
    return user_ids, item_ids, None if times is None else whole_seconds(times, len(times))


def read_titles(path: str | Path) -> dict[Id, str]:
    """Reads the titles of items: the first column of a text file is the id, the second the title.

    Parameters
    ----------
    path : str or Path
        The file, as in `read_ratings` but no Parquet. What is not UTF-8 is taken for Latin-1.

    Returns
    -------
    dict
        The title of every id. Ids are int if all are whole numbers, else str.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "titles.csv"
    >>> _ = path.write_text('item,title\\n7,"Good, Bad"\\n8,Heat\\n')
    >>> read_titles(path)
    {7: 'Good, Bad', 8: 'Heat'}
    """
    return {identity: fields[1] for identity, fields in read_items(path, 2)}


def read_genres(path: str | Path) -> dict[Id, tuple[str, ...]]:
    """Reads the genres of items from the third column of a file of titles, such as ``Comedy|Drama``.

    Parameters
    ----------
    path : str or Path
        The file, as in `read_titles`.

    Returns
    -------
    dict
        The genres of every id; empty where a line has no third column, or where that holds more than a hundred
        different words and so cannot be genres.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "movies.csv"
    >>> _ = path.write_text('item,title,genres\\n7,Heat,Crime|Drama\\n8,Alien,Horror\\n')
    >>> read_genres(path)
    {7: ('Crime', 'Drama'), 8: ('Horror',)}
    """
    items = read_items(path, 2)
    if any(len(fields) < 3 for _, fields in items):
        return {}
    found = {identity: split_genres(fields[2]) for identity, fields in items}
    return found if len({genre for genres in found.values() for genre in genres}) <= _MOST_GENRES else {}


def split_genres(text: str) -> tuple[str, ...]:
    """The words between bars, without those that say that there are none."""
    return tuple(genre for genre in text.split("|") if genre not in {"", "unknown", "(no genres listed)"})


def read_items(path: str | Path, n_columns: int) -> list[tuple[Id, list[str]]]:
    """The id in the first column of every line, and the texts of all columns, of which there must be `n_columns`."""
    table = open_table(path, any_encoding=True)
    if isinstance(table, ParquetTable):
        raise ValueError(f"{table.name} is Parquet; titles are read from text, one line per item: id, title")
    try:
        records = list(split_lines(io.StringIO(whole_text(table), newline=""), table.delimiter))
    except csv.Error as error:
        raise ValueError(f"{table.name} cannot be read: {error}; is a quote left open?") from None
    first, below = records[0][1][0], [fields[0] for _, fields in records[1:]]
    if not whole_numbers([first]) and (usual_role(first) == "item" or (below and whole_numbers(below))):
        del records[0]
    for line, fields in records:
        if len(fields) < n_columns:
            raise ValueError(
                f"line {line} of {table.name} has {len(fields)} columns, needs {n_columns} (id, title, …); "
                "complete the line or drop it"
            )
    as_id = int if whole_numbers([fields[0] for _, fields in records]) else str
    return [(as_id(fields[0]), fields) for _, fields in records]


def _number_ids(found: Columns, strings: Columns, role: str) -> tuple[Vocabulary, NDArray[np.int32]]:
    """The ids of a side and the row numbers; the column is let go of."""
    column = found.pop(role)
    return (Vocabulary(strings[role]), column) if role in strings else Vocabulary.numbered(column)


def _read(table: Table, positions: Positions, known: dict[str, Vocabulary | None]) -> tuple[Columns, Columns]:
    """The columns in the order of the file, and for string ids the strings that the numbers stand for."""
    types = {role: id_type(table, positions[role], ids) for role, ids in known.items()}
    while True:
        found, strings = _fetch(table, positions, types)
        if not len(found["user"]):
            raise ValueError(f"{table.name} has a header but nothing below it")
        unread = {role: row for role, column in found.items() if (row := _first_unread(column)) is not None}
        if not unread:
            return found, strings
        wider = {role: WIDER[types[role]] for role in unread if may_widen(table, types.get(role, ""), known.get(role))}
        faults = {role: row for role, row in unread.items() if role not in wider}
        if faults:
            role = min(faults, key=faults.__getitem__)
            raise complaint(table, role, faults[role], positions[role])
        types |= wider


def id_type(table: Table, position: int, known: Vocabulary | None) -> str:
    """The type to try first for a column of ids."""
    if known is not None and len(known):
        return "VARCHAR" if known.of_strings else "BIGINT"
    if not table.has_numbers(position):
        return "VARCHAR"
    narrow = isinstance(table, TextTable) and all(len(text) < 10 for text in table.first_texts(position))
    return "INTEGER" if narrow else "BIGINT"


def may_widen(table: Table, kind: str, known: Vocabulary | None) -> bool:
    """Whether a column of ids that could not be read as this type may be read as a wider one."""
    return isinstance(table, TextTable) and kind in WIDER and not known


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
    raise ValueError(f"{table.name} cannot be read: {fault}")


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
            back = "" if isinstance(table, ParquetTable) and table.has_numbers(position) else "::VARCHAR"
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
        rule = "no whole number of 64 bits, as ids are here; correct it or drop it"
    return ValueError(f"{place}: {role} {shown(text)} is {rule}")
