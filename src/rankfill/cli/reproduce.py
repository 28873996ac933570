"""rankfill reproduce: the tables and figures of the papers."""

import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.status import Status

from rankfill.cli.shared import Threads, console, plain_table, use_threads
from rankfill.experiments.catalogue import experiments, run
from rankfill.experiments.frame import Asked
from rankfill.experiments.material import DATASETS
from rankfill.experiments.report import write


def reproduce(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", help="Which experiments; see --list.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Run all experiments.")] = False,
    show: Annotated[bool, typer.Option("--list", help="List the experiments and end.")] = False,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="The folder of the data sets, else RANKFILL_DATA.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="NAME", help=f"Which data set: {', '.join(DATASETS)}.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Little data and few repetitions: a few seconds, to see that all works.")
    ] = False,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where to leave a folder for each experiment.")
    ] = Path("results"),
    threads: Threads = None,
) -> None:
    """Repeats the tables and figures of the papers that the models come from.

    Each experiment leaves a folder: report.md with our figures beside the published ones, all numbers as CSV, and
    pictures laid out as in the paper. It runs on MovieLens 1M where that is found, else on made-up ratings of its
    shape; the first line of the report says which.

    \b
    rankfill reproduce --list
    rankfill reproduce nnpa-budget
    rankfill reproduce nnpa-budget --dataset ml-10m --data ~/datasets
    rankfill reproduce --all --quick
    """
    known = experiments()
    if show:
        table = plain_table()
        for name, title in known.items():
            table.add_row(name, title)
        console().print(table)
        return
    if every == bool(names):
        raise ValueError("name one or more experiments, or give --all; rankfill reproduce --list tells their names")
    use_threads(threads)
    chosen = list(known) if every else list(dict.fromkeys(names or []))
    for name in chosen:
        if name not in known:
            raise ValueError(f"there is no experiment {name!r}; rankfill reproduce --list tells their names")
    options = [f"--dataset {dataset}"] * (dataset is not None) + ["--quick"] * quick
    for name in chosen:
        began = time.perf_counter()
        with console(stderr=True).status(name) as status:
            result = run(name, Asked(data, dataset, quick, partial(_tell, status, name)))
        command = " ".join(["rankfill", "reproduce", name, *options])
        report = write(name, known[name], result, output / name, command, time.perf_counter() - began)
        screen = console()
        screen.print(f"{name}: {known[name]}\nData: {result.data}.\n")
        table = plain_table("", "paper", "ours", "remark")
        for line in result.lines:
            table.add_row(line.what, line.paper, line.ours, line.remark)
        screen.print(table)
        screen.print(f"\nWrote {report} with {len(result.records)} tables and {len(result.figures)} pictures.\n")


def _tell(status: Status, name: str, words: str) -> None:
    status.update(f"{name}: {words}")
