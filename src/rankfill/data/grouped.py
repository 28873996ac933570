"""Files of ratings in groups, each below a heading: the Netflix Prize and the KDD Cup 2011 (Yahoo Music).

Netflix     1:                      an item, then user,rating,date of each who rated it; a file for each item
            1488844,3,2005-09-06    (training_set/mv_*.txt) or for many (combined_data_*.txt)
KDD Cup     0|218                   a user with the number of ratings, then item, rating, day and time by tabs
            507696  90  3811  13:24:00
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from rankfill.data.duplicates import Duplicates
from rankfill.data.ratings import Ratings
from rankfill.data.tables import connection, file_in_sql, first_line
from rankfill.data.vocabulary import Vocabulary
from rankfill.shown import shown


@dataclass(frozen=True)
class Layout:
    """The form of headings and lines, as expressions and in SQL over the columns c0 to c3."""

    heading: re.Pattern[bytes]
    line: re.Pattern[bytes]
    words: str
    separator: str
    heads_users: bool
    group: str
    """The id of a heading; NULL on other lines."""
    time: str


_NETFLIX = Layout(
    re.compile(rb"[0-9]{1,9}:\s*"),
    re.compile(rb"[0-9]{1,9},[0-9.]+(,[0-9]{4}-[0-9]{2}-[0-9]{2})?\s*"),
    "user,rating,date",
    ",",
    False,
    "CASE WHEN c1 IS NULL AND ends_with(c0, ':') THEN TRY_CAST(rtrim(c0, ':') AS INTEGER) END",
    "epoch(TRY_CAST(c2 AS DATE))::BIGINT",
)
_KDD_CUP = Layout(
    re.compile(rb"[0-9]{1,9}\|[0-9]+\s*"),
    re.compile(rb"[0-9]{1,9}\t[0-9.]+(\t[0-9]+\t[0-9]{2}:[0-9]{2}:[0-9]{2})?\s*"),
    "item, rating, day and time, with tabs between",
    "\t",
    True,
    "CASE WHEN c1 IS NULL AND contains(c0, '|') THEN TRY_CAST(split_part(c0, '|', 1) AS INTEGER) END",
    "TRY_CAST(c2 AS BIGINT) * 86400 + epoch(TRY_CAST(c3 AS TIME))::BIGINT",
)
_NAMES = ("mv_*.txt", "training_set/mv_*.txt", "combined_data_*.txt", "trainIdx1.txt")


def grouped_files(path: str | Path) -> list[Path]:
    """The files of ratings in groups that a path names: itself, or those in a folder; none where there are none."""
    place = Path(path)
    if place.is_file():
        return [place] if _layout_of(place) is not None else []
    if not place.is_dir():
        return []
    return next((found for name in _NAMES if (found := sorted(place.glob(name)))), [])


def read_grouped(files: Sequence[Path], *, timestamps: bool = True, duplicates: Duplicates = "error") -> Ratings:
    """Reads the files, which are of one layout, as one set of ratings."""
    layouts = [_layout_of(file) for file in files]
    layout = layouts[0]
    if layout is None or any(each is not layout for each in layouts):
        odd = next(file for file, each in zip(files, layouts, strict=True) if each is None or each is not layout)
        raise ValueError(f"{odd} does not begin with a heading, such as 1: (Netflix) or 0|218 (KDD Cup)")
    groups, others, values, times = _columns(files, layout)
    ids = (groups, others) if layout.heads_users else (others, groups)
    (users, user_indices), (items, item_indices) = (Vocabulary.numbered(each) for each in ids)
    return Ratings.from_indices(
        users, items, user_indices, item_indices, values, times if timestamps else None, duplicates
    )


def _layout_of(file: Path) -> Layout | None:
    with file.open("rb") as opened:
        first = opened.readline(64)
    return next((layout for layout in (_NETFLIX, _KDD_CUP) if layout.heading.fullmatch(first)), None)


def _columns(files: Sequence[Path], layout: Layout) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Heading, id, rating and time of every line that is none."""
    names = ", ".join(map(file_in_sql, files))
    query = (
        f"SELECT {layout.group} AS heading, TRY_CAST(c0 AS INTEGER) AS id, TRY_CAST(c1 AS FLOAT) AS rating, "
        f"{layout.time} AS time FROM read_csv([{names}], auto_detect=false, header=false, delim='{layout.separator}', "
        "quote='', escape='', null_padding=true, "
        "columns={'c0': 'VARCHAR', 'c1': 'VARCHAR', 'c2': 'VARCHAR', 'c3': 'VARCHAR'})"
    )
    try:
        with connection() as database:
            found = database.execute(query).fetchnumpy()
    except duckdb.Error as error:
        raise _complaint(files, layout, first_line(error)) from None
    missing = {name: np.ma.getmaskarray(column) for name, column in found.items()}
    lines = missing["heading"]
    if (lines & (missing["id"] | missing["rating"])).any():
        raise _complaint(files, layout, "a line is no rating")
    headings = np.flatnonzero(~lines)
    sizes = np.diff(np.append(headings, len(lines))) - 1
    groups = np.repeat(np.ma.getdata(found["heading"])[headings], sizes)
    others, values, times = (np.ma.getdata(found[name])[lines] for name in ("id", "rating", "time"))
    if not len(values):
        raise ValueError(f"{files[0]} has headings but no ratings below them")
    return groups, others, values, None if missing["time"][lines].any() else times


def _complaint(files: Sequence[Path], layout: Layout, fault: str) -> ValueError:
    """Describes what is wrong with the first line that is neither a heading nor a rating."""
    for file in files:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip() and not (layout.heading.fullmatch(line) or layout.line.fullmatch(line)):
                    text = shown(line.decode("utf-8", errors="replace").strip())
                    wanted = f"neither a heading nor {layout.words}"
                    return ValueError(f"line {number} of {file}: {text} is {wanted}; correct it or drop it")
    return ValueError(f"{files[0]} cannot be read: {fault}")
