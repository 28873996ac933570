"""The command itself: help that teaches, options that follow the models, a bar only where there is a terminal."""

import importlib
import inspect
import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from rich.console import Console

import rankfill as rf
from rankfill.cli import VERBS, cross_validate, curve, fit, model_options, parameters, progress, tune
from rankfill.models import EpochReport

Run = Callable[..., Any]
Refused = Callable[..., str]


def test_version(run: Run) -> None:
    assert run("--version").out == f"rankfill {rf.__version__}\n"


def test_help_lists_every_verb_by_its_first_line(run: Run) -> None:
    for arguments in ([], ["--help"]):
        outcome = run(*arguments)
        assert outcome.code == 0
        assert all(f" {verb} " in outcome.out and summary in outcome.out for verb, summary in VERBS.items())
    for verb, summary in VERBS.items():
        name = verb.replace("-", "_")
        module = importlib.import_module(f"rankfill.cli.{name}")
        assert inspect.getdoc(getattr(module, name)).splitlines()[0] == summary


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb_shows_an_example(run: Run, verb: str) -> None:
    outcome = run(verb, "--help")
    assert outcome.code == 0
    assert f" rankfill {verb}" in outcome.out.split("Usage:")[1].partition("\n")[2]


@pytest.mark.parametrize("verb", ["fit", "tune", "cross-validate", "path"])
def test_help_shows_what_models_share(run: Run, verb: str) -> None:
    text = run(verb, "--help").out
    for name in ("--rank", "--passes", "--tol", "--clip"):
        assert f"{name} " in text
    for name in ("--feedback", "--slack", "--effects"):
        assert f"{name} " not in text, "an option of one model belongs to the help of that model"


@pytest.mark.parametrize(
    "words",
    [
        "fit --model sgd --help",
        "fit --help --model=sgd",
        "fit -m bias -m sgd --help",
        "tune --model sgd --help",
        "cross-validate --model sgd --help",
        "path --model sgd --help",
    ],
)
def test_help_of_a_model_explains_all_its_parameters(run: Run, words: str) -> None:
    text = run(*words.split()).out
    for name, parameter in parameters.parameters_of(rf.SGD).items():
        lines = [line for line in text.splitlines() if f"{parameters.option_name(name)} " in line]
        meaning = parameters.meaning_of(rf.SGD, name).split(".")[0]
        assert name == "seed" or any(meaning in line for line in lines)
        assert name == "seed" or f"[default: {parameters.value_text(parameter.default)}]" in text
    assert "--feedback " not in text
    places = [text.rindex(f"{parameters.option_name(name)} ") for name in ("rank", "loss", "penalty", "passes", "clip")]
    assert places == sorted(places), "in the order of the signature"


def test_models_are_listed_and_explained(run: Run, refused: Refused) -> None:
    listed = run("models").out
    assert all(any(line.startswith(f"{name} ") for line in listed.splitlines()) for name in rf.MODELS)
    assert "--rank" not in listed
    for name, cls in rf.MODELS.items():
        explained = run("models", name).out
        assert explained.startswith(f"{name}: ")
        assert all(f"  {parameters.option_name(each)} " in explained for each in parameters.parameters_of(cls))
    assert refused("models", "oracle").startswith("there is no model 'oracle'; choose one of ")


class Oracle(rf.Bias):
    """Knows everything.

    Parameters
    ----------
    depth : int, default=3
        How far to look, with ``side="left"``. More is [bold]slower.
    """

    def __init__(
        self,
        *,
        depth: int = 3,
        side: Literal["left", "right"] | None = None,
        step: float | Literal["auto"] = "auto",
        effects: bool = False,
        helper: rf.Bias | None = None,
    ) -> None:
        self.depth, self.side, self.step, self.effects, self.helper = depth, side, step, effects, helper


@pytest.fixture
def oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rf.MODELS, "oracle", Oracle)


@pytest.mark.usefixtures("oracle")
def test_a_new_model_brings_its_options() -> None:
    def verb(own: int = 1, **given: Any) -> None: ...

    options = inspect.signature(model_options.with_model_parameters(verb)).parameters
    assert next(iter(options)) == "own"
    assert {"depth", "side", "step", "effects", "rank"} <= set(options)
    assert "helper" not in options, "a model cannot be written in a word"
    assert parameters.meaning_of(Oracle, "depth") == "How far to look, with --side left. More is [bold]slower."
    assert parameters.meaning_of(Oracle, "depth", whole=False) == "How far to look, with --side left."


@pytest.mark.usefixtures("oracle")
def test_brackets_in_a_docstring_are_no_markup() -> None:
    option = SimpleNamespace(name="depth")
    model_options._explain(option, "oracle", ["oracle"])
    assert option.help == r"How far to look, with --side left. More is \[bold]slower. [dim]\[default: 3][/dim]"


@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize(
    ("given", "learned"),
    [
        ({"depth": "7"}, {"depth": 7}),
        ({"side": "left"}, {"side": "left"}),
        ({"side": "none"}, {"side": None}),
        ({"step": "auto"}, {"step": "auto"}),
        ({"step": "0.5"}, {"step": 0.5}),
        ({"effects": "yes"}, {"effects": True}),
        ({"effects": "off", "depth": None}, {"effects": False, "depth": 3}),
    ],
)
def test_values_become_what_the_model_takes(given: dict[str, Any], learned: dict[str, Any]) -> None:
    model = parameters.make_model("oracle", given)
    assert {name: getattr(model, name) for name in learned} == learned


@pytest.mark.usefixtures("oracle")
def test_values_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="--step must be one of NUMBER, auto, found 'soon'"):
        parameters.make_model("oracle", {"step": "soon"})


@pytest.mark.parametrize("verb", [fit.fit, tune.tune, cross_validate.cross_validate], ids=lambda verb: verb.__name__)
def test_own_options_of_a_verb_hide_none_of_a_model(verb: Callable[..., None]) -> None:
    options = inspect.signature(verb).parameters
    hidden = {name for cls in rf.MODELS.values() for name in parameters.parameters_of(cls)} - {
        name for name in options if options[name].kind.name == "KEYWORD_ONLY"
    }
    assert hidden == {"seed", "liked"}, "a verb hands its own --seed and --liked to the model"


REPORTS = [EpochReport(k + 1, 0.5 * (k + 1), 1.0, 1 / (k + 1), abs(k - 20) / 40 + 1, measure="mae") for k in range(40)]


def test_a_long_curve_is_shown_in_part() -> None:
    table = curve.curve_table(REPORTS, baseline=1.2)
    passes = list(table.columns[0].cells)
    assert passes[0] == "1"
    assert passes[-2:] == ["40", "bias"]
    assert "21" in passes, "the best pass is among those shown"
    assert len(passes) <= curve.MOST_ROWS + 1
    bars = list(table.columns[-1].cells)
    assert [bar.endswith("best") for bar in bars] == [number == "21" for number in passes]


def test_a_curve_without_validation_and_of_one_pass() -> None:
    table = curve.curve_table([EpochReport(1, 0.0, 1.0, 0.5)])
    assert [list(column.cells) for column in table.columns[:3]] == [["1"], ["0.5000"], ["0.00"]]
    assert [column.header for column in table.columns] == ["pass", "train", "seconds", "rmse, shorter is better"]


def test_a_curve_that_left_the_numbers() -> None:
    reports = [EpochReport(1, 0.0, 1.0, 0.5, 0.9), EpochReport(2, 0.1, 1.0, float("nan"), float("nan"))]
    assert list(curve.curve_table(reports, baseline=0.8).columns[-1].cells)[1] == "?"


@pytest.mark.parametrize("terminal", [True, False])
def test_the_bar_is_silent_without_a_terminal(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(
        progress, "console", lambda stderr: Console(file=screen, force_terminal=terminal, width=100, markup=False)
    )
    with progress.PassBar(passes=40, n_ratings=3_000_000) as bar:
        bar(REPORTS[3])
        bar._progress.refresh()
    shown = screen.getvalue()
    if terminal:
        for words in ("pass 5 of 40", "validation mae 1.4250", "6M ratings/s", "0:18 left"):
            assert words in shown
    else:
        assert shown == ""


def test_a_budget_shortens_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    bar = progress.PassBar(passes=40, n_ratings=10, budget=5.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: 100.0)
    bar(REPORTS[3])
    assert bar._progress.tasks[0].fields["end"] == 103.0


def test_files_are_written_100_columns_wide(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")
    assert max(map(len, run("info", model).out.splitlines())) <= 100
