"""rankfill tune and rankfill cross-validate: what the library finds, on the screen and in files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankfill as rf

Run = Callable[..., Any]
Refused = Callable[..., str]
QUICK = ("--rank", "2", "--passes", "3")
PNG = b"\x89PNG"


def test_a_grid_is_tried_and_the_best_is_written(run: Run, ratings: Path, tmp_path: Path) -> None:
    model, picture = tmp_path / "m.rankfill", tmp_path / "p.png"
    outcome = run("tune", ratings, "-m", "sgd", "--grid", "penalty=0.01,10", *QUICK, "-o", model, "--plot", picture)
    assert outcome.code == 0, outcome.err
    found = rf.tune(rf.SGD(rank=2, passes=3), rf.read_ratings(ratings), grid={"penalty": [0.01, 10.0]})
    assert f"{found.best.error:.4f}" in outcome.out
    assert "ratings.csv: 210 ratings by 30 users of 12 items" in outcome.out
    best = found.best_params["penalty"]
    assert f"Best: penalty {best}: rmse {found.best.error:.4f} ± {found.best.std_error:.4f}" in outcome.out
    assert "the bias model (" in outcome.out
    beyond = ("smallest", "smaller") if best == 0.01 else ("largest", "larger")
    assert "The best penalty is the {} one tried: try {} ones too.".format(*beyond) in outcome.out
    saved, users = rf.load(model), found.best_model.users_.ids()
    items = found.best_model.items_.ids()[:1]
    assert saved.penalty == best
    assert saved.predict(users, items).tobytes() == found.best_model.predict(users, items).tobytes()
    assert picture.read_bytes().startswith(PNG)
    assert outcome.err == ""


def test_with_nothing_named_the_best_model_is_searched_around_its_settings(run: Run, numbers: Path) -> None:
    outcome = run("tune", numbers, "--folds", "2")
    assert outcome.code == 0, outcome.err
    chosen = rf.Auto(goal="predict").fit(rf.read_ratings(numbers)).predictor_
    assert f"{chosen!r} does best on ratings kept aside" in outcome.out
    name = next(name for name, cls in rf.MODELS.items() if cls is type(chosen))
    assert f"To learn it: rankfill fit {numbers} -o m.rankfill --model {name} " in outcome.out
    found = rf.tune(rf.Auto(), rf.read_ratings(numbers), folds=2)
    assert len(found.trials) >= 3
    assert f"{found.best.error:.4f}" in outcome.out


def test_lists_can_be_what_is_gone_by(run: Run, numbers: Path) -> None:
    options = ("--measure", "ndcg@3", "--liked", "4", "--folds", "3", *QUICK)
    outcome = run("tune", numbers, "-m", "sgd", "--grid", "rate=0.001,0.3", *options)
    assert outcome.code == 0, outcome.err
    data = rf.read_ratings(numbers)
    how = {"measure": "ndcg@3", "liked": 4, "folds": 3}
    found = rf.tune(rf.SGD(rank=2, passes=3), data, {"rate": [0.001, 0.3]}, **how)
    assert f"ndcg@3 {found.best.error:.4f} ± {found.best.std_error:.4f} over 3 folds" in outcome.out
    assert found.best.error == max(trial.error for trial in found.trials)
    alone = json.loads(run("cross-validate", numbers, "-m", "sgd", "--rate", "0.3", *options, "--json").out)
    assert alone["error"] == rf.cross_validate(rf.SGD(rank=2, passes=3, rate=0.3), data, **how).error
    assert alone["bias"] == rf.cross_validate(rf.Bias(), data, **how).error


def test_what_was_found_can_be_typed(run: Run, numbers: Path) -> None:
    grid = ("--grid", "penalty=0.01", "--grid", "biases=yes,no", "--grid", "nonnegative=items")
    outcome = run("tune", numbers, "--model", "sgd", *grid, *QUICK, "--folds", "2")
    last = outcome.out.splitlines()[-1]
    assert last.startswith(f"To learn it: rankfill fit {numbers} -o m.rankfill --model sgd --rank 2 --passes 3 --penal")
    assert "--nonnegative items" in last
    assert " --biases" in last or " --no-biases" in last


def test_json_has_every_trial(run: Run, numbers: Path) -> None:
    sgd = ("tune", numbers, "-m", "sgd", "-g", "rate=0.1,1e9", *QUICK)
    outcome = run(*sgd, "-g", "penalty=0.1", "--json", "--measure", "mae")
    answer = json.loads(outcome.out)
    assert answer["measure"] == "mae"
    assert answer["best"] == {"rate": 0.1, "penalty": 0.1}
    assert answer["bias"] > 0
    assert [len(trial["folds"]) for trial in answer["trials"]] == [5, 5]
    assert "is too large for these ratings" in answer["trials"][1]["failed"]
    assert "Failed: rate=1" in run(*sgd).out


def test_values_drawn_from_a_range(run: Run, numbers: Path) -> None:
    options = ("--range", "penalty=0.01..1", "--range", "rank=1..4", "--trials", "4", "--passes", "2", "--folds", "2")
    answer = json.loads(run("tune", numbers, "-m", "sgd", *options, "--grid", "loss=squared,huber", "--json").out)
    assert len(answer["trials"]) == 4
    for trial in answer["trials"]:
        assert 0.01 <= trial["params"]["penalty"] <= 1
        assert trial["params"]["rank"] in (1, 2, 3, 4)
        assert trial["params"]["loss"] in ("squared", "huber")


def test_a_search_over_a_stream(run: Run, ratings: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.rankfill"
    outcome = run("tune", ratings, "--stream", "--passes", "2", "--grid", "rate=0.05,0.2", "--rank", "2", "-o", model)
    assert outcome.code == 0, outcome.err
    found = rf.tune(rf.SGD(rank=2), ratings, grid={"rate": [0.05, 0.2]}, passes=2)
    assert f"rmse {found.best.error:.4f}" in outcome.out
    assert rf.load(model).n_ratings_ == 2 * 210


def test_folds_are_shown_beside_the_bias_model(run: Run, ratings: Path) -> None:
    outcome = run("cross-validate", ratings, "--model", "als", *QUICK, "--folds", "3", "--seed", "4")
    expected = rf.cross_validate(rf.ALS(rank=2, passes=3, seed=4), rf.read_ratings(ratings), folds=3, seed=4)
    bias = rf.cross_validate(rf.Bias(), rf.read_ratings(ratings), folds=3, seed=4)
    lines = outcome.out.splitlines()
    for fold in range(3):
        assert lines[3 + fold].split() == [str(fold + 1), f"{expected.errors[fold]:.4f}", f"{bias.errors[fold]:.4f}"]
    assert lines[-1].startswith(f"rmse {expected.error:.4f} ± {expected.std_error:.4f} over 3 folds, ")
    assert lines[-1].endswith(f" the bias model ({bias.error:.4f}).")
    as_json = json.loads(run("cross-validate", ratings, "--model", "bias", "--folds", "3", "--seed", "4", "--json").out)
    assert as_json == {
        "measure": "rmse",
        "error": bias.error,
        "std_error": bias.std_error,
        "folds": bias.errors.tolist(),
    }


def test_a_stream_is_cross_validated(run: Run, ratings: Path, tmp_path: Path) -> None:
    picture = tmp_path / "running.png"
    outcome = run("cross-validate", ratings, "--stream", "--rank", "2", "--passes", "2", "--plot", picture)
    expected = rf.cross_validate_stream(rf.SGD(rank=2), ratings, passes=2)
    assert outcome.out.splitlines()[-1] == f"rmse {expected.error:.4f} ± {expected.std_error:.4f} over 5 folds."
    assert outcome.out.splitlines()[-3].split()[:2] == ["420", "2"]
    assert picture.read_bytes().startswith(PNG)
    answer = json.loads(run("cross-validate", ratings, "--stream", "--rank", "2", "--json").out)
    assert answer["running"][-1]["ratings"] == 210
    assert answer["running"][0]["error"] is None
    np.testing.assert_array_equal(answer["folds"], rf.cross_validate_stream(rf.SGD(rank=2), ratings).errors)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tune", "--model", "sgd"], "say what to try, such as --grid rank=8,16; sgd takes rank, loss"),
        (["tune", "--model", "auto", "--grid", "rank=8,16"], "the model auto has no parameter 'rank'; it takes goal"),
        (["tune", "--grid", "rank"], "--grid must be rank=A,B, found 'rank'"),
        (["tune", "--grid", "rank=1,,2"], "--grid must be rank=A,B, found 'rank=1,,2'"),
        (["tune", "--range", "rank=1..2..3"], "--range must be rank=A..B, found 'rank=1..2..3'"),
        (["tune", "--range", "rate=0..1"], "is no range: give (low, high) with 0 < low <= high"),
        (["tune", "--grid", "C=1"], "the model sgd has no parameter 'C'; it takes rank, loss"),
        (["tune", "--grid", "rank=many"], "--rank must be a whole number, found 'many'"),
        (["tune", "--grid", "rank=2", "--model", "oracle"], "there is no model 'oracle'"),
        (["tune", "--grid", "rank=2", "--plot", "p.xyz"], "cannot draw p.xyz"),
        (["tune", "--grid", "rank=2", "--folds", "1"], "folds must be a whole number of at least 2, found 1"),
        (["tune", "--model", "bias", "--stream", "--grid", "shrinkage=1"], "Bias has no partial_fit"),
        (["cross-validate", "--model", "als", "--stream"], "ALS has no partial_fit"),
        (["cross-validate", "--plot", "p.png"], "--plot draws the running error of a --stream"),
        (["cross-validate", "--stream", "--passes", "0"], "--passes must be a whole number of at least 1, found '0'"),
        (["cross-validate", "--measure", "r2"], "found 'r2'"),
    ],
)
def test_options_that_cannot_be(
    refused: Refused, numbers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in refused(arguments[0], numbers, "--model", "sgd", *arguments[1:])
    assert not list(tmp_path.iterdir())
