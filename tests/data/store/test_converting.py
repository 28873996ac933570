"""Files become the stores that `read_ratings` would make of them, whatever they hold and however small the memory."""

import gzip

import numpy as np
import polars as pl
import pytest

import rankfill as rf
from rankfill.cli import run
from rankfill.data.store import loading, writing
from rankfill.data.store.manifest import MANIFEST


@pytest.fixture(autouse=True)
def small_buckets(monkeypatch):
    monkeypatch.setattr(writing.PartWriter, "least_size", 64)
    monkeypatch.setattr(writing, "BYTES_AN_ENTRY", 1 << 20)
    monkeypatch.setattr(loading, "CHUNK", 300)


@pytest.fixture
def columns():
    random = np.random.default_rng(1)
    users, items = random.integers(0, 80, 1000) * 7, random.integers(0, 30, 1000)
    return {"user": users, "item": items, "rating": random.integers(1, 11, 1000) / 2, "timestamp": np.arange(1000) // 2}


def test_parquet_and_csv_and_gzip_give_the_same_store(columns, tmp_path):
    frame = pl.DataFrame(columns)
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_csv(tmp_path / "a.csv")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    expected = rf.read_ratings(tmp_path / "a.csv", duplicates="last")
    for name in ("a.parquet", "a.csv", "a.csv.gz"):
        store = rf.convert(tmp_path / name, tmp_path / "a.store", duplicates="last")
        assert store == expected
        np.testing.assert_array_equal(store.by_item.indices, expected.by_item.indices)
        np.testing.assert_array_equal(store.by_item.values, expected.by_item.values)


@pytest.mark.parametrize("duplicates", ["last", "first", "mean", "sum", "count"])
@pytest.mark.parametrize("timed", [True, False])
def test_pairs_that_come_twice_follow_the_same_rules(columns, tmp_path, duplicates, timed):
    if not timed:
        del columns["timestamp"]
    pl.DataFrame(columns).write_csv(tmp_path / "a.csv")
    store = rf.convert(tmp_path / "a.csv", tmp_path / "a.store", duplicates=duplicates)
    assert store == rf.read_ratings(tmp_path / "a.csv", duplicates=duplicates)
    assert store.duplicates == duplicates


def test_a_pair_that_comes_twice_is_refused_with_both_lines(tmp_path):
    (tmp_path / "a.csv").write_text("user,item,rating\nann,tea,5\nbob,tea,1\nann,tea,4\n")
    with pytest.raises(ValueError, match=r"user 'ann' rates item 'tea' twice, on line 2 of a.csv and on line 4"):
        rf.convert(tmp_path / "a.csv", tmp_path / "a.store")
    assert not (tmp_path / "a.store").exists()


def test_text_ids_positives_and_other_separators(tmp_path):
    for text in ("Zoë::007::1\nann::7::2\n", "b\tx\na\tx\n", "user;item;count\n1;a;3\n01;a;4\n"):
        (tmp_path / "a.txt").write_text(text)
        assert rf.convert(tmp_path / "a.txt", tmp_path / "a.store") == rf.read_ratings(tmp_path / "a.txt")


def test_a_folder_or_a_pattern_of_parquet_files_is_one_table(columns, tmp_path):
    frame = pl.DataFrame(columns).unique(["user", "item"], maintain_order=True)
    (tmp_path / "parts").mkdir()
    frame[:200].write_parquet(tmp_path / "parts" / "1.parquet")
    frame[200:].write_parquet(tmp_path / "parts" / "2.parquet")
    expected = rf.Ratings.from_frame(frame)
    assert rf.convert(tmp_path / "parts", tmp_path / "a.store") == expected
    assert rf.convert(tmp_path / "parts" / "*.parquet", tmp_path / "a.store") == expected
    frame.rename({"rating": "stars"}).write_parquet(tmp_path / "parts" / "3.parquet")
    with pytest.raises(ValueError, match=r"3.parquet has other columns than 1.parquet"):
        rf.convert(tmp_path / "parts", tmp_path / "a.store")
    assert rf.open_store(tmp_path / "a.store") == expected  # as it was before


BAD = (
    'user,item,rating\nann,tea,5\nann,milk,x\n\nbob,"a,b",4\nbob,tea\ncat,tea,inf\n,tea,3\n'
    'dan,"q,4\neve,"say ""a""",2,\n'
)


def test_lines_that_cannot_be_read_are_left_out_and_written_down(tmp_path):
    (tmp_path / "bad.csv").write_text(BAD)
    rejected = tmp_path / "rejects.csv"
    store = rf.convert(tmp_path / "bad.csv", tmp_path / "a.store", on_error="skip", rejects=rejected)
    assert store == rf.Ratings.from_arrays(["ann", "bob", "eve"], ["tea", "a,b", 'say "a"'], [5, 4, 2])
    rejects = pl.read_csv(rejected)
    assert rejects["line"].to_list() == [3, 6, 7, 8, 9]
    assert rejects["text"].to_list() == ["ann,milk,x", "bob,tea", "cat,tea,inf", ",tea,3", 'dan,"q,4']
    assert rejects["reason"].to_list()[:2] == ["rating cannot be read", "has 2 columns instead of 3, or an open quote"]
    assert store.n_left_out == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user,item,rating\n1,2,3\n1,3,x\n", r"line 3 of bad.csv: rating 'x' is not a number"),
        ("user,item,rating\n1,2,3\n1,3,nan\n", r"line 3 of bad.csv: rating 'nan' is not a finite"),
        ("user,item,rating\n1,2,3\n1,3\n", r"line 3 of bad.csv has 2 columns"),
        ("user,item,rating\n", r"nothing below it|no rating that can be read"),
    ],
)
def test_a_fault_names_its_line_and_leaves_nothing(tmp_path, text, message):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        rf.convert(tmp_path / "bad.csv", tmp_path / "a.store")
    assert not (tmp_path / "a.store").exists()


def test_settings_that_cannot_be_are_refused(tmp_path):
    for told, message in (
        ({"duplicates": "decay"}, "duplicates must be one of error, last"),
        ({"memory": 1000}, "memory must be at least 256 MB"),
        ({"on_error": "cry"}, "on_error must be one of stop, skip"),
    ):
        with pytest.raises(ValueError, match=message):
            rf.convert("a.csv", tmp_path / "a.store", **told)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no Parquet file"):
        rf.convert(tmp_path / "empty", tmp_path / "a.store")


def test_the_command_converts_and_fits(columns, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(columns).unique(["user", "item"], maintain_order=True).write_csv("a.csv")
    assert run(["convert", "a.csv", "-o", "a.store", "--memory", "300MB"]) == 0
    assert (tmp_path / "a.store" / MANIFEST).exists()
    assert run(["fit", "a.store", "-o", "m.rankfill", "--model", "bias"]) == 0
    assert "a.store: " in capsys.readouterr().out
    expected = rf.Bias().fit(rf.read_ratings("a.csv"))
    np.testing.assert_array_equal(rf.load("m.rankfill").item_effects_, expected.item_effects_)
    assert run(["convert", "a.csv", "-o", "b.store", "--memory", "lots"]) == 2
    assert "--memory must be a size such as 500MB" in capsys.readouterr().err


def test_the_command_synthesizes_what_the_library_does(tmp_path):
    assert run(["synthesize", "--like", "netflix", "--scale-down", "20000", "-o", str(tmp_path / "a.parquet")]) == 0
    made, expected = rf.read_ratings(tmp_path / "a.parquet"), rf.synthetic.like("netflix", 20_000)
    rows = made.users.ids()[made.user_indices], made.items.ids()[made.item_indices]
    np.testing.assert_array_equal(rows, (expected.user_indices, expected.item_indices))
    np.testing.assert_array_equal(made.values, expected.values)
