"""rankfill tune: settings tried by cross-validation, the best learned from everything."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.filesize import decimal

from rankfill.cli.parameters import parse_choices, typed, with_model_parameters
from rankfill.cli.shared import (
    Columns,
    Json,
    Threads,
    check_output,
    check_picture,
    console,
    described,
    use_threads,
    without_nan,
)
from rankfill.cli.validation import (
    Folds,
    MeasureName,
    ModelName,
    RatingsFile,
    Repeats,
    Seed,
    Stream,
    asked_model,
    open_ratings,
    warnings_as_notes,
)
from rankfill.data import Ratings
from rankfill.evaluation import cross_validate
from rankfill.models import Bias
from rankfill.tuning import Tuning
from rankfill.tuning import tune as search
from rankfill.tuning.table import trial_table


@with_model_parameters
def tune(
    ratings: RatingsFile,
    model: ModelName = "sgd",
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", "-g", metavar="NAME=A,B,…", help="Values to try for a parameter; repeat for several."),
    ] = None,
    span: Annotated[
        list[str] | None,
        typer.Option("--range", "-r", metavar="NAME=A..B", help="Draw --trials values between two, log-uniformly."),
    ] = None,
    trials: Annotated[int, typer.Option(metavar="N", help="How many settings to draw where a --range is given.")] = 20,
    folds: Folds = 5,
    budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="End the search then, with the best so far.")
    ] = None,
    stream: Stream = False,
    on_sample: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Search on a sub-matrix of that share of users and items, such as 0.3."),
    ] = 1.0,
    halving: Annotated[
        bool, typer.Option(help="Give all settings few passes first, and only the best third more.")
    ] = True,
    measure: MeasureName = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Learn the best from everything, write it here."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw error against parameter: .png, .pdf or .svg.")
    ] = None,
    columns: Columns = None,
    duplicates: Repeats = "error",
    as_json: Json = False,
    seed: Seed = 0,
    threads: Threads = None,
    **parameters: Any,
) -> None:
    """Finds good settings of a model by cross-validation.

    Every rating is held out once and predicted by a model that has not seen it. What is tried is a --grid, or drawn
    from a --range; any other parameter is the same for all. Ctrl-C ends the search with the best so far.

    \b
    rankfill tune ratings.csv --model sgd --grid penalty=0.02,0.04,0.08
    rankfill tune ratings.csv --model als --grid penalty=5,10,20,40 --grid rank=8,32 -o m.rankfill --plot errors.png
    rankfill tune ratings.csv --range penalty=0.01..0.3 --range rate=0.02..0.5 --trials 30 --budget 300
    rankfill tune ratings.csv --on-sample 0.3 --grid penalty=0.02,0.04,0.08 -o m.rankfill
    rankfill tune huge.csv --stream --grid rate=0.05,0.1,0.2
    """
    use_threads(threads)
    choices = parse_choices(model, grid or [], span or [])
    learner, reads = asked_model(model, parameters, seed, stream)
    if output is not None:
        check_output(output)
    if plot is not None:
        check_picture(plot)
    data, screen = open_ratings(ratings, columns, duplicates, stream), console()
    if isinstance(data, Ratings) and not as_json:
        screen.print(described(ratings.name, data), end="\n\n")
    with warnings_as_notes():
        found = search(
            learner,
            data,
            None if span else choices,
            distributions=choices if span else None,
            trials=trials,
            folds=folds,
            budget=budget,
            passes=reads,
            halving=halving,
            on="all" if on_sample == 1 else "sample",
            ratio=on_sample,
            measure=measure,
            refit=output is not None,
            seed=seed,
            progress=True,
        )
    baseline = None
    if isinstance(data, Ratings) and model != "bias" and on_sample == 1:
        baseline = _baseline(found, data, folds, seed)
    if output is not None and found.best_model is not None:
        found.best_model.save(output)
    if plot is not None:
        found.plot(plot)
    if as_json:
        print(json.dumps(without_nan(_as_json(found, baseline)), indent=2))
        return
    screen.print(trial_table(found.trials, found.best))
    screen.print()
    for line in _conclusions(found, baseline):
        screen.print(line)
    if output is not None:
        screen.print(f"Wrote {output} ({decimal(output.stat().st_size)}), learned from all ratings.")
    else:
        chosen = {name: value for name, value in parameters.items() if value is not None} | found.best_params
        options = " ".join(typed(name, value) for name, value in chosen.items())
        screen.print(f"To learn it: rankfill fit {ratings} -o m.rankfill --model {model} {options}", soft_wrap=True)


def _baseline(found: Tuning, ratings: Ratings, folds: int, seed: int) -> float:
    """What the bias model misses in the same folds."""
    return cross_validate(Bias(), ratings, folds, measure=found.measure, seed=seed).error


def _conclusions(found: Tuning, baseline: float | None) -> list[str]:
    best = found.best
    settings = ", ".join(f"{name} {value}" for name, value in best.params.items())
    line = f"Best: {settings}: {found.measure} {best.error:.4f} ± {best.std_error:.4f}"
    if baseline is not None:
        side = "below" if best.error < baseline else "above"
        line += f", {abs(1 - best.error / baseline):.1%} {side} the bias model ({baseline:.4f})"
    lines = [f"{line}."]
    for name, edge in found.at_edge.items():
        beyond = "smaller" if edge == "smallest" else "larger"
        lines.append(f"The best {name} is the {edge} one tried: try {beyond} ones too.")
    failures = dict.fromkeys(trial.failed for trial in found.trials if trial.failed)
    lines += [f"Failed: {failure}" for failure in failures]
    return lines


def _as_json(found: Tuning, baseline: float | None) -> dict[str, Any]:
    return {
        "measure": found.measure,
        "best": found.best.params,
        "error": found.best.error,
        "std_error": found.best.std_error,
        "bias": baseline,
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
