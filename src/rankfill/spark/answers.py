"""Predictions and lists of a fitted model for data frames, computed where these are.

The model goes whole to every task; users come a batch at a time, so that memory is bounded by the model and a batch.
"""

import copy
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankfill.kernels import own_threads
from rankfill.models import Model
from rankfill.models.base.choosing import find_lists
from rankfill.models.base.settings import check_whole
from rankfill.shown import shown
from rankfill.spark.frames import Batches, check_columns, ids_of, number_of_tasks

RATINGS_OF_BLOCK = 2**21
Blocks = int | Literal["auto"]
Some = TypeVar("Some", bound=Model)


def predict(model: Model, frame: Any, user: str = "user", item: str = "item", prediction: str = "prediction") -> Any:
    """Predicts the rating of every row of a Spark data frame.

    Parameters
    ----------
    model : Model
        Any fitted model.
    frame : pyspark.sql.DataFrame
        Pairs of user and item; ids that the model does not know get its cold-start value, never NaN.
    user, item : str, default="user", "item"
        The columns of the ids.
    prediction : str, default="prediction"
        The name of the column to add.

    Returns
    -------
    pyspark.sql.DataFrame
        The frame with one more column of floats.
    """
    check_columns(frame, user, item)
    if prediction in frame.columns:
        raise ValueError(f"the frame has a column {prediction!r} already; give another name: prediction=…")
    from pyspark.sql.types import FloatType, StructField, StructType

    schema = StructType([*frame.schema.fields, StructField(prediction, FloatType())])
    return frame.mapInArrow(Predict(without_seen(model), user, item, prediction), schema)


def recommend(
    model: Model,
    frame: Any,
    n: int = 10,
    user: str = "user",
    item: str | None = None,
    *,
    blocks: Blocks = "auto",
) -> Any:
    """Finds the items with the highest predictions for every user in a Spark data frame.

    Parameters
    ----------
    model : Model
        Any fitted model.
    frame : pyspark.sql.DataFrame
        The users, each once or more; with `item`, what each of them has rated, which is left out of the list.
    n : int, default=10
        How many items for each user.
    user : str, default="user"
        The column of the users.
    item : str, optional
        The column of items to leave out, such as those of the ratings learned from. By default nothing is left out.
    blocks : int or "auto", default="auto"
        In how many parts users are answered. "auto" takes one for each task that the cluster runs at once, with `item`
        as many as hold two million ratings each.

    Returns
    -------
    pyspark.sql.DataFrame
        One row per user: the id, ``items`` and ``scores``, both arrays, best first. Where fewer items are left, they
        are shorter.
    """
    from pyspark.sql.types import ArrayType, FloatType, LongType, StringType, StructField, StructType

    check_columns(frame, user, item)
    check_whole("n", n, 1)
    if isinstance(blocks, str) and blocks != "auto":
        raise ValueError(f'blocks must be a whole number or "auto", found {shown(blocks)}')
    light, ids = without_seen(model), StringType() if model.items_.of_strings else LongType()
    lists = [StructField("items", ArrayType(ids)), StructField("scores", ArrayType(FloatType()))]
    schema = StructType([frame.schema[user], *lists])
    if item is None:
        parts = number_of_tasks(frame.sparkSession) if blocks == "auto" else int(blocks)
        return frame.select(user).distinct().repartition(parts).mapInArrow(Recommend(light, n, user), schema)
    parts = -(-frame.count() // RATINGS_OF_BLOCK) or 1 if blocks == "auto" else int(blocks)
    task = RecommendUnseen(light, n, user, item)  # in a lambda, for Spark counts arguments and would count self
    chosen = frame.selectExpr(f"`{user}`", f"`{item}`", f"pmod(hash(`{user}`), {parts}) AS rankfill_block")
    return chosen.groupBy("rankfill_block").applyInArrow(lambda table: task(table), schema)


def without_seen(model: Some) -> Some:
    """The model without what each user has seen: that comes with frames."""
    model._check_fitted()
    light = copy.copy(model)
    light._seen = None
    light._renew_view()
    return light


@dataclass(frozen=True)
class Predict:
    """The task that adds a column of predictions."""

    model: Model
    user: str
    item: str
    prediction: str

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            predicted = predict_batch(self.model, batch, self.user, self.item)
            yield batch.append_column(self.prediction, pa.array(predicted, pa.float32()))


@dataclass(frozen=True)
class Recommend:
    """The task that makes lists for batches of distinct users."""

    model: Model
    n: int
    user: str

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            column = batch.column(self.user)
            none = np.zeros(len(column) + 1, np.int64), np.empty(0, np.int32)
            lists = _lists(self.model, ids_of(pa.chunked_array([column]), self.user), self.n, *none)
            yield pa.RecordBatch.from_arrays([column, *lists], [self.user, "items", "scores"])


@dataclass(frozen=True)
class RecommendUnseen:
    """The task that makes lists for the users of a block of ratings, without what they have rated."""

    model: Model
    n: int
    user: str
    item: str

    def __call__(self, table: pa.Table) -> pa.Table:
        column = table.column(self.user)
        people, first, place = np.unique(ids_of(column, self.user), return_index=True, return_inverse=True)
        items = self.model.items_.index(ids_of(table.column(self.item), self.item))
        pairs = np.unique((place.astype(np.int64) << 32 | items)[items >= 0])
        indptr = np.searchsorted(pairs, np.arange(len(people) + 1) << 32)
        lists = _lists(self.model, people, self.n, indptr.astype(np.int64), (pairs & 0xFFFFFFFF).astype(np.int32))
        return pa.Table.from_arrays([column.take(pa.array(first)), *lists], [self.user, "items", "scores"])


def predict_batch(model: Model, batch: pa.RecordBatch, user: str, item: str) -> NDArray[np.float32]:
    users, items = (ids_of(pa.chunked_array([batch.column(name)]), name) for name in (user, item))
    with own_threads(1):
        return model.predict(users, items)


def _lists(
    model: Model, users: NDArray[Any], n: int, indptr: NDArray[np.int64], seen: NDArray[np.int32]
) -> tuple[pa.Array, pa.Array]:
    """Ids of items and scores as columns of arrays."""
    view = model._view()
    rows = view._learned_users(view._user_rows(users))
    with own_threads(1):
        found, scores = find_lists(
            lambda n, allowed: view._best_items(rows, n, allowed, indptr, seen),
            min(n, len(view.items_)),
            *view._allowed_items(None, None, "auto"),
        )
    real = found >= 0
    offsets = np.concatenate([[0], np.cumsum(real.sum(axis=1))]).astype(np.int32)
    ids = pa.array(view.items_.ids(found[real]).tolist(), pa.string() if view.items_.of_strings else pa.int64())
    places = pa.array(offsets)
    return pa.ListArray.from_arrays(places, ids), pa.ListArray.from_arrays(places, pa.array(scores[real]))
