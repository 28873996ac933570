"""Features from files: CSV, TSV, `::`-separated, gzipped or Parquet, one line for each item or user."""

import csv
import io
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from rankfill.data.columns import usual_role
from rankfill.data.features.encoding import Encoding
from rankfill.data.features.features import Features
from rankfill.data.frames import is_frame
from rankfill.data.tables import ParquetTable, connection, is_number, open_table, split_lines, whole_numbers, whole_text
from rankfill.data.vocabulary import Vocabulary
from rankfill.shown import shown, shown_names

FeaturesLike: TypeAlias = Features | str | os.PathLike[str] | Any
"""What `as_features` accepts; frames are of libraries that need not be installed."""

_GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama"),
    *("Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
_KNOWN: dict[str, tuple[list[str], list[str]]] = {
    "movies.dat": (["movieId", "title", "genres"], []),
    "users.dat": (["userId", "gender", "age", "occupation", "zip"], ["age", "occupation"]),
    "u.item": (["movieId", "title", "released", "video", "url", *_GENRES], []),
    "u.user": (["userId", "age", "gender", "occupation", "zip"], []),
}
"""The files of MovieLens that have no header: their columns, and which of their numbers stand for categories."""


def read_features(
    path: str | Path,
    id: str | None = None,  # noqa: A002
    *,
    columns: Sequence[str] | None = None,
    categories: Collection[str] = (),
    like: Features | Encoding | None = None,
    ids: Vocabulary | None = None,
) -> Features:
    """Reads what is known of items or users from a file, one line for each of them.

    Numbers and ISO dates are standardised, columns of zeros and ones stay as they are. Each value of a category, and
    each part of a list such as ``Comedy|Drama``, becomes a column of zeros and ones. Texts that hardly repeat, such as
    titles, are ignored, as are columns with one value; `Features.ignored` names them. An empty field is unknown.

    Parameters
    ----------
    path : str or Path
        The file: CSV, TSV, text with ``::`` ``;`` or ``|`` between the columns, any of these gzipped, or Parquet. Text
        that is not UTF-8 is taken for Latin-1. The files of MovieLens are known by their names: ``movies.dat``,
        ``users.dat``, ``u.item`` and ``u.user``.
    id : str, optional
        The column of the ids. By default the first one with a usual name such as movieId, or else the first.
    columns : sequence of str, optional
        The names of the columns of a file without a header.
    categories : collection of str, default=()
        Columns of which each value is a category, though they hold numbers, or texts that hardly repeat.
    like : Features or Encoding, optional
        Make the same columns as these have, by their means and scales, as for new items of a model.
    ids : Vocabulary, optional
        Known ids, such as ``model.items_``, whose type the ids of the file take. By default ids that are all whole
        numbers become integers.

    Returns
    -------
    Features

    Raises
    ------
    ValueError
        If the file is no such table; the message names the line and says what to do.
    OSError
        If it cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "movies.csv"
    >>> _ = path.write_text("movieId,title,genres\\n1,Heat,Crime|Drama\\n2,Babe,Comedy|Drama\\n3,Alien,Horror\\n")
    >>> read_features(path, id="movieId")
    Features(3 ids, 4 columns: 4 of genres (list); ignored: title (text))
    """
    table = open_table(path, any_encoding=True)
    if isinstance(table, ParquetTable):
        names, rows = table.names, _parquet_columns(table)
        places = [f"row {row + 1}" for row in range(len(rows[0]) if rows else 0)]
    else:
        known, known_categories = _KNOWN.get(Path(table.name).name, (None, []))
        fits = known is not None and len(known) == len(table.sample[0][1])
        if not fits and columns is None and like is not None:
            columns = _columns_like(like, len(table.sample[0][1]), table)
        names, rows, places = _text_columns(table, columns or (known if fits else None), id)
        categories = [*categories, *(known_categories if fits and columns is None else [])]
    column = id_column(names, id, table.name)
    texts = rows[names.index(column)]
    found = _as_ids(texts, ids, table.name, places)
    first: dict[Any, int] = {}
    for row, identity in enumerate(found):
        if first.setdefault(identity, row) != row:
            raise ValueError(
                f"{table.name} has {shown(identity)} on {places[first[identity]]} and on {places[row]}; "
                "keep one line for each id"
            )
    others = {name: rows[place] for place, name in enumerate(names) if name != column}
    if like is not None and (wanted := _used_columns(like)) and not wanted & set(others):
        raise ValueError(
            f"{table.name} has none of the columns that were learned from, {shown_names(sorted(wanted))}, but "
            f"{shown_names(sorted(others))}; give it a header with their names"
        )
    return Features.from_table(
        np.array(found, dtype=object if isinstance(found[0], str) else np.int64), others, categories, like
    )


def as_features(data: FeaturesLike, like: Features | Encoding | None = None, ids: Vocabulary | None = None) -> Features:
    """Makes features of whatever can be taken for some; `fit` and `recommend` take the same.

    Parameters
    ----------
    data : Features, frame or path
        `Features` are returned as they are, or with the columns of `like`; a frame goes through `Features.from_frame`,
        the path of a file through `read_features`.
    like : Features or Encoding, optional
        Make the same columns as these have.
    ids : Vocabulary, optional
        Known ids, whose type the ids of a file take.

    Returns
    -------
    Features

    Raises
    ------
    TypeError
        If it is none of these.
    """
    if isinstance(data, Features):
        return data if like is None else data.like(like)
    if isinstance(data, str | os.PathLike):
        return read_features(Path(data), like=like, ids=ids)
    if is_frame(data):
        return Features.from_frame(data, like=like)
    raise TypeError(
        f"features are Features, a data frame or the path of a file, found {type(data).__name__}; "
        "make them of arrays with Features.from_arrays, of a sparse matrix with Features.from_sparse"
    )


def id_column(names: Sequence[str], wanted: str | None, table: str) -> str:
    """The column of the ids: the one wanted, or the first with a usual name, or the first."""
    if wanted is not None:
        if wanted not in names:
            raise ValueError(f"id must be a column of {table}, one of {shown_names(names)}; found {shown(wanted)}")
        return wanted
    return next((name for name in names if usual_role(name) in ("item", "user")), names[0])


def _used_columns(like: Features | Encoding) -> set[str]:
    """The columns of the table that numbers were made of."""
    encoding = like.encoding if isinstance(like, Features) else like
    return set(encoding.columns) - set(encoding.ignored)


def _columns_like(like: Features | Encoding, width: int, table: Any) -> list[str] | None:
    """The columns of a file of MovieLens, where one without a header looks like that which was learned from."""
    if usual_role(table.sample[0][1][0].strip()) is not None:
        return None
    return next(
        (names for names, _ in _KNOWN.values() if len(names) == width and _used_columns(like) <= set(names)), None
    )


def _parquet_columns(table: ParquetTable) -> list[list[Any]]:
    with connection() as database:
        rows = database.execute(f"SELECT * FROM {table.relation()}").fetchall()
    if not rows:
        raise ValueError(f"{table.name} has no rows")
    return [list(column) for column in zip(*rows, strict=True)]


def _text_columns(
    table: Any, columns: Sequence[str] | None, id_name: str | None
) -> tuple[list[str], list[list[str]], list[str]]:
    """The names of the columns, their texts, and where each row stands."""
    try:
        records = list(split_lines(io.StringIO(whole_text(table), newline=""), table.delimiter))
    except csv.Error as error:
        raise ValueError(f"{table.name} cannot be read: {error}; is a quote left open?") from None
    width = len(records[0][1])
    if columns is not None:
        names = list(columns)
        if len(names) != width or len(set(names)) < width:
            raise ValueError(f"columns must be {width} different names for {table.name}, found {shown_names(names)}")
        if [field.strip() for field in records[0][1]] == names:
            del records[0]
    elif _has_header(records, id_name):
        names = [field.strip() for field in records.pop(0)[1]]
    else:
        names = ["id", *(f"column_{place}" for place in range(2, width + 1))]
    if not records:
        raise ValueError(f"{table.name} has a header but nothing below it")
    if len(set(names)) < len(names):
        raise ValueError(f"{table.name} has a column twice among {shown_names(names)}; rename one")
    for line, fields in records:
        if len(fields) != width:
            raise ValueError(
                f"line {line} of {table.name} has {len(fields)} columns, the first {width}; "
                "complete the line or drop it"
            )
    return (
        names,
        [list(column) for column in zip(*(fields for _, fields in records), strict=True)],
        [f"line {line}" for line, _ in records],
    )


def _has_header(records: Sequence[tuple[int, list[str]]], id_name: str | None) -> bool:
    """The first line has usual names, or a column has words there and numbers below."""
    first, below = [field.strip() for field in records[0][1]], [fields for _, fields in records[1:201]]
    if id_name in first or any(usual_role(name) in ("item", "user") or name.lower() == "id" for name in first):
        return True
    return any(
        not is_number(name) and below and all(is_number(fields[k]) for fields in below if k < len(fields))
        for k, name in enumerate(first)
    )


def _as_ids(values: Sequence[Any], known: Vocabulary | None, table: str, places: Sequence[str]) -> list[Any]:
    empty = [row for row, value in enumerate(values) if value is None or value == ""]
    if empty:
        raise ValueError(f"{places[empty[0]]} of {table}: the id is empty; fill it in or drop it")
    if not isinstance(values[0], str):
        return (
            [str(value) for value in values] if known is not None and known.of_strings and len(known) else list(values)
        )
    as_text = known.of_strings if known is not None and len(known) else not whole_numbers(values)
    if as_text:
        return list(values)
    for row, value in enumerate(values):
        if not whole_numbers([value]):
            raise ValueError(
                f"{places[row]} of {table}: the id {shown(value)} is no whole number of 64 bits, as ids are here; "
                "correct it or drop it"
            )
    return [int(value) for value in values]
