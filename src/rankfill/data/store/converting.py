"""From files to a store: read by DuckDB, sorted in buckets, written whole or not at all."""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import get_args

import duckdb
import numpy as np

from rankfill.data.accepting import RatingsLike, as_ratings
from rankfill.data.columns import locate_columns
from rankfill.data.duplicates import DuplicatePairError, Duplicates
from rankfill.data.ratings import Ratings
from rankfill.data.store.faults import OnError
from rankfill.data.store.loading import Loaded, load_table, open_source_table
from rankfill.data.store.manifest import (
    MANIFEST,
    PartSummary,
    part_folder,
    read_manifest,
    remove_rest,
    write_manifest,
    writing,
)
from rankfill.data.store.store import RatingStore, open_store
from rankfill.data.store.writing import PartWriter, Progress, silent
from rankfill.data.tables import connection
from rankfill.shown import shown

LEAST_MEMORY = 1 << 28
_SHARES = 0.45, 0.3
"""The parts of the memory that DuckDB and sorting may take; the rest is for ids and for whatever the process needs."""


def convert(
    source: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    duplicates: Duplicates = "error",
    timestamps: bool = True,
    memory: int = 1 << 30,
    on_error: OnError = "stop",
    rejects: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> RatingStore:
    """Turns files of ratings of any size into a store on disk.

    Parameters
    ----------
    source : str or path-like
        A file as `read_ratings` takes it, or a folder of Parquet files, or a pattern of their names.
    path : str or path-like
        The folder of the store. A store that is there is replaced, in one step at the end.
    columns : sequence of str, optional
        The columns of user, item and perhaps rating and timestamp, as in `read_ratings`.
    duplicates : {"error", "last", "first", "mean", "sum", "count"}, default="error"
        What to do with a pair that comes more than once, as in `Ratings.from_arrays`; also with what is appended later.
    timestamps : bool, default=True
        Whether to keep the timestamps where there are any: 8 bytes a rating.
    memory : int, default=1073741824
        How many bytes of memory to take, at least 256 MB; ids take what they need on top where there are tens of
        millions of them.
    on_error : {"stop", "skip"}, default="stop"
        Whether a line that cannot be read is an error that names it, or is left out.
    rejects : str or path-like, optional
        A file to write the lines to that are left out, with their numbers and what is wrong.
    progress : callable, optional
        Called with the stage, how much of it is done, and how much there is to do.

    Returns
    -------
    RatingStore
        With the number of lines left out in `n_left_out`.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "ratings.csv").write_text("user,item,rating\\nann,tea,5\\nann,milk,3\\nbob,tea,4\\n")
    >>> convert(folder / "ratings.csv", folder / "ratings.store")
    RatingStore(3 ratings, 2 users, 2 items, values 3 to 5)
    """
    _check(duplicates, memory, on_error)
    progress = progress or silent
    source, path = Path(source).expanduser(), Path(path).expanduser()
    _make_folder(path)
    with writing(path):
        parts = read_manifest(path) if (path / MANIFEST).exists() else []
        remove_rest(path, parts)
        folder = part_folder(path)
        try:
            given = None if rejects is None else Path(rejects)
            shares = [int(share * memory) for share in _SHARES]
            with load_table(
                source, _inside(folder, "loading"), columns, timestamps, shares[0], on_error, given, progress
            ) as (table, left_out):
                writer = _dealt(table, folder, duplicates, shares[1], progress)
            shutil.rmtree(folder / "loading")
            try:
                written = writer.finish()
            except DuplicatePairError as error:
                raise _with_places(error, source, columns) from None
            write_manifest(path, [written])
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # a folder that holds nothing
                path.rmdir()
            raise
    store = open_store(path)
    store.n_left_out = left_out
    return store


def store_ratings(ratings: RatingsLike, path: str | os.PathLike[str], memory: int = 1 << 30) -> RatingStore:
    """Writes ratings that are in memory as a store.

    Parameters
    ----------
    ratings : Ratings, or whatever `as_ratings` takes
        What to write.
    path : str or path-like
        The folder of the store. A store that is there is replaced.
    memory : int, default=1073741824
        How many bytes of memory to take beside the ratings.

    Returns
    -------
    RatingStore

    Examples
    --------
    >>> import tempfile
    >>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 3, 4])
    >>> store_ratings(ratings, Path(tempfile.mkdtemp()) / "ratings.store") == ratings
    True
    """
    path = Path(path).expanduser()
    _make_folder(path)
    ratings = as_ratings(ratings)
    _ = len(ratings)  # merges what was appended before the lock is taken, should this be the store itself
    with writing(path):
        written = write_part(path, ratings, "error", memory)
        write_manifest(path, [written])
    return open_store(path)


def write_part(path: Path, ratings: Ratings, duplicates: Duplicates, memory: int = 1 << 30) -> PartSummary:
    """Writes ratings that are in memory as a part of a store; no manifest names it yet."""
    folder = part_folder(path)
    try:
        timed = ratings.timestamps is not None
        counts = ratings.by_user.counts()
        writer = PartWriter(
            folder, ratings.users, ratings.items, counts, timed=timed, duplicates="error", memory=memory
        )
        begin = 0
        for first, rows in ratings.by_user.pieces():
            end = begin + len(rows.indices)
            times = () if ratings.timestamps is None else (ratings.timestamps[begin:end],)
            writer.deal(rows.row_of_entry() + np.int32(first), rows.indices, rows.values, *times)
            begin = end
        return replace(writer.finish(), duplicates=duplicates)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _dealt(table: Loaded, folder: Path, duplicates: Duplicates, memory: int, progress: Progress) -> PartWriter:
    writer = PartWriter(
        folder,
        table.users,
        table.items,
        table.user_counts,
        timed=table.timed,
        duplicates=duplicates,
        memory=memory,
        progress=progress,
    )
    done = 0
    for columns in table.chunks():
        if duplicates == "count":
            columns[2][:] = 1
        writer.deal(*columns)
        done += len(columns[0])
        progress("dealing", done, table.n_rows)
    return writer


def _with_places(error: DuplicatePairError, source: Path, columns: Sequence[str] | None) -> DuplicatePairError:
    """The same with the first two places of the pair in the file."""
    table, positions = locate_columns(open_source_table(source), columns)
    user, item = (table.column(positions[role]) for role in ("user", "item"))
    numbered = (
        f"SELECT row_number() OVER () - 1 AS n, {user}::VARCHAR AS u, {item}::VARCHAR AS i FROM {table.relation()}"
    )
    query = f"SELECT n FROM ({numbered}) WHERE u = ? AND i = ? ORDER BY n LIMIT 2"
    try:
        with connection() as database:
            rows = database.execute(query, [str(error.user), str(error.item)]).fetchall()
        first, second = (table.describe(row, 0)[0] for (row,) in rows)
    except (duckdb.Error, ValueError):  # lines were left out, so that rows are not as they were read
        return error.at(f"in {table.name}")
    return error.at(f"on {first} and on {second}")


def _check(duplicates: str, memory: int, on_error: str) -> None:
    allowed = [word for word in get_args(Duplicates) if word != "decay"]
    if duplicates not in allowed:
        raise ValueError(f"duplicates must be one of {', '.join(allowed)} for a store, found {shown(duplicates)}")
    if on_error not in get_args(OnError):
        raise ValueError(f"on_error must be one of {', '.join(get_args(OnError))}, found {shown(on_error)}")
    if memory < LEAST_MEMORY:
        raise ValueError(f"memory must be at least {LEAST_MEMORY >> 20} MB, found {memory / 2**20:g} MB")


def _make_folder(path: Path) -> None:
    """A folder for a store: new, empty, or a store already."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"cannot write the store {path}: it exists and is a file; name a folder")
    if path.is_dir() and not (path / MANIFEST).exists():
        strangers = [each.name for each in path.iterdir() if not each.name.startswith(("part-", ".manifest.json."))]
        if strangers:
            raise ValueError(
                f"cannot write the store {path}: it exists and holds {shown(strangers[0])}; name a new folder"
            )
    path.mkdir(parents=True, exist_ok=True)


def _inside(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name
