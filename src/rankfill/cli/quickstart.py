"""rankfill quickstart: from ratings to recommendations on a made-up film club, in seconds."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from rankfill.cli.choices import choice_table
from rankfill.cli.output import table_writer
from rankfill.cli.shared import check_output, console, plain_table
from rankfill.data import Dataset, Ratings, split
from rankfill.data.synthetic import film_club
from rankfill.evaluation import evaluate
from rankfill.models import Auto, Bias, Model, Popularity
from rankfill.plots import quality_bars, topics_plot
from rankfill.topics import Topic, topics

MEMBER = "m042"


def quickstart(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to leave the files; made if need be.")
    ] = Path("quickstart"),
) -> None:
    """Shows everything in ten seconds on a made-up film club, and leaves the files to play with.

    \b
    rankfill quickstart
    rankfill quickstart --output somewhere/
    """
    _make(output)
    screen, club = console(), film_club()
    known, test = split(club.ratings, test=0.2)
    _introduce(screen, club, known, test)
    model = Auto().fit(known)
    _section(screen, "1. Learning: Auto() tries models on a part of what it learns from", choice_table(model.choices_))
    for line in model.choices_.why():
        screen.print(f"  {line}")
    _section(screen, "2. On the test ratings, which none of them has seen", _results(model, known, test))
    title = f"3. Ten films for member {MEMBER}, and the stars they would get"
    _section(screen, title, _recommendations(model, club))
    found = topics(replace(club, ratings=known), n=5)
    _section(screen, "4. Topics in the ratings, found without being told any genre", _topics(found))
    model.save(output / "film-club.rankfill")
    quality_bars({each.label: (each.error, each.ndcg) for each in model.choices_}, path=output / "choices.png")
    topics_plot(found, path=output / "topics.png")
    _leave_files(output, club, known, test)
    _section(screen, f"5. In {output}/ there are now", _files())
    _section(screen, "6. Try next")
    for command in _commands(output):
        screen.print(f"  {command}", soft_wrap=True)


def _make(folder: Path) -> None:
    if folder.is_dir():
        check_output(folder / "ratings.csv")
    elif folder.exists():
        raise ValueError(f"{folder} is a file; give a folder for what the quickstart leaves: --output FOLDER")
    else:
        check_output(folder)
        folder.mkdir()


def _section(screen: Console, heading: str, content: Table | None = None) -> None:
    screen.print()
    screen.print(heading, style="bold")
    if content is not None:
        screen.print(Padding(content, (0, 0, 0, 2), expand=False))


def _introduce(screen: Console, club: Dataset, known: Ratings, test: Ratings) -> None:
    ratings = club.ratings
    empty = 1 - len(ratings) / (ratings.n_users * ratings.n_items)
    screen.print(
        f"A made-up film club: {ratings.n_users:,} members gave {len(ratings):,} ratings, 1 to 5 stars, to "
        f"{ratings.n_items:,} films. {empty:.0%} of the matrix is empty, and rankfill fills it in."
    )
    screen.print(f"It learns from {len(known):,} of them; {len(test):,} are kept for the test.")


def _results(model: Auto, known: Ratings, test: Ratings) -> Table:
    """Errors and lists, beside the baseline of each."""
    table = plain_table("", "rmse#", "mae#", "ndcg@10#", "")
    found = {name: _scores(each, test) for name, each in _beside(model, known).items()}
    gain = 1 - found["auto"]["rmse"] / found["bias"]["rmse"]
    times = found["auto"]["ndcg@10"] / found["bestsellers"]["ndcg@10"]
    remarks = {
        "bias": "the mean of the film and the member: the baseline of errors",
        "bestsellers": "the same films for everybody: the baseline of lists",
        "auto": f"errors {gain:.0%} lower, lists {times:.1f} times as good: taste matters",
    }
    for name, scores in found.items():
        numbers = (f"{scores[each]:.3f}" if each in scores else "" for each in ("rmse", "mae", "ndcg@10"))
        table.add_row(name, *numbers, remarks[name])
    return table


def _beside(model: Auto, known: Ratings) -> dict[str, Model]:
    return {"bias": Bias().fit(known), "bestsellers": Popularity().fit(known), "auto": model}


def _scores(model: Model, test: Ratings) -> dict[str, float]:
    return evaluate(model, test, scores=["rmse", "mae", "ndcg@10"] if model.predicts_ratings else ["ndcg@10"])


def _recommendations(model: Auto, club: Dataset) -> Table:
    best = model.recommend(MEMBER, n=10)
    assert best.ratings is not None
    table = plain_table("#", "stars#", "film")
    for place, (film, stars) in enumerate(zip(best.items[0].tolist(), best.ratings[0], strict=True), start=1):
        table.add_row(str(place), f"{stars:.1f}", club.titles[film])
    return table


def _topics(found: Sequence[Topic]) -> Table:
    table = plain_table("topic#", "share#", "genre", "strongest films")
    for topic in found:
        films = [title.removesuffix(f" ({topic.label})") for title in topic.titles[:2]]
        table.add_row(str(topic.factor), f"{topic.share:.0%}", topic.label, " · ".join(films))
    return table


def _leave_files(folder: Path, club: Dataset, known: Ratings, test: Ratings) -> None:
    for name, ratings in (("ratings.csv", known), ("test.csv", test)):
        with table_writer(folder / name) as writer:
            users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
            writer.add({"user": users, "item": items, "rating": ratings.values.astype(np.int64)})
    with table_writer(folder / "titles.csv") as writer:
        titles = np.array(list(club.titles.values()), dtype=object)
        genres = np.array(["|".join(club.genres[film]) for film in club.titles], dtype=object)
        writer.add({"item": np.array(list(club.titles)), "title": titles, "genres": genres})


def _files() -> Table:
    table = plain_table()
    for name, meaning in {
        "film-club.rankfill": "the model",
        "choices.png": "what was tried",
        "topics.png": "the topics",
        "ratings.csv, test.csv": "what it learned from, and what it was tested on",
        "titles.csv": "the names and genres of the films",
    }.items():
        table.add_row(name, meaning)
    return table


def _commands(folder: Path) -> list[str]:
    model, titles, ratings, test = (
        shlex.quote(str(folder / name)) for name in ("film-club.rankfill", "titles.csv", "ratings.csv", "test.csv")
    )
    return [
        f"rankfill recommend {model} --user m007 --titles {titles}",
        f"rankfill topics {ratings} --titles {titles} -n 3",
        f"rankfill evaluate {model} {test}",
        f"rankfill fit {ratings} -o m.rankfill",
        f"rankfill compare {ratings} --models auto,als,sgd,bias,popularity",
    ]
