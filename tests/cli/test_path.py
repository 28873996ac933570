"""The verb path: a table, a picture, the best model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankfill as rf

Run = Callable[..., Any]


def test_path_shows_a_row_a_penalty_draws_and_saves_the_best(run: Run, ratings: Path, tmp_path: Path) -> None:
    picture, best = tmp_path / "path.png", tmp_path / "best.rankfill"
    outcome = run("path", ratings, "--offset", "mean", "--steps", 4, "--plot", picture, "-o", best)
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert lines[0].split() == ["penalty", "rank", "train", "validation", "gap", "seconds"]
    assert lines[1].split()[1] == "0"
    assert sum("best" in line for line in lines[:5]) == 1
    assert picture.stat().st_size > 10_000
    assert f"{rf.load(best).penalty_:.4g}" in outcome.out


def test_the_best_may_be_told_by_lists(run: Run, ratings: Path) -> None:
    outcome = run("path", ratings, "--steps", 3, "--measure", "ndcg@5", "--liked", "all")
    assert outcome.out.splitlines()[0].split() == ["penalty", "rank", "train", "ndcg@5", "gap", "seconds"]
    values = [float(line.split()[3]) for line in outcome.out.splitlines()[1:4]]
    assert "best" in outcome.out.splitlines()[1 + values.index(max(values))]


def test_penalties_may_be_given(run: Run, ratings: Path) -> None:
    outcome = run("path", ratings, "--penalties", "2,8,4")
    assert [line.split()[0] for line in outcome.out.splitlines()[1:]] == ["8", "4", "2"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--penalties", "2,many"), "--penalties must be numbers with commas between, found '2,many'"),
        (("--model", "bias"), "the model bias has no path of penalties; choose one of "),
        (("--validation", "2"), "--validation must be a share between 0 and 1, found 2"),
    ],
)
def test_wrong_arguments_are_refused_in_words(run: Run, ratings: Path, arguments: tuple[str, ...], words: str) -> None:
    outcome = run("path", ratings, *arguments)
    assert outcome.code == 2
    assert words in outcome.err
