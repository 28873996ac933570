"""rankfill quickstart: from ratings to recommendations on a made-up film club, in seconds."""

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from rankfill.cli.curve import curve_table
from rankfill.cli.output import TableWriter
from rankfill.cli.shared import check_output, console, plain_table
from rankfill.data import Dataset, Ratings, split
from rankfill.data.synthetic import film_club
from rankfill.evaluation import evaluate
from rankfill.models import Bias, PassiveAggressive
from rankfill.plots import learning_curve, topics_plot
from rankfill.topics import Topic, explain, topics

SETTINGS: dict[str, Any] = {"rank": 6, "recipe": "paper", "C": 0.03, "passes": 30}
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
    train, validation = split(known, test=0.1)
    _introduce(screen, club, train, validation, test)
    bias = Bias().fit(train, validation=validation)
    model = PassiveAggressive(**SETTINGS).fit(train, validation=validation)
    baseline = evaluate(bias, validation, scores=[model.measure])[model.measure]
    _section(screen, f"1. Learning: PassiveAggressive({_arguments()})", curve_table(model.history_, baseline))
    _section(screen, "2. Error on the test ratings, never seen in training", _errors(bias, model, test))
    found = topics(model, n=5, titles=club.titles)
    genres = {topic.factor: _genre(topic, club) for topic in topics(model, n=10)}
    _section(screen, "3. Topics it found without being told any genre", _topics(found, genres))
    title = f"4. Ten films for member {MEMBER}, and which topics speak for each"
    _section(screen, title, _recommendations(model, club, genres))
    model.save(output / "film-club.rankfill")
    learning_curve(model.history_, path=output / "learning_curve.png", baseline={"bias": baseline})
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


def _arguments() -> str:
    return ", ".join(f"{name}={value!r}" for name, value in SETTINGS.items())


def _section(screen: Console, heading: str, content: Table | None = None) -> None:
    screen.print()
    screen.print(heading, style="bold")
    if content is not None:
        screen.print(Padding(content, (0, 0, 0, 2), expand=False))


def _introduce(screen: Console, club: Dataset, train: Ratings, validation: Ratings, test: Ratings) -> None:
    ratings = club.ratings
    empty = 1 - len(ratings) / (ratings.n_users * ratings.n_items)
    screen.print(
        f"A made-up film club: {ratings.n_users:,} members gave {len(ratings):,} ratings, 1 to 5 stars, to "
        f"{ratings.n_items:,} films. {empty:.0%} of the matrix is empty, and rankfill fills it in."
    )
    screen.print(
        f"It learns from {len(train):,} of them; {len(validation):,} others choose the best pass, "
        f"{len(test):,} are kept for the test."
    )


def _errors(bias: Bias, model: PassiveAggressive, test: Ratings) -> Table:
    table = plain_table("", "rmse#", "mae#", "")
    before = evaluate(bias, test, scores=["rmse", "mae"])
    after = evaluate(model, test, scores=["rmse", "mae"])
    gain = 1 - after["rmse"] / before["rmse"]
    for name, scores, remark in (
        ("bias", before, "the mean of the film and the member: the baseline"),
        ("passive-aggressive", after, f"{gain:.0%} lower: taste matters"),
    ):
        table.add_row(name, f"{scores['rmse']:.3f}", f"{scores['mae']:.3f}", remark)
    return table


def _genre(topic: Topic, club: Dataset) -> str:
    """The planted genre that most of the topic's films have."""
    counts = Counter(genre for item in topic.items for genre in club.genres[int(item)])
    return counts.most_common(1)[0][0] if counts else "nothing"


def _topics(found: Sequence[Topic], genres: dict[int, str]) -> Table:
    table = plain_table("topic#", "share#", "genre", "strongest films")
    for topic in found:
        films = [title.removesuffix(f" ({genres[topic.factor]})") for title in topic.titles[:2]]
        table.add_row(str(topic.factor), f"{topic.share:.0%}", genres[topic.factor], " · ".join(films))
    return table


def _recommendations(model: PassiveAggressive, club: Dataset, genres: dict[int, str]) -> Table:
    best = model.recommend(MEMBER, n=10)
    films, scores = best.items[0].tolist(), best.scores[0].tolist()
    reasons = explain(model, MEMBER, films, n=2)
    table = plain_table("#", "score#", "film", "because of")
    for rank, (film, score) in enumerate(zip(films, scores, strict=True), start=1):
        because = [f"{genres[each.factor]} {each.share:.0%}" for each in reasons if each.item == film]
        table.add_row(str(rank), f"{score:.2f}", club.titles[film], ", ".join(because))
    return table


def _leave_files(folder: Path, club: Dataset, known: Ratings, test: Ratings) -> None:
    for name, ratings in (("ratings.csv", known), ("test.csv", test)):
        with TableWriter(folder / name) as writer:
            users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
            writer.add({"user": users, "item": items, "rating": ratings.values.astype(np.int64)})
    with TableWriter(folder / "titles.csv") as writer:
        titles = np.array(list(club.titles.values()), dtype=object)
        writer.add({"item": np.array(list(club.titles)), "title": titles})


def _files() -> Table:
    table = plain_table()
    for name, meaning in {
        "film-club.rankfill": "the model",
        "learning_curve.png": "how it learned",
        "topics.png": "what it found",
        "ratings.csv, test.csv": "what it learned from, and what it was tested on",
        "titles.csv": "the names of the films",
    }.items():
        table.add_row(name, meaning)
    return table


def _commands(folder: Path) -> list[str]:
    model, titles, ratings, test = (
        shlex.quote(str(folder / name)) for name in ("film-club.rankfill", "titles.csv", "ratings.csv", "test.csv")
    )
    parameters = " ".join(f"--{name} {value}" for name, value in SETTINGS.items())
    return [
        f"rankfill recommend {model} --user m007 --titles {titles}",
        f"rankfill topics {model} --titles {titles} -n 3",
        f"rankfill evaluate {model} {test}",
        f"rankfill fit {ratings} -o m.rankfill {parameters} --validation 0.1",
    ]
