"""The Netflix Prize data and the ratings of Yahoo Music, where a user has them: neither can be fetched."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, get_args

import duckdb
import numpy as np

from rankfill.data.dataset import Dataset
from rankfill.data.grouped import grouped_files, read_grouped
from rankfill.data.ratings import Ratings
from rankfill.data.readers import read_ratings
from rankfill.data.tables import connection, file_in_sql, first_line
from rankfill.data.vocabulary import Vocabulary
from rankfill.shown import shown

YahooName = Literal["r1", "r2", "kddcup"]

NEVER_AGAIN = 255.0
"""The mark in R1 of an artist that is never to be played again."""
_R1, _R1_NAMES = "ydata-ymusic-user-artist-ratings-v1_0.txt", "ydata-ymusic-artist-names-v1_0.txt"
_SET_OF = {"r1": "R1", "r2": "R2", "kddcup": "KDD Cup 2011"}
_WANTED = {
    "netflix": "training_set/mv_*.txt or combined_data_*.txt",
    "r1": f"{_R1} or {_R1}.gz",
    "r2": "train_*.txt with song-attributes.txt",
    "kddcup": "trainIdx1.txt",
}


def netflix(path: str | Path | None = None) -> Dataset:
    """Reads the Netflix Prize data: 100,480,507 ratings of 17,770 films, with titles where movie_titles is there.

    Parameters
    ----------
    path : str or Path, optional
        A folder with ``training_set/mv_*.txt``, ``mv_*.txt`` or ``combined_data_*.txt``, or one such file. By default
        the folder ``netflix`` in the one that the environment variable RANKFILL_DATA names.

    Returns
    -------
    Dataset
        Genres are not known.

    Raises
    ------
    FileNotFoundError
        If the files are not there.

    Examples
    --------
    >>> import rankfill as rf
    >>> rf.datasets.netflix("nf_prize_dataset").ratings  # doctest: +SKIP
    Ratings(100,480,507 ratings, 480,189 users, 17,770 items, values 1 to 5)
    """
    place, files = _find_files("netflix", path, grouped_files)
    folder = place if place.is_dir() else place.parent
    titles = {int(fields[0]): fields[2] for fields in _table(folder, ("movie_titles.txt", "movie_titles.csv"), ",", 3)}
    return Dataset("netflix", read_grouped(files), titles, {})


def yahoo_music(name: YahooName, path: str | Path | None = None) -> Dataset:
    """Reads ratings of Yahoo Music: R1 (artists, 0 to 100), R2 (songs, 1 to 5) or those of the KDD Cup 2011.

    In R1 a rating of 255 means "never play again"; it is read as 0. Of R2 all files train_*.txt and test_*.txt are read
    as one set, of the KDD Cup trainIdx1.txt.

    Parameters
    ----------
    name : {"r1", "r2", "kddcup"}
        Which set.
    path : str or Path, optional
        Its folder, or one file of it. By default the folder ``yahoo-r1``, ``yahoo-r2`` or ``yahoo-kddcup`` in the one
        that the environment variable RANKFILL_DATA names.

    Returns
    -------
    Dataset
        With the names of the artists for R1 and the genres of the songs for R2, where their files are there.

    Raises
    ------
    FileNotFoundError
        If the files are not there.

    Examples
    --------
    >>> import rankfill as rf
    >>> rf.datasets.yahoo_music("r1", "ydata-r1").ratings  # doctest: +SKIP
    Ratings(11,557,943 ratings, 1,948,882 users, 98,211 items, values 0 to 100)
    """
    if name not in get_args(YahooName):
        raise ValueError(
            f"there is no set {shown(name)} of Yahoo Music; choose one of {', '.join(get_args(YahooName))}"
        )
    place, files = _find_files(name, path, {"r1": _files_of_r1, "r2": _files_of_r2, "kddcup": grouped_files}[name])
    folder = place if place.is_dir() else place.parent
    titles: dict[int, str] = {}
    genres: dict[int, tuple[str, ...]] = {}
    if name == "r1":
        ratings = read_ratings(files[0]).with_values(lambda values: np.where(values == NEVER_AGAIN, 0.0, values))
        titles = {int(fields[0]): fields[1] for fields in _table(folder, (_R1_NAMES,), "\t", 2)}
    elif name == "r2":
        ratings = _read_plain(files)
        words = {fields[0]: fields[3] for fields in _table(folder, ("genre-hierarchy.txt",), "\t", 4)}
        songs = _table(folder, ("song-attributes.txt",), "\t", 4)
        genres = {int(fields[0]): (words[fields[3]],) for fields in songs if fields[3] in words}
    else:
        ratings = read_grouped(files)
    return Dataset(f"yahoo-music-{name}", ratings, titles, genres)


def _find_files(name: str, path: str | Path | None, files_of: Callable[[Path], list[Path]]) -> tuple[Path, list[Path]]:
    """The place of a set and its files; a folder that holds the folder of the set will do."""
    own = name if name == "netflix" else f"yahoo-{name}"
    named = os.environ.get("RANKFILL_DATA")
    given = [Path(path).expanduser()] if path is not None else [Path(named).expanduser()] if named else []
    for place in [each for base in given for each in (base, base / own)]:
        if files := files_of(place):
            return place, files
    what = "The Netflix Prize data are" if name == "netflix" else f"Yahoo Music {_SET_OF[name]} is"
    looked = f"not in {given[0]} or its folder {own}" if given else "not here"
    raise FileNotFoundError(f"{what} {looked}: expected {_WANTED[name]}; say where they are with path=")


def _files_of_r1(place: Path) -> list[Path]:
    return [each for each in (place, place / _R1, place / f"{_R1}.gz") if each.is_file()][:1]


def _files_of_r2(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    parts = sorted(place.glob("train_*.txt"))
    return parts + sorted(place.glob("test_*.txt")) if parts else []


def _read_plain(files: Sequence[Path]) -> Ratings:
    """Files with user, item and rating on each line as one set of ratings."""
    names = ", ".join(map(file_in_sql, files))
    query = (
        f"SELECT * FROM read_csv([{names}], auto_detect=false, header=false, delim='\t', quote='', escape='', "
        "columns={'user': 'INTEGER', 'item': 'INTEGER', 'rating': 'FLOAT'})"
    )
    try:
        with connection() as database:
            found = database.execute(query).fetchnumpy()
    except duckdb.Error as error:
        raise ValueError(f"{files[0].parent} cannot be read: {first_line(error)}") from None
    if any(np.ma.getmaskarray(column).any() for column in found.values()):
        raise ValueError(f"{files[0].parent} has lines without a user, an item or a rating; complete or drop them")
    (users, user_indices), (items, item_indices) = (Vocabulary.numbered(found[role]) for role in ("user", "item"))
    return Ratings.from_indices(users, items, user_indices, item_indices, found["rating"])


def _table(folder: Path, names: Sequence[str], separator: str, n_columns: int) -> list[list[str]]:
    """The fields of a file in the folder or above it, the last one with what separators it holds; none without it."""
    places = [base / name for base in (folder, folder.parent) for name in names]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        return []
    content = file.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    rows = [line.split(separator, n_columns - 1) for line in text.splitlines()]
    return [fields for fields in rows if len(fields) == n_columns and fields[0].isdigit()]
