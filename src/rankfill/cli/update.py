"""rankfill update: a model file that has learned from more ratings."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rankfill.cli.shared import (
    Columns,
    ModelFile,
    Threads,
    check_apart,
    check_output,
    console,
    described,
    parse_columns,
    read_model,
    tell_stray,
    use_threads,
)
from rankfill.cli.validation import warnings_as_notes
from rankfill.data import read_ratings
from rankfill.models import MODELS


def update(
    model: ModelFile,
    ratings: Annotated[Path, typer.Argument(metavar="RATINGS", help="More ratings, in the order in which to learn.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write the model; over the old one by default."),
    ] = None,
    columns: Columns = None,
    threads: Threads = None,
) -> None:
    """Goes on from what a model has learned, with more ratings.

    New users and items become known. Only models that learn on can do that; others have to be fitted again. Ratings
    with timestamps are learned in their order. Of a pair that comes more than once, the last rating counts.

    \b
    rankfill update m.rankfill more.csv
    rankfill update m.rankfill more.csv -o newer.rankfill
    """
    target = check_output(output or model)
    check_apart(target, ratings)
    use_threads(threads)
    fitted: Any = read_model(model)
    if not hasattr(fitted, "partial_fit"):
        can = ", ".join(name for name, cls in MODELS.items() if hasattr(cls, "partial_fit"))
        raise ValueError(
            f"{type(fitted).__name__} learns from all ratings at once and cannot go on; put the files together and "
            f"fit again: rankfill fit all.csv -o {model}. These models learn on: {can}"
        )
    more = read_ratings(ratings, parse_columns(columns), duplicates="last", users=fitted.users_, items=fitted.items_)
    screen = console()
    screen.print(described(ratings, more))
    tell_stray(more)
    sizes = len(fitted.users_), len(fitted.items_)
    with warnings_as_notes():
        fitted.partial_fit(more)
    fitted.save(target)
    new_users, new_items = len(fitted.users_) - sizes[0], len(fitted.items_) - sizes[1]
    screen.print(f"Learned from them, {new_users:,} users and {new_items:,} items being new; wrote {target}.")
