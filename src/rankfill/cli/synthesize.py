"""rankfill synthesize: made-up ratings of the shape of a well-known set, written as they are made."""

from pathlib import Path
from typing import Annotated

import typer

from rankfill.cli.output import check_table_output, table_writer
from rankfill.cli.shared import console
from rankfill.data.synthetic import SHAPES, pieces_like


def synthesize(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write: .csv, .parquet.")],
    like: Annotated[str, typer.Option(metavar="NAME", help=f"The set to imitate: {', '.join(SHAPES)}.")],
    scale_down: Annotated[float, typer.Option(metavar="TIMES", help="How many times fewer ratings to make.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
) -> None:
    """Makes up ratings of the shape of a well-known set, of any size, with little memory.

    \b
    rankfill synthesize --like yahoo-music -o ratings.parquet
    rankfill synthesize --like netflix --scale-down 100 -o ratings.csv
    """
    check_table_output(output)
    n = 0
    with table_writer(output) as writer:
        for users, items, values in pieces_like(like, scale_down, seed):
            writer.add({"user": users, "item": items, "rating": values})
            n += len(values)
    console().print(f"Wrote {n:,} ratings to {output}.")
