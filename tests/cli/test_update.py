from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankfill as rf

Run = Callable[..., Any]
Refused = Callable[..., str]

LEARNS_ON = "passive-aggressive"


@pytest.fixture
def fitted(run: Run, numbers: Path, tmp_path: Path) -> Path:
    assert run("fit", numbers, "-o", tmp_path / "m", "--model", LEARNS_ON, "--rank", 2).code == 0
    return tmp_path / "m"


def test_update_is_partial_fit(run: Run, fitted: Path, tmp_path: Path) -> None:
    before = rf.load(fitted)
    item = before.items_.ids()[0]
    more = tmp_path / "more.csv"
    more.write_text(
        f"user,item,rating,timestamp\n{before.users_.ids()[0]},777,4,20\n888,{item},1,10\n888,{item},2,30\n"
    )
    outcome = run("update", fitted, more, "-o", tmp_path / "newer")
    assert outcome.code == 0
    assert outcome.out.endswith(f"Learned from them, 1 users and 1 items being new; wrote {tmp_path / 'newer'}.\n")
    expected = before.partial_fit(rf.read_ratings(more, duplicates="last"))
    newer = rf.load(tmp_path / "newer")
    assert newer.users_.ids().tolist() == expected.users_.ids().tolist()
    np.testing.assert_array_equal(newer.user_factors_, expected.user_factors_)
    assert run("update", fitted, more).code == 0
    assert len(rf.load(fitted).users_) == len(newer.users_)


def test_a_model_that_cannot_learn_on_says_what_to_do(
    refused: Refused, run: Run, numbers: Path, tmp_path: Path
) -> None:
    run("fit", numbers, "-o", tmp_path / "m", "--model", "bias")
    told = refused("update", tmp_path / "m", numbers)
    assert "Bias learns from all ratings at once and cannot go on; put the files together and fit again" in told
    assert LEARNS_ON in told


def test_update_refuses_to_write_over_the_ratings(refused: Refused, fitted: Path, numbers: Path) -> None:
    assert "would be written over" in refused("update", fitted, numbers, "-o", numbers)


def test_forget_removes_users_from_the_file(run: Run, refused: Refused, fitted: Path, tmp_path: Path) -> None:
    before = rf.load(fitted)
    first, second = before.users_.ids()[:2].tolist()
    outcome = run("forget", fitted, "--user", first, "--user", 987654, "-o", tmp_path / "less")
    assert outcome.code == 0
    assert outcome.err == "rankfill: user 987654 is not known to this model\n"
    less = rf.load(tmp_path / "less")
    assert first not in less.users_
    assert f"Forgot 1 users with {before.n_ratings_ - less.n_ratings_} ratings" in outcome.out
    assert run("forget", fitted, "--user", second).code == 0
    assert second not in rf.load(fitted).users_
    assert "knows its users by whole numbers" in refused("forget", fitted, "--user", "ann")
