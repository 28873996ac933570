"""The verbs that only look: evaluate, topics, info, models."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankfill as rf
from rankfill.data import read_ratings
from rankfill.evaluation import evaluate

Run = Callable[..., Any]
Refused = Callable[..., str]


@pytest.fixture
def test_file(ratings: Path, tmp_path: Path) -> Path:
    """Ratings by newcomers of the same items, which no model has learned from."""
    header, *lines = ratings.read_text().splitlines()
    path = tmp_path / "test.csv"
    path.write_text("\n".join([header, *(f"9{line}" for line in lines)]) + "\n")
    return path


def test_evaluate_prints_every_measure(run: Run, model: Path, test_file: Path) -> None:
    outcome = run("evaluate", model, test_file)
    assert outcome.code == 0
    assert outcome.err == ""
    assert "210 ratings by " in outcome.out
    for measure in ("rmse", "mae", "nmae", "top5", "ndcg@10", "precision@10", "recall@10", "coverage@10"):
        assert f"\n{measure} " in outcome.out


def test_evaluate_as_json_is_what_the_library_says(run: Run, model: Path, test_file: Path) -> None:
    outcome = run("evaluate", model, test_file, "--json", "-n", 4, "--liked", 4)
    expected = evaluate(rf.load(model), read_ratings(test_file), n=4, liked=4)
    assert json.loads(outcome.out) == pytest.approx(expected)


def test_evaluate_prints_the_measures_asked_for(run: Run, model: Path, test_file: Path) -> None:
    names = ["rmse", "map", "ndcg@3", "recall@5", "novelty@2"]
    options = ("evaluate", model, test_file, "--scores", ", ".join(names), "--liked", "above-user-mean")
    outcome = run(*options)
    assert [line.split()[0] for line in outcome.out.splitlines()[2:]] == [names[0], "map@10", *names[2:]]
    assert "share of what the user liked in the test found among the 5" in outcome.out
    expected = evaluate(rf.load(model), read_ratings(test_file), liked="above-user-mean", scores=names)
    assert json.loads(run(*options, "--json").out) == pytest.approx(expected)


def test_evaluate_notes_ratings_that_the_model_has_learned_from(run: Run, model: Path, ratings: Path) -> None:
    outcome = run("evaluate", model, ratings)
    assert outcome.code == 0
    assert "learned from 210 of the 210 test ratings" in outcome.err


def test_evaluate_refuses_what_is_no_measure(refused: Refused, model: Path, ratings: Path) -> None:
    assert "found 'ndgc'" in refused("evaluate", model, ratings, "--scores", "ndgc")
    assert "liked must be" in refused("evaluate", model, ratings, "--liked", "most")


def test_json_has_no_nan(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("user,item,rating\n1,1,3\n")
    scores = json.loads(run("evaluate", model, tmp_path / "one.csv", "--json").out)
    assert scores["top5"] is None
    assert scores["rmse"] > 0


def test_info(run: Run, model: Path) -> None:
    outcome = run("info", model)
    assert outcome.code == 0
    for words in ("passive-aggressive", "--rank 4", "--C 0.1", "210 ratings by 30 users of 12 items", "from 1 to 5"):
        assert words in outcome.out


def test_info_as_json(run: Run, model: Path) -> None:
    facts = json.loads(run("info", model, "--json").out)
    assert facts["model"] == "passive-aggressive"
    assert facts["parameters"]["rank"] == facts["rank"] == 4
    assert (facts["users"], facts["items"], facts["ratings"]) == (30, 12, 210)
    assert facts["bytes"] == model.stat().st_size
    assert len(facts["history"]) == len(rf.load(model).history_)


def test_info_of_a_model_learned_from_a_stream(run: Run, tmp_path: Path) -> None:
    model = rf.PassiveAggressive(rank=2).partial_fit(rf.Ratings.from_arrays([1, 2], [1, 1], [5, 3]))
    model.save(tmp_path / "m")
    assert "none: learned from a stream" in run("info", tmp_path / "m").out


def test_topics(run: Run, model: Path, titles: Path, tmp_path: Path) -> None:
    outcome = run("topics", model, "--titles", titles, "-n", 2, "--plot", tmp_path / "topics.png")
    assert outcome.code == 0
    assert (tmp_path / "topics.png").read_bytes().startswith(b"\x89PNG")
    lines = outcome.out.splitlines()
    assert len(lines) == 1 + 4 + 1
    assert sorted(line.split()[0] for line in lines[1:5]) == ["0", "1", "2", "3"]
    assert "[REC]" in outcome.out
    assert all(line.count(" · ") == 1 for line in lines[1:5])


def test_topics_of_a_model_without_any_are_found_in_what_its_users_rated(
    refused: Refused, run: Run, numbers: Path, tmp_path: Path
) -> None:
    run("fit", numbers, "-o", tmp_path / "m", "--model", "bias")
    outcome = run("topics", tmp_path / "m")
    assert outcome.code == 0
    words = "the factors of Bias cannot be read; these topics were found in what its users have rated"
    assert outcome.err == f"rankfill: {words}\n"
    rf.load(tmp_path / "m").save(tmp_path / "m", history=False)
    assert "saved without what users have rated; give the file of ratings instead" in refused("topics", tmp_path / "m")


def test_topics_of_ratings_with_genres(run: Run, tmp_path: Path) -> None:
    club = rf.synthetic.film_club()
    ratings, titles = tmp_path / "ratings.csv", tmp_path / "titles.csv"
    rows = zip(club.ratings.user_indices, club.ratings.item_indices, club.ratings.values, strict=True)
    ids = club.ratings.items.ids()
    ratings.write_text("user,item,rating\n" + "".join(f"{u},{ids[i]},{r:g}\n" for u, i, r in rows))
    lines = (f'{film},"{title}",{"|".join(club.genres[film])}\n' for film, title in club.titles.items())
    titles.write_text("item,title,genres\n" + "".join(lines))
    outcome = run("topics", ratings, "--titles", titles, "-n", 2)
    assert outcome.code == 0
    assert outcome.out.splitlines()[0].split() == ["topic", "share", "kind", "strongest", "items"]
    for topic in rf.topics(club, n=2):
        assert topic.label in outcome.out
        assert topic.titles[0][:20] in outcome.out
    few = run("topics", ratings, "--topics", 3)
    assert len([line for line in few.out.splitlines() if " · " in line]) == 3
