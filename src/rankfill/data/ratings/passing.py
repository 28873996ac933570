"""The operations by which a model learns from ratings row by row without holding them: sums, extremes, half passes.

Ratings in memory and those in blocks on a cluster answer the same questions, to the same bits: every sum is taken a
user first, in the order of the items, and then over the users in their order, which no division into blocks changes.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfill.data.ratings.choosing import Choosing
from rankfill.data.scale import Ends
from rankfill.kernels import Rows, get_threads, own_threads

if TYPE_CHECKING:
    from rankfill.data.ratings.ratings import Ratings

Side = Literal["user", "item"]
Made = TypeVar("Made")
Work = Callable[["Ratings", NDArray[np.intp]], Made]
"""What is done with the ratings of a block of items and their row numbers; it can be sent to another process."""

_AT_ONCE = 2**20


class RowStep(Protocol):
    """The work of half a pass on rows of one side; it can be sent to another process.

    A step moves rows of `moving` in place against `fixed`. `first` is the number of the first of these rows, for steps
    that draw at random by row. The result are sums over the entries, none or as many as the step has.
    """

    @property
    def goes_on(self) -> bool:
        """Whether a row starts from where it is; otherwise it is made anew, and may come as zeros."""

    def __call__(
        self, rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], first: int
    ) -> tuple[float, ...]: ...


class Tally(NamedTuple):
    """Numbers of ratings by user and by item, and their sums by user."""

    user_counts: NDArray[np.int64]
    user_sums: NDArray[np.float64]
    item_counts: NDArray[np.int64]


def sums_by_row(
    rows: Rows, of: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None
) -> NDArray[np.float64]:
    """Σ of the values of each row, or of a function of them; entries are added in their order.

    >>> sums_by_row(Rows(np.array([0, 2, 3]), np.array([1, 4, 1], np.int32), np.ones(3, np.float32)))
    array([2., 1.])
    """
    sums, first = np.zeros(rows.n_rows), 0
    while first < rows.n_rows:
        begin = rows.indptr[first]
        last = max(first + 1, int(np.searchsorted(rows.indptr, begin + _AT_ONCE, side="right")) - 1)
        part = rows.part(first, last)
        values = part.values.astype(np.float64)
        sums[first:last] = np.bincount(
            part.row_of_entry(), values if of is None else of(values), minlength=last - first
        )
        first = last
    return sums


class Passing(Choosing):
    """The methods of `Ratings` that models learn by which go over the ratings row by row."""

    is_here: ClassVar[bool] = True
    """Whether this process holds the ratings themselves."""

    def tally(self) -> Tally:
        """Numbers of ratings by user and by item, and their sums by user.

        Returns
        -------
        Tally
            ``user_counts``, ``user_sums`` and ``item_counts``, in the order of `users` and `items`.

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Ratings.from_dense([[5, None], [3, 4]]).tally().user_sums
        array([5., 7.])
        """
        return Tally(self.by_user.counts(), sums_by_row(self.by_user), self._item_counts())

    def ends(self) -> Ends:
        """The outermost ratings, of which `scale` is made.

        Returns
        -------
        Ends
        """
        ends = Ends()
        for piece in self.pieces():
            ends = ends.extend(piece.values)
        return ends

    def bounds(self) -> tuple[float, float]:
        """The least and the greatest rating; zero and zero when there is none.

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Ratings.from_dense([[5, None], [3, 4]]).bounds()
        (3.0, 5.0)
        """
        found = [(float(piece.values.min()), float(piece.values.max())) for piece in self.pieces()]
        return (min(low for low, _ in found), max(high for _, high in found)) if found else (0.0, 0.0)

    def distance_from(self, value: float) -> float:
        """The root mean square of how far ratings are from a value: from their mean it is the standard deviation.

        Parameters
        ----------
        value : float
            From where distances are taken.

        Returns
        -------
        float

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Ratings.from_dense([[5, None], [3, 4]]).distance_from(4)  # doctest: +ELLIPSIS
        0.816...
        """
        squares = self._squares(value)
        return float(np.sqrt(squares.sum() / max(len(self), 1)))

    def _squares(self, value: float) -> NDArray[np.float64]:
        """Σ (r − value)² of each user."""
        return sums_by_row(self.by_user, lambda values: np.square(values - value))

    def half_pass(
        self, side: Side, step: RowStep, moving: NDArray[np.float32], fixed: NDArray[np.float32]
    ) -> tuple[float, ...]:
        """Moves all rows of one side once, the other side as it is.

        Parameters
        ----------
        side : {"user", "item"}
            Which side moves.
        step : callable
            What happens to rows: see `RowStep`.
        moving : ndarray of float32
            One padded row per user or item of that side; moved in place.
        fixed : ndarray of float32
            The rows of the other side.

        Returns
        -------
        tuple of float
            The sums of the step.
        """
        return step(self.by_user if side == "user" else self.by_item, moving, fixed, 0)

    def each_block_of_items(self, blocks: Sequence[NDArray[np.intp]], work: "Work[Made]") -> list[Made]:
        """What is made of the ratings of each block of items, side by side on as many threads as there are.

        Parameters
        ----------
        blocks : sequence of ndarray of int
            The row numbers of the items of each block; no item is in two of them.
        work : callable
            What happens to a block. Its ratings have the row numbers of all ratings.

        Returns
        -------
        list
            What `work` has returned, in the order of the blocks.
        """
        block_of = np.full(self.n_items, -1)
        for number, items in enumerate(blocks):
            block_of[items] = number
        own = [self.select(block_of[self.item_indices] == number) for number in range(len(blocks))]
        side_by_side = min(get_threads(), len(blocks))
        share = max(1, get_threads() // side_by_side)

        def on_own_threads(ratings: "Ratings", items: NDArray[np.intp]) -> Made:
            with own_threads(share):
                return work(ratings, items)

        with ThreadPoolExecutor(side_by_side) as pool:
            return list(pool.map(on_own_threads, own, blocks))
