"""rankfill compare: many models on one split, what they are good for, and at what price."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rankfill.cli.parameters import class_of
from rankfill.cli.shared import (
    Columns,
    Json,
    Threads,
    check_picture,
    console,
    described,
    parse_columns,
    plain_table,
    use_threads,
    without_nan,
)
from rankfill.cli.validation import LikedRule, RatingsFile, Repeats, Seed, parse_liked, warnings_as_notes
from rankfill.comparing import Comparison
from rankfill.comparing import compare as compare_models
from rankfill.data import read_ratings
from rankfill.data.duplicates import TIMED
from rankfill.data.splits import By


def compare(
    ratings: RatingsFile,
    models: Annotated[
        str | None, typer.Option("--models", metavar="NAMES", help="Which models, such as als,sgd; all that suit.")
    ] = None,
    seconds: Annotated[float, typer.Option(metavar="SECONDS", help="About how long it may take.")] = 120.0,
    test: Annotated[float, typer.Option(metavar="SHARE", help="The share of the ratings to test with.")] = 0.2,
    by: Annotated[By, typer.Option(help="Which ratings are tested: see rankfill split --help.")] = "user",
    liked: LikedRule = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw errors and lists as bars: .png, .pdf or .svg.")
    ] = None,
    columns: Columns = None,
    duplicates: Repeats = "error",
    as_json: Json = False,
    seed: Seed = 0,
    threads: Threads = None,
) -> None:
    """Compares all models that suit the ratings: errors, lists, times, sizes, and advice.

    Every model learns the same part of the ratings, with nothing set, and is measured on the rest. Those for which the
    time does not suffice are named. Ctrl-C ends the comparison with what has been measured.

    \b
    rankfill compare ratings.csv
    rankfill compare ratings.csv --seconds 600 --plot models.png
    rankfill compare ratings.csv --models als,sgd,bias --by last
    rankfill compare ratings.csv --json
    """
    use_threads(threads)
    asked = None if models is None else [class_of(name.strip())() for name in models.split(",")]
    if plot is not None:
        check_picture(plot)
    timed = duplicates in TIMED or by in ("time", "last")
    data = read_ratings(ratings, columns=parse_columns(columns), duplicates=duplicates, timestamps=timed)
    with warnings_as_notes(), console(stderr=True).status("comparing") as status:
        found = compare_models(
            data,
            asked,
            seconds=seconds,
            test=test,
            by=by,
            liked=parse_liked(liked),
            seed=seed,
            progress=status.update,
        )
    if plot is not None:
        found.plot(plot)
    if as_json:
        print(json.dumps(without_nan(_as_json(found)), indent=2))
        return
    screen = console()
    screen.print(described(ratings, data))
    screen.print(f"Learned from {found.n_train:,} of them, measured on {found.n_test:,}.\n")
    head, *rows = found.rows()
    table = plain_table(head[0], *(f"{name}#" for name in head[1:-1]), head[-1])
    for row in rows:
        table.add_row(*row, style="dim" if row[-1] else None)
    screen.print(table)
    screen.print()
    for line in found.advice():
        screen.print(line)


def _as_json(found: Comparison) -> dict[str, object]:
    return {
        "train": found.n_train,
        "test": found.n_test,
        "models": [asdict(each) for each in found.models],
        "advice": found.advice(),
    }
