"""The counting sort against its NumPy twin, for any number of threads."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfill import kernels
from rankfill.kernels import Rows
from rankfill.kernels.gradients import make_grid
from rankfill.kernels.reference import rows as reference


@pytest.fixture(autouse=True)
def threads_as_before():
    before = kernels.get_threads()
    yield
    kernels.set_threads(before)


def same_bits(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert ours.tobytes() == theirs.tobytes(), f"{ours} is not {theirs}"


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(0, 200), st.booleans(), st.integers(0, 2**32 - 1))
def test_sort_into_rows_is_the_twins(n_keys, n_entries, with_order, seed):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, n_keys, n_entries).astype(np.int32)
    columns = rng.integers(0, 9, n_entries).astype(np.int32)
    values = rng.choice([1.0, 2.0], n_entries).astype(np.float32)
    expected = reference.sort_into_rows(keys, columns, values, n_keys, with_order=with_order)
    rows, order = kernels.sort_into_rows(keys, columns, values, n_keys, with_order=with_order)
    for ours, theirs in zip((*rows, order), (*expected[0], expected[1]), strict=True):
        same_bits(ours, theirs)


def test_sort_into_rows_is_the_same_for_any_number_of_threads():
    """Beyond 2 · 65,536 entries the work is cut into slices."""
    rng = np.random.default_rng(3)
    n = 600_000
    keys, columns = rng.integers(0, 50, n).astype(np.int32), rng.integers(0, 2**31 - 1, n).astype(np.int32)
    values = rng.random(n, dtype=np.float32)
    expected = reference.sort_into_rows(keys, columns, values, 50, with_order=True)
    for threads in range(1, 9):
        kernels.set_threads(threads)
        rows, order = kernels.sort_into_rows(keys, columns, values, 50, with_order=True)
        for ours, theirs in zip((*rows, order), (*expected[0], expected[1]), strict=True):
            same_bits(ours, theirs)


@pytest.mark.parametrize(("n_entries", "n_rows", "n_columns"), [(0, 3, 4), (1, 1, 1), (900, 17, 40), (200_000, 9, 700)])
def test_transposing_is_sorting_the_row_numbers_by_column(n_entries, n_rows, n_columns):
    rng = np.random.default_rng(n_entries)
    row_of_entry = np.sort(rng.integers(0, n_rows, n_entries)).astype(np.int32)
    indptr = np.searchsorted(row_of_entry, np.arange(n_rows + 1)).astype(np.int64)
    rows = Rows(indptr, rng.integers(0, n_columns, n_entries).astype(np.int32), rng.random(n_entries, np.float32))
    expected, _ = reference.sort_into_rows(rows.indices, row_of_entry, rows.values, n_columns)
    for threads in (1, 2, 5):
        kernels.set_threads(threads)
        assert all(map(np.array_equal, rows.transposed(n_columns), expected))


def test_whoever_made_the_arrays_cannot_change_what_was_checked():
    indptr, indices = np.array([0, 2, 3]), np.array([0, 4, 2], np.int32)
    rows = Rows(indptr, indices, np.ones(3, np.float32))
    indptr[1], indices[0] = 3, 10**9
    assert rows.indptr.tolist() == [0, 2, 3]
    assert rows.indices.tolist() == [0, 4, 2]
    assert rows.transposed(5).indices.tolist() == [0, 1, 0]


def test_what_was_checked_cannot_be_written_to():
    made = Rows(np.array([0, 2, 3]), np.array([0, 4, 2], np.int32), np.ones(3, np.float32))
    by_column = made.transposed(5)
    grid = make_grid(made.row_of_entry(), np.array(made.indices), made.values, (2, 5), seed=0)
    copied = pickle.loads(pickle.dumps(made))
    for array in (*made, *made.of_rows(np.array([1])), *copied, *by_column, grid.users, grid.items, grid.start):
        if array.dtype != np.float32:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


def test_arrays_that_are_taken_over_are_not_copied():
    indptr, indices = np.array([0, 2, 3]), np.array([0, 4, 2], np.int32)
    rows = Rows.taking(indptr, indices, np.ones(3, np.float32))
    assert np.shares_memory(rows.indices, indices)
    assert np.shares_memory(rows.indptr, indptr)
    with pytest.raises(ValueError, match="read-only"):
        indices[0] = 10**9


def test_some_rows_are_those_rows():
    """Row −1 stands for nobody, and a block may be empty."""
    dense = np.random.default_rng(0).integers(0, 3, (7, 5)).astype(np.float32)
    of_entry, columns = np.nonzero(dense)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(dense, axis=1))])
    rows = Rows(indptr, columns.astype(np.int32), dense[of_entry, columns])

    def filled(some):
        found = np.zeros((some.n_rows, 5), np.float32)
        found[some.row_of_entry(), some.indices] = some.values
        return found

    wanted = np.array([6, -1, 0, 0, 3, -1], np.int32)
    np.testing.assert_array_equal(filled(rows.of_rows(wanted)), np.where(wanted[:, None] < 0, 0, dense[wanted]))
    for first, last in ((0, 7), (2, 5), (4, 4), (6, 7)):
        np.testing.assert_array_equal(filled(rows.block(slice(first, last))), dense[first:last])


def test_one_entry_makes_the_rows_that_arrays_of_it_make():
    values = np.array([4.0], np.float32)
    ours = Rows.of_one(7, values)
    theirs = Rows(np.array([0, 1]), np.array([7], np.int32), values)
    for one, other in zip(ours, theirs, strict=True):
        same_bits(one, other)
    assert (ours.n_rows, ours.n_columns) == (1, 8)
    assert not ours.indices.flags.writeable
    assert not ours.indptr.flags.writeable
    with pytest.raises(ValueError, match="an index must be zero or more, found -1"):
        Rows.of_one(-1, values)
