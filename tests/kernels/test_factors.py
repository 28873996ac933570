"""Arrays that grow, and the views that readers keep of them."""

import copy
import pickle

import numpy as np
import pytest

from rankfill.kernels import Growing


def test_a_view_sees_rows_move_and_does_not_see_them_grow():
    rows = Growing(np.arange(6.0).reshape(3, 2))
    view = rows.frozen()
    rows.array[1] = -1.0
    assert rows.frozen() is view
    np.testing.assert_array_equal(view.array, [[0, 1], [-1, -1], [4, 5]])
    rows.extend(np.ones((2, 2)))
    assert (len(view), len(rows), len(rows.frozen())) == (3, 5, 5)
    rows.extend(np.ones((0, 2)))
    np.testing.assert_array_equal(rows.frozen().array, rows.array)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_goes_its_own_way_and_holds_the_rows_once(copied):
    rows = Growing(np.zeros((1000, 2)))
    alone = len(pickle.dumps(rows))
    rows.frozen()
    assert len(pickle.dumps(rows)) == alone
    other = copied(rows)
    other.array[:] = 1.0
    assert other.frozen().array.all()
    assert not rows.frozen().array.any()
