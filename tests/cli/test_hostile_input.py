"""Input that a careful program has an answer for: pipes, Ctrl-C, escape sequences, one wrong id, endless fields."""

import io
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rankfill as rf
import rankfill.cli
from rankfill.data.tables import interruptible

Run = Callable[..., Any]
Refused = Callable[..., str]

EVIL = "tea\x1b]0;owned\x07\x1b[31m\u202e"


def stdin_is(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))


@pytest.mark.parametrize(
    "verb",
    [
        ["fit", "-", "-o", "OUT", "-m", "sgd", "--rank", "2"],
        ["fit", "RATINGS", "-o", "OUT", "-m", "sgd", "--rank", "2", "--validation", "-"],
        ["evaluate", "MODEL", "-"],
        ["predict", "MODEL", "-"],
        ["cross-validate", "-", "--model", "bias", "--folds", "2"],
        ["cross-validate", "-", "--model", "sgd", "--stream"],
        ["tune", "-", "--model", "bias", "--grid", "shrinkage=1,10", "--folds", "2"],
        ["path", "-", "--model", "soft-impute", "--penalties", "5,1"],
    ],
    ids=lambda verb: " ".join(verb[:2]),
)
def test_every_verb_reads_standard_input_and_pipes(
    run: Run, model: Path, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: list[str]
) -> None:
    places = {"OUT": tmp_path / "m.rankfill", "MODEL": model, "RATINGS": ratings}
    words = [places.get(word, word) for word in verb]
    stdin_is(monkeypatch, ratings)
    from_stdin = run(*words)
    assert from_stdin.code == 0
    assert all("learned from 210 of the 210" in line for line in from_stdin.err.splitlines())
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["dd", f"if={ratings}", f"of={pipe}"], stderr=subprocess.DEVNULL):
        from_pipe = run(*(pipe if word == "-" else word for word in words))
    assert (from_pipe.code, from_pipe.err) == (0, from_stdin.err)
    assert from_pipe.out.count("\n") == from_stdin.out.count("\n")


def test_an_empty_standard_input_is_told_by_name(
    refused: Refused, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert refused("predict", model, "-").startswith("standard input is empty")


def numbers_model(run: Run, numbers: Path, tmp_path: Path) -> Path:
    path = tmp_path / "m.rankfill"
    assert run("fit", numbers, "-o", path, "--model", "bias").code == 0
    return path


@pytest.mark.parametrize("bad", ["abc", "1.5", "007", "99999999999999999999"])
def test_one_bad_id_is_named_with_its_line(refused: Refused, run: Run, numbers: Path, tmp_path: Path, bad: str) -> None:
    fitted = numbers_model(run, numbers, tmp_path)
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(f"user,item\n101,7\n102,14\n{bad},7\n103,7\n")
    told = refused("predict", fitted, pairs)
    assert (
        told
        == f"line 4 of pairs.csv: user '{bad}' is no whole number of 64 bits, as ids are here; correct it or drop it"
    )
    pairs.write_text(f"user,item,rating\n101,7,1\n102,{bad},2\n")
    for words in (["evaluate", fitted, pairs], ["fit", numbers, "-o", fitted, "--validation", pairs]):
        assert refused(*words).startswith(f"line 3 of pairs.csv: item '{bad}' is no whole number")


def test_a_model_of_strings_takes_a_file_of_numbers(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("user,item,rating\n7,a,1\n7a,b,5\n8,a,2\n8,b,4\n")
    assert run("fit", tmp_path / "r.csv", "-o", tmp_path / "m", "--model", "bias").code == 0
    (tmp_path / "p.csv").write_text("user,item\n7,1\n8,2\n")
    assert "1 have an unknown user" not in run("predict", tmp_path / "m", tmp_path / "p.csv").err
    (tmp_path / "t.csv").write_text("user,item,rating\n7,1,1\n8,2,1\n")
    assert run("evaluate", tmp_path / "m", tmp_path / "t.csv").code == 0


def test_ctrl_c_while_a_file_is_read_ends_with_130(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-c", "from rankfill.cli import main; main()", "fit", str(pipe), "-o", "m.rankfill"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=tmp_path, text=True) as process, pipe.open("w") as feed:
        feed.write("user,item,rating\n")
        feed.flush()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told == "rankfill: interrupted; nothing was saved\n"


def test_ctrl_c_in_a_query_ends_with_130(
    run: Run, numbers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*arguments: object) -> str:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        return "SELECT sum(a.range * b.range) FROM range(10_000_000) a, range(10_000_000) b"

    monkeypatch.setattr("rankfill.data.readers.query_columns", endless)
    outcome = run("fit", numbers, "-o", tmp_path / "m.rankfill")
    assert (outcome.code, outcome.err) == (130, "rankfill: interrupted; nothing was saved\n")


def test_ctrl_c_reaches_all_threads_of_a_query() -> None:
    stopped: list[bool] = []
    before = signal.getsignal(signal.SIGINT)

    def wait() -> None:
        with interruptible(SimpleNamespace(interrupt=lambda: stopped.append(True))):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)

    with pytest.raises(KeyboardInterrupt):
        wait()
    assert stopped
    assert signal.getsignal(signal.SIGINT) is before


def test_only_an_interruption_counts_as_one(
    run: Run, numbers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn(self: Any, *arguments: Any, **options: Any) -> Any:
        warnings.warn("interrupted sounds like it, but is not", stacklevel=1)
        return original(self, *arguments, **options)

    original = rf.Bias.fit
    monkeypatch.setattr(rf.Bias, "fit", warn)
    outcome = run("fit", numbers, "-o", tmp_path / "m", "--model", "bias")
    assert outcome.code == 0
    assert "Wrote" in outcome.out
    assert "rankfill: interrupted sounds like it" in outcome.err


def evil_files(run: Run, tmp_path: Path) -> tuple[Path, Path, Path]:
    ratings, titles, model = tmp_path / "r.csv", tmp_path / "t.csv", tmp_path / "m.rankfill"
    lines = [
        f"{EVIL}{user},{EVIL}{item},{1 + (user * item) % 5}" for user in range(6) for item in range(5) if user != item
    ]
    ratings.write_text("user,item,rating\n" + "\n".join(lines) + "\n")
    titles.write_text("item,title\n" + "".join(f"{EVIL}{item},{EVIL}title\n" for item in range(5)))
    small = ("--model", "passive-aggressive", "--rank", "2", "--passes", "2")
    assert run("fit", ratings, "-o", model, *small).code == 0
    return ratings, titles, model


@pytest.mark.parametrize("verb", ["recommend", "topics", "predict", "unknown", "info", "title of nobody"])
def test_no_escape_sequence_reaches_the_terminal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    ratings, titles, model = evil_files(run, tmp_path)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    words = {
        "recommend": ["recommend", model, "--user", f"{EVIL}1", "--titles", titles],
        "topics": ["topics", model, "--titles", titles],
        "predict": ["predict", model, ratings],
        "unknown": ["recommend", model, "--user", f"{EVIL}nobody"],
        "info": ["info", model],
        "title of nobody": ["recommend", model, "--user", f"{EVIL}1", "--titles", tmp_path / EVIL],
    }[verb]
    outcome = run(*words)
    shown = outcome.out + outcome.err
    assert shown
    assert not [letter for letter in shown if not letter.isprintable() and letter != "\n"]


def test_a_file_keeps_the_ids_to_the_letter(run: Run, tmp_path: Path) -> None:
    ratings, _, model = evil_files(run, tmp_path)
    assert EVIL in run("predict", model, ratings).out, "no terminal: data, not a screen"
    assert run("recommend", model, "--all-users", "-o", tmp_path / "recs.csv").code == 0
    assert EVIL in (tmp_path / "recs.csv").read_text()


def test_messages_stay_on_one_short_line_whatever_the_input(refused: Refused, tmp_path: Path, model: Path) -> None:
    endless = "x\n\x1b[31m" * 5000
    path = tmp_path / "r.csv"
    path.write_text(f'user,item,rating\n1,2,"{endless}"\n')
    (tmp_path / "columns.csv").write_text(",".join([f'"{endless}"'] * 3) + "\n1,2,3\n")
    for words in (
        ["fit", path, "-o", tmp_path / "m"],
        ["fit", tmp_path / "columns.csv", "-o", tmp_path / "m"],
        ["fit", path, "-o", tmp_path / "m", "--columns", endless],
        ["fit", path, "-o", tmp_path / "m", "--model", endless],
        ["fit", path, "-o", tmp_path / "m", "--rank", endless],
        ["fit", tmp_path / endless[:1000], "-o", tmp_path / "m"],
        ["recommend", model, "--user", endless, "--min-ratings", endless],
        [endless],
    ):
        told = refused(*words)
        assert len(told) <= 700
        assert told.isprintable()


def test_a_list_is_no_longer_than_there_are_items(run: Run, model: Path, ratings: Path, tmp_path: Path) -> None:
    user = ratings.read_text().splitlines()[1].split(",")[0]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shown = run("recommend", model, "--user", user, "-n", 2_000_000_000, "--include-seen")
    written = run("recommend", model, "--all-users", "-n", 2_000_000_000, "-o", tmp_path / "recs.csv")
    assert (shown.code, written.code) == (0, 0)
    assert len(shown.out.splitlines()) == 2 + 12
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000, "kilobytes"


def test_a_private_model_stays_private(run: Run, numbers: Path, tmp_path: Path) -> None:
    model = numbers_model(run, numbers, tmp_path)
    model.chmod(0o600)
    link = tmp_path / "link.rankfill"
    link.symlink_to(model)
    assert run("fit", numbers, "-o", link, "--model", "bias").code == 0
    assert link.is_symlink()
    assert model.stat().st_mode & 0o777 == 0o600


def test_a_reader_that_wants_no_more_is_no_error(model: Path, ratings: Path) -> None:
    program = "import sys; from rankfill.cli import run; sys.exit(run(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "predict", str(model), str(ratings)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1


def test_nothing_is_written_over_what_is_read(refused: Refused, model: Path, numbers: Path, tmp_path: Path) -> None:
    before = numbers.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(numbers)
    for words in (["fit", numbers, "-o", link], ["predict", model, link, "-o", numbers]):
        assert "would be written over; name another file" in refused(*words)
    assert numbers.read_bytes() == before
