"""People for whom items are scored, as rows of the matrix X."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Rows

_SCORES_AT_ONCE = 2**22


class Effects(NamedTuple):
    """Rows of factors of the bias model, which explicit feedback is measured from."""

    users: NDArray[np.float32]
    items: NDArray[np.float32]


class People(NamedTuple):
    """Rows of X, and the factors of the bias model that belong to them."""

    entries: Rows
    effects: NDArray[np.float32] | None

    def blocks(self, n_items: int) -> Iterator[tuple[slice, "People"]]:
        """Yields people in groups whose scores fit into memory."""
        entries, step = self.entries, max(1, _SCORES_AT_ONCE // max(n_items, 1))
        for first in range(0, entries.n_rows, step):
            block = slice(first, min(first + step, entries.n_rows))
            yield block, People(entries.block(block), None if self.effects is None else self.effects[block])
