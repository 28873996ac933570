"""The encoding of table columns as columns of numbers.

    number, date   one column, (value − mean) / standard deviation; a date is counted in days
    flag           one column of zeros and ones, as it is
    category       one column of zeros and ones for each value: "colour=red"
    list           the same for each part of texts such as "Comedy|Drama": "genres=Comedy"
    text           nothing: nearly every row has a value of its own

An empty cell is unknown: it has no entry, which is the mean of a number and none of the values of a category. Columns
are in the order of their names, so that the order of the table makes no difference.
"""

import datetime
import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from rankfill.shown import shown, shown_names

Kind = Literal["number", "date", "flag", "category", "list", "text", "constant"]
Cell = str | float | list[str] | None
Table = dict[str, list[Cell]]

SEPARATOR = "|"
_NOTHING = {"", "nan", "na", "n/a", "null", "none", "\\n", "(no genres listed)"}
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})([T ].*)?")
_OLD_DATE = re.compile(r"(\d{1,2})-(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)-(\d{4})")
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
_ALWAYS_FEW = 20


@dataclass(frozen=True, eq=False)
class Encoding:
    """The columns of a table and the numbers made of them; tables with the same encoding can be compared.

    Attributes
    ----------
    columns : list of str
        The columns of the table, in the order of their names.
    kinds : list of str
        What each of them is: "number", "date", "flag", "category", "list", "text" or "constant". The last two are
        ignored.
    names : list of str
        The columns of numbers, in the order of their names.
    means, scales : ndarray of float64
        What is taken from a number and what it is then divided by; 0 and 1 where it stays as it is.
    """

    columns: list[str]
    kinds: list[str]
    names: list[str]
    means: NDArray[np.float64]
    scales: NDArray[np.float64]

    def __post_init__(self) -> None:
        """An encoding may come from a file, which can hold anything."""
        if len(self.columns) != len(self.kinds) or not set(self.kinds) <= set(get_args(Kind)):
            raise ValueError("the kinds of the columns of features do not belong to the columns")
        if len(set(self.names)) < len(self.names) or not all(
            each.shape == (len(self.names),) for each in (self.means, self.scales)
        ):
            raise ValueError("the names, means and scales of features do not belong together")
        if not (self.scales > 0).all():
            raise ValueError("the scales of features must be positive")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Encoding):
            return NotImplemented
        words = (self.columns, self.kinds, self.names) == (other.columns, other.kinds, other.names)
        return words and all(map(np.array_equal, (self.means, self.scales), (other.means, other.scales)))

    __hash__ = None  # type: ignore[assignment]

    @property
    def ignored(self) -> dict[str, str]:
        """The columns of which nothing is made, and why."""
        return {name: kind for name, kind in zip(self.columns, self.kinds, strict=True) if kind in _IGNORED}

    @classmethod
    def of(cls, table: Table, categories: Collection[str] = ()) -> "Encoding":
        """Chooses what to make of each column."""
        if absent := set(categories) - set(table):
            raise ValueError(f"categories must name columns among {shown_names(table)}; found {shown_names(absent)}")
        columns = sorted(table)
        found = {name: _kind(table[name], name in categories) for name in columns}
        numbers: dict[str, tuple[float, float]] = {}
        for name in columns:
            kind = found[name]
            if kind in ("number", "date"):
                values = np.array([value for cell in table[name] if (value := _number(cell, kind)) is not None])
                mean, scale = float(values.mean()), float(values.std())
                if not 0 < scale < math.inf:
                    found[name] = "constant"
                    continue
                numbers[name] = mean, scale
            elif kind == "flag":
                numbers[name] = 0.0, 1.0
            elif kind in ("category", "list"):
                numbers |= {f"{name}={part}": (0.0, 1.0) for cell in table[name] for part in _parts(cell, kind)}
        names = sorted(numbers)
        means, scales = (np.array([numbers[name][k] for name in names], dtype=np.float64) for k in (0, 1))
        return cls(columns, [found[name] for name in columns], names, means, scales)

    @classmethod
    def plain(cls, names: Sequence[str]) -> "Encoding":
        """Numbers that stay as they are, under names that are in order."""
        return cls(list(names), ["number"] * len(names), list(names), np.zeros(len(names)), np.ones(len(names)))

    def apply(self, table: Table, n_rows: int) -> scipy.sparse.csr_array:
        """The numbers before they are standardised; unknown cells, columns and values have no entry."""
        place = {name: k for k, name in enumerate(self.names)}
        rows: list[int] = []
        places: list[int] = []
        values: list[float] = []
        for name, kind in zip(self.columns, self.kinds, strict=True):
            if kind in _IGNORED or name not in table:
                continue
            for row, cell in enumerate(table[name]):
                if kind in ("category", "list"):
                    found = sorted({place[key] for part in _parts(cell, kind) if (key := f"{name}={part}") in place})
                    rows += [row] * len(found)
                    places += found
                    values += [1.0] * len(found)
                elif (value := _checked_number(cell, kind, name, row)) is not None:
                    rows.append(row)
                    places.append(place[name])
                    values.append(value)
        coordinates = np.array(rows, np.int64), np.array(places, np.int64)
        return scipy.sparse.csr_array((np.array(values, np.float64), coordinates), shape=(n_rows, len(place)))

    def standardise(self, raw: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        """Entries (value − mean) / scale in single precision."""
        data = ((raw.data - self.means[raw.indices]) / self.scales[raw.indices]).astype(np.float32)
        return scipy.sparse.csr_array((data, raw.indices, raw.indptr), shape=raw.shape)


_IGNORED = ("text", "constant")


def cells(values: Sequence[Any]) -> list[Cell]:
    """Values of any table as texts, numbers, lists of texts, or None where there is nothing."""
    return [_cell(value) for value in values]


def _cell(value: Any) -> Cell:
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        return None if text.lower() in _NOTHING else text
    if isinstance(value, list | tuple | set | np.ndarray):
        return [_category(part) for part in map(_cell, value) if isinstance(part, str | float)]
    if isinstance(value, datetime.date):  # a datetime, too; that of pandas may be "not a time"
        return None if value != value else value.isoformat()
    try:
        number = float(value)
    except (TypeError, ValueError):
        return _cell(str(value))
    return None if math.isnan(number) else number


def _kind(column: list[Cell], is_category: bool) -> Kind:
    filled = [cell for cell in column if cell is not None]
    if not filled:
        return "constant"
    as_list = any(isinstance(cell, list) or (isinstance(cell, str) and SEPARATOR in cell) for cell in filled)
    if not as_list and not is_category:
        numbers = [_number(cell, "number") for cell in filled]
        if None not in numbers:
            distinct = set(numbers)
            return "flag" if distinct == {0.0, 1.0} else "number" if len(distinct) > 1 else "constant"
        if all(_number(cell, "date") is not None for cell in filled):
            return "date"
    kind: Kind = "list" if as_list else "category"
    counts = Counter(part for cell in filled for part in _parts(cell, kind))
    few = min(_ALWAYS_FEW, counts.total() - (kind == "category"))
    if is_category or len(counts) <= max(counts.total() / 2, few):  # values come twice on average, or are few
        return kind if as_list or len(counts) > 1 or len(filled) < len(column) or is_category else "constant"
    return "text"


def _parts(cell: Cell, kind: str) -> list[str]:
    if cell is None:
        return []
    if isinstance(cell, list):
        return cell
    text = _category(cell)
    if kind == "category":
        return [text]
    return [part for each in text.split(SEPARATOR) if (part := each.strip()).lower() not in _NOTHING]


def _category(cell: str | float) -> str:
    """A category that is written as a number has one name, whether it is read from a text or from a table."""
    if isinstance(cell, str):
        return cell
    return str(int(cell)) if math.isfinite(cell) and cell == int(cell) else repr(cell)


def _number(cell: Cell, kind: str) -> float | None:
    if isinstance(cell, list):
        return None
    if kind == "date":
        return _days(cell) if isinstance(cell, str) else None
    try:
        number = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and abs(number) < 1e100 else None


def _days(text: str) -> float | None:
    """Days since the year 1, of 1995-11-22 with or without a time, or of 22-Nov-1995."""
    if found := _DATE.fullmatch(text):
        year, month, day = map(int, found.groups()[:3])
    elif found := _OLD_DATE.fullmatch(text):
        year, month, day = int(found[3]), _MONTHS.index(found[2]) // 4 + 1, int(found[1])
    else:
        return None
    try:
        return float(datetime.date(year, month, day).toordinal())
    except ValueError:
        return None


def _checked_number(cell: Cell, kind: str, name: str, row: int) -> float | None:
    if cell is None:
        return None
    number = _number(cell, kind)
    if number is None:
        what = "a date such as 1995-11-22" if kind == "date" else "a finite number"
        raise ValueError(f"{name} must be {what} as in the features it is read like, found {shown(cell)} at row {row}")
    return None if kind == "flag" and number == 0 else number
