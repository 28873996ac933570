import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankfill as rf
from rankfill.cli import progress
from rankfill.models import EpochReport

Run = Callable[..., Any]
Refused = Callable[..., str]

ONLINE = ("--model", "passive-aggressive")


def test_a_model_is_learned_and_saved(run: Run, ratings: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.rankfill"
    outcome = run(
        *("fit", ratings, "-o", out, *ONLINE),
        *("--rank", 3, "--C", 0.05, "--passes", 4, "--slack", "quadratic", "--no-clip"),
    )
    assert outcome.code == 0
    assert outcome.err == ""
    assert "210 ratings by 30 users of 12 items" in outcome.out
    model = rf.load(out)
    wanted = {"rank": 3, "C": 0.05, "passes": 4, "slack": "quadratic", "clip": False, "seed": 0}
    assert wanted.items() <= model.get_params().items()
    assert len(model.history_) == 4


def test_a_share_is_held_out_and_the_curve_stands_beside_the_bias_model(
    run: Run, ratings: Path, tmp_path: Path
) -> None:
    options = (*ONLINE, "--validation", 0.2, "--passes", 5, "--tol", "none")
    outcome = run("fit", ratings, "-o", tmp_path / "m.rankfill", *options)
    assert "Held out for validation: 42 of them, 20% of each user's" in outcome.out
    rows = [line.split() for line in outcome.out.splitlines()]
    assert sum(row[:1] == ["bias"] for row in rows) == 1
    curve = [row for row in rows if row and row[0].isdigit() and len(row) > 4]
    assert [row[0] for row in curve] == ["1", "2", "3", "4", "5"]
    history = rf.load(tmp_path / "m.rankfill").history_
    assert [row[2] for row in curve] == [f"{report.validation:.4f}" for report in history]
    assert sum(row[-1] == "best" for row in curve) == 1


def test_the_best_pass_may_be_told_by_lists(run: Run, ratings: Path, tmp_path: Path) -> None:
    out, picture = tmp_path / "m.rankfill", tmp_path / "curve.svg"
    arguments = ("--validation", 0.2, "--measure", "ndcg@5", "--liked", "all", "--passes", 5, "--plot", picture)
    outcome = run("fit", ratings, "-o", out, *ONLINE, *arguments)
    assert outcome.code == 0, outcome.err
    history = rf.load(out).history_
    best = max(report.validation for report in history)
    assert history[0].validation_measure == "ndcg@5"
    assert "ndcg@5, longer is better" in outcome.out
    assert f"Best on the validation ratings: ndcg@5 {best:.4f}, " in outcome.out
    assert picture.stat().st_size > 0
    assert "--measure ndcg needs ratings" in run("fit", ratings, "-o", out, "--measure", "ndcg").err


def test_validation_may_be_a_file(run: Run, ratings: Path, tmp_path: Path) -> None:
    outcome = run("fit", ratings, "-o", tmp_path / "m.rankfill", *ONLINE, "--validation", ratings, "--passes", 2)
    assert "For validation, ratings.csv: 210 ratings" in outcome.out
    assert all(report.validation is not None for report in rf.load(tmp_path / "m.rankfill").history_)


def test_the_seed_is_the_models_too(run: Run, ratings: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a", "b", "c")]
    for path, seed in zip(files, (1, 1, 2), strict=True):
        run("fit", ratings, "-o", path, *ONLINE, "--seed", seed, "--threads", 1)
    models = [rf.load(path) for path in files]
    users, items = models[0].users_.ids()[:5], models[0].items_.ids()[:5]
    a, b, c = (model.predict(users, items).tolist() for model in models)
    assert a == b != c


def test_another_model_with_its_own_parameters(run: Run, ratings: Path, tmp_path: Path) -> None:
    outcome = run(
        "fit", ratings, "-o", tmp_path / "b.rankfill", "--model", "bias", "--shrinkage", 2, "--validation", 0.1
    )
    assert outcome.code == 0
    assert rf.load(tmp_path / "b.rankfill").get_params() == {"clip": True, "effects": "both", "shrinkage": 2.0}


def test_a_list_of_numbers_is_written_with_commas(run: Run, ratings: Path, tmp_path: Path) -> None:
    run("fit", ratings, "-o", tmp_path / "m", "--model", "fava", "--variances", "0.2,1e-1", "--passes", 3)
    assert rf.load(tmp_path / "m").get_params()["variances"] == [0.2, 0.1]


def test_columns_and_duplicates(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.tsv"
    log.write_text("when\tproduct\tcustomer\tstars\n1\ttea\tann\t1\n2\ttea\tann\t5\n3\ttea\tbob\t5\n4\tmilk\tbob\t2\n")
    outcome = run(
        "fit",
        log,
        "-o",
        tmp_path / "m",
        "--columns",
        "customer,product,stars,when",
        "--duplicates",
        "last",
        "-m",
        "bias",
    )
    assert "3 ratings by 2 users of 2 items" in outcome.out
    assert rf.load(tmp_path / "m").mean_ == 4


def test_a_time_budget_stops_the_training(run: Run, ratings: Path, tmp_path: Path) -> None:
    run("fit", ratings, "-o", tmp_path / "m", *ONLINE, "--passes", 500, "--tol", -1, "--time-budget", 1e-9)
    assert len(rf.load(tmp_path / "m").history_) == 1


def test_the_learning_curve_is_drawn(run: Run, ratings: Path, tmp_path: Path) -> None:
    picture = tmp_path / "curve.png"
    outcome = run("fit", ratings, "-o", tmp_path / "m", *ONLINE, "--validation", 0.2, "--plot", picture)
    assert outcome.code == 0
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_ctrl_c_keeps_what_has_been_learned(
    run: Run, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupting(self: progress.PassBar, report: EpochReport) -> None:
        if report.epoch == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(progress.PassBar, "__call__", interrupting)
    outcome = run("fit", ratings, "-o", tmp_path / "m", *ONLINE, "--passes", 50, "--validation", 0.2)
    assert outcome.code == 0
    assert f"Interrupted after pass 3: the best model so far is in {tmp_path / 'm'}" in outcome.out
    assert len(rf.load(tmp_path / "m").history_) == 3


def test_ctrl_c_before_anything_is_learned(
    run: Run, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupting(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rf.PassiveAggressive, "_alternate", interrupting)
    outcome = run("fit", ratings, "-o", tmp_path / "m", *ONLINE)
    assert outcome.code == 130
    assert outcome.err == "rankfill: interrupted; nothing was saved\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rank", "0"], "rank must be a whole number of at least 1, found 0"),
        (["--rank", "many"], "--rank must be a whole number, found 'many'"),
        (["--C", "much"], "--C must be one of NUMBER, auto, found 'much'"),
        (["--C", "-1"], "C must be"),
        (["--model", "fava", "--variances", "1,x"], "--variances must be one of NUMBER,NUMBER,…, auto, found '1,x'"),
        (["--passes", "0"], "passes must be a whole number of at least 1, found 0"),
        (["--slack", "some"], "--slack must be one of none, linear, quadratic, found 'some'"),
        (["--model", "oracle"], "there is no model 'oracle'; choose one of "),
        (["--model", "bias", "--rank", "3"], "the model bias takes no --rank; it takes --effects, --shrinkage, --clip"),
        (["--shrinkage", "3"], "the model passive-aggressive takes no --shrinkage; it takes --rank, --C"),
        (["--model", "auto", "--rank", "3"], "the model auto takes no --rank; it takes --goal, --seconds"),
        (["--model", "auto", "--seconds", "0"], "seconds must be a positive number, found 0"),
        (["--validation", "1.5"], "--validation must be a share between 0 and 1, or a file; found 1.5"),
        (["--validation", "nowhere.csv"], "nowhere.csv"),
        (["--duplicates", "any"], "'any' is not one of 'error', 'last', 'mean', 'first', 'sum', 'count', 'decay'; see"),
        (["--time-budget", "0"], "--time-budget must be a positive number of seconds, found 0"),
        (["--threads", "0"], "threads must be at least 1, found 0"),
        (["--columns", "who,what"], "columns must name"),
        (["--plot", "curve.xyz"], "cannot draw curve.xyz: its name must end in .png"),
        (["--bogus"], "No such option: --bogus"),
    ],
)
def test_options_that_cannot_be(
    refused: Refused, numbers: Path, tmp_path: Path, options: list[str], words: str
) -> None:
    assert words in refused("fit", numbers, "-o", tmp_path / "m", *ONLINE, *options)
    assert not list(tmp_path.iterdir())


def test_the_output_is_checked_before_the_ratings_are_read(refused: Refused, tmp_path: Path) -> None:
    out = tmp_path / "nowhere" / "m.rankfill"
    assert refused("fit", tmp_path / "missing.csv", "-o", out) == (
        f"cannot write {out}: there is no folder {out.parent}; make it first"
    )
    assert "is a folder" in refused("fit", tmp_path / "missing.csv", "-o", tmp_path)


def test_a_failed_save_leaves_the_old_model(
    refused: Refused, numbers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "m.rankfill"
    out.write_text("before")

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device", str(out))

    monkeypatch.setattr("os.fsync", full)
    told = refused("fit", numbers, "-o", out)
    assert told == f"{out}: no space left on device; free some space, or choose another place"
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]


def test_with_nothing_set_models_are_chosen_and_the_choice_is_shown(run: Run, ratings: Path, tmp_path: Path) -> None:
    out, picture = tmp_path / "m.rankfill", tmp_path / "choices.png"
    outcome = run("fit", ratings, "-o", out, "--plot", picture)
    assert outcome.code == 0, outcome.err
    model = rf.load(out)
    assert isinstance(model, rf.Auto)
    assert picture.read_bytes().startswith(b"\x89PNG")
    for choice in model.choices_:
        assert choice.model in outcome.out
    for line in model.choices_.why():
        assert line in outcome.out
    told = run("info", out).out
    assert all(line in told for line in model.choices_.why())
    facts = json.loads(run("info", out, "--json").out)
    assert [row["model"] for row in facts["choices"]] == [choice.model for choice in model.choices_]


def test_lists_show_the_predicted_ratings(run: Run, ratings: Path, tmp_path: Path) -> None:
    out, table = tmp_path / "m.rankfill", tmp_path / "lists.csv"
    run("fit", ratings, "-o", out)
    model = rf.load(out)
    user = model.users_.ids()[0]
    best = model.recommend(user, n=3)
    outcome = run("recommend", out, "--user", user, "-n", 3)
    rows = [line.split() for line in outcome.out.splitlines()]
    assert rows[1] == ["rank", "item", "score", "rating"]
    assert [row[3] for row in rows[2:]] == [f"{rating:.3f}" for rating in best.ratings[0]]
    run("recommend", out, "--user", user, "-n", 3, "-o", table)
    assert table.read_text().splitlines()[0] == "user,item,score,rank,rating"


def test_ctrl_c_in_a_trial_keeps_the_best_so_far(
    run: Run, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupting(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rf.SGD, "_learn", interrupting)
    outcome = run("fit", ratings, "-o", tmp_path / "m")
    assert outcome.code == 0
    assert "Interrupted" in outcome.out
    model = rf.load(tmp_path / "m")
    assert isinstance(model.predictor_, rf.Bias)
    assert "not tried: interrupted" in outcome.out


def test_a_long_fit_goes_on_from_its_checkpoint(run: Run, ratings: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "long.fit", tmp_path / "m.rankfill"
    command = ("fit", ratings, *ONLINE, "--tol", "none", "--checkpoint", folder, "--every", 2)
    assert run(*command, "-o", out, "--passes", 3).code == 0
    assert run(*command, "-o", out, "--passes", 6).code == 0
    assert run("fit", ratings, *ONLINE, "--tol", "none", "-o", tmp_path / "whole.rankfill", "--passes", 6).code == 0
    found, whole = rf.load(out), rf.load(tmp_path / "whole.rankfill")
    assert [report.objective for report in found.history_] == [report.objective for report in whole.history_]
    outcome = run(*command, "-o", out, "--passes", 6, "--rank", 5)
    assert outcome.code == 2
    assert "it is of a fit with other rank; name another folder, or remove it" in outcome.err.replace("\n", " ")
    assert "leave checkpoint out" in run("fit", ratings, "-o", out, "--model", "bias", "--checkpoint", folder).err


def test_traces_of_chains_are_drawn_and_told(run: Run, ratings: Path, tmp_path: Path) -> None:
    settings = ["--model", "bayesian-mf", "--rank", 2, "--sweeps", 12, "--chains", 2]
    result = run("fit", ratings, "-o", tmp_path / "m", *settings, "--plot", tmp_path / "traces.png")
    assert (tmp_path / "traces.png").stat().st_size > 10_000
    assert "noise: R-hat" in result.out
    assert "4 factors leave out" in result.out
