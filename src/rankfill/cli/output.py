"""Tables of any length to a file, in chunks and in constant memory: whole or not at all.

DuckDB collects the chunks on disk beside the target and writes CSV or Parquet from there.
"""

import csv
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
from numpy.typing import NDArray

from rankfill.cli.shared import check_output
from rankfill.data.atomic import whole_file
from rankfill.data.tables import first_line, interruptible
from rankfill.kernels import get_threads
from rankfill.shown import printable

Columns = dict[str, NDArray[Any]]

FORMATS = {".csv": "FORMAT csv, HEADER", ".parquet": "FORMAT parquet, COMPRESSION zstd"}
_TYPES = {"i": "BIGINT", "f": "FLOAT", "O": "VARCHAR"}
_MEMORY = "200MB"


def check_table_output(path: Path) -> Path:
    """Says in words that a table cannot be written there, before any work is done."""
    if path.suffix not in FORMATS:
        raise ValueError(f"cannot tell the format of {path}; let its name end in {' or '.join(FORMATS)}")
    return check_output(path)


@contextmanager
def table_writer(path: Path) -> Iterator["TableWriter"]:
    """Writes to a file that is replaced when the context ends; after an error it is as it was before."""
    with whole_file(check_table_output(path)) as temporary:
        writer = TableWriter(path, temporary)
        try:
            yield writer
            writer.finish()
        finally:
            writer.close()


class TableWriter:
    """Takes chunks with the same columns: int64, float32, or objects that are str or None."""

    def __init__(self, path: Path, temporary: Path) -> None:
        self.path, self._temporary, self._has_table = path, temporary, False
        config = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "memory_limit": _MEMORY,
            "threads": get_threads(),
        }
        try:
            self._database = duckdb.connect(temporary.with_name("rows.duckdb"), config=config)
        except duckdb.Error as error:
            raise _system_error(error, path) from None

    def add(self, columns: Columns) -> None:
        with self._errors_in_words():
            if not self._has_table:
                types = ", ".join(f'"{name}" {_TYPES[column.dtype.kind]}' for name, column in columns.items())
                self._database.execute(f"CREATE TABLE rows ({types})")
                self._has_table = True
            self._database.register("chunk", columns)
            self._database.execute("INSERT INTO rows SELECT * FROM chunk")
            self._database.unregister("chunk")

    def finish(self) -> None:
        target = str(self._temporary).replace("'", "''")
        with self._errors_in_words():
            self._database.execute(f"COPY rows TO '{target}' ({FORMATS[self.path.suffix]})")

    def close(self) -> None:
        with suppress(duckdb.Error):  # nothing in the database is needed any more
            self._database.close()

    @contextmanager
    def _errors_in_words(self) -> Iterator[None]:
        try:
            with interruptible(self._database):
                yield
        except duckdb.Error as error:
            raise _system_error(error, self.path) from None


def _system_error(error: duckdb.Error, path: Path) -> OSError:
    """The message of the system, without what DuckDB says about its own files."""
    text = str(error)
    for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EIO):
        if os.strerror(code) in text:
            return OSError(code, os.strerror(code), str(path))
    return OSError(f"cannot write {path}: {first_line(error)}; choose another place")


def print_csv(columns: Columns) -> None:
    """The same table on stdout, numbers as short as they can be told apart; a terminal gets no escape sequences."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    to_terminal = sys.stdout.isatty()
    writer.writerows(zip(*(_texts(column, to_terminal) for column in columns.values()), strict=True))


def _texts(column: NDArray[Any], to_terminal: bool) -> Any:
    if column.dtype.kind == "f":
        return column.astype(str)
    return map(printable, column) if to_terminal and column.dtype.kind == "O" else column
