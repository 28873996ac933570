"""rankfill topics: what goes together, in a file of ratings or in the factors of a model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from rankfill.cli.shared import (
    Columns,
    Titles,
    check_picture,
    console,
    note,
    parse_columns,
    plain_table,
    read_genres,
    read_model,
    read_titles,
)
from rankfill.data import Ratings, read_ratings
from rankfill.data.tensors import looks_like_tensors
from rankfill.models import Model
from rankfill.topics import By, Topic, has_readable_factors, ratings_behind
from rankfill.topics import topics as find_topics


def topics(
    source: Annotated[
        Path, typer.Argument(metavar="RATINGS|MODEL", help="A file of ratings, or a model written by rankfill fit.")
    ],
    titles: Titles = None,
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many items a topic.")] = 5,
    n_topics: Annotated[
        int | None,
        typer.Option("--topics", metavar="N", help="How many topics of ratings; as many as hold up by default."),
    ] = None,
    by: Annotated[
        By, typer.Option("--by", help="Order items by their weight, or by lift: how peculiar to the topic they are.")
    ] = "weight",
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the topics: .png, .pdf or .svg.")
    ] = None,
    columns: Columns = None,
) -> None:
    """Shows the items that go together: the strongest of each topic.

    In ratings, topics are found by factors made to be read. Of a model the factors are read; where they have signs, or
    where there are none, topics are found in what its users have rated. A third column of genres in the file of titles
    (Comedy|Drama) gives topics their names.

    \b
    rankfill topics ratings.csv --titles movies.csv
    rankfill topics ratings.csv --titles movies.csv --topics 8 --plot topics.png
    rankfill topics m.rankfill --titles movies.csv -n 5
    """
    if plot is not None:
        check_picture(plot)
    data = _open(source, columns)
    items = data.items if isinstance(data, Ratings) else data.items_
    names, genres = read_titles(titles, items), read_genres(titles, items)
    found = find_topics(data, n=n, titles=names, genres=genres, by=by, n_topics=n_topics)
    console().print(_table(found))
    if plot is not None:
        from rankfill.plots import topics_plot

        topics_plot(found, path=plot)
        console().print(f"Drew {plot}.")


def _open(path: Path, columns: str | None) -> Ratings | Model:
    """Ratings, or a model whose factors can be read."""
    if not looks_like_tensors(path):
        return read_ratings(path, parse_columns(columns), duplicates="last", timestamps=False)
    model = read_model(path)
    if has_readable_factors(model):
        return model
    ratings = ratings_behind(model)
    if ratings is None:
        raise ValueError(
            f"the factors of {type(model).__name__} cannot be read as topics, and {path} was saved without what users "
            "have rated; give the file of ratings instead"
        )
    note(f"the factors of {type(model).__name__} cannot be read; these topics were found in what its users have rated")
    return ratings


def _table(found: Sequence[Topic]) -> Table:
    labelled = any(topic.label for topic in found)
    table = plain_table("topic#", "share#", *(["kind"] if labelled else []), "strongest items")
    for topic in found:
        label = [topic.label] if labelled else []
        table.add_row(str(topic.factor), f"{topic.share:.1%}", *label, " · ".join(topic.titles))
    return table
