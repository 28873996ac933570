"""A disk that is full: one line, the old file as it was, nothing else left. A limit on the size of files stands in."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

Refused = Callable[..., str]


@contextmanager
def full_disk(left: int) -> Iterator[None]:
    """No file may grow beyond `left` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (left, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("left", [0, 100, 5_000])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("verb", ["recommend", "predict"])
def test_tables(
    refused: Refused, model: Path, ratings: Path, tmp_path: Path, verb: str, suffix: str, left: int
) -> None:
    out = tmp_path / f"list{suffix}"
    out.write_text("before")
    rest = [ratings] if verb == "predict" else ["--all-users"]
    with full_disk(left):
        told = refused(verb, model, *rest, "-o", out)
    assert told == f"{out}: file too large; free some space, or choose another place"
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    assert out.read_text() == "before"


def test_models_and_pictures(refused: Refused, numbers: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.rankfill"
    with full_disk(100):
        assert refused("fit", numbers, "-o", out, "-m", "passive-aggressive", "--rank", "4").startswith(
            f"{out}: file too large"
        )
    assert not list(tmp_path.iterdir())
    plot = tmp_path / "curve.png"
    with full_disk(15_000):
        told = refused("fit", numbers, "-o", out, "-m", "passive-aggressive", "--rank", "4", "--plot", plot)
    assert told.startswith(f"{plot}: file too large")
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
