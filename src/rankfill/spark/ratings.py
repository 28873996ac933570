"""Ratings in blocks on a cluster, as models see them: what they ask is answered there, a job at a time.

Half a pass is one job of one stage. Each block is one task: its compressed rows lie at its executor (`stored.py`), the
rows of the other side come whole with the task, and the rows that moved go back to the driver as bytes. Where the rows
are too many for that, a block is sent those that it needs (`exchange.py`). No state of a pass is kept on the cluster,
so that there is no lineage to grow, and a lost executor costs its blocks.
"""

import pickle
import uuid
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankfill.data import Ratings, Vocabulary
from rankfill.data.ratings.passing import Made, RowStep, Side, Tally, Work, sums_by_row
from rankfill.data.scale import Ends
from rankfill.kernels import Rows, padded
from rankfill.shown import shown
from rankfill.spark.building import BLOCK, PACKED, SUMMARY, Build, Division, Pack
from rankfill.spark.dividing import MADE, Deal, Make
from rankfill.spark.exchange import Exchange
from rankfill.spark.frames import (
    Batches,
    Factors,
    as_bytes,
    check_columns,
    ids_of,
    keys_of_partitions,
    number_of_tasks,
    vocabulary_of,
)
from rankfill.spark.stepping import ANSWER, answer_of
from rankfill.spark.stored import Source, Transform

BYTES_OF_BLOCK = 128 * 2**20
WHOLE_AT_MOST = 2**28
"""The most bytes of rows that always go whole to every task; above that tasks get those they need, if these are fewer
than half."""
LARGEST_VALUE = 2**31 - 1
ExchangeWord = Literal["auto", "whole", "needed"]


class CountedRows(NamedTuple):
    """What the driver knows of the ratings of one side: numbers by row, and a checksum of all of them."""

    by_row: NDArray[np.int64]
    checksum: NDArray[np.int64]

    def counts(self) -> NDArray[np.int64]:
        return self.by_row

    @property
    def n_rows(self) -> int:
        return len(self.by_row)


class ClusterRatings(Ratings):
    """Ratings whose entries stay on the cluster; made of a frame by `gather`, let go of by `release`."""

    is_here: ClassVar[bool] = False

    def __init__(self, users: Vocabulary, items: Vocabulary, counts: dict[Side, NDArray[np.int64]]) -> None:
        self.users, self.items = users, items
        self.timestamps = None
        self._counts = counts
        self._frames: dict[Side, Any] = {}
        self._summaries: dict[Side, dict[str, list[Any]]] = {}
        self._transforms: tuple[Transform, ...] = ()
        self._sent: set[Side] = set()
        self._divisions: dict[Side, Division] = {}
        self._exchange: ExchangeWord = "auto"
        self._made_exchanges: dict[Side, Exchange] = {}
        self._token = uuid.uuid4().hex

    @classmethod
    def gather(
        cls,
        frame: Any,
        user: str,
        item: str,
        rating: str | None,
        blocks: int | Literal["auto"] = "auto",
        exchange: ExchangeWord = "auto",
    ) -> "ClusterRatings":
        """Numbers the ids, makes the blocks of both sides and keeps them on the cluster."""
        check_columns(frame, user, item, rating)
        chosen = frame.select(*[frame[name] for name in (user, item, rating) if name is not None])
        vocabularies, counts = {}, {}
        for side, name in (("user", user), ("item", item)):
            table = chosen.groupBy(name).count().toArrow()
            if table.num_rows == 0:
                raise ValueError("there are no ratings to learn from; the frame has no rows")
            vocabularies[side], counts[side] = vocabulary_of(
                ids_of(table.column(name), name), table.column("count").to_numpy().astype(np.int64)
            )
        ratings = cls(vocabularies["user"], vocabularies["item"], {"user": counts["user"], "item": counts["item"]})
        ratings._exchange = exchange
        try:
            ratings._keep(chosen, blocks, rated=rating is not None)
        except BaseException:
            ratings.release()
            raise
        return ratings

    def _keep(self, chosen: Any, blocks: int | Literal["auto"], rated: bool) -> None:
        from pyspark import StorageLevel

        n_blocks = blocks
        if n_blocks == "auto":
            slots = number_of_tasks(chosen.sparkSession)
            n_blocks = slots * -(-8 * len(self) // (BYTES_OF_BLOCK * slots))
        keys = keys_of_partitions(chosen.sparkSession, int(n_blocks))
        for side, counts in self._counts.items():
            division = Division.of(counts, keys[keys >= 0])
            self._divisions[side] = division
            packed = chosen.mapInArrow(Pack(side, self.users, self.items, division, rated), PACKED)
            placed = packed.repartition(int(n_blocks), "key")
            kept = placed.mapInArrow(Build(division), BLOCK + SUMMARY).persist(StorageLevel.MEMORY_AND_DISK)
            self._frames[side] = kept
            told = kept.drop("indptr", "indices", "ratings").toArrow().sort_by("block").to_pydict()
            self._summaries[side] = told
            self._refuse_trouble(side, told)

    def _refuse_trouble(self, side: Side, told: dict[str, list[Any]]) -> None:
        for trouble, row, column in zip(told["trouble"], told["bad_row"], told["bad_column"], strict=True):
            if not trouble:
                continue
            user, item = (row, column) if side == "user" else (column, row)
            who, what = shown(self.users.ids([user])[0]), shown(self.items.ids([item])[0])
            if trouble == "repeated":
                raise ValueError(
                    f"user {who} has rated item {what} more than once; keep one rating of each pair, for example "
                    'frame.groupBy("user", "item").agg(avg("rating"))'
                )
            raise ValueError(f"the rating of user {who} for item {what} is no finite number; leave it out")

    def release(self) -> None:
        """Frees what the cluster keeps."""
        for exchange in self._made_exchanges.values():
            exchange.release()
        for side, frame in self._frames.items():
            if side in self._sent:
                frame.select("first").mapInArrow(Source(self._name(side)).remove, "first long").count()
            frame.unpersist()

    @property
    def session(self) -> Any:
        """The session of Spark whose cluster has the ratings."""
        return self._frames["user"].sparkSession

    def __len__(self) -> int:
        return int(self._counts["user"].sum())

    def __repr__(self) -> str:
        return f"ClusterRatings({len(self):,} ratings, {self.n_users:,} users, {self.n_items:,} items)"

    @cached_property
    def by_user(self) -> CountedRows:  # type: ignore[override]
        return self._count_rows("user")

    @cached_property
    def by_item(self) -> CountedRows:  # type: ignore[override]
        return self._count_rows("item")

    def _count_rows(self, side: Side) -> CountedRows:
        checksum = np.array(self._summaries[side]["checksum"], np.int64).sum(keepdims=True)
        return CountedRows(self._counts[side], checksum)

    @property
    def values(self) -> NoReturn:
        """Refused: they are on the cluster."""
        raise TypeError("this needs all ratings in one place, and they are on the cluster; fit on one machine for it")

    user_indices = item_indices = values

    def mean(self) -> float:
        return float(self.tally().user_sums.sum()) / max(len(self), 1)

    def tally(self) -> Tally:
        sums = [np.frombuffer(each, np.float64) for each in self._summaries["user"]["sums"]]
        return Tally(self._counts["user"], np.concatenate(sums), self._counts["item"])

    def ends(self) -> Ends:
        ends = Ends()
        for low, high in zip(self._summaries["user"]["lowest"], self._summaries["user"]["highest"], strict=True):
            ends = ends.merge(Ends(np.frombuffer(low, np.float32), np.frombuffer(high, np.float32)))
        return ends

    def scale(self) -> tuple[float, float]:
        return self.ends().scale(len(self))

    def bounds(self) -> tuple[float, float]:
        ends = self.ends()
        return float(ends.lowest[0]), float(ends.highest[-1])

    def _squares(self, value: float) -> NDArray[np.float64]:
        found = self._run("user", Squares(value, Source(self._name("user"))), "first long, squares binary")
        return np.concatenate([np.frombuffer(each, np.float64) for each in found["squares"]])

    def with_values(self, transform: Transform) -> Self:
        """The same pairs with other values in half passes; what was counted stays as it is."""
        other = copy(self)
        other._transforms = (*self._transforms, transform)
        return other

    def of_user_rows(self, chosen: NDArray[np.bool_]) -> Ratings:  # type: ignore[override]
        """The ratings of some users, brought here."""
        found = self._run("user", Chosen(chosen, self._source("user")), "first long, indices binary, ratings binary")
        indptr = np.concatenate([[0], np.cumsum(np.where(chosen, self._counts["user"], 0))])
        indices = np.concatenate([np.frombuffer(each, np.int32) for each in found["indices"]])
        values = np.concatenate([np.frombuffer(each, np.float32) for each in found["ratings"]])
        return Ratings(self.users, self.items, Rows(indptr, indices, values))

    def half_pass(
        self, side: Side, step: RowStep, moving: NDArray[np.float32], fixed: NDArray[np.float32]
    ) -> tuple[float, ...]:
        self._check_values(side, moving.shape[1])
        if self._exchanges(side, fixed.nbytes + step.goes_on * moving.nbytes):
            exchange = self._exchange_of(side)
            found = exchange.half_pass(step, moving, fixed, self._transforms).sort_by("first").to_pydict()
        else:
            begun = Factors(moving) if step.goes_on else None
            task = HalfPass(step, moving.shape[1], begun, Factors(fixed), self._source(side))
            found = self._run(side, task, ANSWER)
        for first, rows, n_rows in zip(found["first"], found["rows"], found["n_rows"], strict=True):
            moved = np.frombuffer(rows, np.float32).reshape(n_rows, -1)
            moving[first : first + n_rows, : moved.shape[1]] = moved
            moving[first : first + n_rows, moved.shape[1] :] = 0
        return tuple(np.array(found["sums"], np.float64).sum(axis=0).tolist())

    def _exchanges(self, side: Side, n_bytes: int) -> bool:
        """Whether tasks get the rows they need rather than all of them, which are so many bytes."""
        if self._exchange != "auto":
            return self._exchange == "needed"
        return n_bytes > WHOLE_AT_MOST and self._share_needed(side) < 0.5

    def _share_needed(self, side: Side) -> float:
        """The share of the other side's rows that a block of this side names, if ratings are spread over the blocks."""
        missed = (1 - 1 / self._divisions[side].n_blocks) ** self._counts[_other(side)]
        return 1 - float(missed.mean())

    def _check_values(self, side: Side, width: int) -> None:
        """Refuses blocks whose rows would not fit in one value of a column."""
        most = int(np.diff(self._divisions[side].bounds).max())
        if 4 * width * most > LARGEST_VALUE:
            raise ValueError(
                f"a block of {most:,} {side}s takes {4 * width * most:,} bytes, more than the {LARGEST_VALUE:,} that "
                "Spark puts in one value; use more blocks: blocks=…"
            )

    def _exchange_of(self, side: Side) -> Exchange:
        """Made when first asked for, and shared with what `with_values` has made of these ratings."""
        if side not in self._made_exchanges:
            divisions = self._divisions[side], self._divisions[_other(side)]
            self._made_exchanges[side] = Exchange(self._frames[side], *divisions)
        return self._made_exchanges[side]

    def each_block_of_items(self, blocks: Sequence[NDArray[np.intp]], work: Work[Made]) -> list[Made]:
        """One task for each block, to which its ratings go; see `dividing.py`."""
        frame, block_of = self._frames["item"], np.full(self.n_items, -1)
        keys = keys_of_partitions(frame.sparkSession, len(blocks))
        for number, items in enumerate(blocks):
            block_of[items] = number
        dealt = frame.select("first", "indptr", "indices", "ratings").mapInArrow(
            Deal(block_of, keys, self._source("item")), PACKED
        )
        by_key = {int(key): (number, items) for number, (key, items) in enumerate(zip(keys, blocks, strict=True))}
        task = Make(work, by_key, self.shape)
        found = dealt.repartition(len(blocks), "key").mapInArrow(task, MADE).toArrow().sort_by("block")
        return [pickle.loads(made) for made in found.column("made").to_pylist()]

    def _run(self, side: Side, task: Callable[[Batches], Batches], schema: str) -> dict[str, list[Any]]:
        """One job over the blocks of a side, two where some have to be sent again; answers in the order of blocks."""
        frame, tables = self._frames[side], []
        wanted = set(self._summaries[side]["first"])
        if side in self._sent:
            tables = [frame.select("first").mapInArrow(task, schema).toArrow()]
            wanted -= set(tables[0].column("first").to_pylist())
        if wanted:
            whole = frame.select("first", "indptr", "indices", "ratings")
            some = whole.filter(whole["first"].isin(sorted(wanted))) if tables else whole
            tables.append(some.mapInArrow(task, schema).toArrow())
            self._sent.add(side)
        answers: dict[str, list[Any]] = pa.concat_tables(tables).sort_by("first").to_pydict()
        return answers

    def _name(self, side: Side) -> str:
        return f"rankfill-{self._token}-{side}"

    def _source(self, side: Side) -> Source:
        return Source(self._name(side), self._transforms)


def _other(side: Side) -> Side:
    return "item" if side == "user" else "user"


@dataclass(frozen=True)
class HalfPass:
    """The task that moves the rows of a block."""

    step: RowStep
    stride: int
    moving: Factors | None
    fixed: Factors
    source: Source

    def __call__(self, batches: Batches) -> Batches:
        fixed = None
        for first, rows in self.source.blocks(batches):
            fixed = self.fixed.rows() if fixed is None else fixed
            begun = self.moving
            moving = padded(rows.n_rows, self.stride) if begun is None else begun.rows(first, first + rows.n_rows)
            yield answer_of(self.step, first, rows, moving, fixed)


@dataclass(frozen=True)
class Squares:
    """The task that adds the squares of distances from a value, by row."""

    value: float
    source: Source

    def __call__(self, batches: Batches) -> Batches:
        for first, rows in self.source.blocks(batches):
            squares = sums_by_row(rows, lambda values: np.square(values - self.value))
            yield pa.RecordBatch.from_pydict({"first": pa.array([first], pa.int64()), "squares": as_bytes(squares)})


@dataclass(frozen=True)
class Chosen:
    """The task that hands out some rows."""

    chosen: NDArray[np.bool_]
    source: Source

    def __call__(self, batches: Batches) -> Batches:
        for first, rows in self.source.blocks(batches):
            some = rows.of_rows(np.flatnonzero(self.chosen[first : first + rows.n_rows]))
            columns = {"first": pa.array([first], pa.int64()), "indices": as_bytes(some.indices)}
            yield pa.RecordBatch.from_pydict(columns | {"ratings": as_bytes(some.values)})
