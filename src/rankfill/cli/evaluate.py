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
    console,
    described,
    goes_by_times,
    parse_columns,
    plain_table,
    read_model,
    use_threads,
    without_nan,
)
from rankfill.cli.validation import LikedRule, parse_liked, warnings_as_notes
from rankfill.data import read_ratings
from rankfill.evaluation import evaluate as measure
from rankfill.objectives.scores import parse_score

MEANINGS = {
    "rmse": "root mean squared error of the predicted ratings; lower is better",
    "mae": "mean absolute error; lower is better",
    "nmae": "the same in percent of the mean rating; lower is better",
    "top5": "share of a user's five best test items among the five predicted best",
    "ndcg": "quality of the {n} recommendations, early places counting more; 1 is perfect",
    "precision": "share of the {n} recommendations that the user liked in the test",
    "capped_precision": "the same, as a share of the most that there can be",
    "recall": "share of what the user liked in the test found among the {n}",
    "map": "precision at the places of the liked items, on average; 1 is perfect",
    "mrr": "1 for a liked item at the first place, 1/2 if the first is at the second, and so on",
    "hit_rate": "share of users who liked at least one of the {n} recommendations",
    "auc": "share of pairs of a liked and another item in the right order, beyond {n} at random",
    "coverage": "share of all items that are recommended to somebody",
    "novelty": "how few users know what is recommended, in bits",
    "rare_share": "share of the {n} places that go to items with at most 20 ratings",
}


def evaluate(
    model: ModelFile,
    test: Annotated[Path, typer.Argument(metavar="TEST", help="Ratings the model has not learned from.")],
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many recommendations to judge a user by.")] = 10,
    liked: LikedRule = None,
    scores: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help=f"Which measures, such as rmse,ndcg@10,recall@50: {', '.join(MEANINGS)}."),
    ] = None,
    columns: Columns = None,
    as_json: Json = False,
    threads: Threads = None,
) -> None:
    """Measures a model on ratings it has not seen.

    \b
    rankfill evaluate m.rankfill test.csv
    rankfill evaluate m.rankfill test.csv --scores rmse,ndcg@10,recall@50 --liked 4
    rankfill evaluate m.rankfill test.csv --json
    """
    use_threads(threads)
    fitted = read_model(model)
    names = parse_columns(columns)
    timed = goes_by_times(fitted)
    ratings = read_ratings(test, columns=names, timestamps=timed, users=fitted.users_, items=fitted.items_)
    names_of_scores = None if scores is None else [name.strip() for name in scores.split(",")]
    with warnings_as_notes():
        values = measure(fitted, ratings, n=n, liked=parse_liked(liked), scores=names_of_scores)
    if as_json:
        print(json.dumps(without_nan(values), indent=2))
        return
    screen = console()
    screen.print(described(test, ratings))
    screen.print()
    screen.print(_table(values, n))


def _table(scores: dict[str, float], n: int) -> Table:
    table = plain_table()
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    for name, value in scores.items():
        score = parse_score(name, n)
        shown = "–" if math.isnan(value) else f"{value:.2f}%" if name == "nmae" else f"{value:.4f}"
        table.add_row(score.label, shown, MEANINGS[score.name].format(n=score.k))
    return table
