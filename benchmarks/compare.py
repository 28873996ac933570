"""rankfill beside its peers: one split, one rank, one number of threads, one run.

    python -m benchmarks.compare ml-1m                      # everything that is installed
    python -m benchmarks.compare ml-100k --repetitions 1    # a quick trial
    python -m benchmarks.compare like-ml-10m --only rankfill_passive_aggressive libmf --no-tune

Writes table.txt, results.json and error_against_time.png. Every measurement has a fresh process; repetitions are
interleaved (A B C A B C …). Systems are tuned on the same share of the training ratings, see `benchmarks.tuning`.
"""

import argparse
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import datasets, tuning
from benchmarks.child import Result, in_child
from benchmarks.picture import error_against_time
from benchmarks.report import as_json, tables
from benchmarks.rivals import RIVALS
from benchmarks.rivals.base import Plan, Settings, Task
from benchmarks.tuning import TUNED, Choice, Run, Tuned

PASSES_BEFORE_TOP_N = 4
OUTPUT = Path("build/benchmarks")


@dataclass
class Measurement:
    """One system at one task and number of passes; a result a repetition."""

    rival: str
    task: Task
    plan: Plan
    settings: Settings
    shown: bool
    tuned: bool
    runs: list[Result] = field(default_factory=list)
    failed: str = ""

    @property
    def name(self) -> str:
        return RIVALS[self.rival].name


@dataclass
class Comparison:
    """Everything one run found out."""

    about: datasets.About
    measure: str
    repetitions: int
    measurements: list[Measurement]
    skipped: dict[str, str]
    loads: list[float]

    def of(self, task: Task, shown: bool = True) -> list[Measurement]:
        """Those with results; `shown` are the rows of the tables, the others lie on the curves alone."""
        return [each for each in self.measurements if each.task == task and each.runs and each.shown >= shown]


def compare(arguments: argparse.Namespace, folder: Path, run: Run, console: Console) -> Comparison:
    """Lays down the data, chooses settings, measures."""
    about = datasets.lay_down(arguments.dataset, folder, arguments.scale_down, arguments.seed)
    console.print(f"{about.label}: {about.n_ratings:,} ratings, {about.n_users:,} × {about.n_items:,}")
    loads = [os.getloadavg()[0]]
    wanted = [name for name in RIVALS if not arguments.only or name in arguments.only]
    skipped = {name: why for name in wanted if (why := RIVALS[name]().available())}
    measurements = []
    for rival in (name for name in wanted if name not in skipped):
        found = _planned(rival, arguments, about, folder, run, console)
        if isinstance(found, str):
            skipped[rival] = found
        else:
            measurements += found
    measure_in_turn(measurements, folder, arguments.repetitions, run, console)
    skipped |= {each.rival: each.failed for each in measurements if each.failed and each.shown}
    loads.append(os.getloadavg()[0])
    return Comparison(about, arguments.measure, arguments.repetitions, measurements, skipped, loads)


def _planned(
    rival: str, arguments: argparse.Namespace, about: datasets.About, folder: Path, run: Run, console: Console
) -> list[Measurement] | str:
    """The measurements of one system, with its settings chosen."""
    system = RIVALS[rival]()
    planned = []
    plan = Plan(arguments.rank, arguments.threads, 1, arguments.seed)
    settings: Settings = {}
    for task in ("fit", "stream"):
        if task not in system.tasks:
            continue
        ladder = system.ladder(tuple(arguments.passes)) if task == "fit" else (1,)
        choice = _chosen(rival, task, plan, ladder, arguments, about, folder, run, console)
        if isinstance(choice, str):
            return choice
        settings = {**system.settings, **choice.settings[choice.best]}
        for passes in ladder if arguments.curve else (choice.best,):
            here = {**system.settings, **choice.settings[passes]}
            step = Plan(plan.rank, plan.threads, passes, plan.seed)
            planned.append(Measurement(rival, task, step, here, passes == choice.best, choice.tuned))
    if "top_n" in system.tasks:
        step = Plan(plan.rank, plan.threads, PASSES_BEFORE_TOP_N, plan.seed)
        planned.append(Measurement(rival, "top_n", step, settings, True, False))
    return planned


def _chosen(
    rival: str,
    task: Task,
    plan: Plan,
    ladder: tuple[int, ...],
    arguments: argparse.Namespace,
    about: datasets.About,
    folder: Path,
    run: Run,
    console: Console,
) -> Choice | str:
    """From the file of tuned settings, by tuning, or the documented settings, as the options say."""
    kept = Tuned(arguments.tuned, about, plan.rank, arguments.measure)
    known = None if arguments.tune else kept.get(rival, ladder)
    if known is not None:
        return known
    if arguments.tune is False:
        return Choice.documented(rival, ladder)
    console.print(f"  tuning {RIVALS[rival].name}")
    choice = tuning.choose(rival, folder, plan, ladder, task, arguments.measure, run)
    if isinstance(choice, Choice):
        kept.put(rival, choice)
    return choice


def measure_in_turn(
    measurements: Sequence[Measurement], folder: Path, repetitions: int, run: Run, console: Console
) -> None:
    """A B C A B C …; what has failed once is not tried again."""
    for repetition in range(repetitions):
        for each in measurements:
            if each.failed:
                continue
            arguments: dict[str, Any] = {
                "rival": each.rival,
                "folder": str(folder),
                "plan": asdict(each.plan),
                "settings": each.settings,
            }
            environment = RIVALS[each.rival]().environment(each.plan.threads)
            result = run(f"benchmarks.measures:{each.task}", arguments, each.plan.threads, environment)
            if "failed" in result:
                each.failed, each.runs = str(result["failed"]), []
            else:
                each.runs.append(result)
            console.print(f"  {repetition + 1}/{repetitions} {each.name}, {each.task}, {each.plan.passes} passes")


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", choices=list(datasets.SOURCES), help="real sets are found through RANKFILL_DATA")
    parser.add_argument("--scale-down", type=float, default=None, help="so many times fewer ratings (synthetic sets)")
    parser.add_argument("--only", nargs="+", choices=list(RIVALS), metavar="SYSTEM", help=", ".join(RIVALS))
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--passes", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32], help="the points of a curve")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0, help="of the split and of the systems")
    parser.add_argument("--measure", choices=["rmse", "mae", "nmae"], default="rmse", help="what is tuned for and drawn")
    parser.add_argument(
        "--tune",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="anew, or not at all (kept or documented settings); default: what has not been tuned yet",
    )
    parser.add_argument("--tuned", type=Path, default=TUNED, help="folder of the files of tuned settings")
    parser.add_argument("--curve", action=argparse.BooleanOptionalAction, default=True, help="measure all passes")
    parser.add_argument("--limit", type=float, default=3600, help="seconds after which a child is given up")
    parser.add_argument("--output", type=Path, default=None, help=f"folder (default: {OUTPUT}/<data set>)")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None, run: Run | None = None) -> Comparison:
    arguments = parse(words)
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="rankfill-benchmarks-") as folder:
        found = compare(arguments, Path(folder), run or partial(in_child, limit=arguments.limit), console)
    output = arguments.output or OUTPUT / found.about.name
    output.mkdir(parents=True, exist_ok=True)
    with (output / "table.txt").open("w") as file:
        for target in (Console(), Console(file=file, width=170)):
            tables(found, target)
    (output / "results.json").write_text(as_json(found))
    if found.of("fit", shown=False):
        error_against_time(found, output / "error_against_time.png")
    console.print(f"Written to {output}")
    return found


if __name__ == "__main__":
    main()
