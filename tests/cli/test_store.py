"""A store goes wherever the command line takes a file of ratings."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import rankfill as rf

from .conftest import Run

ALS = ("--model", "als", "--rank", 3, "--passes", 4)


@pytest.fixture
def store(run: Run, ratings: Path, tmp_path: Path) -> Path:
    assert run("convert", ratings, "-o", tmp_path / "ratings.store").code == 0
    return tmp_path / "ratings.store"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_lists_for_all_users_of_a_store_are_those_of_its_file(
    run: Run, store: Path, ratings: Path, tmp_path: Path, ending: str
) -> None:
    lists = []
    for source in (store, ratings):
        assert run("fit", source, "-o", tmp_path / "m.rankfill", *ALS).code == 0
        outcome = run("recommend", tmp_path / "m.rankfill", "--all-users", "-n", 3, "-o", tmp_path / f"lists.{ending}")
        assert outcome.code == 0
        assert "recommendations for 30 users" in outcome.out
        lists.append((tmp_path / f"lists.{ending}").read_bytes())
    assert lists[0] == lists[1]
    assert len(lists[0]) > 500


VERBS = {
    "cross-validate": (*ALS, "--folds", 3),
    "tune": ("--model", "als", "--rank", 3, "--passes", 4, "--grid", "penalty=0.1,1"),
    "split": ("train.csv", "test.csv"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_that_hold_ratings_out_say_the_same_of_a_store(
    run: Run, store: Path, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.chdir(tmp_path)
    told = []
    for source in (store, ratings):
        outcome = run(verb, source, *VERBS[verb])
        assert outcome.code == 0
        told.append([outcome.out.split("\n", 1)[1], *(file.read_text() for file in sorted(tmp_path.glob("t*.csv")))])
    if verb == "tune":  # with the seconds of each fit
        told = [[line for line in each[0].splitlines() if line.startswith("Best")] for each in told]
    assert told[0] == told[1]


def test_a_model_is_judged_on_a_store(run: Run, store: Path, ratings: Path, model: Path) -> None:
    errors = [
        json.loads(run("evaluate", model, source, "--scores", "rmse", "--json").out) for source in (store, ratings)
    ]
    assert errors[0] == errors[1]


def test_a_stream_goes_through_a_store(run: Run, store: Path) -> None:
    streamed = run("cross-validate", store, "--stream", "--model", "sgd", "--rank", 3, "--folds", 3, "--json")
    assert streamed.code == 0, streamed.err
    told = json.loads(streamed.out)
    expected = rf.cross_validate_stream(rf.SGD(rank=3), rf.open_store(store), folds=3)
    assert told["folds"] == expected.errors.tolist()
    assert rf.cross_validate_stream(rf.SGD(rank=3), store, folds=3).errors.tolist() == told["folds"]
    assert sum(map(len, rf.read_batches(store, size=50))) == len(rf.open_store(store))


def test_a_model_that_needs_memory_says_what_to_do(run: Run, store: Path, tmp_path: Path) -> None:
    outcome = run("fit", store, "-o", tmp_path / "m.rankfill", "--model", "soft-impute")
    assert outcome.code == 2
    assert "SoftImpute needs all ratings in memory" in outcome.err


def test_a_fit_from_a_store_that_is_killed_goes_on_by_the_same_command(run: Run, tmp_path: Path) -> None:
    rf.store_ratings(rf.synthetic.low_rank(300, 100, n_ratings=20_000), tmp_path / "a.store")
    settings = ("--model", "als", "--rank", 4, "--passes", 150, "--tol", 0)
    fit = ("fit", tmp_path / "a.store", *settings)
    command = (*fit, "-o", tmp_path / "m.rankfill", "--checkpoint", tmp_path / "long.fit", "--every", 2)
    rankfill = [sys.executable, "-c", "from rankfill.cli import main; main()"]
    child = subprocess.Popen([*rankfill, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (tmp_path / "long.fit" / "checkpoint.safetensors").exists() and child.poll() is None:
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert not (tmp_path / "m.rankfill").exists()
    assert run(*command).code == 0
    assert run(*fit, "-o", tmp_path / "whole.rankfill").code == 0
    found, whole = rf.load(tmp_path / "m.rankfill"), rf.load(tmp_path / "whole.rankfill")
    np.testing.assert_array_equal(found.item_factors_, whole.item_factors_)
    assert [each.objective for each in found.history_] == [each.objective for each in whole.history_]
