import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankfill as rf
from rankfill.data import read_ratings, read_titles
from rankfill.data.readers import read_genres
from rankfill.data.synthetic import film_club

Run = Callable[..., Any]
Refused = Callable[..., str]

FILES = ["choices.png", "film-club.rankfill", "ratings.csv", "test.csv", "titles.csv", "topics.png"]


def test_it_leaves_its_files_and_the_commands_it_names_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("quickstart", "--output", "my folder")
    assert outcome.code == 0
    assert outcome.err == ""
    folder = tmp_path / "my folder"
    assert sorted(path.name for path in folder.iterdir()) == FILES
    files_hold_the_club(folder)
    beats_both_baselines(outcome.out)
    genres_are_found(outcome.out)
    commands = [shlex.split(line)[1:] for line in outcome.out.splitlines() if line.strip().startswith("rankfill ")]
    assert [command[0] for command in commands] == ["recommend", "topics", "evaluate", "fit", "compare"]
    for command in commands:
        assert run(*command).code == 0


def files_hold_the_club(folder: Path) -> None:
    club = film_club()
    known, test = read_ratings(folder / "ratings.csv"), read_ratings(folder / "test.csv")
    assert len(known) + len(test) == len(club.ratings)
    assert read_titles(folder / "titles.csv") == club.titles
    assert read_genres(folder / "titles.csv") == club.genres
    assert "m017" in rf.load(folder / "film-club.rankfill").users_


def beats_both_baselines(out: str) -> None:
    rows = [line.split() for line in out.partition("2. On the test")[2].partition("3. Ten")[0].splitlines()]
    bias, bestsellers, auto = (
        next(row for row in rows if row[:1] == [name]) for name in ("bias", "bestsellers", "auto")
    )
    assert float(auto[1]) < 0.8 * float(bias[1])
    assert float(auto[3]) > 2 * float(bestsellers[1])
    films = [line.split() for line in out.partition("3. Ten")[2].partition("4. ")[0].splitlines()[2:12]]
    assert all(1 <= float(words[1]) <= 5 for words in films), "the predicted rating stands beside each film"


def genres_are_found(out: str) -> None:
    genres = {genre for named in film_club().genres.values() for genre in named}
    found = out.partition("4. Topics")[2].partition("5. ")[0]
    assert all(found.count(f" {genre} ") == 1 for genre in genres), "one topic a genre"


def test_it_may_be_run_again(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankfill.cli.quickstart.Auto", lambda: rf.Auto(seconds=1))
    assert [run("quickstart", "-o", tmp_path).code for _ in range(2)] == [0, 0]


def test_a_file_in_the_way(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    assert "taken is a file; give a folder" in refused("quickstart", "-o", tmp_path / "taken")
    assert "make it first" in refused("quickstart", "-o", tmp_path / "a" / "b")
