"""What the verbs have in common: consoles, options, and files opened with care."""

import math
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from rankfill.data import Ratings, Vocabulary
    from rankfill.models import Model

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
        help="The columns of user, item, rating and perhaps timestamp, with commas between. "
        "Not needed where a header has the usual names.",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Threads: TypeAlias = Annotated[
    int | None, typer.Option("--threads", metavar="N", help="How many cores to use; all by default. Changes no result.")
]


def described(name: str, ratings: "Ratings") -> str:
    return f"{name}: {len(ratings):,} ratings by {ratings.n_users:,} users of {ratings.n_items:,} items"


def use_threads(threads: int | None) -> None:
    if threads is not None:
        from rankfill.kernels import set_threads

        set_threads(threads)


def console(stderr: bool = False) -> Console:
    """Plain words as they are: a title such as [REC] is no markup. A file is written 100 columns wide."""
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    width = None if terminal or "COLUMNS" in os.environ else WIDTH_OF_FILES
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, width=width)


def plain_table(*columns: str) -> Table:
    """A table without lines; a column whose name ends in # holds numbers. No names, no header."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_header=bool(columns))
    for name in columns:
        table.add_column(name.rstrip("#"), justify="right" if name.endswith("#") else "left")
    return table


def note(text: str) -> None:
    """A remark that must not mix with results: on stderr."""
    print(f"rankfill: {text}", file=sys.stderr)


def check_output(path: Path) -> Path:
    """Says in words that a file cannot be written, before hours of learning."""
    folder = path.parent
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


def read_titles(path: Path | None, known: "Vocabulary") -> dict[Any, str]:
    """The titles of a file by ids as the model knows them; none without a file."""
    if path is None:
        return {}
    from rankfill.data import read_titles as read

    titles = read(path)
    return {str(item): title for item, title in titles.items()} if known.of_strings else dict(titles)


def parse_columns(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(","))


def parse_ids(texts: Sequence[str], known: "Vocabulary", kind: str) -> NDArray[Any]:
    """Ids typed by hand, in the type the model knows them by."""
    if known.of_strings:
        return np.array(texts, dtype=object)
    for text in texts:
        if not re.fullmatch("-?[0-9]{1,18}", text):
            raise ValueError(f"this model knows its {kind}s by whole numbers, found {text!r}; give a number")
    return np.array([int(text) for text in texts], dtype=np.int64)


def ids_as_known(ids: NDArray[Any], known: "Vocabulary") -> NDArray[Any]:
    """Ids of a file in the type the model knows: a file of numbers only may go with ids such as 7 and 7a."""
    return ids.astype(str).astype(object) if known.of_strings and ids.dtype.kind == "i" else ids


def as_known(ratings: "Ratings", users: "Vocabulary", items: "Vocabulary") -> "Ratings":
    """Ratings whose ids have the types of those known."""
    from rankfill.data import Ratings, Vocabulary

    own_users, own_items = (
        Vocabulary(ids_as_known(own.ids(), known)) if known.of_strings and not own.of_strings else own
        for own, known in ((ratings.users, users), (ratings.items, items))
    )
    return Ratings(own_users, own_items, ratings.by_user)


def without_nan(value: Any) -> Any:
    """The same for JSON, which has no word for NaN but null."""
    if isinstance(value, dict):
        return {key: without_nan(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
