"""What the verbs have in common: consoles, options, and files opened with care."""

import math
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeGuard

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from rankfill.cli.errors import one_line
from rankfill.shown import printable, shown

if TYPE_CHECKING:
    from rankfill.data import Ratings, Vocabulary
    from rankfill.models import BayesianMF, Model

WIDTH_OF_FILES = 100
PICTURES = (".png", ".pdf", ".svg", ".jpg")

ModelFile: TypeAlias = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file written by rankfill fit.")]
Titles: TypeAlias = Annotated[
    Path | None, typer.Option("--titles", metavar="FILE", help="Names of the items: a file of id and title.")
]
Columns: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAMES",
        help="The columns of user, item and perhaps rating and timestamp, with commas between. "
        "Not needed where a header has the usual names.",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Threads: TypeAlias = Annotated[
    int | None, typer.Option("--threads", metavar="N", help="How many cores to use; all by default. Changes no result.")
]


def described(path: Path, ratings: "Ratings") -> str:
    name = "standard input" if str(path) == "-" else str(path) if path.is_fifo() else path.name
    return f"{name}: {len(ratings):,} ratings by {ratings.n_users:,} users of {ratings.n_items:,} items"


def tell_stray(ratings: "Ratings") -> None:
    """Ratings far from all others are told: most often they are mistakes."""
    low, high = ratings.scale()
    least, most = ratings.bounds()
    if least < low or most > high:
        parts = [piece.values[(piece.values < low) | (piece.values > high)] for piece in ratings.pieces()]
        stray = np.concatenate(parts)
        note(
            f"{len(stray):,} of {len(ratings):,} ratings are far from the others, which go from {low:g} to {high:g}; "
            f"is {stray[0]:g} a mistake?"
        )


def use_threads(threads: int | None) -> None:
    if threads is not None:
        from rankfill.kernels import set_threads

        set_threads(threads)


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


class PlainConsole(Console):
    """Shows words as they are, and never lets them steer the terminal."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(_lines(each) if isinstance(each, str) else each for each in objects), **options)


class PlainTable(Table):
    """A table whose cells are words as they are."""

    def add_row(self, *cells: Any, **options: Any) -> None:
        super().add_row(*(_lines(cell) if isinstance(cell, str) else cell for cell in cells), **options)


def console(stderr: bool = False) -> Console:
    """Plain words as they are: a title such as [REC] is no markup. A file is written 100 columns wide."""
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    width = None if terminal or "COLUMNS" in os.environ else WIDTH_OF_FILES
    return PlainConsole(stderr=stderr, markup=False, highlight=False, emoji=False, width=width)


def plain_table(*columns: str) -> Table:
    """A table without lines; a column whose name ends in # holds numbers. No names, no header."""
    table = PlainTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_header=bool(columns))
    for name in columns:
        table.add_column(name.rstrip("#"), justify="right" if name.endswith("#") else "left")
    return table


def note(text: str) -> None:
    """A remark that must not mix with results: one line on stderr."""
    print(f"rankfill: {one_line(text)}", file=sys.stderr)


def check_output(path: Path) -> Path:
    """Says in words that a file cannot be written, before hours of learning."""
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if path.exists() and not path.is_file():
        raise ValueError(f"cannot write {path}: it is {'a folder' if path.is_dir() else 'no file'}; name a file")
    if not folder.is_dir():
        raise ValueError(f"cannot write {path}: there is no folder {folder}; make it first")
    try:
        with tempfile.TemporaryFile(dir=folder):
            return path
    except OSError as error:
        reason = (error.strerror or "").lower()
        raise ValueError(f"cannot write {path}: the folder takes no files ({reason}); choose another") from None


def check_apart(output: Path, *inputs: Path) -> None:
    """Refuses to write over what is read: a slip of the hand must not cost anybody the ratings."""
    for each in inputs:
        if output.exists() and each.exists() and output.samefile(each):
            raise ValueError(f"{output} is read as {each} and would be written over; name another file to write")


def check_picture(path: Path) -> Path:
    if path.suffix.lower() not in PICTURES:
        raise ValueError(f"cannot draw {path}: its name must end in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}")
    return check_output(path)


def check_files(output: Path | None = None, plot: Path | None = None) -> None:
    """Both, where they are asked for."""
    if output is not None:
        check_output(output)
    if plot is not None:
        check_picture(plot)


def read_model(path: Path) -> "Model":
    from rankfill.persistence import load

    return load(path)


def goes_by_times(model: "Model") -> "TypeGuard[BayesianMF]":
    """Whether it matters to a model when ratings are given."""
    from rankfill.models import BayesianMF

    return isinstance(model, BayesianMF) and model.time


def read_titles(path: Path | None, known: "Vocabulary") -> dict[Any, str]:
    """The titles of a file by ids as the model knows them; none without a file."""
    if path is None:
        return {}
    from rankfill.data import read_titles as read

    titles = read(path)
    return {str(item): title for item, title in titles.items()} if known.of_strings else dict(titles)


def read_genres(path: Path | None, known: "Vocabulary") -> dict[Any, tuple[str, ...]]:
    """The genres in a file of titles, by ids as the model knows them; none without a file or without such a column."""
    if path is None:
        return {}
    from rankfill.data.readers import read_genres as read

    genres = read(path)
    return {str(item): words for item, words in genres.items()} if known.of_strings else dict(genres)


def parse_columns(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(","))


def parse_ids(texts: Sequence[str], known: "Vocabulary", kind: str) -> NDArray[Any]:
    """Ids typed by hand, in the type the model knows them by."""
    if known.of_strings:
        return np.array(texts, dtype=object)
    for text in texts:
        if not re.fullmatch("-?[0-9]{1,18}", text):
            raise ValueError(f"this model knows its {kind}s by whole numbers, found {shown(text)}; give a number")
    return np.array([int(text) for text in texts], dtype=np.int64)


def without_nan(value: Any) -> Any:
    """The same for JSON, which has no word for NaN but null."""
    if isinstance(value, dict):
        return {key: without_nan(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
