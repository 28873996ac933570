"""rankfill convert: files of ratings of any size into a store on disk."""

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from rankfill.cli.shared import Columns, Threads, console, described, parse_columns, use_threads
from rankfill.cli.validation import Repeats
from rankfill.data import convert as convert_files
from rankfill.data.store.faults import OnError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def convert(
    ratings: Annotated[
        Path, typer.Argument(metavar="RATINGS", help="A file of ratings, or a folder of Parquet files.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="The store to write.")],
    memory: Annotated[str, typer.Option(metavar="SIZE", help="How much memory to take: 500MB, 4GB.")] = "1GB",
    columns: Columns = None,
    duplicates: Repeats = "error",
    timestamps: Annotated[bool, typer.Option(help="Keep the timestamps where there are any.")] = True,
    on_error: Annotated[
        OnError,
        typer.Option(help="What a line that cannot be read does: end it with an error, or be left out."),
    ] = "stop",
    rejects: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write the lines that are left out, as CSV.")
    ] = None,
    threads: Threads = None,
) -> None:
    """Turns files of ratings of any size into a store on disk, which may be larger than memory.

    Whatever reads ratings takes the store in place of a file.

    \b
    rankfill convert ratings.csv.gz -o ratings.store
    rankfill convert parts/ -o ratings.store --memory 4GB
    rankfill convert ratings.csv -o ratings.store --on-error skip --rejects rejected.csv
    rankfill fit ratings.store -o m.rankfill --model als
    """
    use_threads(threads)
    if rejects is not None and on_error == "stop":
        raise ValueError("--rejects needs lines that are left out; give --on-error skip, too")
    with _Bar() as bar:
        store = convert_files(
            ratings,
            output,
            columns=parse_columns(columns),
            duplicates=duplicates,
            timestamps=timestamps,
            memory=parse_size(memory),
            on_error=on_error,
            rejects=rejects,
            progress=bar.show,
        )
    screen = console()
    screen.print(described(output, store))
    if on_error == "skip":
        where = f"; they are in {rejects}" if rejects is not None and store.n_left_out else ""
        screen.print(f"Left out {store.n_left_out:,} lines that cannot be read{where}.")
    size = store.size_on_disk
    screen.print(f"Wrote {output} ({decimal(size)}, {size / max(len(store), 1):.1f} bytes a rating).")


def parse_size(text: str) -> int:
    """1GB, 500 MB, 2g: a number of bytes."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmg]?)(?:i?b)?\s*", text.lower())
    if found is None:
        raise ValueError(f"--memory must be a size such as 500MB or 4GB, found {text!r}")
    return int(float(found[1]) * _UNITS[found[2]])


class _Bar:
    """Shows the current step and its progress on stderr; silent where that is no terminal."""

    def __init__(self) -> None:
        screen = console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TimeElapsedColumn(),
            console=screen,
            disable=not screen.is_terminal,
            transient=True,
        )
        self._task = self._progress.add_task("reading", total=None)

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, stage: str, done: int, total: int) -> None:
        self._progress.update(self._task, description=stage, completed=done, total=total if total > 1 else None)
