"""Measures of a fitted model for data frames: errors row by row, measures of lists a block of users at a time.

A block has the test ratings of its users together with what they have rated in training. What the users of a block add
to a measure comes to the driver as a sum and a number, for coverage as the items on their lists.
"""

import copy
import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa

from rankfill.data import Ratings
from rankfill.data.liked import Liked
from rankfill.evaluation.evaluate import Scores, check_scores, warn_of_learned
from rankfill.kernels import own_threads
from rankfill.models import Model
from rankfill.models.base.judging import top_shares
from rankfill.models.base.lists import JudgedLists, judge_lists, learned_entries
from rankfill.models.base.seen import SeenItems
from rankfill.objectives import ranking
from rankfill.objectives.measures import MEASURES, ErrorSums, Measure
from rankfill.objectives.scores import LISTS, Score
from rankfill.spark.answers import RATINGS_OF_BLOCK, predict_batch, without_seen
from rankfill.spark.frames import Batches, check_columns, ids_of

_JUDGED = "place int, total double, n long, listed binary"
_LEARNED = -1
_USER, _ITEM = "rankfill_user", "rankfill_item"


def evaluate(
    model: Model,
    frame: Any,
    user: str = "user",
    item: str = "item",
    rating: str = "rating",
    *,
    seen: Any = None,
    n: int = 10,
    liked: Liked = "above-mean",
    scores: Collection[str] | None = None,
) -> dict[str, float]:
    """Measures how well a model predicts and ranks the ratings in a Spark data frame.

    The values are those of `rankfill.evaluate` on one machine, up to the rounding of sums.

    Parameters
    ----------
    model : Model
        Any fitted model.
    frame : pyspark.sql.DataFrame
        Ratings that the model has not learned from. A pair that comes more than once counts once in measures of lists,
        with the mean of its ratings.
    user, item, rating : str, default="user", "item", "rating"
        The columns.
    seen : pyspark.sql.DataFrame, optional
        The ratings that the model has learned from, with columns of the same names: measures of lists need them, for
        what a user has rated there is not recommended.
    n, liked
        As for `rankfill.evaluate`.
    scores : collection of str, optional
        Names of the measures wanted, such as "rmse", "top5" or "ndcg@10". By default rmse, mae and nmae, and with
        `seen` those of `rankfill.evaluate`.

    Returns
    -------
    dict of str to float
        The value of each measure by its name.
    """
    check_columns(frame, user, item, rating)
    wanted = check_scores(model, n, liked, tuple(MEASURES) if scores is None and seen is None else scores)
    distinct = tuple(dict.fromkeys(wanted.values()))
    errors = tuple(score for score in distinct if score.name in MEASURES)
    by_user = tuple(score for score in distinct if score.name not in MEASURES)
    if seen is None and any(score.name in LISTS for score in by_user):
        names = ", ".join(name for name, score in wanted.items() if score.name in LISTS)
        raise ValueError(f"{names} need what users have rated in training, which is not recommended; give it: seen=…")
    light, columns = without_seen(model), (user, item, rating)
    values = _add_errors(light, frame, columns, errors) if errors else {}
    if by_user:
        if seen is not None:
            check_columns(seen, user, item)
        values |= _judge_users(light, frame, seen, columns, by_user, liked)
    return Scores({name: values[score] for name, score in wanted.items()})


def _add_errors(
    model: Model, frame: Any, columns: tuple[str, str, str], scores: tuple[Score, ...]
) -> dict[Score, float]:
    task = Errors(model, *columns, tuple(score.name for score in scores))
    found = frame.select(*columns).mapInArrow(task, "score string, above double, below double").toArrow()
    sums = {score.name: ErrorSums() for score in scores}
    for part in sorted(found.to_pylist(), key=lambda part: tuple(part.values())):  # in an order that runs share
        sums[part["score"]] = sums[part["score"]].plus(ErrorSums(part["above"], part["below"]))
    return {score: sums[score.name].error(cast(Measure, score.name)) for score in scores}


def _judge_users(
    model: Model, frame: Any, seen: Any, columns: tuple[str, str, str], scores: tuple[Score, ...], liked: Liked
) -> dict[Score, float]:
    from pyspark.sql.functions import expr

    user, item, _ = columns
    test = frame.select(*columns)
    # Under names of their own, for both frames may be the same.
    known = (test.limit(0) if seen is None else seen).selectExpr(f"`{user}` AS {_USER}", f"`{item}` AS {_ITEM}")
    asked = test.selectExpr(f"`{user}` AS rankfill_asked").distinct()
    known = known.join(asked, expr(f"{_USER} = rankfill_asked"), "leftsemi")
    parts = -(-(test.count() + known.count()) // RATINGS_OF_BLOCK) or 1
    # As strings, for the hash of a short integer is another than that of the same long one.
    block = "pmod(hash(CAST({} AS STRING)), {}) AS rankfill_block"
    test = test.selectExpr("*", block.format(f"`{user}`", parts))
    known = known.selectExpr("*", block.format(_USER, parts))
    task = JudgeUsers(model, columns, scores, liked)  # in a lambda, for Spark counts arguments and would count self
    joined = test.groupBy("rankfill_block").cogroup(known.groupBy("rankfill_block"))
    found = joined.applyInArrow(lambda test, seen: task(test, seen), _JUDGED).toArrow().to_pylist()
    found.sort(key=lambda part: (part["place"], part["total"], part["n"]))
    n_learned = sum(part["n"] for part in found if part["place"] == _LEARNED)
    if n_learned:
        warn_of_learned(n_learned, test.count(), stacklevel=4)
    return {
        score: _value_of(model, score, [part for part in found if part["place"] == place])
        for place, score in enumerate(scores)
    }


def _value_of(model: Model, score: Score, found: list[dict[str, Any]]) -> float:
    n: int = sum(part["n"] for part in found)
    if n == 0:
        return math.nan
    if score.name != "coverage":
        return math.fsum(part["total"] for part in found) / n
    listed = [np.unpackbits(np.frombuffer(part["listed"], np.uint8), count=len(model.items_)) for part in found]
    return float(ranking.coverage(np.any(listed, axis=0), model._view()._item_counts.array))


@dataclass(frozen=True)
class Errors:
    """The task that adds up errors."""

    model: Model
    user: str
    item: str
    rating: str
    scores: tuple[Any, ...]

    def __call__(self, batches: Batches) -> Batches:
        sums = dict.fromkeys(self.scores, ErrorSums())
        for batch in batches:
            predicted = predict_batch(self.model, batch, self.user, self.item)
            ratings = batch.column(self.rating).to_numpy(zero_copy_only=False).astype(np.float32)
            sums = {name: each.plus(ErrorSums.of(name, ratings, predicted)) for name, each in sums.items()}
        columns = {"score": list(sums), "above": [each.above for each in sums.values()]}
        columns |= {"below": [float(each.below) for each in sums.values()]}
        yield pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True)
class JudgeUsers:
    """The task that judges the lists, and the order of the predictions, of the users of a block."""

    model: Model
    columns: tuple[str, str, str]
    scores: tuple[Score, ...]
    liked: Liked

    def __call__(self, test: pa.Table, seen: pa.Table) -> pa.Table:
        user, item, rating = self.columns
        found: list[tuple[int, float, int, bytes]] = []
        if test.num_rows:
            values = test.column(rating).to_numpy().astype(np.float32)
            users, items = (ids_of(test.column(name), name) for name in (user, item))
            ratings = Ratings.from_arrays(users, items, values, duplicates="mean")
            model = self._with_seen(seen)
            learned = learned_entries(model, ratings)
            found.append((_LEARNED, 0.0, int(np.count_nonzero(learned)), b""))
            listed = [score for score in self.scores if score.name in LISTS]
            with own_threads(1):
                for score in self.scores:
                    if score not in listed:
                        shares = top_shares(ratings, model._predict_ratings(ratings))
                        found.append(self._sum_of(score, shares))
                if listed:
                    found += self._sums_of_lists(judge_lists(model, ratings, listed, self.liked, learned))
        places, totals, ns, bits = zip(*found, strict=True) if found else ((), (), (), ())
        arrays = [pa.array(places, pa.int32()), pa.array(totals, pa.float64())]
        arrays += [pa.array(ns, pa.int64()), pa.array(bits, pa.binary())]
        return pa.Table.from_arrays(arrays, ["place", "total", "n", "listed"])

    def _with_seen(self, seen: pa.Table) -> Model:
        """The model, knowing what the users of the block have rated."""
        model = copy.copy(self.model)
        model._seen = SeenItems.empty()
        if seen.num_rows:
            users = model.users_.index(ids_of(seen.column(_USER), self.columns[0]))
            items = model.items_.index(ids_of(seen.column(_ITEM), self.columns[1]))
            known = (users >= 0) & (items >= 0)
            model._seen.add(users[known], items[known])
        model._renew_view()
        return model

    def _sum_of(self, score: Score, values: list[Any]) -> tuple[int, float, int, bytes]:
        defined = np.concatenate([*values, np.empty(0)])
        defined = defined[~np.isnan(defined)]
        return self.scores.index(score), float(defined.sum()), len(defined), b""

    def _sums_of_lists(self, judged: JudgedLists) -> list[tuple[int, float, int, bytes]]:
        sums = [self._sum_of(score, values) for score, values in judged.by_user.items()]
        for score, is_listed in judged.is_listed.items():
            bits = np.packbits(is_listed).tobytes()
            sums.append((self.scores.index(score), 0.0, int(judged.asked_any), bits))
        return sums
