"""The ratios that rankfill's kernels are built for, each measured in one run and shown beside its target.

    python -m benchmarks kernels                        # synthetic ratings of the shape of MovieLens 10M, rank 32
    python -m benchmarks kernels --scale-down 20 --repetitions 2    # a quick trial

The two sides of a figure take turns in one process. A ratio is the median of those of the repetitions.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from benchmarks.harness import datasets
from benchmarks.harness.child import in_child, plain
from benchmarks.harness.report import machine
from benchmarks.harness.summary import Spread, in_words, paired_ratio
from benchmarks.harness.tuning import Run

OUTPUT = Path("build/benchmarks/kernels.json")


@dataclass(frozen=True)
class Figure:
    """A ratio and the bound it should keep. `over` says which side is divided by the other; 0 threads are all."""

    title: str
    call: str
    unit: str
    bound: Literal["≤", "≥"]
    target: float | None
    over: Literal["ours/theirs", "theirs/ours"] = "ours/theirs"
    threads: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    def value(self, result: dict[str, Any]) -> Spread:
        sides = result["ours"], result["theirs"]
        return paired_ratio(*(sides if self.over == "ours/theirs" else sides[::-1]))

    def met(self, value: Spread) -> bool | None:
        """Whether the median keeps the bound; None without a target."""
        if self.target is None:
            return None
        return value.median <= self.target if self.bound == "≤" else value.median >= self.target


# Freed memory goes back at once, so that what is resident is what is held.
_GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}

FIGURES = (
    Figure("alternation ÷ LIBMF epoch, 1 thread", "against_libmf", "ns a rating", "≤", 0.35, threads=1),
    Figure("alternation ÷ LIBMF epoch, 2 threads", "against_libmf", "ns a rating", "≤", 0.35, threads=2),
    Figure("alternation ÷ a row at a time, 1 thread", "against_plain", "ns a rating", "≤", 0.65, threads=1),
    Figure("alternation ÷ a row at a time, 2 threads", "against_plain", "ns a rating", "≤", 0.65, threads=2),
    Figure("speed-up from 1 thread to 2", "scaling", "ns a rating", "≥", 1.8, "theirs/ours", threads=2),
    Figure("top 10 for all users ÷ implicit", "against_implicit", "users/s", "≥", 2.5),
    Figure("partial_fit, one call of 100k events ÷ river", "against_river", "events/s", "≥", 30, threads=1),
    Figure(
        "partial_fit, calls of 100 events ÷ river",
        "against_river",
        "events/s",
        "≥",
        None,
        threads=1,
        options={"batch": 100},
    ),
    Figure(
        "memory at the peak of fit, ratings by user",
        "bytes_a_rating",
        "bytes per rating",
        "≤",
        20,
        environment=_GIVE_BACK,
    ),
    Figure(
        "memory at the peak of fit, order of arrival kept",
        "bytes_a_rating",
        "bytes per rating",
        "≤",
        None,
        options={"by_user": False},
        environment=_GIVE_BACK,
    ),
)


def measure(folder: Path, rank: int, repetitions: int, only: Sequence[str], run: Run, console: Console) -> list[Any]:
    """(figure, result) pairs; a result with "failed" says why there is none."""
    cores = os.cpu_count() or 1
    found = []
    for figure in FIGURES:
        if only and figure.call not in only:
            continue
        console.print(f"  {figure.title}", highlight=False)
        threads = figure.threads or cores
        if threads > cores:
            found.append((figure, {"failed": f"needs {threads} cores, there are {cores}"}))
            continue
        arguments = {"folder": str(folder), "rank": rank, "threads": threads, "repetitions": repetitions}
        result = run(
            f"benchmarks.experiments.kernel_figures:{figure.call}",
            {**arguments, **figure.options},
            threads,
            figure.environment,
        )
        found.append((figure, {**result, "load": os.getloadavg()[0]}))
    return found


def table(found: list[Any], about: datasets.About, rank: int, repetitions: int) -> Table:
    title = f"{about.label}, {about.n_users:,} × {about.n_items:,}, rank {rank}, {repetitions} repetitions"
    shown = Table(title=title, title_justify="left", title_style="bold")
    for name in ("figure", "rankfill", "other", "ratio", "target", "", "load", "remark"):
        shown.add_column(name, justify="right" if name in ("rankfill", "other", "ratio", "target", "load") else "left")
    for figure, result in found:
        target = "" if figure.target is None else f"{figure.bound} {figure.target:g}"
        if "failed" in result:
            shown.add_row(figure.title, "", "", "", target, "not measured", "", result["failed"])
            continue
        value = figure.value(result)
        other = "" if figure.call == "bytes_a_rating" else in_words(Spread.of(result["theirs"]))
        verdict = {True: "[green]met[/green]", False: "[bold red]missed[/bold red]", None: ""}[figure.met(value)]
        ours = f"{in_words(Spread.of(result['ours']))} {figure.unit}"
        load, remark = f"{result['load']:.1f}", result.get("remark", "")
        shown.add_row(figure.title, ours, other, in_words(value), target, verdict, load, remark)
    return shown


def as_json(found: list[Any], about: datasets.About, rank: int) -> str:
    figures = []
    for figure, result in found:
        entry = {"title": figure.title, "unit": figure.unit, "bound": figure.bound, "target": figure.target, **result}
        if "failed" not in result:
            value = figure.value(result)
            entry |= {"ratio": vars(value), "met": figure.met(value)}
        figures.append(entry)
    content = {"machine": machine(), "data": vars(about), "rank": rank, "figures": figures}
    return json.dumps(plain(content), indent=1, ensure_ascii=False)


def main(words: Sequence[str] | None = None, run: Run | None = None) -> list[Any]:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks kernels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    calls = list(dict.fromkeys(figure.call for figure in FIGURES))
    parser.add_argument("--dataset", choices=list(datasets.SOURCES), default="like-ml-10m")
    parser.add_argument("--scale-down", type=float, default=None, help="so many times fewer ratings (synthetic sets)")
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=calls, default=[], metavar="FIGURE", help=", ".join(calls))
    parser.add_argument("--limit", type=float, default=3600, help="seconds after which a child is given up")
    parser.add_argument("--output", type=Path, default=OUTPUT, help=f"file (default: {OUTPUT})")
    arguments = parser.parse_args(words)
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="rankfill-benchmarks-") as name:
        about = datasets.lay_down(arguments.dataset, Path(name), arguments.scale_down)
        run = run or partial(in_child, limit=arguments.limit, scratch=Path(name))
        found = measure(Path(name), arguments.rank, arguments.repetitions, arguments.only, run, console)
    Console(width=None if sys.stdout.isatty() else 170).print(
        table(found, about, arguments.rank, arguments.repetitions)
    )
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(as_json(found, about, arguments.rank))
    console.print(f"Written to {arguments.output}")
    return found


if __name__ == "__main__":
    main()
