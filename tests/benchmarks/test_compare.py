"""A whole comparison on tiny data with rankfill's own entries, and the arithmetic of the tables on made-up timings."""

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.experiments import compare
from benchmarks.harness import datasets
from benchmarks.harness.child import call_here, in_child
from benchmarks.harness.report import as_json, tables
from benchmarks.harness.results import Comparison, Measurement
from benchmarks.harness.tuning import Choice, Tuned
from benchmarks.rivals import REFERENCE, RIVALS
from benchmarks.rivals.base import Plan
from rich.console import Console

import rankfill as rf

OWN = ["rankfill_passive_aggressive", "rankfill_passive_aggressive_online", "rankfill_bias"]


def in_this_process(call, arguments, threads, environment):
    return call_here(call, arguments)


def run_tiny(output: Path, *words: str, only: list[str]) -> Comparison:
    fixed = ["tiny", "--rank", "4", "--threads", "1", "--tuned", str(output / "tuned"), "--output", str(output)]
    return compare.main([*fixed, *words, "--only", *only], run=in_this_process)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, Path]:
    output = tmp_path_factory.mktemp("compared")
    options = ("--passes", "1", "3", "--repetitions", "2")
    return run_tiny(output, *options, only=[*OWN, "scikit_learn", "libmf_binary"]), output


@pytest.fixture(autouse=True)
def no_libmf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIBMF_BIN", raising=False)


def test_every_model_takes_part():
    names = {RIVALS[entry].name for entry in RIVALS if "fit" in RIVALS[entry].tasks}
    assert {f"rankfill {model.__name__}" for model in rf.MODELS.values()} <= names
    assert all(len(kind().candidates()) <= 16 for kind in RIVALS.values())


def test_every_task_has_a_row_of_rankfill(tiny):
    found, _ = tiny
    for task, rival in REFERENCE.items():
        assert [row.rival for row in found.rows(task) if row.rival == rival] == [rival]


def test_the_files_say_what_was_found(tiny):
    found, output = tiny
    results = json.loads((output / "results.json").read_text())
    assert results["data"]["synthetic"] is True
    assert len(results["entries"]) == len(found.measurements)
    assert all(len(entry["runs"]) == 2 for entry in results["entries"])
    best = next(entry for entry in results["entries"] if entry["task"] == "fit" and entry["shown"])
    assert 0.1 < best["summary"]["rmse"]["median"] < 2
    assert best["settings"] in RIVALS[best["rival"]]().candidates()
    assert (output / "error_against_time.png").read_bytes().startswith(b"\x89PNG")
    table = (output / "table.txt").read_text()
    assert "synthetic" in table
    assert "rankfill PassiveAggressive" in table


def test_what_is_left_out_says_why(tiny):
    found, output = tiny
    assert set(found.skipped) == {"scikit_learn", "libmf_binary"}
    table = (output / "table.txt").read_text()
    assert "take a missing rating for a zero" in table
    assert "LIBMF_BIN" in table


def test_kept_settings_are_used_again(tiny, tmp_path):
    found, output = tiny
    shutil.copytree(output / "tuned", tmp_path / "tuned")
    before = next((tmp_path / "tuned").iterdir()).read_text()
    rival = "rankfill_passive_aggressive"
    again = run_tiny(tmp_path, "--passes", "1", "3", "--repetitions", "1", only=[rival])
    assert next((tmp_path / "tuned").iterdir()).read_text() == before
    assert again.rows("fit")[0].settings == next(row for row in found.rows("fit") if row.rival == rival).settings


def test_without_tuning_the_documented_settings_are_used(tmp_path):
    options = ("--passes", "2", "--repetitions", "1", "--no-tune", "--no-curve")
    found = run_tiny(tmp_path, *options, only=["rankfill_passive_aggressive"])
    (row,) = found.rows("fit")
    assert row.settings == RIVALS["rankfill_passive_aggressive"].defaults
    assert not row.tuned
    assert not (tmp_path / "tuned").exists()


def test_a_child_measures_and_a_failing_one_says_why(tmp_path):
    datasets.lay_down("tiny", tmp_path)
    plan = {"rank": 4, "threads": 1, "passes": 1, "seed": 0}
    job = {"rival": "rankfill_bias", "folder": str(tmp_path), "plan": plan, "settings": {}}
    result = in_child("benchmarks.harness.measures:fit", job, threads=1)
    assert result["fit_seconds"] > 0
    assert result["nanoseconds"] == pytest.approx(1e9 * result["fit_seconds"] / 3200)
    failed = in_child(
        "benchmarks.harness.child:call_here", {"call": "benchmarks.harness.child:no_such", "arguments": {}}, threads=1
    )
    assert "no attribute 'no_such'" in failed["failed"]


def made_up(seconds: dict[str, list[float]]) -> Comparison:
    plan = Plan(8, 1, 2, 0)
    about = datasets.About("made-up", "made up", True, 10, 20, 100, 0)
    errors = {"rmse": 1.0, "mae": 0.8, "nmae": 20.0, "nanoseconds": 5.0, "peak_bytes": 1e6, "prepare_seconds": 0.1}
    measurements = [
        Measurement(rival, "fit", plan, {}, runs=[{"fit_seconds": each, **errors} for each in times])
        for rival, times in seconds.items()
    ]
    return Comparison(about, plan, "rmse", 3, measurements, {}, (0.0, 0.0))


def test_medians_and_ratios_of_made_up_timings():
    found = made_up({"rankfill_passive_aggressive": [1.0, 2.0, 4.0], "libmf": [3.0, 10.0, 8.0]})
    rival = found.rows("fit")[1]
    spread = rival.spreads()["fit_seconds"]
    assert (spread.median, spread.low, spread.high) == (8.0, 3.0, 10.0)
    ratio = found.ratio(rival, "fit_seconds")
    assert (ratio.median, ratio.low, ratio.high) == (3.0, 2.0, 5.0)  # 3, 5 and 2: round by round
    summary = json.loads(as_json(found))["entries"][1]
    assert summary["ratio_to_rankfill"] == {"median": 3.0, "low": 2.0, "high": 5.0}


def test_the_last_column_is_the_ratio_and_a_loud_machine_is_named():
    found = made_up({"rankfill_passive_aggressive": [1.0, 2.0, 4.0], "libmf": [3.0, 10.0, 8.0]})
    text = io.StringIO()
    tables(replace(found, loads=(1.9, 2.0)), Console(file=text, width=170))
    (line,) = [line for line in text.getvalue().splitlines() if line.startswith("│ LIBMF") and "8 (3–10)" in line]
    assert line.rstrip(" │").endswith("3 (2–5)")
    assert "The machine was not quiet" in text.getvalue()


def test_a_setting_at_the_end_of_its_grid_is_named():
    assert RIVALS["libmf"](penalty=0.15, eta=0.05).at_edges() == ["penalty"]
    assert RIVALS["river"](step=0.01, l2=0.0).at_edges() == []
    assert RIVALS["cmfrec"](lambda_=0.2, scale_lam=True).at_edges() == ["lambda_"]


def test_no_ratio_without_rankfill():
    found = made_up({"libmf": [3.0]})
    assert found.ratio(found.rows("fit")[0], "fit_seconds") is None


def test_the_best_candidate_is_kept_for_every_number_of_passes(tmp_path):
    candidates = [{"step": 0.1}, {"step": 0.2}]
    choice = Choice.from_errors(candidates, (1, 4), [[0.9, float("inf")], [1.1, 0.8]])
    assert choice.best == 4
    assert choice.settings == {1: {"step": 0.1}, 4: {"step": 0.2}}
    kept = Tuned(tmp_path, datasets.About("x", "x", True, 1, 1, 1, 0), 8, "rmse")
    kept.put("libmf", choice)
    assert kept.get("libmf", (1, 4)) == choice
    assert kept.get("libmf", (1,)).best == 1
    assert kept.get("libmf", (1, 2)) is None


def test_parts_are_disjoint_and_make_up_the_whole(tmp_path):
    about = datasets.lay_down("tiny", tmp_path)
    parts = {part: datasets.read(tmp_path, part) for part in datasets.PARTS}
    pairs = {part: set(zip(of.users.tolist(), of.items.tolist(), strict=True)) for part, of in parts.items()}
    assert len(pairs["train"]) + len(pairs["test"]) == about.n_ratings
    assert pairs["train"].isdisjoint(pairs["test"])
    assert pairs["tuning"].isdisjoint(pairs["validation"])
    assert pairs["tuning"] | pairs["validation"] == pairs["train"]
    assert not np.array_equal(parts["train"].users, np.sort(parts["train"].users))  # not sorted by user
