"""The output of an experiment: a folder with a report in Markdown, its tables as CSV and its pictures as PNG."""

import csv
import io
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rankfill import __version__
from rankfill.data.atomic import whole_file
from rankfill.experiments.frame import Line, Records, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BYTES = 100_000
FORMS = ((150, 128), (125, 32), (100, 32), (80, 32), (60, 16))
"""Dots an inch and colours of pictures, the first that is small enough."""


def write(name: str, title: str, result: Result, folder: Path, command: str, seconds: float) -> Path:
    """Writes everything into the folder, which is made where it is missing; returns the path of the report."""
    folder.mkdir(parents=True, exist_ok=True)
    for table, records in result.records.items():
        _write_csv(folder / f"{table}.csv", records)
    for picture, figure in result.figures.items():
        _write_picture(folder / f"{picture}.png", figure)
    report = folder / "report.md"
    with whole_file(report) as temporary:
        Path(temporary).write_text(markdown(name, title, result, command, seconds), encoding="utf-8")
    return report


def markdown(name: str, title: str, result: Result, command: str, seconds: float) -> str:
    """The report; its first line says what was measured on."""
    parts = [
        f"Data: {result.data}.",
        f"# {name}\n\n{title}",
        f"`{command}`, {datetime.now(UTC):%Y-%m-%d}, {seconds:.0f} s, {machine()}.",
        table_of(result.lines),
    ]
    parts += [result.notes.strip()] if result.notes else []
    parts += [f"![{picture}]({picture}.png)" for picture in result.figures]
    parts += ["All figures: " + ", ".join(f"[{table}.csv]({table}.csv)" for table in result.records) + "."]
    return "\n\n".join(parts) + "\n"


def table_of(lines: Sequence[Line]) -> str:
    """paper | ours | remark, as Markdown."""
    rows = [("", "paper", "ours", "remark"), ("---",) * 4]
    rows += [(line.what, line.paper, line.ours, line.remark) for line in lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def machine() -> str:
    """The processor, the cores in use and the versions that figures may depend on."""
    model = platform.processor() or platform.machine()
    try:
        names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    except OSError:  # not Linux
        pass
    python = platform.python_version()
    return f"{model}, {os.cpu_count()} cores, Python {python}, rankfill {__version__}"


def _write_picture(path: Path, figure: "Figure") -> None:
    """Saves a picture in few colours, and coarser where it would be larger than 100 kB, as photographs are."""
    from PIL import Image

    for dpi, colours in FORMS:
        drawn, small = io.BytesIO(), io.BytesIO()
        figure.savefig(drawn, format="png", dpi=dpi)
        with Image.open(drawn) as picture:
            picture.convert("RGB").quantize(colours, dither=Image.Dither.NONE).save(small, "png", optimize=True)
        if small.tell() <= MOST_BYTES:
            break
    with whole_file(path) as temporary:
        Path(temporary).write_bytes(small.getvalue())


def _write_csv(path: Path, records: Records) -> None:
    with whole_file(path) as temporary, Path(temporary).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(records[0]) if records else [])
        writer.writeheader()
        writer.writerows(records)
