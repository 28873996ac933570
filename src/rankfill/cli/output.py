"""Tables of any length to a file, in chunks and in constant memory: whole or not at all.

DuckDB collects the chunks on disk beside the target, writes CSV or Parquet from there, and the result is renamed.
"""

import csv
import os
import shutil
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
from numpy.typing import NDArray

from rankfill.cli.shared import check_output
from rankfill.kernels import get_threads

Columns = dict[str, NDArray[Any]]

FORMATS = {".csv": "FORMAT csv, HEADER", ".parquet": "FORMAT parquet, COMPRESSION zstd"}
_TYPES = {"i": "BIGINT", "f": "FLOAT", "O": "VARCHAR"}
_MEMORY = "200MB"


def check_table_output(path: Path) -> Path:
    """Says in words that a table cannot be written there, before any work is done."""
    if path.suffix not in FORMATS:
        raise ValueError(f"cannot tell the format of {path}; let its name end in {' or '.join(FORMATS)}")
    return check_output(path)


class TableWriter:
    """A context; every chunk added has the same columns: int64, float32, or objects that are str or None."""

    def __init__(self, path: Path) -> None:
        self.path = check_table_output(path)

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix=f".{self.path.name}.", dir=self.path.parent))
        self._table = ""
        self._database = duckdb.connect(
            self._folder / "rows.duckdb",
            config={
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "memory_limit": _MEMORY,
                "threads": get_threads(),
            },
        )
        return self

    def add(self, columns: Columns) -> None:
        if not self._table:
            self._table = ", ".join(f'"{name}" {_TYPES[column.dtype.kind]}' for name, column in columns.items())
            self._run(f"CREATE TABLE rows ({self._table})")
        self._database.register("chunk", columns)
        self._run("INSERT INTO rows SELECT * FROM chunk")
        self._database.unregister("chunk")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            self._database.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _finish(self) -> None:
        written = self._folder / "written"
        target = str(written).replace("'", "''")
        self._run(f"COPY rows TO '{target}' ({FORMATS[self.path.suffix]})")
        with written.open("rb") as file:
            os.fsync(file.fileno())
        written.chmod(0o644)
        written.replace(self.path)

    def _run(self, statement: str) -> None:
        try:
            self._database.execute(statement)
        except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
            reason = str(error).partition("\n")[0]
            raise OSError(f"cannot write {self.path}: {reason}; free some space or choose another place") from None


def print_csv(columns: Columns) -> None:
    """The same table on stdout, numbers as short as they can be told apart."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    texts = (column.astype(str) if column.dtype.kind == "f" else column for column in columns.values())
    writer.writerows(zip(*texts, strict=True))
