"""A table in a file: Parquet, or text (perhaps gzipped) whose separator shows in its first lines.

DuckDB reads the columns; Python looks at single lines only, to find the layout and to say what is wrong where.
"""

import codecs
import csv
import glob
import io
import os
import re
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import duckdb

from rankfill.data.sources import Source, checked_text, open_source
from rankfill.kernels import get_threads
from rankfill.shown import printable, shorten

DELIMITERS = ("::", "\t", ";", "|", ",")
_SAMPLE_BYTES = 1 << 16
_SAMPLE_RECORDS = 200
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_FORMATS = "text with , tab :: ; or | between the columns (plain or gzipped), or Parquet"

_INTEGER_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBER_TYPES = (*_INTEGER_TYPES, *("U" + kind for kind in _INTEGER_TYPES), "FLOAT", "DOUBLE", "DECIMAL")
_WHOLE = re.compile("0|-?[1-9][0-9]{0,18}")

Record = tuple[int, list[str]]


@dataclass(frozen=True)
class TextTable:
    """Lines of fields. `header` says whether the first record names the columns."""

    source: Source
    delimiter: str
    sample: tuple[Record, ...]
    header: bool = False

    @property
    def name(self) -> str:
        return self.source.name

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
        compression = "gzip" if self.source.compressed else "none"
        return (
            f"read_csv({file_in_sql(self.source.path)}, auto_detect=false, header=false, delim='{self.delimiter}', "
            f"quote='{quote}', escape='{quote}', columns={{{columns}}}, strict_mode={strict}, "
            f"skip={self.sample[0][0] if self.header else 0}, compression='{compression}')"
        )

    def column(self, position: int) -> str:
        return f"c{position}"

    def records(self) -> Iterator[Record]:
        """Line number and fields of every record, the header included; slow, for titles and complaints."""
        with io.TextIOWrapper(self.source.open(), encoding="utf-8-sig", newline="") as lines:
            yield from split_lines(lines, self.delimiter, strict=True)

    def describe(self, row: int, position: int) -> tuple[str, str]:
        """The place of a row in the file, and the text of one of its fields."""
        line, fields = next(islice(self.records(), row + self.header, None))
        return f"line {line} of {self.name}", fields[position] if position < len(fields) else ""

    def complain_about_lines(self) -> None:
        """Raises a ValueError that names the first line that cannot be read, if there is one."""
        expected, line = len(self.names), 0
        try:
            for line, fields in self.records():
                if len(fields) != expected and not (len(fields) == expected + 1 and not fields[-1]):
                    raise ValueError(
                        f"line {line} of {self.name} has {_columns(len(fields))}, line {self.sample[0][0]} "
                        f"has {expected}; complete the line or drop it"
                    )
        except csv.Error as error:
            raise ValueError(f"{self.name} after line {line}: {error}; is a quote left open there?") from None


@dataclass(frozen=True)
class ParquetTable:
    """The columns of a Parquet file with their types."""

    source: Source
    names: list[str]
    types: list[str]
    header: bool = True
    more: tuple[Source, ...] = ()
    """Further files with the same columns."""

    @property
    def name(self) -> str:
        return self.source.name

    def has_numbers(self, position: int) -> bool:
        return self.types[position].startswith(_NUMBER_TYPES)

    def relation(self, *, strict: bool = True) -> str:
        paths = ", ".join(file_in_sql(each.path) for each in (self.source, *self.more))
        return f"read_parquet([{paths}])"

    def column(self, position: int) -> str:
        return '"' + self.names[position].replace('"', '""') + '"'

    def describe(self, row: int, position: int) -> tuple[str, str]:
        query = f"SELECT {self.column(position)}::VARCHAR FROM {self.relation()} LIMIT 1 OFFSET {row}"
        try:
            with connection() as database:
                (value,) = database.execute(query).fetchone()
        except duckdb.Error:  # a damaged file: what could be read before need not be readable now
            value = None
        return f"row {row + 1} of {self.name}", "" if value is None else value


Table = TextTable | ParquetTable


def open_table(path: str | Path, *, any_encoding: bool = False) -> Table:
    """Looks at a file and says what it is; an error in words when it is no table.

    A text must be UTF-8 unless `any_encoding` lets others pass.
    """
    source = open_source(path)
    head = source.read(_SAMPLE_BYTES)
    if head[:4] == b"PAR1":
        return _open_parquet(source)
    if head[:2] in _UTF_16:
        raise ValueError(f"{source.name} is UTF-16; convert it, for example: iconv -f utf-16 -t utf-8")
    if b"\0" in head or head[:4] == b"PK\3\4":
        raise ValueError(f"{source.name} is neither text nor Parquet; rankfill reads {_FORMATS}")
    source = checked_text(source, any_encoding=any_encoding)
    head = source.read(_SAMPLE_BYTES)
    whole_lines = head[: head.rindex(b"\n")] if len(head) == _SAMPLE_BYTES and b"\n" in head else head
    text = whole_lines.decode("utf-8-sig", errors="replace")
    if not text.strip():
        fault = "is empty" if len(head) < _SAMPLE_BYTES else "begins with nothing but blank lines"
        raise ValueError(f"{source.name} {fault}; it needs one record per line, such as user,item,rating")
    delimiter = _sniff(text, source.name)
    return TextTable(source, delimiter, _sample(text, delimiter))


def split_lines(lines: Iterable[str], delimiter: str, *, strict: bool = False) -> Iterator[Record]:
    """The number of the line a record begins on, and its fields; blank lines are left out.

    With `strict`, a quote that is left open or closed within a field is a `csv.Error`.
    """
    if len(delimiter) > 1:
        for line, text in enumerate(lines, start=1):
            if text.strip("\r\n"):
                yield line, text.strip("\r\n").split(delimiter)
        return
    reader, line = csv.reader(lines, delimiter=delimiter, strict=strict), 1
    for fields in reader:
        if fields:
            yield line, fields
        line = reader.line_num + 1


def whole_text(table: TextTable) -> str:
    """Everything in a file, decoded from UTF-8 or else, as the older MovieLens sets need it, from Latin-1."""
    content = table.source.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


@cache
def _database(process: int) -> Any:
    # Opening a database takes tens of milliseconds, so one serves the whole process; a forked process needs its own,
    # for threads do not survive a fork. It never goes to the network.
    quiet = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    spill = {"temp_directory": str(Path(_private_folder().name) / str(process))}
    return duckdb.connect(":memory:", config={**quiet, **spill, "preserve_insertion_order": True})


@cache
def _private_folder() -> tempfile.TemporaryDirectory[str]:
    """The folder where DuckDB spills: of an unguessable name, closed to others, removed with the process."""
    return tempfile.TemporaryDirectory(prefix="rankfill-")


@contextmanager
def connection() -> Iterator[Any]:
    """A connection of its own, with its own temporary tables."""
    with _database(os.getpid()).cursor() as cursor, interruptible(cursor):
        try:
            cursor.execute(f"SET threads = {get_threads()}; SET TimeZone = 'UTC'")
            yield cursor
        except (duckdb.FatalException, duckdb.InternalException):  # of a damaged file
            _database.cache_clear()  # this one refuses all other files from here on
            raise


@contextmanager
def interruptible(database: Any) -> Iterator[None]:
    """Ctrl-C in a query is a KeyboardInterrupt, as everywhere else, and stops all its threads.

    DuckDB has other words for it, and by itself waits until its other threads have come to the end of the query.
    """
    handle = signal.getsignal(signal.SIGINT)
    mine = callable(handle) and threading.current_thread() is threading.main_thread()

    def stop(number: int, frame: FrameType | None) -> None:
        database.interrupt()
        if callable(handle):
            handle(number, frame)

    if mine:
        signal.signal(signal.SIGINT, stop)
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise
    finally:
        if mine:
            signal.signal(signal.SIGINT, handle)


def _open_parquet(source: Source) -> ParquetTable:
    if source.compressed:
        raise ValueError(f"{source.name} is Parquet packed by gzip; unpack it first: gunzip")
    try:
        with connection() as database:
            described = database.execute(f"DESCRIBE SELECT * FROM read_parquet({file_in_sql(source.path)})").fetchall()
    except duckdb.Error as error:
        raise ValueError(f"{source.name} cannot be read as Parquet: {first_line(error)}; write it anew") from None
    return ParquetTable(source, [row[0] for row in described], [row[1] for row in described])


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


def file_in_sql(path: Path) -> str:
    """A path as DuckDB reads it."""
    # Without the escape DuckDB would read every file that matches the brackets or stars of a name.
    return "'" + glob.escape(str(path)).replace("'", "''") + "'"


def _columns(n: int) -> str:
    return f"{n} column{'s' if n != 1 else ''}"


def first_line(error: Exception) -> str:
    """The message of DuckDB, without its advice; it may quote anything from a damaged file."""
    return shorten(printable(str(error).partition("\n")[0]), 200)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def whole_numbers(texts: Sequence[str]) -> bool:
    """Whether every text is a whole number as int() would print it, so that no id changes: "007" is none."""
    return all(_WHOLE.fullmatch(text) and -(2**63) <= int(text) < 2**63 for text in texts)
