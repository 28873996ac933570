import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import rankfill as rf
from rankfill.cli import recommend as verb

Run = Callable[..., Any]
Refused = Callable[..., str]


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    return duckdb.sql(f"SELECT * FROM '{path}'").fetchall()


def test_a_table_for_each_user(run: Run, model: Path, titles: Path) -> None:
    fitted = rf.load(model)
    first, second = fitted.users_.ids()[:2].tolist()
    outcome = run("recommend", model, "--user", first, "--user", second, "-n", 3, "--titles", titles)
    assert outcome.code == 0
    assert outcome.err == ""
    assert outcome.out.index(f"For user {first}") < outcome.out.index(f"For user {second}")
    rows = [line.split() for line in outcome.out.splitlines() if line[:4].strip().isdigit()]
    best = fitted.recommend([first, second], n=3)
    assert [row[1] for row in rows] == [str(item) for item in best.items.ravel()]
    assert [row[2] for row in rows] == [f"{score:.3f}" for score in best.scores.ravel()]
    named = [row for row in rows if len(row) > 3]
    assert named
    assert all(row[3:] == ["[REC]", f"{row[1]},", "$5"] for row in named)


def test_an_unknown_user_gets_the_list_of_a_newcomer(run: Run, model: Path) -> None:
    outcome = run("recommend", model, "--user", 987654, "-n", 2)
    assert outcome.code == 0
    assert outcome.err == "rankfill: user 987654 is not known to this model; the list is the one for a newcomer\n"
    assert "For user 987654" in outcome.out


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("chunk", [4, 4096])
def test_all_users_in_chunks(
    run: Run, model: Path, tmp_path: Path, suffix: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, "CHUNK", chunk)
    out = tmp_path / f"recs 'all'.{suffix}"
    outcome = run("recommend", model, "--all-users", "-n", 3, "-o", out)
    assert outcome.code == 0
    assert outcome.out == f"Wrote 90 recommendations for 30 users to {out}.\n"
    assert list(tmp_path.iterdir()) == [out]
    fitted = rf.load(model)
    best = fitted.recommend(fitted.users_.ids(), n=3)
    found = duckdb.read_parquet(str(out)) if suffix == "parquet" else duckdb.read_csv(str(out))
    assert found.columns == ["user", "item", "score", "rank"]
    columns = found.fetchnumpy()
    assert columns["user"].tolist() == np.repeat(fitted.users_.ids(), 3).tolist()
    assert columns["item"].tolist() == best.items.ravel().tolist()
    np.testing.assert_allclose(columns["score"], best.scores.ravel(), rtol=1e-6)
    assert columns["rank"].tolist() == [1, 2, 3] * 30


def test_fewer_items_than_asked_for_and_titles(run: Run, model: Path, titles: Path, tmp_path: Path) -> None:
    user = rf.load(model).users_.ids()[0]
    out = tmp_path / "some.parquet"
    assert run("recommend", model, "--user", user, "-n", 50, "-o", out, "--titles", titles).code == 0
    rows = rows_of(out)
    assert len(rows) == 12 - 7, "seven of the twelve items are rated already"
    assert [row[3] for row in rows] == [1, 2, 3, 4, 5]
    assert {row[4] for row in rows} <= {None, *(f"[REC] {row[1]}, $5" for row in rows)}
    run("recommend", model, "--user", user, "-n", 50, "-o", out, "--include-seen")
    assert len(rows_of(out)) == 12


def test_csv_quotes_what_needs_it(run: Run, model: Path, titles: Path, tmp_path: Path) -> None:
    run("recommend", model, "--all-users", "-o", tmp_path / "recs.csv", "--titles", titles)
    with (tmp_path / "recs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["title"] for row in rows} <= {"", *(f"[REC] {row['item']}, $5" for row in rows)}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "say for whom: --user ID (as often as you like), --for-ratings FILE, or --all-users -o FILE"),
        (["--user", "101", "--all-users"], "say for whom"),
        (["--all-users"], "--all-users needs a file to write: -o recommendations.parquet, or .csv"),
        (["--user", "101", "-n", "0"], "-n must be at least 1, found 0"),
        (["--user", "101", "-n", "few"], "Invalid value for '-n'"),
        (["--all-users", "-o", "recs.txt"], "cannot tell the format of recs.txt; let its name end in .csv or .parquet"),
        (["--all-users", "-o", "nowhere/recs.csv"], "there is no folder nowhere; make it first"),
        (["--user", "101", "--titles", "nowhere.csv"], "nowhere.csv"),
        (["--user", "101", "--for-ratings", "new.csv"], "say for whom"),
        (["--user", "101", "--min-ratings", "0"], "--min-ratings must be a whole number of at least 1, or auto"),
        (["--user", "101", "--min-ratings", "few"], "--min-ratings must be a whole number of at least 1, or auto"),
        (["--user", "101", "--diversify", "2"], "--diversify must be a number from 0 to 1, found 2"),
    ],
)
def test_options_that_cannot_be(refused: Refused, model: Path, options: list[str], words: str) -> None:
    assert words in refused("recommend", model, *options)


def test_users_of_the_wrong_type(refused: Refused, run: Run, numbers: Path, tmp_path: Path) -> None:
    run("fit", numbers, "-o", tmp_path / "m", "-m", "bias")
    words = "this model knows its users by whole numbers, found 'ann'; give a number"
    assert refused("recommend", tmp_path / "m", "--user", "ann") == words


def test_nothing_is_left_of_a_file_that_failed(
    refused: Refused, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    out = tmp_path / "recs.parquet"
    out.write_text("before")
    monkeypatch.setattr("os.fsync", full)
    told = refused("recommend", model, "--all-users", "-o", out)
    assert told == f"{out}: no space left on device; free some space, or choose another place"
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]


def listed(outcome: Any) -> list[str]:
    return [line.split()[1] for line in outcome.out.splitlines() if line[:4].strip().isdigit()]


def test_candidates_and_exclusions_typed_or_from_a_file(run: Run, model: Path, tmp_path: Path) -> None:
    fitted = rf.load(model)
    user, some = fitted.users_.ids()[0], fitted.items_.ids()[[0, 3, 5, 8]]
    wanted = [str(item) for item in fitted.recommend(user, items=some).items[0] if item in some]
    typed = ", ".join(map(str, some))
    file = tmp_path / "stock.csv"
    file.write_text("item,shelf\n" + "".join(f"{item},7\n" for item in some))
    assert wanted
    assert listed(run("recommend", model, "--user", user, "--items", typed)) == wanted
    assert listed(run("recommend", model, "--user", user, "--items", file)) == wanted
    without = [str(item) for item in fitted.recommend(user, n=12).items[0] if item in set(fitted.items_) - {*some}]
    assert listed(run("recommend", model, "--user", user, "-n", 12, "--exclude", typed)) == without
    varied = fitted.recommend(user, n=3, diversify=0.7).items[0]
    assert listed(run("recommend", model, "--user", user, "-n", 3, "--diversify", 0.7)) == [
        str(each) for each in varied
    ]
    common = [str(item) for item in fitted.recommend(user, min_ratings=17).items[0] if item in set(fitted.items_)]
    assert listed(run("recommend", model, "--user", user, "--min-ratings", 17)) == common


@pytest.mark.parametrize("chunk", [1, 4096])
def test_newcomers_from_a_file(
    run: Run, model: Path, tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, "CHUNK", chunk)
    fitted = rf.load(model)
    first, second, third = fitted.items_.ids()[:3].tolist()
    unknown = "another" if fitted.items_.of_strings else 10**6
    file, out = tmp_path / "new.csv", tmp_path / "lists.csv"
    file.write_text(f"user,item,rating\nzoë,{first},5\nzoë,{second},1\nadam,{third},4\nadam,{unknown},4\n")
    newcomers = rf.read_ratings(file, items=fitted.items_)
    best = fitted.recommend(newcomers, n=2)
    outcome = run("recommend", model, "--for-ratings", file, "-n", 2)
    assert outcome.out.index("For user adam") < outcome.out.index("For user zoë")
    assert listed(outcome) == [str(item) for item in best.items.ravel()]
    assert outcome.err == "rankfill: 1 of 4 ratings are of items that the model does not know, and count nothing\n"
    run("recommend", model, "--for-ratings", file, "-n", 2, "-o", out)
    assert [(row[0], str(row[1])) for row in rows_of(out)] == [
        (user, str(item)) for user, row in zip(["adam", "zoë"], best.items, strict=True) for item in row
    ]
