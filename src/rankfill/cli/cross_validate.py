"""rankfill cross-validate: how good settings are on ratings not learned from."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.table import Table

from rankfill.cli.model_options import with_model_parameters
from rankfill.cli.shared import (
    Columns,
    Json,
    Threads,
    check_files,
    console,
    goes_by_times,
    plain_table,
    use_threads,
    without_nan,
)
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
from rankfill.evaluation import StreamReport
from rankfill.evaluation import cross_validate as by_folds
from rankfill.evaluation import cross_validate_stream as in_stream
from rankfill.evaluation.fold_errors import FoldErrors

MOST_ROWS = 12

Plot: TypeAlias = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="With --stream, draw the running error: .png, .pdf, .svg.")
]


@with_model_parameters
def cross_validate(
    ratings: RatingsFile,
    model: ModelName = None,
    folds: Folds = 5,
    stream: Stream = False,
    measure: MeasureName = None,
    liked: LikedRule = None,
    plot: Plot = None,
    columns: Columns = None,
    duplicates: Repeats = "error",
    as_json: Json = False,
    seed: Seed = 0,
    threads: Threads = None,
    **parameters: Any,
) -> None:
    """Measures settings: every rating is predicted once by a model that has not seen it.

    The ratings are dealt into folds, the same share of each user's in every one, and each is held out in turn. With
    --stream the file is read once, whatever its size: one model per fold learns as the ratings go by, and is asked
    about those of its own fold, which it never learns.

    \b
    rankfill cross-validate ratings.csv --model als --rank 16
    rankfill cross-validate ratings.csv --model sgd --penalty 0.05 --folds 10 --json
    rankfill cross-validate huge.csv --stream --plot running.png
    """
    use_threads(threads)
    model = model_name(model, stream)
    learner, reads = asked_model(model, parameters, stream, seed=seed, liked=liked)
    if plot is not None and not stream:
        raise ValueError("--plot draws the running error of a --stream; add --stream or leave it out")
    check_files(plot=plot)
    data = open_ratings(ratings, columns, duplicates, stream, goes_by_times(learner))
    if not as_json:
        introduce(ratings, data)
    options: dict[str, Any] = {"folds": folds, "measure": measure, "seed": seed}
    history: Sequence[StreamReport] = ()
    with warnings_as_notes(), console(stderr=True).status("learning") as status:
        result: FoldErrors
        if isinstance(data, Ratings):
            watch = [lambda errors: status.update(f"folds: {errors}")]
            result = by_folds(learner, data, **options, liked=parse_liked(liked), callbacks=watch)
        else:
            watch = [lambda report: status.update(f"{report.ratings:,} ratings: {report}")]
            result = in_stream(learner, data, **options, passes=reads or 1, callbacks=watch)
            history = result.history
        baseline = bias_errors(model, data, folds, result.measure, liked, seed)
    if plot is not None:
        from rankfill.tuning.pictures import stream_plot

        stream_plot(history, path=plot)
    if as_json:
        print(json.dumps(without_nan(_as_json(result, baseline, history)), indent=2))
        return
    screen = console()
    screen.print(_stream_table(history) if history else _fold_table(result, baseline))
    screen.print()
    screen.print(in_words(result, baseline))


def _fold_table(result: FoldErrors, baseline: FoldErrors | None) -> Table:
    table = plain_table("fold#", f"{result.measure}#", *(["bias model#"] if baseline is not None else []))
    for fold, error in enumerate(result.errors):
        others = [] if baseline is None else [f"{baseline.errors[fold]:.4f}"]
        table.add_row(str(fold + 1), f"{error:.4f}", *others)
    return table


def _stream_table(history: Sequence[StreamReport]) -> Table:
    """Some of the reports, evenly spread over the ratings, with the last."""
    table = plain_table("ratings#", "pass#", f"{history[0].measure} so far#", "± s.e.#", "this batch#", "seconds#")
    marks = [history[-1].ratings * (k + 1) / MOST_ROWS for k in range(MOST_ROWS)]
    rows = dict.fromkeys(next(k for k, each in enumerate(history) if each.ratings >= mark) for mark in marks)
    for row in rows:
        report = history[row]
        numbers = (f"{each:.4f}" for each in (report.error, report.std_error, report.latest))
        table.add_row(f"{report.ratings:,}", str(report.passes), *numbers, f"{report.seconds:.1f}")
    return table


def _as_json(result: FoldErrors, baseline: FoldErrors | None, history: Sequence[StreamReport]) -> dict[str, Any]:
    running = [
        {"ratings": each.ratings, "pass": each.passes, "error": each.error, "std_error": each.std_error}
        for each in history
    ]
    return {
        "measure": result.measure,
        "error": result.error,
        "std_error": result.std_error,
        "folds": result.errors.tolist(),
        **({} if baseline is None else {"bias": baseline.error}),
        **({"running": running} if running else {}),
    }
