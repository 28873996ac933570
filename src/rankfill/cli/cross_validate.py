"""rankfill cross-validate: how good settings are on ratings not learned from."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from rankfill.cli.parameters import with_model_parameters
from rankfill.cli.shared import (
    Columns,
    Json,
    Threads,
    check_picture,
    console,
    described,
    plain_table,
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
from rankfill.evaluation import StreamReport, cross_validate_stream
from rankfill.evaluation import cross_validate as by_folds
from rankfill.evaluation.fold_errors import FoldErrors
from rankfill.models import Bias

MOST_ROWS = 12


@with_model_parameters
def cross_validate(
    ratings: RatingsFile,
    model: ModelName = "sgd",
    folds: Folds = 5,
    stream: Stream = False,
    measure: MeasureName = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="With --stream, draw the running error: .png, .pdf, .svg."),
    ] = None,
    columns: Columns = None,
    duplicates: Repeats = "error",
    as_json: Json = False,
    seed: Seed = 0,
    threads: Threads = None,
    **parameters: Any,
) -> None:
    """Measures settings: every rating is predicted once by a model that has not seen it.

    The ratings are dealt into folds, the same share of each user's in every one, and each is held out in turn. With
    --stream the file is read once, whatever its size: one model a fold learns as the ratings go by, and is asked
    about those of its own fold, which it never learns.

    \b
    rankfill cross-validate ratings.csv --model als --rank 16
    rankfill cross-validate ratings.csv --model sgd --penalty 0.05 --folds 10 --json
    rankfill cross-validate huge.csv --stream --plot running.png
    """
    use_threads(threads)
    learner, reads = asked_model(model, parameters, seed, stream)
    if plot is not None:
        check_picture(plot)
        if not stream:
            raise ValueError("--plot draws the running error of a --stream; add --stream or leave it out")
    data = open_ratings(ratings, columns, duplicates, stream)
    screen, status = console(), console(stderr=True).status("learning")
    if isinstance(data, Ratings) and not as_json:
        screen.print(described(ratings.name, data), end="\n\n")
    baseline: FoldErrors | None = None
    history: Sequence[StreamReport] = ()
    with warnings_as_notes(), status:
        result: FoldErrors
        if isinstance(data, Ratings):
            result = by_folds(
                learner,
                data,
                folds,
                measure=measure,
                seed=seed,
                callbacks=[lambda errors: status.update(f"folds: {errors}")],
            )
            if model != "bias":
                baseline = by_folds(Bias(), data, folds, measure=result.measure, seed=seed)
        else:
            watch = [lambda report: status.update(f"{report.ratings:,} ratings: {report}")]
            streamed = cross_validate_stream(
                learner, data, folds, passes=reads or 1, measure=measure, seed=seed, callbacks=watch
            )
            result, history = streamed, streamed.history
    if plot is not None:
        from rankfill.tuning.pictures import stream_plot

        stream_plot(history, path=plot)
    if as_json:
        print(json.dumps(without_nan(_as_json(result, baseline, history)), indent=2))
        return
    screen.print(_stream_table(history) if history else _fold_table(result, baseline))
    screen.print()
    screen.print(_conclusion(result, baseline))


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


def _conclusion(result: FoldErrors, baseline: FoldErrors | None) -> str:
    line = f"{result.measure} {result.error:.4f} ± {result.std_error:.4f} over {len(result.errors)} folds"
    if baseline is None:
        return f"{line}."
    side = "below" if result.error < baseline.error else "above"
    share = f"{abs(1 - result.error / baseline.error):.1%} {side}"
    return f"{line}, {share} the bias model ({baseline.error:.4f})."


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
