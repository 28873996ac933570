"""The verbs that say why and what is alike: explain, similar."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankfill as rf

Run = Callable[..., Any]
Refused = Callable[..., str]


def first_ids(model: Path) -> tuple[Any, Any]:
    fitted = rf.load(model)
    return fitted.users_.ids().tolist()[0], fitted.items_.ids().tolist()[1]


def test_similar_items_and_users_in_a_table(run: Run, model: Path, titles: Path) -> None:
    user, item = first_ids(model)
    fitted = rf.load(model)
    outcome = run("similar", model, "--item", item, "-n", 3, "--titles", titles)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"Similar to item {item}, [REC] {item}, $5")
    rows = [line.split() for line in outcome.out.splitlines() if line[:4].strip().isdigit()]
    expected = fitted.similar_items(item, n=3)
    assert [row[1] for row in rows] == [str(each) for each in expected.ids[0]]
    assert [row[2] for row in rows] == [f"{each:.3f}" for each in expected.similarities[0]]
    outcome = run("similar", model, "--user", user, "--user", user)
    assert outcome.out.count(f"Similar to user {user}") == 2


def test_what_is_unknown_is_similar_to_nothing(run: Run, model: Path) -> None:
    outcome = run("similar", model, "--item", 987654)
    assert outcome.code == 0
    assert outcome.err == "rankfill: item 987654 is not known to this model and is similar to nothing\n"


def test_similar_needs_one_kind_of_id(refused: Refused, model: Path) -> None:
    assert "--item ID or --user ID" in refused("similar", model)
    assert "--item ID or --user ID" in refused("similar", model, "--item", 7, "--user", 100)
    assert "-n must be at least 1" in refused("similar", model, "--item", 7, "-n", 0)


def test_an_explanation_with_and_without_ratings(run: Run, model: Path, ratings: Path, titles: Path) -> None:
    user, item = first_ids(model)
    alone = run("explain", model, "--user", user, "--item", item, "--titles", titles)
    assert (alone.code, alone.err) == (0, "")
    assert f"user {user}" in alone.out
    assert "give the ratings" in " ".join(alone.out.split())
    whole = run("explain", model, "--user", user, "--item", item, "--titles", titles, "--ratings", ratings)
    assert "rating" in whole.out
    assert "[REC]" in whole.out
    assert "rest" in whole.out
    assert "give the ratings" not in " ".join(whole.out.split())


@pytest.mark.parametrize("name", ["bias", "nearest-neighbors", "item-regression", "als"])
def test_every_kind_of_model_is_explained_and_drawn(run: Run, numbers: Path, tmp_path: Path, name: str) -> None:
    path, picture = tmp_path / "m.rankfill", tmp_path / "why.png"
    assert run("fit", numbers, "--model", name, "-o", path).code == 0
    outcome = run("explain", path, "-u", 100, "-i", 7, "-n", 2, "--plot", picture)
    assert outcome.code == 0
    assert f"Drew {picture}." in outcome.out
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_unknown_ids_are_told(run: Run, refused: Refused, numbers: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.rankfill"
    run("fit", numbers, "--model", "bias", "-o", path)
    outcome = run("explain", path, "--user", 5, "--item", 7)
    assert outcome.err == "rankfill: user 5 is not known to this model; this is what stands in for it\n"
    assert "knows its users by whole numbers" in refused("explain", path, "--user", "ann", "--item", 7)
    assert "-n must be at least 1" in refused("explain", path, "--user", 5, "--item", 7, "-n", 0)
    assert "must end in" in refused("explain", path, "--user", 5, "--item", 7, "--plot", tmp_path / "why.doc")
