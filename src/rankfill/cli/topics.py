"""rankfill topics: the factors of a model, read by their strongest items."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from rankfill.cli.shared import ModelFile, Titles, check_picture, console, plain_table, read_model, read_titles
from rankfill.topics import By, Topic
from rankfill.topics import topics as find_topics


def topics(
    model: ModelFile,
    titles: Titles = None,
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many items a topic.")] = 5,
    by: Annotated[
        By, typer.Option("--by", help="Order items by their weight, or by lift: how peculiar to the topic they are.")
    ] = "weight",
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the topics: .png, .pdf or .svg.")
    ] = None,
) -> None:
    """Shows the items that go together: the strongest of each factor.

    The share says how much of the mean prediction a topic carries. Models with non-negative factors read best.

    \b
    rankfill topics m.rankfill --titles movies.csv -n 5
    rankfill topics m.rankfill --titles movies.csv --plot topics.png
    """
    if plot is not None:
        check_picture(plot)
    fitted = read_model(model)
    found = find_topics(fitted, n=n, titles=read_titles(titles, fitted.items_), by=by)
    console().print(_table(found))
    if plot is not None:
        from rankfill.plots import topics_plot

        topics_plot(found, path=plot)
        console().print(f"Drew {plot}.")


def _table(found: Sequence[Topic]) -> Table:
    table = plain_table("topic#", "share#", "strongest items")
    for topic in found:
        table.add_row(str(topic.factor), f"{topic.share:.1%}", " · ".join(topic.titles))
    return table
