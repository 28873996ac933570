"""rankfill fit: ratings in, a model file out, the learning curve on the screen."""

import math
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.filesize import decimal

from rankfill.cli.choices import show_choices
from rankfill.cli.curve import curve_table
from rankfill.cli.model_options import with_model_parameters
from rankfill.cli.on_cluster import check_plain, cluster_ratings, place_on_cluster
from rankfill.cli.parameters import make_model
from rankfill.cli.progress import PassBar
from rankfill.cli.shared import (
    Columns,
    Threads,
    check_apart,
    check_output,
    check_picture,
    console,
    described,
    goes_by_times,
    note,
    parse_columns,
    tell_stray,
    use_threads,
)
from rankfill.cli.validation import LikedRule, MeasureName, RatingsFile, model_options, parse_liked, warnings_as_notes
from rankfill.data import Features, Ratings, read_features, read_ratings, split
from rankfill.data.duplicates import TIMED, Duplicates
from rankfill.data.liked import Liked
from rankfill.evaluation import evaluate
from rankfill.models import DEFAULT_MODEL, MODELS, Auto, BayesianMF, Bias, Model, TimeBudget
from rankfill.models.base.settings import without_hints
from rankfill.models.base.training import InterruptedWarning


@with_model_parameters
def fit(
    ratings: RatingsFile,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The model file to write.")],
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="NAME", help=f"Which model: {', '.join(MODELS)}.")
    ] = DEFAULT_MODEL,
    validation: Annotated[
        str | None,
        typer.Option(
            "--validation",
            metavar="SHARE|FILE",
            help="Ratings to hold out, a share such as 0.2 of each user's, or a file of others. "
            "The model kept is the best on them, and training stops when it no longer gains.",
        ),
    ] = None,
    measure: MeasureName = None,
    liked: LikedRule = None,
    item_features: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What is known of the items, one a line: those without ratings get answers."),
    ] = None,
    user_features: Annotated[Path | None, typer.Option(metavar="FILE", help="The same for users.")] = None,
    columns: Columns = None,
    duplicates: Annotated[
        Duplicates, typer.Option(help="What to do when a user rates an item twice: refuse, keep which, or add up.")
    ] = "error",
    time_budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop after the first pass that ends later than this.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Where a long fit notes how far it has come; the same command goes on from there."
        ),
    ] = None,
    every: Annotated[int, typer.Option(metavar="PASSES", help="How many passes lie between two checkpoints.")] = 10,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw the learning curve, or the traces of chains: .png, .pdf or .svg."
        ),
    ] = None,
    spark: Annotated[
        str | None,
        typer.Option(
            metavar="MASTER",
            help="Learn on this Spark cluster, such as spark://host:7077 or local-cluster[2,1,2048]: RATINGS is what "
            "it can read, a file with a header, a folder of Parquet files or a quoted pattern.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all randomness: the split and the start of the model.")] = 0,
    threads: Threads = None,
    **parameters: Any,
) -> None:
    """Learns a model from a file of ratings.

    Each line has a user, an item, a rating and perhaps a timestamp; the header, if any, is recognised.
    Ctrl-C ends the training early and keeps the best model so far.

    \b
    rankfill fit ratings.csv -o m.rankfill
    rankfill fit ratings.csv -o m.rankfill --goal predict --seconds 300
    rankfill fit ratings.csv -o m.rankfill --model sgd --rank 30 --passes 10 --validation 0.2
    rankfill fit ratings.csv -o m.rankfill --model als --validation 0.2 --measure ndcg@10
    rankfill fit ratings.csv -o m.rankfill --item-features movies.csv
    rankfill fit log.tsv -o m.rankfill --columns customer,product,stars --duplicates last
    rankfill fit ratings.csv -o m.rankfill --model bias --shrinkage 10
    rankfill fit ratings.csv -o m.rankfill --model als --passes 200 --checkpoint als.fit --every 20
    rankfill fit ratings.parquet -o m.rankfill --model als --spark spark://host:7077
    """
    use_threads(threads)
    learner = make_model(model, parameters | model_options(model, seed=seed, liked=liked))
    check_output(output)
    check_apart(output, ratings, *(Path(each) for each in (validation, item_features, user_features) if each))
    if plot is not None:
        check_picture(plot)
    share = _share(validation)
    if measure is not None and validation is None:
        raise ValueError(f"--measure {measure} needs ratings to be measured on; give --validation, such as 0.2")
    if time_budget is not None and not time_budget > 0:
        raise ValueError(f"--time-budget must be a positive number of seconds, found {time_budget:g}")
    if isinstance(learner, Auto) and time_budget is not None:
        learner.set_params(seconds=min(time_budget, learner.seconds))
    told: dict[str, Any] = {"measure": measure, "liked": parse_liked(liked), "checkpoint": checkpoint, "every": every}
    held_out: Ratings | None = None
    if spark is None:
        timed = duplicates in TIMED or isinstance(learner, Auto) or goes_by_times(learner)
        train, held_out = _read(ratings, validation, share, columns, duplicates, seed, timed)
        features = _read_features(train, item_features, user_features)
        interrupted = _train(learner, train, held_out, time_budget, told | features)
    else:
        merged = None if duplicates == "error" else duplicates
        check_plain(validation=validation, item_features=item_features, user_features=user_features, duplicates=merged)
        with cluster_ratings(spark, ratings, columns, learner) as on_cluster:
            told["checkpoint"] = place_on_cluster(checkpoint, on_cluster)
            interrupted = _train(learner, on_cluster, None, time_budget, told)
    learner.save(output)
    baseline = None if held_out is None else _baseline(learner, train, held_out, parse_liked(liked))
    _show(learner, baseline)
    if plot is not None:
        _draw(learner, plot, baseline)
    at = "" if isinstance(learner, Auto) else f" after pass {len(learner.history_)}"
    stopped = f"Interrupted{at}: the best model so far is in" if interrupted else "Wrote"
    console().print(f"{stopped} {output} ({decimal(output.stat().st_size)}).")


def _draw(learner: Model, path: Path, baseline: float | None) -> None:
    """The learning curve; of an automatic choice what it was made among, of samples the traces of their chains."""
    from rankfill.plots import learning_curve, quality_bars, trace_plot

    if isinstance(learner, Auto):
        tried = {each.label: (each.error, each.ndcg) for each in learner.choices_ if each.seconds}
        quality_bars(tried, path=path)
    elif isinstance(learner, BayesianMF):
        trace_plot(learner, path=path)
    else:
        learning_curve(learner.history_, path=path, baseline=None if baseline is None else {"bias": baseline})


def _read(
    path: Path,
    validation: str | None,
    share: float | None,
    columns: str | None,
    duplicates: Duplicates,
    seed: int,
    timed: bool,
) -> tuple[Ratings, Ratings | None]:
    names = parse_columns(columns)
    ratings = read_ratings(path, columns=names, duplicates=duplicates, timestamps=timed)
    screen = console()
    screen.print(described(path, ratings))
    tell_stray(ratings)
    if share is not None:
        train, held_out = split(ratings, test=share, by="user", seed=seed)
        screen.print(f"Held out for validation: {len(held_out):,} of them, {share:.0%} of each user's; never learned.")
        return train, held_out
    if validation is not None:
        others = read_ratings(validation, names, duplicates, timestamps=timed, users=ratings.users, items=ratings.items)
        screen.print(f"For validation, {described(Path(validation), others)}")
        return ratings, others
    return ratings, None


def _show_chains(learner: BayesianMF) -> None:
    """Whether chains agree, and what the factors that are kept leave out."""
    for name, (r_hat, effective) in learner.diagnostics().items():
        if not math.isnan(r_hat):
            console().print(f"{name}: R-hat {r_hat:.2f}, {effective:.0f} independent draws")
    console().print(f"{learner.rank_} factors leave out {learner.lost_:.2%} of the mean of all samples.")


def _read_features(train: Ratings, items: Path | None, users: Path | None) -> dict[str, Features]:
    """The features of each side."""
    given = ("item_features", items, train.items), ("user_features", users, train.users)
    found = {name: read_features(path, ids=ids) for name, path, ids in given if path is not None}
    for features in found.values():
        console().print(str(features))
    return found


def _share(validation: str | None) -> float | None:
    """The number that --validation gives, or None for a file."""
    try:
        share = float(validation or "no number")
    except ValueError:
        return None
    if not 0 < share < 1:
        raise ValueError(f"--validation must be a share between 0 and 1, or a file; found {validation}")
    return share


def _train(
    learner: Model,
    train: Ratings,
    held_out: Ratings | None,
    budget: float | None,
    told: dict[str, Any],
) -> bool:
    """Fits under a live bar, `fit` told the rest; True when Ctrl-C ended it after something had been learned."""
    callbacks = [] if budget is None else [TimeBudget(budget)]
    with (
        warnings.catch_warnings(record=True) as caught,
        PassBar(getattr(learner, "passes", 1), len(train), budget) as bar,
    ):
        warnings.simplefilter("always")
        learner.fit(train, validation=held_out, callbacks=[bar, *callbacks], **told)
    for warning in caught:
        if not issubclass(warning.category, InterruptedWarning):
            note(str(warning.message))
    return any(issubclass(warning.category, InterruptedWarning) for warning in caught)


def _baseline(learner: Model, train: Ratings, held_out: Ratings, liked: Liked) -> float | None:
    """The result of the bias model on the same ratings, in the measure that the fit went by."""
    if isinstance(learner, Bias):
        return None
    measure = learner.history_[-1].validation_measure
    with warnings_as_notes(), without_hints():
        return evaluate(Bias().fit(train), held_out, scores=[measure], liked=liked)[measure]


def _show(learner: Model, baseline: float | None) -> None:
    screen = console()
    screen.print()
    if isinstance(learner, Auto):
        show_choices(learner.choices_)
    else:
        screen.print(curve_table(learner.history_, baseline))
    screen.print()
    if isinstance(learner, BayesianMF):
        _show_chains(learner)
    if baseline is not None:
        report = min(learner.history_, key=lambda each: each.loss)
        best, measure = report.validation or 0.0, report.validation_measure
        difference = f"{abs(1 - best / baseline):.1%} {'below' if best < baseline else 'above'} the bias model"
        screen.print(f"Best on the validation ratings: {measure} {best:.4f}, {difference} ({baseline:.4f}).")
