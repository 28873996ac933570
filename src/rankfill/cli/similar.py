"""rankfill similar: what a model takes for most similar to an item, or to a user."""

from typing import Annotated

import typer
from rich.table import Table

from rankfill.cli.shared import (
    ModelFile,
    Threads,
    Titles,
    console,
    note,
    parse_ids,
    plain_table,
    read_model,
    read_titles,
    use_threads,
)
from rankfill.models import Similar
from rankfill.shown import printable


def similar(
    model: ModelFile,
    item: Annotated[
        list[str] | None, typer.Option("--item", "-i", metavar="ID", help="An item; may be given several times.")
    ] = None,
    user: Annotated[
        list[str] | None, typer.Option("--user", "-u", metavar="ID", help="A user; may be given several times.")
    ] = None,
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many for each.")] = 10,
    titles: Titles = None,
    threads: Threads = None,
) -> None:
    """Lists the items most similar to an item, or the users most similar to a user.

    Similarity is the cosine between factors; nearest neighbours and item regressions have their own.

    \b
    rankfill similar m.rankfill --item 318 -n 10 --titles movies.csv
    rankfill similar m.rankfill --user ann --user bob
    """
    if bool(item) == bool(user):
        raise ValueError("say to what: --item ID or --user ID, as often as you like")
    if n < 1:
        raise ValueError(f"-n must be at least 1, found {n}")
    use_threads(threads)
    fitted = read_model(model)
    kind, texts = ("item", item) if item else ("user", user)
    known = fitted.items_ if item else fitted.users_
    ids = parse_ids(texts or [], known, kind)
    for unknown in ids[known.index(ids) < 0].tolist():
        note(f"{kind} {unknown} is not known to this model and is similar to nothing")
    found = (fitted.similar_items if item else fitted.similar_users)(ids, n)
    names = read_titles(titles, fitted.items_) if item else {}
    for row, each in enumerate(ids.tolist()):
        if row:
            console().print()
        name = f"{kind} {each}" + (f", {names[each]}" if each in names else "")
        console().print(_table(name, kind, found, row, names))


def _table(name: str, kind: str, found: Similar, row: int, titles: dict[str, str]) -> Table:
    table = plain_table("rank#", kind, "similarity#", *(["title"] if titles else []))
    table.title, table.title_justify, table.title_style = printable(f"Similar to {name}"), "left", "bold"
    pairs = zip(found.ids[row].tolist(), found.similarities[row].tolist(), strict=True)
    for rank, (identity, similarity) in enumerate(pairs, start=1):
        if similarity == similarity:  # NaN where fewer are left
            title = [titles.get(identity, "")] if titles else []
            table.add_row(str(rank), str(identity), f"{similarity:.3f}", *title)
    return table
