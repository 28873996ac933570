import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankfill as rf
from rankfill.data import read_ratings, read_titles
from rankfill.data.synthetic import film_club

Run = Callable[..., Any]
Refused = Callable[..., str]

FILES = ["film-club.rankfill", "learning_curve.png", "ratings.csv", "test.csv", "titles.csv", "topics.png"]


def test_it_leaves_its_files_and_the_commands_it_names_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("quickstart", "--output", "my folder")
    assert outcome.code == 0
    assert outcome.err == ""
    folder = tmp_path / "my folder"
    assert sorted(path.name for path in folder.iterdir()) == FILES
    commands = [shlex.split(line)[1:] for line in outcome.out.splitlines() if line.strip().startswith("rankfill ")]
    assert [command[0] for command in commands] == ["recommend", "topics", "evaluate", "fit"]
    for command in commands:
        assert run(*command).code == 0
    assert run("quickstart", "--output", "my folder").code == 0, "it may be run again"


def test_its_files_hold_the_club(run: Run, tmp_path: Path) -> None:
    run("quickstart", "-o", tmp_path)
    club = film_club()
    known, test = read_ratings(tmp_path / "ratings.csv"), read_ratings(tmp_path / "test.csv")
    assert len(known) + len(test) == len(club.ratings)
    assert read_titles(tmp_path / "titles.csv") == club.titles
    assert "m017" in rf.load(tmp_path / "film-club.rankfill").users_


def test_the_model_beats_the_baseline_and_finds_the_genres(run: Run, tmp_path: Path) -> None:
    outcome = run("quickstart", "-o", tmp_path)
    rows = [line.split() for line in outcome.out.splitlines()]
    bias = next(row for row in rows if row[:1] == ["bias"] and len(row) > 5)
    model = next(row for row in rows if row[:1] == ["passive-aggressive"])
    assert float(model[1]) < 0.8 * float(bias[1])
    genres = {genre for named in film_club().genres.values() for genre in named}
    found = outcome.out.partition("3. Topics")[2].partition("4. ")[0]
    assert all(found.count(f" {genre} ") == 1 for genre in genres), "one topic a genre"
    assert outcome.out.partition("4. ")[2].count("%,") >= 8, "reasons stand beside the films"


def test_a_file_in_the_way(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    assert "taken is a file; give a folder" in refused("quickstart", "-o", tmp_path / "taken")
    assert "make it first" in refused("quickstart", "-o", tmp_path / "a" / "b")
