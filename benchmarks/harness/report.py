"""Tables for people and JSON for programs, of one comparison."""

import importlib.metadata
import json
import os
import platform
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.harness.child import plain
from benchmarks.harness.results import Comparison, Measurement
from benchmarks.harness.summary import in_words
from benchmarks.rivals import RIVALS
from benchmarks.rivals.base import Task
from rankfill.kernels import instruction_set

TITLES: dict[Task, str] = {
    "fit": "Rating prediction",
    "stream": "Online: one event after the other",
    "top_n": "Ten best items for every user, without those rated",
}
# Heading, quantity, factor, significant digits, whether the span is shown too.
COLUMNS: dict[Task, list[tuple[str, str, float, int, bool]]] = {
    "fit": [
        ("fit s", "fit_seconds", 1, 3, True),
        ("ns a rating and pass", "nanoseconds", 1, 3, False),
        ("peak MB", "peak_bytes", 1e-6, 3, False),
        ("RMSE", "rmse", 1, 4, False),
        ("MAE", "mae", 1, 4, False),
        ("nmae %", "nmae", 1, 4, False),
        ("prepare s", "prepare_seconds", 1, 2, False),
    ],
    "stream": [
        ("events/s", "events_per_second", 1, 3, True),
        ("peak MB", "peak_bytes", 1e-6, 3, False),
        ("RMSE", "rmse", 1, 4, False),
        ("MAE", "mae", 1, 4, False),
        ("nmae %", "nmae", 1, 4, False),
    ],
    "top_n": [("users/s", "users_per_second", 1, 3, True)],
}
RATIOS: dict[Task, tuple[str, str]] = {
    "fit": ("time ÷ PassiveAggressive's", "fit_seconds"),
    "stream": ("events/s ÷ PassiveAggressive's", "events_per_second"),
    "top_n": ("users/s ÷ PassiveAggressive's", "users_per_second"),
}
_PACKAGES = ("rankfill", "numpy", "scipy", "libmf", "cmfrec", "scikit-surprise", "implicit", "pyspark", "river", "myfm")


def tables(found: Comparison, console: Console) -> None:
    """One table per task, the settings, what was left out, and how quiet the machine was."""
    about, plan = found.about, found.plan
    console.print(f"[bold]{about.label}[/bold]" + (" [bold](synthetic)[/bold]" if about.synthetic else ""))
    console.print(
        f"{about.n_ratings:,} ratings, {about.n_users:,} users, {about.n_items:,} items; {about.test:.0%} of each "
        f"user's ratings test; rank {plan.rank}, {plan.threads} threads, {found.repetitions} interleaved repetitions: "
        "median (lowest–highest)",
        highlight=False,
    )
    for task in TITLES:
        if found.rows(task):
            console.print(_table(found, task))
    console.print(_settings(found))
    for rival, why in found.skipped.items():
        console.print(f"left out: {RIVALS[rival].name}: {why}", highlight=False)
    noisy = " [bold]The machine was not quiet: figures are noisy.[/bold]" if found.loads[0] > 0.5 else ""
    console.print(f"load average {found.loads[0]:.1f} → {found.loads[1]:.1f} on {os.cpu_count()} cores.{noisy}")


def _table(found: Comparison, task: Task) -> Table:
    table = Table(title=TITLES[task], title_justify="left", title_style="bold")
    table.add_column("system", no_wrap=True)
    if task == "fit":
        table.add_column("passes", justify="right")
    heading, quantity = RATIOS[task]
    for name in (*(column[0] for column in COLUMNS[task]), heading):
        table.add_column(name, justify="right")
    for row in sorted(found.rows(task), key=_by(task, found.measure)):
        spreads = row.spreads()
        cells = [row.name, str(row.plan.passes)] if task == "fit" else [row.name]
        for _, name, factor, digits, span in COLUMNS[task]:
            cells.append(in_words(spreads[name].scaled(factor), digits, span) if name in spreads else "–")
        ratio = found.ratio(row, quantity)
        cells.append("–" if ratio is None else in_words(ratio))
        table.add_row(*cells, style="bold" if row.rival.startswith("rankfill") else None)
    return table


def _by(task: Task, measure: str) -> Callable[[Measurement], float]:
    """Best first: the lowest error, or the highest speed."""
    if task == "fit":
        return lambda row: row.spreads()[measure].median
    return lambda row: -row.spreads()[RATIOS[task][1]].median


def _settings(found: Comparison) -> Table:
    table = Table(title="Settings", title_justify="left", title_style="bold")
    for name in ("system", "chosen", "settings", "remarks"):
        table.add_column(name)
    for row in (*found.rows("fit"), *found.rows("stream")):
        words = ", ".join(f"{name}={value}" for name, value in row.settings.items())
        remarks = [note for note in (RIVALS[row.rival].note,) if note]
        if row.tuned:
            remarks += [f"{name} at the edge of its grid" for name in RIVALS[row.rival](**row.settings).at_edges()]
        table.add_row(row.name, "on validation" if row.tuned else "documented", words, "; ".join(remarks))
    return table


def as_json(found: Comparison) -> str:
    """Everything: the machine, every run, and what the tables make of them."""
    entries = []
    for each in found.measurements:
        entry: dict[str, Any] = {**asdict(each), "name": each.name}
        entry["summary"] = {name: asdict(spread) for name, spread in each.spreads().items()}
        ratio = found.ratio(each, RATIOS[each.task][1]) if each.runs else None
        entry["ratio_to_rankfill"] = None if ratio is None else asdict(ratio)
        entries.append(entry)
    content = {
        "machine": machine(),
        "data": asdict(found.about),
        "plan": asdict(found.plan),
        "measure": found.measure,
        "repetitions": found.repetitions,
        "load": found.loads,
        "skipped": {RIVALS[rival].name: why for rival, why in found.skipped.items()},
        "entries": entries,
    }
    return json.dumps(plain(content), indent=1, ensure_ascii=False)


def machine() -> dict[str, Any]:
    """What ran here: processor, cores, versions."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return {
        "processor": model or platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "instruction_set": instruction_set(),
        "versions": {name: version for name in _PACKAGES if (version := _version(name))},
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
