"""rankfill beside its peers: one split, one rank, one number of threads, one run.

    python -m benchmarks compare ml-1m                      # everything that is installed
    python -m benchmarks compare ml-100k --repetitions 1    # a quick trial
    python -m benchmarks compare like-ml-10m --only rankfill_sgd libmf --no-tune

Writes table.txt, results.json and error_against_time.png. Every measurement has a fresh process; repetitions are
interleaved (A B C A B C …). Systems are tuned on the same share of the training ratings, see `harness.tuning`.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks.harness import datasets, tuning
from benchmarks.harness.child import in_child
from benchmarks.harness.picture import error_against_time
from benchmarks.harness.report import as_json, tables
from benchmarks.harness.results import Comparison, Measurement
from benchmarks.harness.tuning import TUNED, Choice, Run, Tuned
from benchmarks.rivals import RIVALS
from benchmarks.rivals.base import Plan, Settings, Task

PASSES_BEFORE_TOP_N = 4
OUTPUT = Path("build/benchmarks")
WIDTH = 170


@dataclass(frozen=True)
class Session:
    """What all steps of one comparison share."""

    arguments: argparse.Namespace
    about: datasets.About
    folder: Path
    plan: Plan
    run: Run
    console: Console


def compare(session: Session) -> Comparison:
    """Chooses settings, measures, gathers."""
    before = os.getloadavg()[0]
    only = session.arguments.only or [name for name, kind in RIVALS.items() if kind.unasked]
    skipped = {name: why for name in only if (why := RIVALS[name]().available())}
    measurements: list[Measurement] = []
    for rival in (name for name in RIVALS if name in only and name not in skipped):
        try:
            measurements += plan(rival, session)
        except tuning.TuningError as error:
            skipped[rival] = str(error)
    measure_in_turn(measurements, session)
    skipped |= {each.rival: each.failed for each in measurements if each.failed and each.shown}
    loads = before, os.getloadavg()[0]
    options = session.arguments
    return Comparison(session.about, session.plan, options.measure, options.repetitions, measurements, skipped, loads)


def plan(rival: str, session: Session) -> list[Measurement]:
    """The measurements of one system, with its settings chosen."""
    system = RIVALS[rival]()
    steps = []
    settings: Settings = system.settings
    for task in system.tasks:
        if task == "top_n":
            plan = replace(session.plan, passes=PASSES_BEFORE_TOP_N)
            steps.append(Measurement(rival, task, plan, settings))
            continue
        ladder = system.ladder(tuple(session.arguments.passes)) if task == "fit" else (1,)
        choice = chosen(rival, task, ladder, session)
        settings = {**system.settings, **choice.settings[choice.best]}
        for passes in ladder if session.arguments.curve else (choice.best,):
            plan = replace(session.plan, passes=passes)
            here = {**system.settings, **choice.settings[passes]}
            steps.append(Measurement(rival, task, plan, here, passes == choice.best, choice.tuned))
    return steps


def chosen(rival: str, task: Task, ladder: tuple[int, ...], session: Session) -> Choice:
    """From the file of tuned settings, by tuning, or the documented settings, as the options say."""
    options, key = session.arguments, RIVALS[rival].tuned_as or rival
    kept = Tuned(options.tuned, session.about, session.plan.rank, options.measure)
    known = None if options.tune else kept.get(key, ladder)
    if known is not None:
        return known
    if options.tune is False:
        return Choice.documented(ladder)
    session.console.print(f"  tuning {RIVALS[rival].name}")
    choice = tuning.choose(rival, session.folder, session.plan, ladder, task, options.measure, session.run)
    kept.put(key, choice)
    return choice


def measure_in_turn(measurements: Sequence[Measurement], session: Session) -> None:
    """A B C A B C …; what has failed once is not tried again."""
    repetitions = session.arguments.repetitions
    for repetition in range(1, repetitions + 1):
        for each in measurements:
            if each.failed:
                continue
            arguments = {"rival": each.rival, "folder": str(session.folder)}
            arguments |= {"plan": asdict(each.plan), "settings": each.settings}
            environment = RIVALS[each.rival]().environment(each.plan.threads)
            result = session.run(f"benchmarks.harness.measures:{each.task}", arguments, each.plan.threads, environment)
            if "failed" in result:
                each.failed, each.runs = str(result["failed"]), []
            else:
                each.runs.append(result)
            words = f"{each.name}, {each.task}, passes {each.plan.passes}"
            session.console.print(f"  {repetition}/{repetitions} {words} {each.failed}", highlight=False)


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("dataset", choices=list(datasets.SOURCES), help="real sets are found through RANKFILL_DATA")
    add("--scale-down", type=float, default=None, help="so many times fewer ratings, for synthetic sets")
    add("--only", nargs="+", choices=list(RIVALS), metavar="SYSTEM", help=f"some of: {', '.join(RIVALS)}")
    add("--rank", type=int, default=30)
    add("--threads", type=int, default=os.cpu_count(), help="for every system (default: all cores)")
    add("--passes", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32], help="the points of a curve")
    add("--curve", action=argparse.BooleanOptionalAction, default=True, help="measure all passes, or just the best")
    add("--repetitions", type=int, default=5)
    add("--seed", type=int, default=0, help="of the split and of the systems")
    add("--measure", choices=["rmse", "mae", "nmae"], default="rmse", help="the error tuned for and drawn")
    add(
        "--tune",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="anew, or not at all (kept settings, else documented ones); by default what has not been tuned yet",
    )
    add("--tuned", type=Path, default=TUNED, help="folder of the files of tuned settings")
    add("--limit", type=float, default=3600, help="seconds after which a child is given up")
    add("--output", type=Path, default=None, help=f"folder (default: {OUTPUT}/<data set>)")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None, run: Run | None = None) -> Comparison:
    """`run` measures; by default in a child process each time."""
    arguments = parse(words)
    console = Console(stderr=True)
    plan = Plan(arguments.rank, arguments.threads, max(arguments.passes), arguments.seed)
    with tempfile.TemporaryDirectory(prefix="rankfill-benchmarks-") as name:
        try:
            about = datasets.lay_down(arguments.dataset, Path(name), arguments.scale_down, arguments.seed)
        except (FileNotFoundError, ValueError) as error:
            raise SystemExit(str(error)) from None
        console.print(f"{about.label}: {about.n_ratings:,} ratings, {about.n_users:,} × {about.n_items:,}")
        run = run or partial(in_child, limit=arguments.limit, scratch=Path(name))
        found = compare(Session(arguments, about, Path(name), plan, run, console))
    output = arguments.output or OUTPUT / about.name
    output.mkdir(parents=True, exist_ok=True)
    with (output / "table.txt").open("w") as file:
        for target in (Console(width=None if sys.stdout.isatty() else WIDTH), Console(file=file, width=WIDTH)):
            tables(found, target)
    (output / "results.json").write_text(as_json(found))
    if found.curves():
        error_against_time(found, output / "error_against_time.png")
    console.print(f"Written to {output}")
    return found


if __name__ == "__main__":
    main()
