"""rankfill fit: ratings in, a model file out, the learning curve on the screen."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.filesize import decimal

from rankfill.cli.curve import curve_table
from rankfill.cli.parameters import make_model, parameters_of, with_model_parameters
from rankfill.cli.progress import PassBar
from rankfill.cli.shared import (
    Columns,
    Threads,
    as_known,
    check_output,
    check_picture,
    console,
    described,
    note,
    parse_columns,
    use_threads,
)
from rankfill.data import Ratings, read_ratings, split
from rankfill.data.ratings import Duplicates
from rankfill.evaluation import evaluate
from rankfill.models import MODELS, Bias, Model, TimeBudget


@with_model_parameters
def fit(
    ratings: Annotated[
        Path, typer.Argument(metavar="RATINGS", help="One rating a line: .csv, .tsv, .dat (::), gzipped, or .parquet.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The model file to write.")],
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="NAME", help=f"Which model: {', '.join(MODELS)}.")
    ] = "passive-aggressive",
    validation: Annotated[
        str | None,
        typer.Option(
            "--validation",
            metavar="SHARE|FILE",
            help="Ratings to hold out, a share such as 0.2 of each user's, or a file of others. "
            "The model kept is the best on them, and training stops when it no longer gains.",
        ),
    ] = None,
    columns: Columns = None,
    duplicates: Annotated[
        Duplicates, typer.Option(help="What to do when a user rates an item twice: refuse, or keep which.")
    ] = "error",
    time_budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop after the pass in which so much learning is done.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the learning curve: .png, .pdf or .svg.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all randomness: the split and the start of the model.")] = 0,
    threads: Threads = None,
    **parameters: Any,
) -> None:
    """Learns a model from a file of ratings.

    Each line has a user, an item, a rating and perhaps a timestamp; the header, if any, is recognised.
    Ctrl-C ends the training early and keeps the best model so far.

    \b
    rankfill fit ratings.csv -o m.rankfill
    rankfill fit ratings.csv -o m.rankfill --rank 30 --C auto --passes 10 --validation 0.2
    rankfill fit log.tsv -o m.rankfill --columns customer,product,stars --duplicates last
    rankfill fit ratings.csv -o m.rankfill --model bias --shrinkage 10
    """
    use_threads(threads)
    takes_seed = model in MODELS and "seed" in parameters_of(MODELS[model])
    learner = make_model(model, parameters | ({"seed": seed} if takes_seed else {}))
    check_output(output)
    if plot is not None:
        check_picture(plot)
    share = _share(validation)
    if time_budget is not None and not time_budget > 0:
        raise ValueError(f"--time-budget must be a positive number of seconds, found {time_budget:g}")
    train, held_out = _read(ratings, validation, share, columns, duplicates, seed)
    interrupted = _train(learner, train, held_out, time_budget)
    learner.save(output)
    baseline = None if held_out is None or isinstance(learner, Bias) else _baseline(learner, train, held_out)
    _show(learner, baseline)
    if plot is not None:
        from rankfill.plots import learning_curve

        learning_curve(learner.history_, path=plot, baseline=None if baseline is None else {"bias": baseline})
    stopped = f"Interrupted after pass {len(learner.history_)}: the best model so far is in" if interrupted else "Wrote"
    console().print(f"{stopped} {output} ({decimal(output.stat().st_size)}).")


def _read(
    path: Path, validation: str | None, share: float | None, columns: str | None, duplicates: Duplicates, seed: int
) -> tuple[Ratings, Ratings | None]:
    # The order in time matters only where the first or last of several ratings is to be kept.
    names, timed = parse_columns(columns), duplicates in ("first", "last")
    ratings = read_ratings(path, columns=names, duplicates=duplicates, timestamps=timed)
    screen = console()
    screen.print(described(path.name, ratings))
    if share is not None:
        train, held_out = split(ratings, test=share, by="user", seed=seed)
        screen.print(f"Held out for validation: {len(held_out):,} of them, {share:.0%} of each user's; never learned.")
        return train, held_out
    if validation is not None:
        others = read_ratings(Path(validation), columns=names, duplicates=duplicates, timestamps=timed)
        screen.print(f"For validation, {described(Path(validation).name, others)}")
        return ratings, as_known(others, ratings.users, ratings.items)
    return ratings, None


def _share(validation: str | None) -> float | None:
    """The number that --validation gives, or None for a file."""
    try:
        share = float(validation or "no number")
    except ValueError:
        return None
    if not 0 < share < 1:
        raise ValueError(f"--validation must be a share between 0 and 1, or a file; found {validation}")
    return share


def _train(learner: Model, train: Ratings, held_out: Ratings | None, budget: float | None) -> bool:
    """Fits under a live bar; True when Ctrl-C ended it after something had been learned."""
    callbacks = [] if budget is None else [TimeBudget(budget)]
    with (
        warnings.catch_warnings(record=True) as caught,
        PassBar(getattr(learner, "passes", 1), len(train), budget) as bar,
    ):
        warnings.simplefilter("always")
        learner.fit(train, validation=held_out, callbacks=[bar, *callbacks])
    texts = [str(warning.message) for warning in caught]
    for text in texts:
        if not text.startswith("interrupted"):
            note(text)
    return any(text.startswith("interrupted") for text in texts)


def _baseline(learner: Model, train: Ratings, held_out: Ratings) -> float:
    """What the bias model misses on the same ratings, in the measure of the learner."""
    return evaluate(Bias().fit(train), held_out, scores=[learner.measure])[learner.measure]


def _show(learner: Model, baseline: float | None) -> None:
    screen = console()
    screen.print()
    screen.print(curve_table(learner.history_, baseline))
    screen.print()
    if baseline is not None:
        best = min(report.validation for report in learner.history_ if report.validation is not None)
        difference = f"{abs(1 - best / baseline):.1%} {'below' if best < baseline else 'above'} the bias model"
        screen.print(f"Best on the validation ratings: {learner.measure} {best:.4f}, {difference} ({baseline:.4f}).")
