"""rankfill fit --spark: ratings read and kept by a Spark cluster."""

import glob
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankfill.cli.shared import console, parse_columns
from rankfill.data.columns import match_columns
from rankfill.models import Model

if TYPE_CHECKING:
    from rankfill.models.base.checkpoint import Place
    from rankfill.spark.ratings import ClusterRatings

SEPARATORS = {".csv": ",", ".tsv": "\t", ".dat": "::"}


@contextmanager
def cluster_ratings(master: str, path: Path, columns: str | None, learner: Model) -> "Iterator[ClusterRatings]":
    """The ratings in blocks on the cluster, as long as the context lasts."""
    from rankfill.spark.fitting import check_model
    from rankfill.spark.ratings import ClusterRatings

    check_model(learner)
    with _session(master) as session:
        frame = _read(session, path)
        roles = match_columns(frame.columns, parse_columns(columns))
        ratings = ClusterRatings.gather(frame, roles["user"], roles["item"], roles.get("rating"))
        try:
            people = f"{len(ratings):,} ratings by {ratings.n_users:,} users of {ratings.n_items:,} items"
            console().print(f"{path}: {people}, on {master}")
            yield ratings
        finally:
            ratings.release()


def place_on_cluster(checkpoint: Path | None, ratings: "ClusterRatings") -> "Place | None":
    """A folder here, or an address that Spark writes to."""
    from rankfill.spark.checkpointing import place_of

    return place_of(checkpoint, ratings.session)


def check_plain(**options: Any) -> None:
    """Refuses options that need all ratings in one place."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(
                f"--{name.replace('_', '-')} needs all ratings in one place, and --spark leaves them on the cluster; "
                "leave it out"
            )


@contextmanager
def _session(master: str) -> Iterator[Any]:
    """A session with this master; stopped at the end unless it was there before."""
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise ValueError("--spark needs pyspark, which is not installed; pip install 'rankfill[spark]'") from error
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("SPARK_LOCAL_HOSTNAME", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else the first python of PATH, without rankfill
    builder = SparkSession.builder.appName("rankfill")
    builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
    was_there = SparkSession.getActiveSession() is not None
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        if not was_there:
            session.stop()


def _read(session: Any, path: Path) -> Any:
    """A file, a folder of Parquet files or a pattern such as ratings/*.parquet, as Spark reads them."""
    from pyspark.errors import AnalysisException

    name = re.sub("^([a-z0-9]+):/+", r"\1://", str(path))  # a Path makes one slash of two
    if glob.glob(name):  # noqa: PTH207 - a pattern, relative to where the command was typed
        name = str(path.absolute())
    suffix = Path(name.removesuffix(".gz")).suffix
    try:
        if suffix in SEPARATORS:
            return session.read.csv(name, sep=SEPARATORS[suffix], header=True, inferSchema=True)
        return session.read.parquet(name)
    except AnalysisException as error:
        raise ValueError(f"Spark cannot read {name}: {str(error).splitlines()[0]}") from error
