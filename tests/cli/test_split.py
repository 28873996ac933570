"""rankfill split: two files that hold together what was read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankfill as rf

Run = Callable[..., Any]
Refused = Callable[..., str]


def triples(ratings: rf.Ratings) -> set[tuple[Any, ...]]:
    columns = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices), ratings.values
    times = [np.zeros(len(ratings)) if ratings.timestamps is None else ratings.timestamps]
    return set(zip(*(column.tolist() for column in (*columns, *times)), strict=True))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("by", ["user", "entry", "cold-users", "cold-items"])
def test_the_files_are_what_the_library_splits(run: Run, ratings: Path, tmp_path: Path, ending: str, by: str) -> None:
    train, test = tmp_path / f"train{ending}", tmp_path / f"test{ending}"
    outcome = run("split", ratings, train, test, "--by", by, "--hold-out", 0.3, "--seed", 4)
    assert outcome.code == 0, outcome.err
    expected = rf.split(rf.read_ratings(ratings), 0.3, by, 4)
    assert [triples(rf.read_ratings(path)) for path in (train, test)] == [triples(part) for part in expected]
    assert f"Wrote {len(expected[1]):,} ratings by " in outcome.out


def test_times_are_kept_and_the_last_of_each_user_held_out(run: Run, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("rankfill.cli.split.CHUNK", 3)
    lines = [f"{user},{item},{1 + item % 5}.5,2020-01-0{1 + item}" for user in range(4) for item in (5, 1, 3)]
    source = tmp_path / "ratings.csv"
    source.write_text("\n".join(["user,item,rating,timestamp", *lines]))
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    assert run("split", source, train, test, "--by", "last", "--hold-out", "1").code == 0
    held_out = rf.read_ratings(test)
    assert held_out.item_indices.tolist() == [0] * 4
    assert held_out.items.ids().tolist() == [5]
    assert triples(rf.read_ratings(train)) | triples(held_out) == triples(rf.read_ratings(source))


def test_what_cannot_be_split_is_said_in_words(refused: Refused, numbers: Path, tmp_path: Path) -> None:
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    assert "name two files" in refused("split", numbers, train, train)
    assert "would be written over" in refused("split", numbers, train, numbers)
    assert "end in .csv or .parquet" in refused("split", numbers, train, tmp_path / "test.xlsx")
    assert "found 'half'" in refused("split", numbers, train, test, "--hold-out", "half")
    assert "needs timestamps" in refused("split", numbers, train, test, "--by", "last")
    assert "found 1.5" in refused("split", numbers, train, test, "--hold-out", "1.5")
    assert not train.exists()
