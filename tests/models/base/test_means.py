"""The mean of the rows learned, against NumPy, whatever changed in whatever order."""

import numpy as np
import pytest

from rankfill.kernels import Growing
from rankfill.models.base.means import MeanRow


def by_definition(rows, counts):
    learned = counts.array > 0
    return rows.array[learned].mean(axis=0, dtype=np.float64) if learned.any() else np.zeros(rows.array.shape[1])


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 70_000])
def test_mean_is_that_of_the_rows_learned(n):
    rng = np.random.default_rng(n)
    rows = Growing(rng.normal(size=(n, 16)).astype(np.float32))
    counts = Growing(rng.integers(0, 2, n))
    np.testing.assert_allclose(MeanRow(rows, counts).row(), by_definition(rows, counts), atol=1e-6)


@pytest.mark.parametrize("n", [3, 250, 65_530])
def test_mean_follows_rows_that_change_and_rows_that_are_added(n):
    rng = np.random.default_rng(0)
    rows = Growing(rng.normal(size=(n, 16)).astype(np.float32))
    counts = Growing(rng.integers(0, 2, n))
    mean = MeanRow(rows, counts)
    mean.row()
    for step in range(30):
        if step % 3 == 0:
            rows.extend(rng.normal(size=(1, 16)).astype(np.float32))
            counts.extend(np.ones(1, np.int64))
            mean.touch(len(rows) - 1)
        row = int(rng.integers(len(rows)))
        rows.array[row] = 1000 * rng.normal(size=16)
        counts.array[row] += 1
        mean.touch(row)
        if step % 2:
            np.testing.assert_allclose(mean.row(), by_definition(rows, counts), rtol=1e-5, atol=1e-5)
    assert mean.row().tobytes() == MeanRow(rows, counts).row().tobytes()


def test_only_blocks_that_changed_are_read_again():
    rows, counts = Growing(np.ones((1000, 16), np.float32)), Growing(np.ones(1000, np.int64))
    mean = MeanRow(rows, counts)
    mean.row()
    rows.array[:] = 5.0  # nobody is told of most of it
    rows.array[300] = 1.0
    mean.touch(300)
    np.testing.assert_allclose(mean.row(), (744 + 255 * 5 + 1) / 1000)
