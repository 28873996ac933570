"""rankfill path: a trace-norm model for one penalty after another, to see which is best."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rankfill.cli.model_options import with_model_parameters
from rankfill.cli.parameters import make_model
from rankfill.cli.shared import Columns, Threads, check_files, console, parse_columns, use_threads
from rankfill.cli.validation import LikedRule, MeasureName, parse_liked
from rankfill.data import read_ratings, split
from rankfill.evaluation import path as find_path
from rankfill.models import MODELS
from rankfill.models.convex.model import PenalisedModel

PATH_MODELS = [name for name, cls in MODELS.items() if issubclass(cls, PenalisedModel)]


@with_model_parameters
def path(
    ratings: Annotated[
        Path,
        typer.Argument(metavar="RATINGS", help="One rating per line: .csv, .tsv, .dat (::), gzipped, or .parquet."),
    ],
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="NAME", help=f"Which model: {', '.join(PATH_MODELS)}.")
    ] = "soft-impute",
    validation: Annotated[
        float, typer.Option("--validation", metavar="SHARE", help="The share of each user's ratings to hold out.")
    ] = 0.2,
    penalties: Annotated[
        str | None,
        typer.Option("--penalties", metavar="NUMBERS", help="With commas between; by default from the data, falling."),
    ] = None,
    measure: MeasureName = None,
    liked: LikedRule = "above-mean",
    steps: Annotated[int, typer.Option("--steps", metavar="N", help="How many penalties, if they are not given.")] = 20,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the best model to this file.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw error and rank: .png, .pdf or .svg.")
    ] = None,
    columns: Columns = None,
    seed: Annotated[int, typer.Option(help="Seed of all randomness: the split and the start of the model.")] = 0,
    threads: Threads = None,
    **parameters: Any,
) -> None:
    """Fits a convex model for one penalty after another, and shows which is best.

    Shows rank, errors and how near each solution is to the best possible, which is proved.

    \b
    rankfill path ratings.csv
    rankfill path ratings.csv --model soft-impute --offset mean --plot path.png
    rankfill path ratings.csv --measure ndcg@10
    rankfill path ratings.csv --penalties 40,20,10,5 -o best.rankfill
    """
    use_threads(threads)
    if model not in PATH_MODELS:
        raise ValueError(f"the model {model} has no path of penalties; choose one of {', '.join(PATH_MODELS)}")
    learner = make_model(model, parameters | {"seed": str(seed)})
    if not 0 < validation < 1:
        raise ValueError(f"--validation must be a share between 0 and 1, found {validation:g}")
    check_files(output, plot)
    chosen = None if penalties is None else _numbers(penalties)
    everything = read_ratings(ratings, columns=parse_columns(columns))
    train, held_out = split(everything, test=validation, by="user", seed=seed)
    found = find_path(learner, train, chosen, held_out, steps=steps, measure=measure, liked=parse_liked(liked))
    console().print(str(found))
    if output is not None:
        found.model.save(output)
        console().print(f"Wrote {output}, the model of penalty {found.best.penalty:.4g}.")
    if plot is not None:
        from rankfill.plots import penalty_path

        penalty_path(found, path=plot)
        console().print(f"Drew {plot}.")


def _numbers(text: str) -> list[float]:
    try:
        return [float(each) for each in text.split(",")]
    except ValueError:
        raise ValueError(f"--penalties must be numbers with commas between, found {text!r}") from None
