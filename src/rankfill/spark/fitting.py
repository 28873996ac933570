"""A model fitted to ratings on a cluster."""

import os
from collections.abc import Iterable
from typing import Any, Literal, TypeVar

from rankfill.data import RatingsLike
from rankfill.data.liked import Liked
from rankfill.models import MODELS, CoordinateDescent, DivideAndConquer, Model
from rankfill.models.base.settings import check_whole, check_word
from rankfill.models.base.training import Callback
from rankfill.models.convex.model import TraceNormModel
from rankfill.shown import shown
from rankfill.spark.checkpointing import place_of
from rankfill.spark.ratings import ClusterRatings, ExchangeWord

Fitted = TypeVar("Fitted", bound=Model)


def fit(
    model: Fitted,
    frame: Any,
    user: str = "user",
    item: str = "item",
    rating: str | None = "rating",
    *,
    blocks: int | Literal["auto"] = "auto",
    validation: RatingsLike | None = None,
    callbacks: Iterable[Callback] = (),
    init: Any = None,
    measure: str | None = None,
    liked: Liked = "above-mean",
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 10,
    exchange: ExchangeWord = "auto",
) -> Fitted:
    """Fits a model to the ratings in a Spark data frame, which stay on the cluster.

    The model learns what its own `fit` would learn, to the bit on like machines, as long as the ratings are such that
    their sums are exact (whole or half stars, counts); sums over the blocks in `history_` may differ in the last digit.
    It does not hold what each user has rated: `recommend` of the model needs ``exclude_seen=False``, and
    `rankfill.spark.recommend` leaves out what the frame given to it says.

    Parameters
    ----------
    model : PassiveAggressive, ALS, CoordinateDescent or Bias
        The model, with its settings; it is fitted in place. CoordinateDescent needs ``order="rows"``.
    frame : pyspark.sql.DataFrame
        One rating per row, every pair of user and item once.
    user, item : str, default="user", "item"
        The columns of the ids: integers of any length, or strings.
    rating : str or None, default="rating"
        The column of the ratings; None where every row is a rating of 1.
    blocks : int or "auto", default="auto"
        Into how many blocks each side is cut. "auto" takes one for each task that the cluster runs at once, and more
        where a block would be larger than 128 MB.
    validation : Ratings or the like, optional
        Ratings kept aside, in memory, as for `fit` of the model.
    callbacks, init, measure, liked
        As for `fit` of the model.
    checkpoint : str or path-like, optional
        Where the fit notes how far it has come; the same call goes on from there after the driver has died, to the
        same bits. A folder of the driver, or an address that Spark writes to, such as ``"s3a://bucket/als.fit"``.
    every : int, default=10
        After how many passes a checkpoint replaces the one before.
    exchange : {"auto", "whole", "needed"}, default="auto"
        What a task gets of the side that does not move. "whole" sends all rows to every task, "needed" through a
        shuffle those that the ratings of its block name. "auto" sends what is needed where all rows are above 256 MB
        and a block needs fewer than half of them. The bits are the same.

    Returns
    -------
    Model
        The model itself: it predicts, saves, serves and folds in as any other.
    """
    check_model(model)
    if blocks != "auto":
        if isinstance(blocks, str):
            raise ValueError(f'blocks must be a whole number or "auto", found {shown(blocks)}')
        check_whole("blocks", blocks, 1)
    check_word("exchange", exchange, ExchangeWord)
    ratings = ClusterRatings.gather(frame, user, item, rating, blocks, exchange)
    try:
        return model.fit(
            ratings,
            validation=validation,
            callbacks=callbacks,
            init=init,
            measure=measure,
            liked=liked,
            checkpoint=place_of(checkpoint, frame.sparkSession),
            every=every,
        )
    finally:
        ratings.release()


def check_model(model: Any) -> None:
    """Refuses what cannot learn in blocks."""
    if not isinstance(model, Model):
        raise TypeError(f"model must be a rankfill model, found {type(model).__name__}")
    if not model.learns_in_half_passes:
        able = ", ".join(cls.__name__ for cls in MODELS.values() if cls.learns_in_half_passes)
        if isinstance(model, CoordinateDescent):
            raise TypeError(
                f'order={model.order!r} holds a residual for every rating; on Spark use CoordinateDescent(order="rows")'
            )
        if isinstance(model, TraceNormModel | DivideAndConquer):
            raise TypeError(
                f"{type(model).__name__} does not learn one side at a time; rankfill.spark.divide completes blocks of "
                "items by convex models"
            )
        raise TypeError(f"{type(model).__name__} does not learn one side at a time; on Spark use one of {able}")
