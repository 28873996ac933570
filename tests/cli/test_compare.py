import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]
Refused = Callable[..., str]


def test_models_are_compared_drawn_and_advised(run: Run, ratings: Path, tmp_path: Path) -> None:
    picture = tmp_path / "models.png"
    outcome = run("compare", ratings, "--models", "bias,popularity,sgd", "--plot", picture)
    assert outcome.code == 0, outcome.err
    rows = [line.split() for line in outcome.out.splitlines()]
    assert {row[0] for row in rows if row and row[0].endswith("()")} == {"Bias()", "Popularity()", "SGD()"}
    assert "Learned from 168 of them, measured on 42." in outcome.out
    assert "To recommend: " in outcome.out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json_has_every_model_and_the_advice(run: Run, numbers: Path) -> None:
    answer = json.loads(run("compare", numbers, "--models", "bias,popularity", "--json").out)
    assert {each["model"] for each in answer["models"]} == {"Bias()", "Popularity()"}
    assert next(each for each in answer["models"] if each["model"] == "Popularity()")["error"] is None
    assert answer["advice"][0].startswith("To predict ratings: Bias(), rmse ")


def test_what_cannot_be(refused: Refused, numbers: Path) -> None:
    assert "there is no model 'oracle'" in refused("compare", numbers, "--models", "als,oracle")
    assert "seconds must be a positive number" in refused("compare", numbers, "--seconds", "0")
    assert "--by last needs timestamps" in refused("compare", numbers, "--by", "last")
