"""Random rows are the same however many are made at a time, and whichever come first."""

import numpy as np

from rankfill.models.base import starts
from rankfill.models.base.starts import random_rows, set_random


def test_rows_set_some_at_a_time_are_those_made_at_once(monkeypatch):
    monkeypatch.setattr(starts, "_AT_ONCE", 7)
    rows = np.full((40, 16), 9, np.float32)
    set_random(rows, 100, 5, 3, lambda numbers: 2 * numbers - 1)
    np.testing.assert_array_equal(rows[:, :5], (2 * random_rows(100, 140, 5, 3) - 1).astype(np.float32))
    assert (rows[:, 5:] == 9).all()
    np.testing.assert_array_equal(random_rows(0, 140, 5, 3)[100:], random_rows(100, 140, 5, 3))
