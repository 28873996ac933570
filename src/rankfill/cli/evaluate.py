"""rankfill evaluate: how good a model is on ratings it has not seen."""

import json
import math
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from rankfill.cli.shared import (
    Columns,
    Json,
    ModelFile,
    Threads,
    as_known,
    console,
    described,
    parse_columns,
    plain_table,
    read_model,
    use_threads,
    without_nan,
)
from rankfill.data import read_ratings
from rankfill.evaluation import evaluate as measure

MEANINGS = {
    "rmse": "root mean squared error of the predicted ratings; lower is better",
    "mae": "mean absolute error; lower is better",
    "nmae": "the same in percent of the mean rating; lower is better",
    "top5": "share of a user's five best test items among the five predicted best",
    "ndcg": "quality of the {n} recommendations, early places counting more; 1 is perfect",
    "precision": "share of the {n} recommendations that the user liked in the test",
    "recall": "share of what the user liked in the test found among the {n}",
    "coverage": "share of all items that are recommended to somebody",
}
_AT_N = ("ndcg", "precision", "recall")


def evaluate(
    model: ModelFile,
    test: Annotated[Path, typer.Argument(metavar="TEST", help="Ratings the model has not learned from.")],
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many recommendations to judge a user by.")] = 10,
    threshold: Annotated[
        float | None,
        typer.Option(metavar="RATING", help="The rating from which an item is liked; by default the mean in training."),
    ] = None,
    columns: Columns = None,
    as_json: Json = False,
    threads: Threads = None,
) -> None:
    """Measures a model on ratings it has not seen.

    \b
    rankfill evaluate m.rankfill test.csv
    rankfill evaluate m.rankfill test.csv --json
    """
    use_threads(threads)
    fitted = read_model(model)
    ratings = read_ratings(test, columns=parse_columns(columns), timestamps=False)
    scores = measure(fitted, as_known(ratings, fitted.users_, fitted.items_), n=n, threshold=threshold)
    if as_json:
        print(json.dumps(without_nan(scores), indent=2))
        return
    screen = console()
    screen.print(described(test.name, ratings))
    screen.print()
    screen.print(_table(scores, n))


def _table(scores: dict[str, float], n: int) -> Table:
    table = plain_table()
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    for name, value in scores.items():
        label = f"{name}@{n}" if name in _AT_N else name
        shown = "–" if math.isnan(value) else f"{value:.2f}%" if name == "nmae" else f"{value:.4f}"
        table.add_row(label, shown, MEANINGS.get(name, "").format(n=n))
    return table
