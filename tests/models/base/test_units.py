"""What single precision can hold."""

import numpy as np
import pytest

from rankfill.models.base.units import all_finite


@pytest.mark.parametrize("n_rows", [1, 40])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_not_finite_is_found_wherever_it_is(n_rows, number):
    for place in ((0, 0), (-1, -1), (n_rows // 2, 7)):
        rows = np.ones((n_rows, 16), np.float32)
        rows[place] = number
        assert not all_finite(rows)
        assert not all_finite(rows[::-1])


@pytest.mark.parametrize("n_rows", [1, 40])
def test_numbers_whose_squares_or_sums_overflow_are_finite_all_the_same(n_rows):
    rows = np.full((n_rows, 16), np.finfo(np.float32).max)
    assert all_finite(rows)
    assert all_finite(-rows)
    assert all_finite(rows[:, :0])
