"""Blocks of items completed on a cluster, each on its own, and combined here (`rankfill.DivideAndConquer`).

Each block of items is one task: its ratings come together there, with the row numbers of all ratings, and what is made
of them goes back to the driver. Combining takes the completed blocks only; the fit to all ratings that follows is made
of half passes.
"""

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankfill.data import Ratings, Vocabulary
from rankfill.data.ratings.passing import Work
from rankfill.kernels import Rows, own_threads
from rankfill.models import DivideAndConquer
from rankfill.models.convex.divide_and_conquer import Combine
from rankfill.models.convex.model import TraceNormModel
from rankfill.spark.frames import Batches, as_bytes, from_bytes, pieces
from rankfill.spark.stored import Source

MADE = "block long, made binary"


def divide(
    model: TraceNormModel[Any] | None,
    frame: Any,
    user: str = "user",
    item: str = "item",
    rating: str | None = "rating",
    *,
    blocks: int = 4,
    combine: Combine = "project",
    refit: int = 1,
    seed: int = 0,
    clip: bool = True,
) -> DivideAndConquer:
    """Completes blocks of items on the cluster, each by a convex model, and combines them.

    The result is that of ``rankfill.DivideAndConquer`` on one machine with the same blocks and seed, on like machines.
    The ratings of a block come together in one task, and the completed blocks (a number for each user and direction,
    in double precision) in the driver.

    Parameters
    ----------
    model : TraceTradeoff, SoftImpute, PrimalDual, TraceBounded or JaggiSulovsky, or None
        What completes each block, with its settings; it is copied, not changed. None takes ``TraceTradeoff()``.
    frame : pyspark.sql.DataFrame
        One rating per row, every pair of user and item once.
    user, item : str, default="user", "item"
        The columns of the ids: integers of any length, or strings.
    rating : str or None, default="rating"
        The column of the ratings; None where every row is a rating of 1.
    blocks : int, default=4
        Number of blocks of items, each of which must fit in the memory of a task.
    combine, refit, seed, clip
        As for `rankfill.DivideAndConquer`.

    Returns
    -------
    DivideAndConquer
        A model like any other. It does not hold what each user has rated: see `fit`.
    """
    from rankfill.spark.ratings import ClusterRatings

    divided = DivideAndConquer(model=model, blocks=blocks, combine=combine, refit=refit, seed=seed, clip=clip)
    divided._block_model()
    ratings = ClusterRatings.gather(frame, user, item, rating, exchange="whole")
    try:
        return divided.fit(ratings)
    finally:
        ratings.release()


@dataclass(frozen=True)
class Deal:
    """The task that deals the items of a block of rows to the blocks to be completed, whose keys are given."""

    block_of: NDArray[np.int64]
    keys: NDArray[np.int64]
    source: Source

    def __call__(self, batches: Batches) -> Batches:
        for first, rows in self.source.blocks(batches):
            items = rows.row_of_entry() + np.int32(first)
            block = self.block_of[items]
            for number in np.unique(block[block >= 0]):
                here = np.flatnonzero(block == number)
                arrays = [as_bytes(each[here]) for each in (items, rows.indices, rows.values)]
                key = pa.array([self.keys[number]], pa.int64())
                yield pa.RecordBatch.from_arrays([key, *arrays], ["key", "own", "other", "value"])


@dataclass(frozen=True)
class Make:
    """The task that puts the ratings of a block together and does the work on them."""

    work: Work[Any]
    blocks: dict[int, tuple[int, NDArray[np.intp]]]
    """The number and the items of each block by its key."""
    shape: tuple[int, int]

    def __call__(self, batches: Batches) -> Batches:
        dealt = list(pieces(batches))
        if not dealt:
            return
        number, chosen = self.blocks[dealt[0]["key"].as_py()]
        items, users, values = (
            np.concatenate([from_bytes(piece[name], dtype) for piece in dealt])
            for name, dtype in (("own", np.int32), ("other", np.int32), ("value", np.float32))
        )
        order = np.argsort(users.astype(np.int64) << 32 | items)
        indptr = np.zeros(self.shape[0] + 1, np.int64)
        np.cumsum(np.bincount(users, minlength=self.shape[0]), out=indptr[1:])
        user_ids, item_ids = (Vocabulary.of_range(n) for n in self.shape)
        ratings = Ratings(user_ids, item_ids, Rows.taking(indptr, items[order], values[order]))
        with own_threads(1):
            made = self.work(ratings, chosen)
        columns = {"block": pa.array([number], pa.int64()), "made": pa.array([pickle.dumps(made)], pa.binary())}
        yield pa.RecordBatch.from_pydict(columns)
