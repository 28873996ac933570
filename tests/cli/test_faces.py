"""rankfill faces: the table, the two pictures, and what it says when the faces are not there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

Run = Callable[..., Any]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    faces = 255 * rng.random((4096, 3)) @ rng.dirichlet(np.ones(3), 12).T
    scipy.io.savemat(tmp_path / "olivettifaces.mat", {"faces": faces.astype(np.uint8)})
    return tmp_path


def test_faces_are_filled_in_and_compared(run: Run, data: Path) -> None:
    settings = ["--rank", 3, "--passes", 20, "--nmf-passes", 60]
    outcome = run("faces", "--data", data, "-o", data, *settings)
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert lines[0] == "12 faces of 4096 pixels, 25% of the pixels missing, rank 3."
    rows = {line.split()[0]: line.split() for line in lines[2:8] if line}
    assert rows["Broyden"][1] == "20"
    assert rows["Broyden"][-1] == "11.57"
    assert rows["NMF"][1] == "60"
    assert rows["NMF"][-1] == "12.13"
    assert float(rows["Broyden"][3]) > 15
    assert rows["missing"][-1] == "0.75"
    for name in ("faces.png", "faces-errors.png"):
        assert (data / name).stat().st_size > 1000


def test_bad_input_is_told_in_a_line(run: Run, data: Path, tmp_path: Path) -> None:
    outcome = run("faces", "--data", data, "--missing", 1.5)
    assert (outcome.code, outcome.err) == (
        2,
        "rankfill: the share of missing pixels must be between 0 and 1, found 1.5\n",
    )
    outcome = run("faces", "--data", tmp_path / "nowhere")
    assert outcome.code == 2
    assert "no olivettifaces.mat in" in outcome.err
