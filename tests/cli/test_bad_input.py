"""Every bad file is refused in one line that says what is wrong, with exit code 2 and nothing written."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

Run = Callable[..., Any]
Refused = Callable[..., str]

RATINGS = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n\n", "is empty"),
    "garbage": (bytes(range(256)) * 20, "neither text nor Parquet"),
    "no separator": (b"hello\nworld\n", "only one column"),
    "not a number": (b"user,item,rating\n1,1,5\n2,2,good\n", "line 3"),
    "too few columns": (b"user,item,rating\n1,1,5\n2,2\n", "line 3"),
    "NaN": (b"user,item,rating\n1,1,5\n2,2,nan\n", "line 3"),
    "infinite": (b"user,item,rating\n1,1,5\n2,2,inf\n", "line 3"),
    "no rating": (b"user,item,rating\n1,1,\n", "line 2"),
    "header alone": (b"user,item,rating\n", "nothing below"),
    "unknown header": (b"a,b,c\n1,1,5\n", "--columns user,item,rating"),
    "duplicates": (b"user,item,rating\n1,1,5\n2,1,4\n1,1,3\n", "--duplicates last"),
    "truncated Parquet": (b"PAR1" + bytes(50), "Parquet"),
}


@pytest.mark.parametrize(("content", "words"), RATINGS.values(), ids=RATINGS)
def test_ratings(refused: Refused, tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "ratings.csv"
    path.write_bytes(content)
    assert words in refused("fit", path, "-o", tmp_path / "m.rankfill")
    assert list(tmp_path.iterdir()) == [path]


def test_a_model_that_takes_no_negative_ratings(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating\n1,1,5\n1,2,-3.5\n")
    named = ("--model", "passive-aggressive")
    assert "--nonnegative items" in refused("fit", path, "-o", tmp_path / "m.rankfill", *named)
    assert list(tmp_path.iterdir()) == [path]


def test_parquet_with_other_columns(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    duckdb.sql("SELECT 1 AS a, 2 AS b, 3 AS c").write_parquet(str(path))
    assert "--columns user,item,rating" in refused("fit", path, "-o", tmp_path / "m.rankfill")


def test_no_such_file_and_a_folder(refused: Refused, model: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent.csv"
    for arguments in (
        ("fit", absent, "-o", tmp_path / "m"),
        ("evaluate", model, absent),
        ("evaluate", absent, absent),
        ("predict", model, absent),
        ("recommend", absent, "--user", 1),
        ("topics", absent),
        ("info", absent),
    ):
        assert "absent.csv" in refused(*arguments)
    for arguments in (("fit", tmp_path, "-o", tmp_path / "m"), ("info", tmp_path), ("predict", model, tmp_path)):
        assert "is a folder" in refused(*arguments)


def foreign_safetensors(dtype: str, **about: str) -> bytes:
    arrays = {"w": {"dtype": dtype, "shape": [4 // (2 + 2 * (dtype == "F32"))], "data_offsets": [0, 4]}}
    header = json.dumps({"__metadata__": about} | arrays).encode()
    return len(header).to_bytes(8, "little") + header + bytes(4)


@pytest.mark.parametrize("verb", ["info", "topics", "recommend"])
@pytest.mark.parametrize(
    "damage", ["empty", "header cut", "arrays cut", "text", "another's", "half floats", "no settings"]
)
def test_model_files(refused: Refused, model: Path, tmp_path: Path, verb: str, damage: str) -> None:
    whole = model.read_bytes()
    content = {
        "empty": b"",
        "header cut": whole[:100],
        "arrays cut": whole[:-100],
        "text": b"user,item,rating\n" * 10,
        "another's": foreign_safetensors("F32"),
        "half floats": foreign_safetensors("BF16"),
        "no settings": foreign_safetensors("F32", rankfill="1", model='"PassiveAggressive"'),
    }[damage]
    path = tmp_path / "bad.rankfill"
    path.write_bytes(content)
    assert "bad.rankfill" in refused(verb, path, *(["--user", 1] if verb == "recommend" else []))


def test_a_file_where_a_folder_should_be(refused: Refused, numbers: Path) -> None:
    assert "there is no folder" in refused("fit", numbers, "-o", numbers / "m.rankfill")


def test_what_is_no_file_is_not_replaced(refused: Refused, numbers: Path, model: Path, tmp_path: Path) -> None:
    """A file is renamed onto its target: a device or a pipe must not be lost that way."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    words = f"cannot write {pipe}: it is no file; name a file"
    assert refused("fit", numbers, "-o", pipe) == words
    assert refused("recommend", model, "--all-users", "-o", pipe) == words
    assert pipe.is_fifo()


def test_a_folder_that_takes_no_files(refused: Refused, numbers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(**options: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", read_only)
    assert "the folder takes no files (read-only file system)" in refused("fit", numbers, "-o", "m.rankfill")


def test_missing_arguments(refused: Refused) -> None:
    assert refused("fit") == "Missing argument 'RATINGS'; see rankfill fit --help"
    assert "Missing option '--output'" in refused("fit", "ratings.csv")
    assert refused("fitt") == "No such command 'fitt'. Did you mean 'fit'? See rankfill --help"


def test_the_shell_sees_the_exit_code_and_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from rankfill.cli import main; main()", "info", "absent.rankfill"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "rankfill: absent.rankfill: there is no such file; check the path\n"


def test_a_mistake_of_ours_shows_its_traceback(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("rankfill.cli.info._facts", broken)
    with pytest.raises(KeyError):
        run("info", model)


def test_tracebacks_can_be_asked_for(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKFILL_TRACEBACK", "1")
    with pytest.raises(FileNotFoundError):
        run("info", tmp_path / "absent")
