"""rankfill explain: why a model predicts what it predicts for one user and one item."""

from pathlib import Path
from typing import Annotated

import typer

from rankfill.cli.shared import (
    Columns,
    ModelFile,
    Titles,
    check_picture,
    console,
    note,
    parse_columns,
    parse_ids,
    read_model,
    read_titles,
)


def explain(
    model: ModelFile,
    user: Annotated[str, typer.Option("--user", "-u", metavar="ID", help="Whose prediction.")],
    item: Annotated[str, typer.Option("--item", "-i", metavar="ID", help="For which item.")],
    titles: Titles = None,
    ratings: Annotated[
        Path | None,
        typer.Option("--ratings", metavar="FILE", help="What the model learned from, to see what each rating adds."),
    ] = None,
    columns: Columns = None,
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many parts are shown.")] = 10,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the parts: .png, .pdf or .svg.")
    ] = None,
) -> None:
    """Explains a prediction by parts that add up to it: factors, neighbours, the user's own ratings.

    A model keeps what was rated, not how. With --ratings it says what each rating adds, and not only its weight.

    \b
    rankfill explain m.rankfill --user 42 --item 318 --titles movies.csv
    rankfill explain m.rankfill --user 42 --item 318 --ratings ratings.csv --plot why.png
    """
    if n < 1:
        raise ValueError(f"-n must be at least 1, found {n}")
    if plot is not None:
        check_picture(plot)
    fitted = read_model(model)
    (user_id,), (item_id,) = (
        parse_ids([text], known, kind).tolist()
        for text, known, kind in ((user, fitted.users_, "user"), (item, fitted.items_, "item"))
    )
    for kind, identity, known in (("user", user_id, fitted.users_), ("item", item_id, fitted.items_)):
        if identity not in known:
            note(f"{kind} {identity} is not known to this model; this is what stands in for it")
    learned = None
    if ratings is not None:
        from rankfill.data import read_ratings

        learned = read_ratings(ratings, columns=parse_columns(columns))
    found = fitted.explain(user_id, item_id, learned, read_titles(titles, fitted.items_))
    console().print(found.text(n))
    if plot is not None:
        from rankfill.plots import reasons_plot

        reasons_plot(found, path=plot, n=n)
        console().print(f"Drew {plot}.")
