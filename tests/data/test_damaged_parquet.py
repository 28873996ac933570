"""A damaged file is refused by itself: DuckDB gives up a database in which it has met one, the process goes on."""

from pathlib import Path

import pytest

import rankfill as rf

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"


@pytest.mark.parametrize("read", [rf.read_ratings, lambda path: list(rf.read_batches(path))])
def test_other_files_are_read_after_one_that_is_damaged_within(read, tmp_path):
    content = bytearray((CORPUS / "numbers.parquet").read_bytes())
    content[516] = 255  # a number that no file has, of which DuckDB says that it cannot be
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(content)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"damaged\.parquet cannot be read"):
            read(damaged)
        assert len(rf.read_ratings(CORPUS / "numbers.csv")) == len(rf.read_ratings(CORPUS / "numbers.parquet"))
