"""Batches: all ratings once, in order, whatever the size; bad lines are named as the whole reader names them."""

import gzip

import numpy as np
import pytest

import rankfill as rf
from rankfill.data.batches import batches_of


def stream(batches):
    """Users, items and values of all batches, in the order of the stream."""
    parts = []
    for batch in batches:
        order = batch.stream_order()
        parts.append(
            (
                batch.users.ids(batch.user_indices)[order],
                batch.items.ids(batch.item_indices)[order],
                batch.values[order],
            )
        )
    return [np.concatenate(column).tolist() for column in zip(*parts, strict=True)]


def table(n=700, seed=0, strings=False):
    random = np.random.default_rng(seed)
    users, items = np.divmod(random.permutation(60 * 50)[:n], 50)
    if strings:
        users, items = np.array([f"u{u:03}" for u in users]), np.array([f"ä{i}" for i in items])
    return users, items, random.integers(1, 6, n).astype(np.float32)


def write(path, columns, separator=",", header="user,item,rating\n"):
    lines = (separator.join(f"{each}" for each in row) for row in zip(*columns, strict=True))
    path.write_text(header + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("strings", [False, True], ids=["numbers", "strings"])
@pytest.mark.parametrize("size", [1, 64, 20_000])
def test_batches_hold_every_rating_once_in_order(tmp_path, strings, size):
    columns = table(strings=strings)
    expected = [column.tolist() for column in columns]
    from_memory = list(batches_of(rf.Ratings.from_arrays(*columns), size))
    from_file = list(rf.read_batches(write(tmp_path / "r.csv", columns), size=size))
    assert stream(from_memory) == stream(from_file) == expected
    assert [len(batch) for batch in from_memory] == [len(batch) for batch in from_file]
    assert all(batch.users.ids().tolist() == sorted(set(batch.users.ids())) for batch in from_memory + from_file)


def test_batches_grow_from_one_to_the_size(tmp_path):
    sizes = [len(batch) for batch in rf.read_batches(write(tmp_path / "r.csv", table(2000)), size=100)]
    total = np.cumsum([0, *sizes])[:-1]
    assert sizes[0] == 1
    assert max(sizes) == 100
    assert all(size <= max(before / 3, 1) for size, before in zip(sizes, total, strict=True))


def test_batches_of_ratings_go_by_time():
    users, items, values = table(50)
    times = np.random.default_rng(1).permutation(50)
    found = stream(batches_of(rf.Ratings.from_arrays(users, items, values, times), 10))
    assert found == [column[np.argsort(times)].tolist() for column in (users, items, values)]


def test_files_of_every_kind(tmp_path):
    columns = table(300)
    plain = write(tmp_path / "r.csv", columns)
    dat = write(tmp_path / "r.dat", (*columns, np.arange(300)), "::", header="")
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    frame = pytest.importorskip("pandas").DataFrame(dict(zip(("user", "item", "rating"), columns, strict=True)))
    frame.to_parquet(tmp_path / "r.parquet")
    expected = [column.tolist() for column in columns]
    for path in (plain, dat, tmp_path / "r.csv.gz", tmp_path / "r.parquet"):
        assert stream(rf.read_batches(path)) == expected, path.name
    swapped = write(tmp_path / "s.csv", (columns[1], columns[0], columns[2]), header="what,who,stars\n")
    assert stream(rf.read_batches(swapped, ("who", "what", "stars"))) == expected


def test_a_file_can_be_gone_through_again(tmp_path):
    batches = rf.read_batches(write(tmp_path / "r.csv", table(100)))
    assert stream(batches) == stream(batches)


def test_ids_that_turn_out_to_be_text(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\n" + "".join(f"{k},1,3\n" for k in range(300)) + "7a,1,3\n")
    with pytest.raises(
        ValueError, match=r"line 302 of r.csv: user '7a' is no whole number like those before; read with"
    ):
        list(rf.read_batches(path))
    users, items, _ = stream(rf.read_batches(path, text_ids=True))
    assert users[-2:] == ["299", "7a"]
    assert set(items) == {"1"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("7,8,great", "line 302 of r.csv: rating 'great' is not a number; correct it or drop it"),
        ("7,8,nan", "line 302 of r.csv: rating 'nan' is not a finite"),
        ("7,8,inf", "line 302 of r.csv: rating 'inf' is not a finite"),
        ("7,,3", "line 302 of r.csv: the item is empty; fill it in or drop it"),
        ("7,8", "line 302 of r.csv has 2 columns, line 1 has 3; complete the line or drop it"),
        ("299,1,4", "user 299 rates item 1 twice, on line 301 of r.csv and on line 302 of r.csv"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, line, words):
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\n" + "".join(f"{k},1,3\n" for k in range(300)) + line + "\n")
    with pytest.raises(ValueError, match=words):
        list(rf.read_batches(path))


def test_a_header_alone_is_refused(tmp_path):
    (tmp_path / "r.csv").write_text("user,item,rating\n")
    with pytest.raises(ValueError, match="has a header but nothing below it"):
        list(rf.read_batches(tmp_path / "r.csv"))
