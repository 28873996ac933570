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


def test_evaluate_prints_every_measure(run: Run, model: Path, ratings: Path) -> None:
    outcome = run("evaluate", model, ratings)
    assert outcome.code == 0
    assert "210 ratings by 30 users of 12 items" in outcome.out
    for measure in ("rmse", "mae", "nmae", "top5", "ndcg@10", "precision@10", "recall@10", "coverage"):
        assert f"\n{measure} " in outcome.out


def test_evaluate_as_json_is_what_the_library_says(run: Run, model: Path, ratings: Path) -> None:
    outcome = run("evaluate", model, ratings, "--json", "-n", 4, "--threshold", 4)
    expected = evaluate(rf.load(model), read_ratings(ratings), n=4, threshold=4)
    assert json.loads(outcome.out) == pytest.approx(expected)


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


def test_topics_of_a_model_without_any(refused: Refused, run: Run, numbers: Path, tmp_path: Path) -> None:
    run("fit", numbers, "-o", tmp_path / "m", "--model", "bias")
    assert "no factors that could be read as topics" in refused("topics", tmp_path / "m")


def test_models_lists_every_model_with_its_parameters(run: Run) -> None:
    outcome = run("models")
    assert outcome.code == 0
    assert rf.MODELS
    for name, cls in rf.MODELS.items():
        assert f"{name}: " in outcome.out
        for parameter in cls._get_param_names():
            assert f"--{parameter.replace('_', '-')} " in outcome.out
