"""rankfill split: a file of ratings into one to learn from and one to test with."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from rankfill.cli.output import check_table_output, table_writer
from rankfill.cli.shared import Columns, check_apart, console, described, parse_columns
from rankfill.cli.validation import RatingsFile, Repeats
from rankfill.data import Ratings, read_ratings
from rankfill.data import split as split_ratings
from rankfill.data.splits import By

CHUNK = 1_000_000


def split(
    ratings: RatingsFile,
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="Where to write what to learn from: .csv, .parquet.")],
    test: Annotated[Path, typer.Argument(metavar="TEST", help="Where to write what is held out: .csv, .parquet.")],
    hold_out: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="How much to hold out: a share such as 0.2, or a whole number of ratings of each user (user, last), "
            "of ratings in all (entry, time), of users or of items.",
        ),
    ] = "0.2",
    by: Annotated[
        By,
        typer.Option(
            help="What to hold out. user: some of each user's ratings, at random. last: the latest of each user. "
            "entry: any, at random. time: the latest of all. cold-users, cold-items: all of some users or items."
        ),
    ] = "user",
    seed: Annotated[int, typer.Option(help="Seed of all that is random.")] = 0,
    columns: Columns = None,
    duplicates: Repeats = "error",
) -> None:
    """Splits a file of ratings into one to learn from and one to test with.

    Writes user, item, rating and, where the file has them, timestamps in seconds.

    \b
    rankfill split ratings.csv train.csv test.csv
    rankfill split ratings.csv train.csv test.csv --by last --hold-out 5
    rankfill split ratings.csv train.parquet test.parquet --by cold-users --hold-out 0.1
    """
    size = _parse_size(hold_out)
    for output in (train, test):
        check_table_output(output)
        check_apart(output, ratings)
    if train.resolve() == test.resolve():
        raise ValueError(f"both parts would be written to {train}; name two files")
    known = read_ratings(ratings, columns=parse_columns(columns), duplicates=duplicates)
    console().print(described(ratings, known))
    parts = dict(zip((train, test), split_ratings(known, size, by, seed), strict=True))
    for path, part in parts.items():
        _write(path, part)
        console().print(f"Wrote {len(part):,} ratings by {np.count_nonzero(part.by_user.counts()):,} users to {path}.")


def _parse_size(text: str) -> float:
    try:
        return int(text) if text.strip().isdigit() else float(text)
    except ValueError:
        raise ValueError(f"--hold-out must be a share such as 0.2 or a whole number, found {text!r}") from None


def _write(path: Path, part: Ratings) -> None:
    rows = part.user_indices
    with table_writer(path) as writer:
        for first in range(0, len(part), CHUNK):
            some = slice(first, first + CHUNK)
            columns = {
                "user": part.users.ids(rows[some]),
                "item": part.items.ids(part.item_indices[some]),
                "rating": part.values[some],
            }
            if part.timestamps is not None:
                columns["timestamp"] = part.timestamps[some]
            writer.add(columns)
