"""Features on the command line: learned from by fit, new items in the lists of recommend."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankfill as rf

Run = Callable[..., Any]
Refused = Callable[..., str]


@pytest.fixture
def films(ratings: Path, tmp_path: Path) -> Path:
    """Even items are of one genre, odd ones of the other; the last is not rated by anybody."""
    strings = "tea" in ratings.read_text()
    ids = [f"tea{k}" if strings else str(7 * k) for k in range(13)]
    path = tmp_path / "movies.csv"
    lines = [f"{each},Film {each},{('drama|sad', 'comedy')[k % 2]}" for k, each in enumerate(ids)]
    path.write_text("item,title,genres\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def described(run: Run, ratings: Path, films: Path, tmp_path: Path) -> Path:
    path = tmp_path / "m.rankfill"
    outcome = run("fit", ratings, "-m", "als", "--rank", 4, "--item-features", films, "-o", path)
    assert outcome.code == 0, outcome
    assert "Features(13 ids, 3 columns: 3 of genres (list); ignored: title (text))" in outcome.out
    return path


def test_new_items_compete(run: Run, described: Path, tmp_path: Path) -> None:
    model = rf.load(described)
    strings = model.items_.of_strings
    assert ("tea12" if strings else 84) in model.items_
    user, new = model.users_.ids()[0], tmp_path / "new.csv"
    new.write_text("item,genres\n" + ("coffee" if strings else "1000") + ",comedy\n")
    outcome = run("recommend", described, "--user", user, "-n", 20, "--include-seen", "--new-items", new)
    assert outcome.code == 0, outcome
    assert ("coffee" if strings else " 1000 ") in outcome.out
    out = tmp_path / "all.csv"
    assert run("recommend", described, "--all-users", "-n", 20, "--new-items", new, "-o", out).code == 0
    assert ("coffee" if strings else ",1000,") in out.read_text()


def test_the_default_model_learns_from_features_and_shows_how_new_items_do(
    run: Run, ratings: Path, films: Path, tmp_path: Path
) -> None:
    outcome = run("fit", ratings, "--item-features", films, "-o", tmp_path / "m.rankfill")
    assert outcome.code == 0, outcome
    model = rf.load(tmp_path / "m.rankfill")
    assert model.takes_features
    assert len(model.items_) == 13
    assert type(model) is rf.Auto
    strings, user = model.items_.of_strings, model.users_.ids()[0]
    new = tmp_path / "new.csv"
    new.write_text("item,genres\n" + ("coffee" if strings else "1000") + ",comedy\n")
    outcome = run("recommend", tmp_path / "m.rankfill", "--user", user, "-n", 1, "--new-items", new)
    assert outcome.code == 0, outcome
    assert ("coffee" if strings else " 1000 ") in outcome.out


def test_what_cannot_be_done_is_said(
    run: Run, refused: Refused, model: Path, ratings: Path, films: Path, tmp_path: Path
) -> None:
    user = rf.load(model).users_.ids()[0]
    assert "has not learned from features of items" in refused("recommend", model, "--user", user, "--new-items", films)
    out = tmp_path / "n.rankfill"
    assert "ItemRegression has no factors" in refused(
        "fit", ratings, "-m", "item-regression", "--item-features", films, "-o", out
    )
    assert "id is empty" in refused("fit", ratings, "--user-features", _empty_id(tmp_path), "-o", out)
    assert "is read as" in refused("fit", ratings, "--item-features", films, "-o", films)


def _empty_id(folder: Path) -> Path:
    path = folder / "users.csv"
    path.write_text("user,job\n,cook\nann,nurse\n")
    return path
