"""A command line run in this process, and small files of ratings with numbers and with strings as ids."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import rankfill.cli
from rankfill.kernels import get_threads, set_threads


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("info", model)` is what the shell would do, with the exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "200")
    threads = get_threads()

    def command(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = rankfill.cli.run([str(argument) for argument in arguments])
        set_threads(threads)
        return Outcome(code, *capsys.readouterr())

    return command


def write_ratings(path: Path, *, strings: bool, n_users: int = 30, n_items: int = 12) -> Path:
    """Two tastes, more users than items, no user rates everything."""
    rng = np.random.default_rng(3)
    lines = ["user,item,rating"]
    for user in range(n_users):
        for item in rng.permutation(n_items)[:7]:
            rating = 5 - 3 * ((user + item) % 2) - rng.integers(2)
            lines.append(f"ann{user},tea{item},{rating}" if strings else f"{100 + user},{7 * item},{rating}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session", params=["integer ids", "string ids"])
def ratings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ratings(tmp_path_factory.mktemp("ratings") / "ratings.csv", strings=request.param == "string ids")


@pytest.fixture(scope="session")
def model(ratings: Path) -> Path:
    path = ratings.parent / "m.rankfill"
    options = ["--model", "passive-aggressive", "--rank", "4", "--C", "0.1"]
    assert rankfill.cli.run(["fit", str(ratings), "-o", str(path), *options]) == 0
    return path


@pytest.fixture(scope="session")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ratings with integer ids, for tests in which the kind of id does not matter."""
    return write_ratings(tmp_path_factory.mktemp("numbers") / "ratings.csv", strings=False)


@pytest.fixture(scope="session")
def titles(model: Path, ratings: Path) -> Path:
    """A title for every item but the first; some would be markup or mathematics to a careless printer."""
    items = sorted({line.split(",")[1] for line in ratings.read_text().splitlines()[1:]})
    path = ratings.parent / "titles.csv"
    path.write_text("item,title\n" + "".join(f'{item},"[REC] {item}, $5"\n' for item in items[1:]))
    return path


def only_line(outcome: Outcome) -> str:
    """The one line on stderr with which bad input is refused."""
    assert outcome.code == 2, outcome
    lines = outcome.err.splitlines()
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("rankfill: "), outcome.err
    return lines[0].removeprefix("rankfill: ")


@pytest.fixture
def refused(run: Run) -> Callable[..., str]:
    return lambda *arguments: only_line(run(*arguments))
