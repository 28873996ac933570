"""The figures of rankfill's kernels: those that need no rival are measured, the others say what they lack."""

import json

from benchmarks.experiments import kernels
from benchmarks.experiments.kernels import FIGURES
from benchmarks.harness.child import call_here


def in_this_process(call, arguments, threads, environment):
    try:
        return call_here(call, arguments)
    except RuntimeError as error:
        return {"failed": str(error)}


def test_figures_of_rankfill_alone_are_measured(tmp_path, capsys):
    output = tmp_path / "kernels.json"
    options = ["--dataset", "tiny", "--rank", "8", "--repetitions", "2", "--output", str(output)]
    found = kernels.main([*options, "--only", "against_plain", "bytes_a_rating"], run=in_this_process)
    assert [figure.call for figure, _ in found].count("against_plain") == 2
    assert any(len(result.get("ours", [])) == 2 for _, result in found)
    assert "a row at a time" in capsys.readouterr().out
    assert len(json.loads(output.read_text())["figures"]) == len(found)


def test_a_figure_that_misses_its_target_is_shown_as_missed(capsys, tmp_path):
    def measured(call, arguments, threads, environment):
        return {"ours": [10.0, 30.0, 20.0], "theirs": [20.0, 40.0, 80.0]}

    options = ["--dataset", "tiny", "--only", "against_plain", "scaling", "--output", str(tmp_path / "kernels.json")]
    (first, *_, last) = kernels.main(options, run=measured)
    assert first[0].value(first[1]).median == 0.5  # of 0.5, 0.75 and 0.25
    assert first[0].met(first[0].value(first[1]))
    if "failed" not in last[1]:
        assert last[0].value(last[1]).median == 2.0
    slow = {"ours": [9.0], "theirs": [10.0]}
    assert first[0].met(first[0].value(slow)) is False
    assert "met" in capsys.readouterr().out


def test_every_figure_has_a_function():
    from benchmarks.experiments import kernel_figures

    assert FIGURES
    assert all(callable(getattr(kernel_figures, figure.call)) for figure in FIGURES)
