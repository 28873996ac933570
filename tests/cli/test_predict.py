import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import rankfill as rf

Run = Callable[..., Any]
Refused = Callable[..., str]


@pytest.fixture
def pairs(model: Path, tmp_path: Path) -> Path:
    """Pairs in no particular order, one of them twice."""
    fitted = rf.load(model)
    users, items = fitted.users_.ids()[[5, 0, 5, 29]], fitted.items_.ids()[[3, 11, 3, 0]]
    path = tmp_path / "pairs.csv"
    path.write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in zip(users, items, strict=True)))
    return path


def test_the_order_of_the_pairs_is_kept(run: Run, model: Path, pairs: Path) -> None:
    outcome = run("predict", model, pairs)
    assert outcome.code == 0
    assert outcome.err == ""
    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    assert [f"{row['user']},{row['item']}" for row in rows] == pairs.read_text().splitlines()[1:]
    fitted = rf.load(model)
    users, items = fitted.users_.ids()[[5, 0, 5, 29]], fitted.items_.ids()[[3, 11, 3, 0]]
    np.testing.assert_allclose([float(row["prediction"]) for row in rows], fitted.predict(users, items), rtol=1e-6)
    assert run("predict", model, pairs, "-o", "-").out == outcome.out


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_to_a_file(run: Run, model: Path, pairs: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out.{suffix}"
    outcome = run("predict", model, pairs, "-o", out)
    assert outcome.out == f"Wrote 4 predictions to {out}.\n"
    found = duckdb.sql(f"SELECT * FROM '{out}'")
    assert found.columns == ["user", "item", "prediction"]
    printed = list(csv.reader(io.StringIO(run("predict", model, pairs).out)))[1:]
    rows = found.fetchall()
    assert [[str(row[0]), str(row[1])] for row in rows] == [row[:2] for row in printed]
    np.testing.assert_allclose([row[2] for row in rows], [float(row[2]) for row in printed], rtol=1e-6)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"out.{suffix}", "pairs.csv"]


def test_unknown_ids_are_counted(run: Run, model: Path, tmp_path: Path) -> None:
    """Numbers are no obstacle to a model that knows strings: a file of its ids may hold numbers only."""
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("user,item\n999,999\n998,997\n")
    outcome = run("predict", model, pairs)
    assert outcome.code == 0
    assert outcome.err == (
        "rankfill: of 2 pairs, 2 have an unknown user and 2 an unknown item: means stand in for them\n"
    )
    mean = rf.load(model).mean_
    assert [float(line.split(",")[2]) for line in outcome.out.splitlines()[1:]] == pytest.approx([mean, mean])


def test_columns_by_name(run: Run, model: Path, pairs: Path, tmp_path: Path) -> None:
    renamed = tmp_path / "renamed.csv"
    renamed.write_text(pairs.read_text().replace("user,item", "who,what"))
    outcome = run("predict", model, renamed, "--columns", "who,what")
    assert outcome.out == run("predict", model, pairs).out


def test_strings_for_a_model_of_numbers(refused: Refused, run: Run, numbers: Path, tmp_path: Path) -> None:
    run("fit", numbers, "-o", tmp_path / "m", "-m", "bias")
    (tmp_path / "pairs.csv").write_text("user,item\nann,7\n")
    assert "line 2 of pairs.csv: user 'ann' is no whole number" in refused(
        "predict", tmp_path / "m", tmp_path / "pairs.csv", "-o", tmp_path / "out.csv"
    )
    assert not (tmp_path / "out.csv").exists()


@pytest.fixture
def timed(run: Run, tmp_path: Path) -> Path:
    """Ratings whose level changes from one sitting to the next."""
    rng = np.random.default_rng(0)
    user, item = np.nonzero(rng.random((30, 20)) < 0.6)
    sitting = rng.integers(0, 3, len(user))
    rating = 3 + 2 * rng.normal(size=(30, 3))[user, sitting] + 0.2 * rng.normal(size=len(user))
    columns = zip(user, item, rating, 10**9 + 10**6 * sitting, strict=True)
    path = tmp_path / "timed.csv"
    path.write_text("user,item,rating,timestamp\n" + "".join(f"{u},{i},{r:.3f},{t}\n" for u, i, r, t in columns))
    options = ("--model", "bayesian-mf", "--time", "--rank", 2, "--sweeps", 20)
    assert run("fit", path, "-o", tmp_path / "timed.rankfill", *options).code == 0
    return path


def test_a_model_of_times_goes_by_those_of_the_pairs(run: Run, timed: Path, tmp_path: Path) -> None:
    """In a column with a header or as the fourth without; `cross-validate` goes by times as well."""
    model = tmp_path / "timed.rankfill"
    users, items, times = np.array([3, 3, 4]), np.array([5, 5, 6]), np.array([10**9, 10**9 + 2 * 10**6, 10**9])
    expected = rf.load(model).predict(users, items, timestamps=times)
    pairs = tmp_path / "pairs.csv"
    for header, rating in (("user,item,timestamp\n", ""), ("", "0,")):
        rows = zip(users, items, times, strict=True)
        pairs.write_text(header + "".join(f"{user},{item},{rating}{time}\n" for user, item, time in rows))
        told = [float(row["prediction"]) for row in csv.DictReader(io.StringIO(run("predict", model, pairs).out))]
        np.testing.assert_allclose(told, expected, rtol=1e-5)
    pairs.write_text("user,item\n3,5\n")
    alone = list(csv.DictReader(io.StringIO(run("predict", model, pairs).out)))
    assert float(alone[0]["prediction"]) == pytest.approx(float(rf.load(model).predict(3, 5)), rel=1e-5)
    options = ("--model", "bayesian-mf", "--rank", 2, "--sweeps", 20, "--folds", 2, "--json")
    errors = [json.loads(run("cross-validate", timed, *options, *more).out)["error"] for more in ((), ("--time",))]
    assert errors[1] < 0.8 * errors[0]
