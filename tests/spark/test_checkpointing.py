"""Checkpoints on the storage of a cluster: the last whole one is found, whatever its writer was doing when it died."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import rankfill as rf
from rankfill.models.base.checkpoint import Folder
from rankfill.spark import checkpointing
from rankfill.spark.checkpointing import ParquetPlace, place_of


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("s3a://bucket/als.fit", "s3a://bucket/als.fit"),
        (Path("s3a://bucket/als.fit"), "s3a://bucket/als.fit"),
        ("dbfs:/models/als.fit", "dbfs:///models/als.fit"),
        ("file:///tmp/als.fit", "file:///tmp/als.fit"),
        (Path("file:///tmp/als.fit"), "file:///tmp/als.fit"),
    ],
)
def test_addresses_are_for_spark_and_all_else_is_a_folder(given, address):
    assert str(place_of(given, None)) == address
    assert isinstance(place_of("als.fit", None), Folder)
    assert isinstance(place_of(Path("/tmp/a:/b"), None), Folder)
    assert place_of(None, None) is None


def test_an_address_is_refused_where_there_is_no_spark(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ratings = rf.synthetic.low_rank(20, 10, n_ratings=80, seed=0)
    with pytest.raises(ValueError, match="is an address, which only Spark can write to"):
        rf.ALS(rank=2, passes=2).fit(ratings, checkpoint="s3a://bucket/als.fit")
    assert not list(tmp_path.iterdir())


def test_the_last_whole_checkpoint_is_read(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpointing, "_PIECE", 500)

    def place():
        return ParquetPlace(spark, f"file://{tmp_path}")

    def number():
        tensors, words = place().read()
        assert (tensors["rows"] == words["number"]).all()
        return words["number"]

    def write(number):
        writer.write({"rows": np.full((40, 9), number, np.float32)}, {"number": number})

    writer = place()
    assert writer.read() is None
    for each in (1, 2, 3):
        write(each)
        assert number() == each
    kept = shutil.copytree(tmp_path / "manifest-a", tmp_path / "aside")
    shutil.rmtree(tmp_path / "manifest-a")  # its writer died before the manifest
    assert number() == 2
    shutil.copytree(kept, tmp_path / "manifest-a")
    assert number() == 3
    write(4)
    next((tmp_path / "b").glob("part-*.parquet")).unlink()  # or among the pieces
    assert number() == 3
    resumed = place()
    resumed.read()
    resumed.write({"rows": np.full(3, 5, np.float32)}, {"number": 5})  # takes the place of what is damaged
    assert number() == 5
    shutil.rmtree(tmp_path / "b")
    assert number() == 3
