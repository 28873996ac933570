"""Stores hold what ratings hold: every array, every policy, every kind of id, and single ratings by number and id."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.data.store import buckets, rows, writing


@pytest.fixture
def ratings():
    """Whole stars by users and items whose ids have gaps."""
    made = rf.synthetic.low_rank(90, 40, n_ratings=900, seed=3)
    order = np.random.default_rng(0).permutation(900)
    users, items = made.user_indices[order] * 3 + 5, made.item_indices[order] * 2 - 7
    return rf.Ratings.from_arrays(users, items, made.values[order], timestamps=np.arange(900) // 3)


@pytest.fixture(params=["whole", "in small pieces"])
def sizes(request, monkeypatch):
    """The usual sizes, and so small ones that there are many buckets, blocks and pieces."""
    if request.param == "in small pieces":
        monkeypatch.setattr(writing.PartWriter, "least_size", 64)
        monkeypatch.setattr(writing, "_READ", 50)
        monkeypatch.setattr(rows, "BLOCK", 70)
        monkeypatch.setattr("rankfill.kernels.rows.PIECE", 100)
        monkeypatch.setattr("rankfill.data.store.stored.WINDOW", 100)


def stored(ratings, tmp_path, memory=64 * writing.BYTES_AN_ENTRY):
    return rf.store_ratings(ratings, tmp_path / "ratings.store", memory=memory)


def test_a_store_is_equal_to_the_ratings_in_both_orientations(ratings, tmp_path, sizes):
    store = stored(ratings, tmp_path)
    assert store == ratings
    for mine, theirs in zip(store.by_item, ratings.by_item, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert (store.bounds(), store.scale()) == (ratings.bounds(), ratings.scale())
    assert store.mean() == pytest.approx(ratings.mean(), rel=1e-12)
    assert store.distance_from(3.0) == ratings.distance_from(3.0)
    for mine, theirs in zip(store.tally(), ratings.tally(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert store.check() is store
    assert store.load() == ratings


def test_many_buckets_are_really_used(ratings, tmp_path, monkeypatch):
    monkeypatch.setattr(writing.PartWriter, "least_size", 64)
    made = []
    before = buckets.Buckets.__init__

    def noted(self, *arguments):
        before(self, *arguments)
        made.append(len(self.bounds))

    monkeypatch.setattr(buckets.Buckets, "__init__", noted)
    stored(ratings, tmp_path)
    assert min(made) > 3


def test_five_stars_take_a_byte_and_anything_else_four(ratings, tmp_path):
    store = stored(ratings, tmp_path)
    assert (tmp_path / "ratings.store" / store._only.folder / "users.values").stat().st_size == 900
    precise = ratings.with_values(lambda values: values + np.arange(900, dtype=np.float32) / 1000)
    other = rf.store_ratings(precise, tmp_path / "precise.store")
    assert (other.path / other._only.folder / "items.values").stat().st_size == 3600
    assert other == precise
    np.testing.assert_array_equal(other.by_item.values, precise.by_item.values)


def test_single_ratings_rows_and_samples(ratings, tmp_path):
    store = stored(ratings, tmp_path)
    for k in (0, 1, 450, 899):
        user, item = store.users.ids(ratings.user_indices[k]), store.items.ids(ratings.item_indices[k])
        assert store.rating(k) == (user, item, ratings.values[k])
    own = ratings.of_users(8)
    items, values = store.user_row(8)
    assert (items.tolist(), values.tolist()) == (own.items.ids().tolist(), own.values.tolist())
    known = {(u, i): v for u, i, v in zip(*(column.tolist() for column in triples(ratings)), strict=True)}
    some = store.sample(50, seed=1)
    drawn = list(zip(*(column.tolist() for column in triples(some)), strict=True))
    assert len(set(drawn)) == 50 == sum(known[user, item] == value for user, item, value in drawn)
    assert store.sample(50, seed=1) == some != store.sample(50, seed=2)
    with pytest.raises(IndexError, match="ratings 0 to 899, found 900"):
        store.rating(900)
    with pytest.raises(ValueError, match="there is no user 9 among the 90"):
        store.user_row(9)


def triples(ratings):
    return ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices), ratings.values


def test_a_shuffled_pass_meets_every_rating_once(ratings, tmp_path):
    store = stored(ratings, tmp_path)
    batches = list(store.shuffled(100, seed=4))
    assert len(batches) > 5
    assert rf.Ratings.concat(batches) == ratings
    again = list(store.shuffled(100, seed=4))
    assert all(one == other for one, other in zip(batches, again, strict=True))
    assert batches[0] != next(iter(store.shuffled(100, seed=5)))


def test_batches_come_in_the_order_of_time(ratings, tmp_path, sizes):
    store = stored(ratings, tmp_path)
    for mine, theirs in zip(store.batches(130), ratings.batches(130), strict=True):
        assert mine == theirs
        np.testing.assert_array_equal(mine.stream_order(), theirs.stream_order())


def test_batches_without_times_meet_every_rating_once(ratings, tmp_path, sizes):
    bare = rf.Ratings(ratings.users, ratings.items, ratings.by_user)
    store = stored(bare, tmp_path)
    batches = list(store.batches(130))
    assert [len(batch) for batch in batches] == [130] * 6 + [120]
    assert rf.Ratings.concat(batches) == bare


def test_text_ids_are_kept_to_the_letter(tmp_path):
    ratings = rf.Ratings.from_arrays(["007", "päivi", "", "Zoë"], ["№ 1", "b", "№ 1", "a,b"], [1, 2, 3, 4])
    store = rf.store_ratings(ratings, tmp_path / "ratings.store")
    assert rf.open_store(tmp_path / "ratings.store") == ratings == store
    assert store.rating(3) == ("päivi", "b", 2.0)


def test_one_rating_and_ratings_of_one_value_are_stored(tmp_path):
    one = rf.Ratings.from_arrays([7], [8], [2.5])
    assert rf.store_ratings(one, tmp_path / "one.store") == one


def test_what_selects_makes_ratings_in_memory(ratings, tmp_path):
    store = stored(ratings, tmp_path)
    assert type(store.filter(min_user=5)) is rf.Ratings
    assert store.filter(min_user=5) == ratings.filter(min_user=5)
    assert store.with_values(np.negative) == ratings.with_values(np.negative)
    for mine, theirs in zip(rf.split(store, 0.3), rf.split(ratings, 0.3), strict=True):
        assert mine == theirs


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("way", ["blocks", "pieces"])
def test_the_system_is_told_what_comes_next_before_it_is_asked_for(ratings, tmp_path, monkeypatch, part, way):
    store, told = stored(ratings, tmp_path), []
    monkeypatch.setattr(rows, "BLOCK", 70)
    monkeypatch.setattr("rankfill.kernels.rows.PIECE", 100)
    own = (rf.split(store, 0.2)[0] if part else store).by_item
    monkeypatch.setattr(rows.StoredRows, "will_need", lambda self, first, last: told.append((self is own, first, last)))
    if part:
        monkeypatch.setattr(type(own), "will_need", rows.StoredRows.will_need)
    starts, ends = [], []
    for number, (first, block) in enumerate(getattr(own, way)()):
        starts.append(first)
        ends.append(first + block.n_rows)
        assert len(told) in (number + 1, number)  # nothing comes after the last
    assert told == [(True, *bounds) for bounds in zip(starts[1:], ends[1:], strict=True)]
    assert len(told) > 5


def test_advice_covers_the_pages_of_the_entries(ratings, tmp_path, monkeypatch):
    class Noted:
        def __init__(self, size):
            self.size, self.told = size, []

        def __len__(self):
            return self.size

        def madvise(self, *told):
            self.told.append(told)

    mapped = stored(ratings, tmp_path).by_user.indices
    noted = Noted(4 * len(mapped))
    monkeypatch.setattr(rows.mmap, "mmap", Noted)
    monkeypatch.setattr(rows.mmap, "PAGESIZE", 256)

    class Base:
        base, itemsize = noted, 4

    rows.advise(Base, 100, 300)
    rows.advise(Base, 700, 10**6)
    assert noted.told == [(rows.mmap.MADV_WILLNEED, 256, 944), (rows.mmap.MADV_WILLNEED, 2560, 3600 - 2560)]


def test_a_folder_without_a_manifest_is_no_store(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"is no store of ratings.*rankfill convert"):
        rf.open_store(tmp_path)


@pytest.mark.parametrize("name", ["users.indices", "items.values", "user.ids", "timestamps"])
def test_a_file_cut_short_or_gone_does_not_open(ratings, tmp_path, name):
    store = stored(ratings, tmp_path)
    file = store.path / store._only.folder / name
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    with pytest.raises(ValueError, match=rf"{name} has {len(content) - 1} bytes instead of {len(content)}"):
        rf.open_store(store.path)
    file.unlink()
    with pytest.raises(ValueError, match=f"{name} is missing"):
        rf.open_store(store.path)


def test_a_changed_byte_is_found_and_never_followed(ratings, tmp_path):
    store = stored(ratings, tmp_path)
    file = store.path / store._only.folder / "users.indices"
    content = bytearray(file.read_bytes())
    content[3] = 0x7F  # an index far outside
    file.write_bytes(content)
    damaged = rf.open_store(store.path)
    with pytest.raises(ValueError, match=r"users.indices is damaged"):
        damaged.check()
    with pytest.raises(ValueError, match="the ratings on disk are damaged: row number"):
        rf.PassiveAggressive(rank=2, C=0.1, recipe="paper", passes=1).fit(damaged)


@pytest.mark.parametrize("index", [-1, 2**30])
def test_an_item_that_there_is_not_is_refused_however_it_is_met(ratings, tmp_path, index):
    store = stored(ratings, tmp_path)
    (file,) = store.path.glob("*/users.indices")
    numbers = np.fromfile(file, np.int32)
    numbers[0] = index
    numbers.tofile(file)
    store = rf.open_store(store.path)
    user = store.users.ids([0])
    ways = [
        lambda: store.rating(0),
        lambda: store.user_row(user.item()),
        lambda: store.sample(len(store)),
        lambda: list(store.batches(100)),
        lambda: rf.SGD(rank=2, passes=1).fit(store),
        lambda: rf.ALS(rank=2, passes=1).fit(store),
    ]
    for way in ways:
        with pytest.raises(ValueError, match=r"are damaged|indices must be|found key"):
            way()


@pytest.mark.parametrize(
    "damage", ['{"rankfill_store": 2, "parts": []}', "{", '{"rankfill_store": 1, "parts": []}', "[]"]
)
def test_a_damaged_manifest_is_told_in_words(ratings, tmp_path, damage):
    store = stored(ratings, tmp_path)
    (store.path / "manifest.json").write_text(damage)
    with pytest.raises(ValueError, match="is damaged"):
        rf.open_store(store.path)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('"item.ids"', '"tem.ids"', "its list of files has too many or lacks some: 'item.ids, tem.ids'"),
        ('"folder": "part-', '"folder": "part-' + 3000 * "x", "is not the name of a part"),
    ],
)
def test_a_manifest_that_names_what_cannot_be_is_refused(ratings, tmp_path, before, after, words):
    store = stored(ratings, tmp_path)
    manifest = store.path / "manifest.json"
    manifest.write_text(manifest.read_text().replace(before, after))
    with pytest.raises(ValueError, match=words) as refusal:
        rf.open_store(store.path)
    assert len(str(refusal.value)) < 500


def test_a_store_is_not_written_over_anything_else(ratings, tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match=r"holds 'letter.txt'; name a new folder"):
        rf.store_ratings(ratings, tmp_path)
    with pytest.raises(ValueError, match="it exists and is a file"):
        rf.store_ratings(ratings, tmp_path / "letter.txt")


def test_more_than_two_billion_ratings_need_no_memory(tmp_path):
    """A sparse file: holes take neither disk nor memory, and only the last ratings are written."""
    n = 2**31 + 10
    store = rf.store_ratings(rf.Ratings.from_arrays([1, 1, 2, 3], [5, 6, 5, 6], [1, 2, 1, 2]), tmp_path / "a.store")
    folder = store.path / store._only.folder
    offsets = np.array([0, 2**30, 2**31, n], np.int64)
    offsets.tofile(folder / "users.offsets")
    np.array([0, n - 5, n], np.int64).tofile(folder / "items.offsets")
    for side in ("users", "items"):
        for kind, width in (("indices", 4), ("values", 1)):
            with (folder / f"{side}.{kind}").open("r+b") as file:
                file.truncate(0)
                file.truncate(n * width)
    with (folder / "users.indices").open("r+b") as file:
        file.seek(4 * (n - 1))
        file.write(np.int32(1).tobytes())
    with (folder / "users.values").open("r+b") as file:
        file.seek(n - 2)
        file.write(bytes([1, 1]))
    manifest = (store.path / "manifest.json").read_text().replace('"n_ratings": 4', f'"n_ratings": {n}')
    (store.path / "manifest.json").write_text(manifest)
    large = rf.open_store(store.path)
    assert len(large) == n
    assert large.rating(n - 1) == (3, 6, 2.0)
    assert large.rating(n - 3) == (3, 5, 1.0)
    assert large.rating(2**31 - 1) == (2, 5, 1.0)
    assert large.by_user.counts().tolist() == [2**30, 2**30, 10]
    last = large.by_user.part(2, 3)
    np.testing.assert_array_equal(last.values, [1] * 8 + [2] * 2)
    assert last.indices[-1] == 1
    rows_of_factors = np.ones((1, 16), np.float32), np.ones((2, 16), np.float32)
    losses = rf.kernels.passive_aggressive_pass(last, *rows_of_factors, rf.kernels.Rule(), seed=0)
    assert losses.absolute > 0
