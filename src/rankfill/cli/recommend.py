"""rankfill recommend: the best items for some users on the screen, for all users into a file."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.progress import Progress
from rich.table import Table

from rankfill.cli.output import Columns as TableColumns
from rankfill.cli.output import check_table_output, table_writer
from rankfill.cli.shared import (
    Columns,
    ModelFile,
    Threads,
    Titles,
    console,
    note,
    parse_columns,
    parse_ids,
    plain_table,
    read_model,
    read_titles,
    use_threads,
)
from rankfill.data import Features, Ratings, Vocabulary, read_ratings
from rankfill.data.readers import read_items
from rankfill.models import Auto, Model, Recommendations
from rankfill.models.base.choosing import MinRatings
from rankfill.models.base.described import DescribedRows
from rankfill.models.base.settings import check_share
from rankfill.shown import printable, shown

CHUNK = 4096


def recommend(
    model: ModelFile,
    user: Annotated[
        list[str] | None, typer.Option("--user", "-u", metavar="ID", help="For whom; may be given several times.")
    ] = None,
    all_users: Annotated[bool, typer.Option("--all-users", help="For every user of the model; needs -o.")] = False,
    for_ratings: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="For the people in a file of ratings, by what they rated there alone."),
    ] = None,
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many items a user.")] = 10,
    titles: Titles = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write user, item, score and rank: .csv or .parquet."),
    ] = None,
    exclude_seen: Annotated[
        bool, typer.Option("--exclude-seen/--include-seen", help="Leave out what the user has rated already.")
    ] = True,
    items: Annotated[
        str | None,
        typer.Option(metavar="FILE|IDS", help="Recommend these alone: a file of ids, or ids with commas between."),
    ] = None,
    exclude: Annotated[
        str | None, typer.Option(metavar="FILE|IDS", help="Recommend these to nobody: a file of ids, or ids.")
    ] = None,
    min_ratings: Annotated[
        str,
        typer.Option(
            metavar="N|auto",
            help="Leave out items that fewer people have rated. With auto, those too rarely rated to judge come last.",
        ),
    ] = "auto",
    diversify: Annotated[
        float, typer.Option(metavar="SHARE", help="From 0 to 1: how much to avoid items that are alike.")
    ] = 0.0,
    new_items: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Let items compete that nobody has rated, by what the file says of them. "
            "The model must have been fitted with --item-features.",
        ),
    ] = None,
    columns: Columns = None,
    threads: Threads = None,
) -> None:
    """Lists what a user would like best; for all users, writes a file.

    The score orders the items. It is the predicted rating before it is brought into the range of the ratings, or for
    a model that ranks by something else, a number of its own; the predicted rating then stands beside it.
    A file for all users is written in constant memory, whole or not at all.

    \b
    rankfill recommend m.rankfill --user 42 -n 10 --titles movies.csv
    rankfill recommend m.rankfill --user ann --user bob --include-seen
    rankfill recommend m.rankfill --user 42 --items in-stock.csv --diversify 0.3
    rankfill recommend m.rankfill --user 42 --new-items new_movies.csv
    rankfill recommend m.rankfill --for-ratings newcomers.csv
    rankfill recommend m.rankfill --all-users -o recommendations.parquet
    """
    if [bool(user), all_users, for_ratings is not None].count(True) != 1:
        raise ValueError("say for whom: --user ID (as often as you like), --for-ratings FILE, or --all-users -o FILE")
    if all_users and output is None:
        raise ValueError("--all-users needs a file to write: -o recommendations.parquet, or .csv")
    if n < 1:
        raise ValueError(f"-n must be at least 1, found {n}")
    check_share("--diversify", diversify)
    if output is not None:
        check_table_output(output)
    use_threads(threads)
    fitted = read_model(model)
    names = read_titles(titles, fitted.items_)
    new = None if new_items is None else _new_items(fitted, new_items)
    find = partial(
        fitted.recommend,
        n=n,
        exclude_seen=exclude_seen,
        items=None if items is None else _ids(items, fitted.items_),
        exclude=None if exclude is None else _ids(exclude, fitted.items_),
        min_ratings=_fewest(min_ratings),
        diversify=diversify,
        new_items=new,
    )
    people = _people(fitted, user, for_ratings, columns)
    if output is not None:
        _write(find, people, names, output)
    else:
        best = find(people)
        _show(best, names)
        if isinstance(new, Features) and items is None:
            _show_new(best, find(people, items=new.ids.ids()), names)


def _people(model: Model, users: list[str] | None, newcomers: Path | None, columns: str | None) -> Any:
    """Ids, or the ratings of newcomers."""
    if newcomers is not None:
        ratings = read_ratings(newcomers, parse_columns(columns), timestamps=False, items=model.items_)
        _tell_unknown_items(model, ratings)
        return ratings
    if not users:
        return model.users_.ids()
    ids = parse_ids(users, model.users_, "user")
    _tell_unknown(model, ids)
    return ids


def _new_items(model: Model, path: Path) -> Features | Path:
    """Read once for all users; a model that has no use for features says so when it is asked."""
    return model._like_learned("item", path) if isinstance(model, DescribedRows | Auto) else path


def _ids(text: str, known: Vocabulary) -> NDArray[Any]:
    """Ids typed with commas between, or the first column of a file."""
    if Path(text).is_file():
        texts = [str(identity) for identity, _ in read_items(text, 1)]
    else:
        texts = [each.strip() for each in text.split(",")]
    return parse_ids(texts, known, "item")


def _fewest(text: str) -> MinRatings:
    if text == "auto":
        return "auto"
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise ValueError(f"--min-ratings must be a whole number of at least 1, or auto; found {shown(text)}")
    return int(text)


def _show(best: Recommendations, titles: dict[Any, str]) -> None:
    for row, each in enumerate([] if best.users is None else best.users.tolist()):
        if row:
            console().print()
        ratings = None if best.ratings is None else best.ratings[row]
        console().print(_table(each, Recommendations(best.items[row], best.scores[row], ratings=ratings), titles))


def _show_new(best: Recommendations, new: Recommendations, titles: dict[Any, str]) -> None:
    """The new items that are not on the lists: whoever gives some wants to know how they do."""
    listed, found = (~np.isnan(each.scores) for each in (best, new))
    if set(new.items[found].tolist()) <= set(best.items[listed].tolist()):
        return
    console().print("\nThe new items alone")
    _show(new, titles)


def _tell_unknown_items(model: Model, ratings: Ratings) -> None:
    known = model.items_.index(ratings.items.ids()) >= 0
    unknown = len(ratings) - int(known[ratings.item_indices].sum())
    if unknown:
        note(f"{unknown:,} of {len(ratings):,} ratings are of items that the model does not know, and count nothing")


def _tell_unknown(model: Model, users: NDArray[Any]) -> None:
    for unknown in users[model.users_.index(users) < 0].tolist():
        note(f"user {unknown} is not known to this model; the list is the one for a newcomer")


def _table(user: Any, best: Recommendations, titles: dict[Any, str]) -> Table:
    found = ~np.isnan(best.scores)
    items = best.items[found].tolist()
    numbers = {"score": best.scores} if best.ratings is None else {"score": best.scores, "rating": best.ratings}
    table = plain_table("rank#", "item", *(f"{name}#" for name in numbers), *(["title"] if titles else []))
    table.title, table.title_justify, table.title_style = printable(f"For user {user}"), "left", "bold"
    columns = [[f"{value:.3f}" for value in each[found].tolist()] for each in numbers.values()]
    for rank, (item, *texts) in enumerate(zip(items, *columns, strict=True), start=1):
        table.add_row(str(rank), str(item), *texts, *([titles.get(item, "")] if titles else []))
    return table


def _write(find: Callable[..., Recommendations], people: Any, titles: dict[Any, str], output: Path) -> None:
    total = people.n_users if isinstance(people, Ratings) else len(people)
    screen = console(stderr=True)
    rows = 0
    with (
        table_writer(output) as writer,
        Progress(console=screen, disable=not screen.is_terminal, transient=True) as bar,
    ):
        task = bar.add_task("users", total=total)
        for some in _chunks(people, total):
            columns = _columns(find(some), titles)
            writer.add(columns)
            rows += len(columns["user"])
            bar.advance(task, CHUNK)
    console().print(f"Wrote {rows:,} recommendations for {total:,} users to {output}.")


def _chunks(people: Any, total: int) -> Iterator[Any]:
    """A few thousand people at a time."""
    for start in range(0, total, CHUNK):
        if isinstance(people, Ratings):
            yield people.of_users(people.users.ids(np.arange(start, min(start + CHUNK, total))))
        else:
            yield people[start : start + CHUNK]


def _columns(best: Recommendations, titles: dict[Any, str]) -> TableColumns:
    users = np.asarray(best.users)
    found = ~np.isnan(best.scores)
    n = best.scores.shape[1]
    items = best.items[found]
    columns = {
        "user": np.repeat(users, found.sum(axis=1)),
        "item": items if items.dtype.kind == "O" else items.astype(np.int64),
        "score": best.scores[found],
        "rank": np.broadcast_to(np.arange(1, n + 1), found.shape)[found],
    }
    if best.ratings is not None:
        columns["rating"] = best.ratings[found]
    if titles:
        columns["title"] = np.array([titles.get(item) for item in items.tolist()], dtype=object)
    return columns
