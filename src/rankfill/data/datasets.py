"""Published data sets; here those of MovieLens (GroupLens), from a folder or zip, or fetched when asked.

Their terms forbid handing them on, so none comes with rankfill. F. M. Harper and J. A. Konstan: The MovieLens
Datasets: History and Context. ACM TiiS 5 (2015), 19:1–19:19.
"""

import hashlib
import os
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args
from urllib.error import URLError
from urllib.request import urlopen

from rankfill.data.contests import netflix, yahoo_music
from rankfill.data.dataset import Dataset
from rankfill.data.readers import read_items, read_ratings, split_genres
from rankfill.shown import shown

Name = Literal["100k", "1m", "10m", "20m", "25m", "latest-small"]

BASE_URL = "https://files.grouplens.org/datasets/movielens/"


@dataclass(frozen=True)
class _Files:
    """The files of a data set. The latest-small set changes over time, so it has no fixed count and checksum."""

    archive: str
    folder: str
    ratings: str
    items: str
    n_ratings: int | None
    md5: str | None


_FILES: dict[str, _Files] = {
    "100k": _Files("ml-100k.zip", "ml-100k", "u.data", "u.item", 100_000, "0e33842e24a9c977be4e0107933c0723"),
    "1m": _Files("ml-1m.zip", "ml-1m", "ratings.dat", "movies.dat", 1_000_209, "c4d9eecfca2ab87c1945afe126590906"),
    "10m": _Files(
        "ml-10m.zip", "ml-10M100K", "ratings.dat", "movies.dat", 10_000_054, "ce571fd55effeba0271552578f2648bd"
    ),
    "20m": _Files("ml-20m.zip", "ml-20m", "ratings.csv", "movies.csv", 20_000_263, "cd245b17a1ae2cc31bb14903e1204af3"),
    "25m": _Files("ml-25m.zip", "ml-25m", "ratings.csv", "movies.csv", 25_000_095, "6b51fb2759a8657d3bfcbfc42b592ada"),
    "latest-small": _Files("ml-latest-small.zip", "ml-latest-small", "ratings.csv", "movies.csv", None, None),
}


def movielens(name: Name, path: str | Path | None = None, download: bool = False) -> Dataset:
    """Reads a MovieLens data set, with titles and genres.

    Zips are checked by their MD5 sum, folders by the number of ratings.

    Parameters
    ----------
    name : {"100k", "1m", "10m", "20m", "25m", "latest-small"}
        Which set.
    path : str or Path, optional
        Where it is: its folder, its zip, or a folder that holds either. By default the folder that the environment
        variable RANKFILL_DATA names, then the cache (``$XDG_CACHE_HOME/rankfill``, or else ``~/.cache/rankfill``).
    download : bool, default=False
        Whether to fetch a set that is not there from GroupLens into `path` or the cache.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If the set is not there and is not to be fetched.

    Examples
    --------
    >>> import rankfill as rf
    >>> club = rf.datasets.movielens("100k")  # doctest: +SKIP
    >>> club.ratings  # doctest: +SKIP
    Ratings(100,000 ratings, 943 users, 1,682 items, values 1 to 5)
    """
    if name not in _FILES:
        raise ValueError(f"there is no MovieLens set {shown(name)} here; choose one of {', '.join(get_args(Name))}")
    files = _FILES[name]
    places = [Path(path).expanduser()] if path is not None else _usual_places()
    found = next((there for place in places for there in _candidates(place, files) if _holds(there, files)), None)
    if found is None and download:
        found = _fetch(files, places[-1].parent if places[-1].suffix == ".zip" else places[-1])
    if found is None:
        raise FileNotFoundError(
            f"MovieLens {name} is not in {' or '.join(map(str, places))}: expected the folder {files.folder} with "
            f"{files.ratings}, or {files.archive}; fetch it with movielens({name!r}, download=True), or say where it "
            "is with path="
        )
    if found.is_dir():
        return _from_folder(name, files, found)
    _check_sum(found, files.md5)
    with tempfile.TemporaryDirectory() as unpacked:
        _unpack(found, files, Path(unpacked))
        return _from_folder(name, files, Path(unpacked))


def _fetch(files: _Files, folder: Path) -> Path:
    """Downloads the zip of a set into a folder; nothing is left there unless it is whole."""
    from rich.console import Console
    from rich.progress import wrap_file

    console = Console(stderr=True)
    url = BASE_URL + files.archive
    folder.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=folder, prefix=files.archive, suffix=".part")
    try:
        with urlopen(url, timeout=60) as response, os.fdopen(handle, "wb") as file:
            size = int(response.headers.get("Content-Length") or 0)
            words, quiet = f"Fetching {files.archive}", not console.is_terminal
            with wrap_file(response, size, description=words, console=console, disable=quiet) as shown:
                shutil.copyfileobj(shown, file, 1 << 20)
        _check_sum(Path(partial), files.md5 or _published_sum(url), files.archive)
        Path(partial).replace(folder / files.archive)
    except URLError as error:
        raise OSError(
            f"{url} cannot be fetched: {error.reason}; fetch it by other means and say where it is with path="
        ) from None
    finally:
        Path(partial).unlink(missing_ok=True)
    return folder / files.archive


def _usual_places() -> list[Path]:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rankfill"
    named = os.environ.get("RANKFILL_DATA")
    return [Path(named).expanduser(), cache] if named else [cache]


def _candidates(place: Path, files: _Files) -> list[Path]:
    names = dict.fromkeys([files.folder, Path(files.archive).stem, files.archive])
    return [place, *(place / name for name in names)]


def _holds(candidate: Path, files: _Files) -> bool:
    if candidate.is_dir():
        return (candidate / files.ratings).is_file() and (candidate / files.items).is_file()
    return candidate.suffix == ".zip" and candidate.is_file()


def _published_sum(url: str) -> str:
    """The sum that stands beside a zip, last in "MD5 (ml-latest-small.zip) = 1234…" or first in "1234…  name"."""
    with urlopen(url + ".md5", timeout=60) as response:
        words = response.read().decode().split()
    return next((word for word in words if len(word) == 32), "")


def _check_sum(archive: Path, expected: str | None, name: str = "") -> None:
    if expected is None:
        return
    with archive.open("rb") as file:
        found = hashlib.file_digest(file, "md5").hexdigest()
    if found != expected:
        raise ValueError(
            f"{name or archive} has the MD5 sum {found}, the official file {expected}: it is damaged or another set; "
            "delete it and fetch it anew"
        )


def _unpack(archive: Path, files: _Files, folder: Path) -> None:
    """Copies just the files to be read, by their last name, so that no path in the zip can lead elsewhere."""
    wanted = {files.ratings, files.items, "u.genre"}
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.namelist():
                last = member.rpartition("/")[2]
                if last in wanted:
                    with opened.open(member) as source, (folder / last).open("wb") as target:
                        shutil.copyfileobj(source, target, 1 << 20)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{archive} is not a whole zip: {error}; delete it and fetch it anew") from None
    if not _holds(folder, files):
        raise ValueError(f"{archive} lacks {files.ratings} or {files.items}; is it {files.archive}?")


def _from_folder(name: str, files: _Files, folder: Path) -> Dataset:
    ratings = read_ratings(folder / files.ratings)
    if files.n_ratings is not None and len(ratings) != files.n_ratings:
        raise ValueError(
            f"{folder / files.ratings} holds {len(ratings):,} ratings, MovieLens {name} {files.n_ratings:,}: it is "
            "incomplete or another set; fetch it anew"
        )
    items = read_items(folder / files.items, 3)
    genre_names = [str(genre) for genre, _ in read_items(folder / "u.genre", 2)] if name == "100k" else []
    return Dataset(
        name=f"movielens-{name}",
        ratings=ratings,
        titles={int(identity): fields[1] for identity, fields in items},
        genres={int(identity): _genres(fields, genre_names) for identity, fields in items},
    )


def _genres(fields: list[str], genre_names: list[str]) -> tuple[str, ...]:
    """Reads genres from a text such as Comedy|Drama in the third column; in the 100K set from flags at the end."""
    if not genre_names:
        return split_genres(fields[2])
    flags = fields[-len(genre_names) :]
    return split_genres("|".join(genre for genre, flag in zip(genre_names, flags, strict=True) if flag == "1"))


__all__ = ["movielens", "netflix", "yahoo_music"]
