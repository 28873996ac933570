"""rankfill recommend: the best items for some users on the screen, for all users into a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.progress import Progress
from rich.table import Table

from rankfill.cli.output import Columns, TableWriter, check_table_output
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
from rankfill.models import Model, Recommendations

CHUNK = 4096


def recommend(
    model: ModelFile,
    user: Annotated[
        list[str] | None, typer.Option("--user", "-u", metavar="ID", help="For whom; may be given several times.")
    ] = None,
    all_users: Annotated[bool, typer.Option("--all-users", help="For every user of the model; needs -o.")] = False,
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many items a user.")] = 10,
    titles: Titles = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write user, item, score and rank: .csv or .parquet."),
    ] = None,
    exclude_seen: Annotated[
        bool, typer.Option("--exclude-seen/--include-seen", help="Leave out what the user has rated already.")
    ] = True,
    min_ratings: Annotated[
        int, typer.Option("--min-ratings", metavar="N", help="Leave out items that fewer people have rated.")
    ] = 1,
    threads: Threads = None,
) -> None:
    """Lists what a user would like best; for all users, writes a file.

    The score orders the items; it is the predicted rating before it is brought into the range of the ratings.
    A file for all users is written in constant memory, whole or not at all.

    \b
    rankfill recommend m.rankfill --user 42 -n 10 --titles movies.csv
    rankfill recommend m.rankfill --user ann --user bob --include-seen
    rankfill recommend m.rankfill --all-users -o recommendations.parquet
    """
    if bool(user) == all_users:
        raise ValueError("say for whom: --user ID (as often as you like), or --all-users -o FILE")
    if all_users and output is None:
        raise ValueError("--all-users needs a file to write: -o recommendations.parquet, or .csv")
    if n < 1:
        raise ValueError(f"-n must be at least 1, found {n}")
    if output is not None:
        check_table_output(output)
    use_threads(threads)
    fitted = read_model(model)
    names = read_titles(titles, fitted.items_)
    users = None if all_users else parse_ids(user or [], fitted.users_, "user")
    if users is not None:
        _tell_unknown(fitted, users)
    if output is not None:
        _write(fitted, users, n, exclude_seen, min_ratings, names, output)
    elif users is not None:
        best = fitted.recommend(users, n=n, exclude_seen=exclude_seen, min_ratings=min_ratings)
        for row, each in enumerate(users.tolist()):
            if row:
                console().print()
            console().print(_table(each, Recommendations(best.items[row], best.scores[row]), names))


def _tell_unknown(model: Model, users: NDArray[Any]) -> None:
    for unknown in users[model.users_.index(users) < 0].tolist():
        note(f"user {unknown} is not known to this model; the list is the one for a newcomer")


def _table(user: Any, best: Recommendations, titles: dict[Any, str]) -> Table:
    found = ~np.isnan(best.scores)
    items = best.items[found].tolist()
    table = plain_table("rank#", "item", "score#", *(["title"] if titles else []))
    table.title, table.title_justify, table.title_style = f"For user {user}", "left", "bold"
    for rank, (item, score) in enumerate(zip(items, best.scores[found].tolist(), strict=True), start=1):
        table.add_row(str(rank), str(item), f"{score:.3f}", *([titles.get(item, "")] if titles else []))
    return table


def _write(
    model: Model,
    users: NDArray[Any] | None,
    n: int,
    exclude_seen: bool,
    min_ratings: int,
    titles: dict[Any, str],
    output: Path,
) -> None:
    total = len(model.users_) if users is None else len(users)
    screen = console(stderr=True)
    rows = 0
    with TableWriter(output) as writer, Progress(console=screen, disable=not screen.is_terminal, transient=True) as bar:
        task = bar.add_task("users", total=total)
        for some in _chunks(model, users):
            columns = _columns(
                some, model.recommend(some, n=n, exclude_seen=exclude_seen, min_ratings=min_ratings), titles
            )
            writer.add(columns)
            rows += len(columns["user"])
            bar.advance(task, len(some))
    console().print(f"Wrote {rows:,} recommendations for {total:,} users to {output}.")


def _chunks(model: Model, users: NDArray[Any] | None) -> Iterator[NDArray[Any]]:
    """The users asked for, a few thousand at a time; all of the model when None."""
    total = len(model.users_) if users is None else len(users)
    for start in range(0, total, CHUNK):
        stop = min(start + CHUNK, total)
        yield model.users_.ids(np.arange(start, stop)) if users is None else users[start:stop]


def _columns(users: NDArray[Any], best: Recommendations, titles: dict[Any, str]) -> Columns:
    found = ~np.isnan(best.scores)
    n = best.scores.shape[1]
    items = best.items[found]
    columns = {
        "user": np.repeat(users, found.sum(axis=1)),
        "item": items if items.dtype.kind == "O" else items.astype(np.int64),
        "score": best.scores[found],
        "rank": np.broadcast_to(np.arange(1, n + 1), found.shape)[found],
    }
    if titles:
        columns["title"] = np.array([titles.get(item) for item in items.tolist()], dtype=object)
    return columns
