"""A picture cut into overlapping squares, one row per square, and put together again."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Picture = NDArray[np.float64]


class Cut:
    """Squares of `size` pixels, all channels in one row, every `step` pixels and at the far edges.

    >>> picture = np.arange(12.0).reshape(3, 4, 1)
    >>> cut = Cut(picture.shape, size=2, step=2)
    >>> cut.rows(picture).shape  # tops at 0 and 1, lefts at 0 and 2
    (4, 4)
    >>> (cut.blend(cut.rows(picture), np.ones(4)) == picture).all()
    np.True_
    """

    def __init__(self, shape: tuple[int, ...], size: int, step: int) -> None:
        self.shape, self.size = shape, size
        self.tops, self.lefts = (_starts(length, size, step) for length in shape[:2])

    def rows(self, picture: Picture) -> Picture:
        """The squares from top to bottom, then left to right."""
        windows = sliding_window_view(picture, (self.size, self.size), axis=(0, 1))
        chosen = windows[np.ix_(self.tops, self.lefts)]
        return np.ascontiguousarray(chosen).reshape(len(self.tops) * len(self.lefts), -1)

    def blend(self, rows: Picture, weights: NDArray[np.float64]) -> Picture:
        """The mean at each pixel of the squares over it, each with its weight; NaN where all of them weigh nothing."""
        squares = rows.reshape(len(self.tops), len(self.lefts), self.shape[2], self.size, self.size)
        weights = weights.reshape(len(self.tops), len(self.lefts), 1)
        total, weight = np.zeros(self.shape), np.zeros((*self.shape[:2], 1))
        for row in range(self.size):
            for column in range(self.size):
                here = np.ix_(self.tops + row, self.lefts + column)
                total[here] += weights * squares[..., row, column]
                weight[here] += weights
        with np.errstate(invalid="ignore"):
            return total / weight


def _starts(length: int, size: int, step: int) -> NDArray[np.int64]:
    return np.unique(np.append(np.arange(0, length - size + 1, step), length - size))
