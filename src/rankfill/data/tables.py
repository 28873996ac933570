"""A table in a file: Parquet, or text (perhaps gzipped) whose separator shows in its first lines.

DuckDB reads the columns; Python looks at single lines only, to find the layout and to say what is wrong where.
"""

import csv
import glob
import gzip
import io
import os
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import duckdb

from rankfill.kernels import get_threads

DELIMITERS = ("::", "\t", ";", "|", ",")
_SAMPLE_BYTES = 1 << 16
_SAMPLE_RECORDS = 200
_FORMATS = "text with , tab :: ; or | between the columns (plain or gzipped), or Parquet"

_INTEGER_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBER_TYPES = (*_INTEGER_TYPES, *("U" + kind for kind in _INTEGER_TYPES), "FLOAT", "DOUBLE", "DECIMAL")
_WHOLE = re.compile("0|-?[1-9][0-9]{0,18}")

Record = tuple[int, list[str]]


@dataclass(frozen=True)
class TextTable:
    """Lines of fields. `header` says whether the first record names the columns."""

    path: Path
    compressed: bool
    delimiter: str
    sample: tuple[Record, ...]
    header: bool = False

    @property
    def names(self) -> list[str]:
        """The fields of the first line, which are the names of the columns where there is a header."""
        return [field.strip() for field in self.sample[0][1]]

    def first_texts(self, position: int) -> list[str]:
        """The fields of a column in the first lines below the header."""
        return [fields[position] for _, fields in self.sample[self.header :] if position < len(fields)]

    def has_numbers(self, position: int) -> bool:
        """Whether the first lines show whole numbers in a column."""
        return whole_numbers(self.first_texts(position))

    def relation(self, *, strict: bool = True) -> str:
        """The table in SQL, every column as text under the names c0, c1, …"""
        columns = ", ".join(f"'c{k}': 'VARCHAR'" for k in range(len(self.names)))
        quote = '"' if len(self.delimiter) == 1 else ""
        return (
            f"read_csv({_literal(self.path)}, auto_detect=false, header=false, delim='{self.delimiter}', "
            f"quote='{quote}', escape='{quote}', columns={{{columns}}}, strict_mode={strict}, "
            f"skip={self.sample[0][0] if self.header else 0}, compression='{'gzip' if self.compressed else 'none'}')"
        )

    def column(self, position: int) -> str:
        return f"c{position}"

    def records(self) -> Iterator[Record]:
        """Line number and fields of every record, the header included; slow, for titles and complaints."""
        with _open_text(self.path, self.compressed) as lines:
            yield from split_lines(lines, self.delimiter)

    def describe(self, row: int, position: int) -> tuple[str, str]:
        """Where a row stands in the file, and the text of one of its fields."""
        line, fields = next(islice(self.records(), row + self.header, None))
        return f"line {line} of {self.path.name}", fields[position] if position < len(fields) else ""

    def complain_about_lines(self) -> None:
        """Raises a ValueError that names the first line that cannot be read, if there is one."""
        expected, line = len(self.names), 0
        try:
            for line, fields in self.records():
                if len(fields) != expected and not (len(fields) == expected + 1 and not fields[-1]):
                    raise ValueError(
                        f"line {line} of {self.path.name} has {_columns(len(fields))}, line {self.sample[0][0]} "
                        f"has {expected}; complete the line or drop it"
                    )
        except UnicodeDecodeError:
            raise ValueError(
                f"{self.path.name} is not UTF-8 after line {line}; convert it, for example: iconv -f latin1 -t utf-8"
            ) from None
        except csv.Error as error:
            raise ValueError(f"{self.path.name} after line {line}: {error}; is a quote left open there?") from None


@dataclass(frozen=True)
class ParquetTable:
    """The columns of a Parquet file with their types."""

    path: Path
    names: list[str]
    types: list[str]
    header: bool = True

    def has_numbers(self, position: int) -> bool:
        return self.types[position].startswith(_NUMBER_TYPES)

    def relation(self, *, strict: bool = True) -> str:
        return f"read_parquet({_literal(self.path)})"

    def column(self, position: int) -> str:
        return '"' + self.names[position].replace('"', '""') + '"'

    def describe(self, row: int, position: int) -> tuple[str, str]:
        query = f"SELECT {self.column(position)}::VARCHAR FROM {self.relation()} LIMIT 1 OFFSET {row}"
        with connection() as database:
            (value,) = database.execute(query).fetchone()
        return f"row {row + 1} of {self.path.name}", "" if value is None else value


Table = TextTable | ParquetTable


def open_table(path: str | Path) -> Table:
    """Looks at the beginning of a file and says what it is; an error in words when it is no table."""
    path = Path(path).expanduser()
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name the file in it that holds the table")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}; check the path (the current folder is {Path.cwd()})")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"PAR1":
        return _open_parquet(path)
    compressed = magic[:2] == b"\x1f\x8b"
    try:
        with _open_bytes(path, compressed) as file:
            head = file.read(_SAMPLE_BYTES)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise ValueError(f"{path.name} is a damaged gzip file; fetch or write it anew") from None
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise ValueError(f"{path.name} is empty; it needs one record a line, such as user,item,rating")
    if b"\0" in head or head[:4] == b"PK\3\4":
        raise ValueError(f"{path.name} is neither text nor Parquet; rankfill reads {_FORMATS}")
    if len(head) == _SAMPLE_BYTES and b"\n" in head:
        head = head[: head.rindex(b"\n")]
    text = head.decode("utf-8-sig", errors="replace")
    delimiter = _sniff(text, path.name)
    return TextTable(path, compressed, delimiter, _sample(text, delimiter))


def split_lines(lines: Iterable[str], delimiter: str) -> Iterator[Record]:
    """The number of the line a record begins on, and its fields; blank lines are left out."""
    if len(delimiter) > 1:
        for line, text in enumerate(lines, start=1):
            if text.strip("\r\n"):
                yield line, text.strip("\r\n").split(delimiter)
        return
    reader, line = csv.reader(lines, delimiter=delimiter), 1
    for fields in reader:
        if fields:
            yield line, fields
        line = reader.line_num + 1


def whole_text(table: TextTable) -> str:
    """Everything in a file, decoded from UTF-8 or else, as the older MovieLens sets need it, from Latin-1."""
    with _open_bytes(table.path, table.compressed) as file:
        content: bytes = file.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


@cache
def _database(process: int) -> Any:
    # Opening a database takes tens of milliseconds, so one serves the whole process; a forked process needs its own,
    # for threads do not survive a fork. It never goes to the network.
    quiet = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    spill = {"temp_directory": str(Path(tempfile.gettempdir()) / f"rankfill-{process}")}
    return duckdb.connect(":memory:", config={**quiet, **spill, "preserve_insertion_order": True})


def connection() -> Any:
    """A connection of its own, with its own temporary tables; close it after use."""
    cursor = _database(os.getpid()).cursor()
    cursor.execute(f"SET threads = {get_threads()}; SET TimeZone = 'UTC'")
    return cursor


def _open_parquet(path: Path) -> ParquetTable:
    try:
        with connection() as database:
            described = database.execute(f"DESCRIBE SELECT * FROM read_parquet({_literal(path)})").fetchall()
    except duckdb.Error as error:
        raise ValueError(f"{path.name} cannot be read as Parquet: {first_line(error)}; write it anew") from None
    return ParquetTable(path, [row[0] for row in described], [row[1] for row in described])


def _sniff(text: str, name: str) -> str:
    """The separator that cuts most lines into the same number of fields, and into more fields than the others."""
    best, chosen = (0.0, 1), ""
    for delimiter in DELIMITERS:
        counts = Counter(len(fields) for _, fields in _sample(text, delimiter))
        fields, lines = counts.most_common(1)[0]
        if fields > 1 and (lines / counts.total(), fields) > best:
            best, chosen = (lines / counts.total(), fields), delimiter
    if not chosen:
        raise ValueError(f"{name} has only one column as far as its first lines show; rankfill reads {_FORMATS}")
    return chosen


def _sample(text: str, delimiter: str) -> tuple[Record, ...]:
    try:
        return tuple(islice(split_lines(io.StringIO(text, newline=""), delimiter), _SAMPLE_RECORDS))
    except csv.Error:
        return ((1, [text]),)


def _open_bytes(path: Path, compressed: bool) -> Any:
    return gzip.open(path, "rb") if compressed else path.open("rb")


def _open_text(path: Path, compressed: bool) -> TextIO:
    return io.TextIOWrapper(_open_bytes(path, compressed), encoding="utf-8-sig", newline="")


def _literal(path: Path) -> str:
    # Without the escape DuckDB would read every file that matches the brackets or stars of a name.
    return "'" + glob.escape(str(path)).replace("'", "''") + "'"


def _columns(n: int) -> str:
    return f"{n} column{'s' if n != 1 else ''}"


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def whole_numbers(texts: Sequence[str]) -> bool:
    """Whether every text is a whole number as int() would print it, so that no id changes: "007" is none."""
    return all(_WHOLE.fullmatch(text) and -(2**63) <= int(text) < 2**63 for text in texts)
