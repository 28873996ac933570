"""rankfill tune: settings tried by cross-validation, the best learned from everything."""

import json
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.filesize import decimal

from rankfill.cli.model_options import with_model_parameters
from rankfill.cli.parameters import option_text, parse_choices
from rankfill.cli.shared import Columns, Json, Threads, check_files, console, goes_by_times, use_threads, without_nan
from rankfill.cli.validation import (
    Folds,
    LikedRule,
    MeasureName,
    ModelName,
    RatingsFile,
    Repeats,
    Seed,
    Stream,
    asked_model,
    bias_errors,
    in_words,
    introduce,
    model_name,
    open_ratings,
    parse_liked,
    warnings_as_notes,
)
from rankfill.data import Ratings
from rankfill.evaluation.fold_errors import FoldErrors
from rankfill.models import DEFAULT_MODEL, MODELS, Auto, Model
from rankfill.tuning import Tuning
from rankfill.tuning import tune as search
from rankfill.tuning.natural import natural_search
from rankfill.tuning.table import trial_table

Grid: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--grid", "-g", metavar="NAME=A,B,…", help="Values to try for a parameter; repeat for several."),
]
Range: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--range", "-r", metavar="NAME=A..B", help="Draw --trials values between two, log-uniformly."),
]
Trials: TypeAlias = Annotated[
    int, typer.Option(metavar="N", help="How many settings to draw where a --range is given.")
]
Budget: TypeAlias = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="End the search then, with the best so far.")
]
OnSample: TypeAlias = Annotated[
    float, typer.Option(metavar="SHARE", help="Search on a sub-matrix of that share of users and items, such as 0.3.")
]
Halving: TypeAlias = Annotated[
    bool, typer.Option(help="Give all settings few passes first, and only the best third more.")
]
Output: TypeAlias = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Learn the best from everything, write it here."),
]
Plot: TypeAlias = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw error against parameter: .png, .pdf or .svg.")
]


@with_model_parameters
def tune(
    ratings: RatingsFile,
    model: ModelName = None,
    grid: Grid = None,
    span: Range = None,
    trials: Trials = 20,
    folds: Folds = 5,
    budget: Budget = None,
    stream: Stream = False,
    on_sample: OnSample = 1.0,
    halving: Halving = True,
    measure: MeasureName = None,
    liked: LikedRule = None,
    output: Output = None,
    plot: Plot = None,
    columns: Columns = None,
    duplicates: Repeats = "error",
    as_json: Json = False,
    seed: Seed = 0,
    threads: Threads = None,
    **parameters: Any,
) -> None:
    """Finds good settings of a model by cross-validation.

    Every rating is held out once and predicted by a model that has not seen it. What is tried is a --grid, or drawn
    from a --range; any other parameter is the same for all. With nothing named, the model that does best is chosen and
    searched around its own settings. Ctrl-C ends the search with the best so far.

    \b
    rankfill tune ratings.csv
    rankfill tune ratings.csv --model sgd --grid penalty=0.02,0.04,0.08
    rankfill tune ratings.csv --model als --grid penalty=5,10,20,40 --grid rank=8,32 -o m.rankfill --plot errors.png
    rankfill tune ratings.csv -m sgd --range penalty=0.01..0.3 --range rate=0.02..0.5 --trials 30 --budget 300
    rankfill tune ratings.csv -m sgd --on-sample 0.3 --grid penalty=0.02,0.04,0.08 -o m.rankfill
    rankfill tune ratings.csv --model als --grid penalty=5,10,20 --measure ndcg@10
    rankfill tune huge.csv --stream --grid rate=0.05,0.1,0.2
    """
    use_threads(threads)
    model = model_name(model, stream)
    choose = model == DEFAULT_MODEL and not grid and not span
    space = {} if choose else parse_choices(model, grid or [], span or [])
    learner, reads = asked_model(model, parameters, stream, seed=seed, liked=liked)
    check_files(output, plot)
    data = open_ratings(ratings, columns, duplicates, stream, "time" in space or goes_by_times(learner))
    if not as_json:
        introduce(ratings, data)
    if choose and isinstance(learner, Auto) and isinstance(data, Ratings):
        learner, space = natural_search(learner, data, measure)
        model, parameters = _as_typed(learner)
        if not as_json:
            console().print(f"{learner!r} does best on ratings kept aside: a search around its settings.\n")
    with warnings_as_notes():
        found = search(
            learner,
            data,
            **({"distributions": space, "trials": trials} if span else {"grid": space}),
            folds=folds,
            budget=budget,
            passes=reads,
            halving=halving,
            on="all" if on_sample == 1 else "sample",
            ratio=on_sample,
            measure=measure,
            liked=parse_liked(liked),
            refit=output is not None,
            seed=seed,
            progress=True,
        )
    # The errors of a sample are not those of the same folds.
    baseline = None if on_sample < 1 else bias_errors(model, data, folds, found.measure, liked, seed)
    if output is not None and found.best_model is not None:
        found.best_model.save(output)
    if plot is not None:
        found.plot(plot)
    if as_json:
        print(json.dumps(without_nan(_as_json(found, baseline)), indent=2))
        return
    chosen = {name: value for name, value in parameters.items() if value is not None} | found.best_params
    options = " ".join(option_text(name, value) for name, value in chosen.items())
    _print(found, baseline, output, f"rankfill fit {ratings} -o m.rankfill --model {model} {options}")


def _as_typed(learner: Model) -> tuple[str, dict[str, Any]]:
    """The name of a model, and its settings that are not the usual ones."""
    usual = type(learner)().get_params()
    settings = {name: value for name, value in learner.get_params().items() if value != usual[name]}
    return next(name for name, cls in MODELS.items() if cls is type(learner)), settings


def _print(found: Tuning, baseline: FoldErrors | None, output: Path | None, command: str) -> None:
    """The table, what it says, and what to do next."""
    screen = console()
    screen.print(trial_table(found.trials, found.best))
    screen.print()
    for line in _conclusions(found, baseline):
        screen.print(line)
    if output is not None:
        screen.print(f"Wrote {output} ({decimal(output.stat().st_size)}), learned from all ratings.")
    else:
        screen.print(f"To learn it: {command}", soft_wrap=True)


def _conclusions(found: Tuning, baseline: FoldErrors | None) -> list[str]:
    best = found.best
    settings = ", ".join(f"{name} {value}" for name, value in best.params.items())
    lines = [f"Best: {settings}: {in_words(best, baseline)}"]
    for name, edge in found.at_edge.items():
        beyond = "smaller" if edge == "smallest" else "larger"
        lines.append(f"The best {name} is the {edge} one tried: try {beyond} ones too.")
    failures = dict.fromkeys(trial.failed for trial in found.trials if trial.failed)
    lines += [f"Failed: {failure}" for failure in failures]
    return lines


def _as_json(found: Tuning, baseline: FoldErrors | None) -> dict[str, Any]:
    return {
        "measure": found.measure,
        "best": found.best.params,
        "error": found.best.error,
        "std_error": found.best.std_error,
        "bias": None if baseline is None else baseline.error,
        "seconds": found.seconds,
        "trials": [
            {
                "params": trial.params,
                "error": trial.error,
                "std_error": trial.std_error,
                "folds": trial.errors.tolist(),
                "passes": trial.passes,
                "dropped": trial.dropped,
                "failed": trial.failed or None,
            }
            for trial in found.trials
        ],
    }
