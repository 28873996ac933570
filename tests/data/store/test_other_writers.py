"""A store that somebody else writes meanwhile, or that cannot be written, is read whole or refused in words."""

import errno
import pickle
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pandas as pd
import pytest

import rankfill as rf
from rankfill.data.store import manifest, merging, stored
from rankfill.data.store.manifest import read_manifest

resource = pytest.importorskip("resource")


def some(seed, first=0):
    made = np.random.default_rng(seed)
    pairs = made.choice(60 * 25, 300, replace=False)
    return rf.Ratings.from_arrays(first + pairs // 25, pairs % 25, made.integers(1, 6, 300))


@pytest.fixture
def parts():
    return [some(1), some(2, first=100), some(3, first=200)]


@pytest.fixture
def path(parts, tmp_path):
    """A store with two parts."""
    return rf.store_ratings(parts[0], tmp_path / "a.store").append(parts[1]).path


def once(act):
    """What acts the first time it is called, and never again."""
    acts = iter([act])
    return lambda: next(acts, lambda: None)()


@pytest.mark.parametrize("where", ["before its files are looked for", "before its files are mapped"])
def test_a_store_that_is_merged_while_it_is_opened_is_read_anew(parts, path, monkeypatch, where):
    rf.open_store(path).compact()  # one part, which is mapped at once
    replace = once(lambda: rf.open_store(path).append(parts[2]).compact())
    module, name = (manifest, "_manifest_text") if "looked" in where else (stored, "read_manifest")
    before = getattr(module, name)

    def interrupted(given):
        found = before(given)
        replace()
        return found

    monkeypatch.setattr(module, name, interrupted)
    assert rf.open_store(path) == rf.Ratings.concat(parts)


def test_what_comes_right_after_a_merge_is_merged_too(parts, path, monkeypatch):
    store, before = rf.open_store(path), merging.compact
    more = once(lambda: merging.append(path, parts[2]))

    def interrupted(*told, **more_told):
        before(*told, **more_told)
        more()

    monkeypatch.setattr(merging, "compact", interrupted)
    assert len(store) == 900
    assert store == rf.Ratings.concat(parts)


def test_what_is_open_stays_when_somebody_merges(parts, path):
    store = rf.open_store(path).compact()
    rf.open_store(path).append(parts[2]).compact()
    assert store == rf.Ratings.concat(parts[:2])
    with pytest.raises(ValueError, match=r"is gone: the store was written since it was opened; open it anew"):
        store.check()
    assert rf.open_store(path).check() == rf.Ratings.concat(parts)


def test_a_reader_waits_for_a_writer_and_a_second_writer_is_refused(parts, path):
    started, found = Event(), []

    def read():
        started.set()
        found.append(rf.open_store(path) == rf.Ratings.concat(parts[:2]))

    reader = Thread(target=read, daemon=True)
    with manifest.writing(path):
        with pytest.raises(ValueError, match="another process is writing"):
            rf.open_store(path).compact()
        reader.start()
        started.wait()
        reader.join(0.3)
        assert found == []
    reader.join(60)
    assert found == [True]


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_appended_ratings_that_cannot_be_merged_are_an_error_with_the_remedy(path, monkeypatch, number):
    def refuse(with_number):
        def folder(_):
            raise OSError(with_number, "No way")

        monkeypatch.setattr(merging, "part_folder", folder)

    refuse(number)
    with pytest.raises(ValueError, match=r"not merged yet, and it cannot be written \(no way\); merge.*compact"):
        rf.Bias().fit(path)
    refuse(errno.ENOSPC)
    with pytest.raises(OSError, match="No way"):
        rf.open_store(path).compact()


def test_a_store_of_one_part_is_read_where_nothing_can_be_written(parts, path, monkeypatch):
    rf.open_store(path).compact()
    monkeypatch.setattr(manifest.tempfile, "mkdtemp", None)
    assert rf.open_store(path).check() == rf.Ratings.concat(parts[:2])


def test_many_parts_are_merged_with_few_files_open(tmp_path):
    store = rf.store_ratings(some(0), tmp_path / "a.store")
    for k in range(1, 15):
        store.append(some(k, first=100 * k))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = next_number()
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 40, before[1]))
    try:
        store.compact()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert store == rf.Ratings.concat([some(k, first=100 * k) for k in range(15)])


def next_number():
    """The next free file descriptor."""
    with Path("/dev/null").open() as file:
        return file.fileno()


def test_a_store_is_pickled_by_its_name(path):
    store = rf.open_store(path).compact()
    assert store.rating(3) == pickle.loads(pickle.dumps(store)).rating(3)
    assert len(pickle.dumps(store)) < 500


def test_whatever_can_be_taken_for_ratings_is_appended(parts, path, tmp_path):
    rows = [(1000, 1, 5.0), (1001, 2, 4.0)]
    (tmp_path / "more.csv").write_text("user,item,rating\n1002,3,2\n")
    store = rf.open_store(path).append(rows).append(pd.DataFrame([(1003, 1, 1.0)], columns=["user", "item", "rating"]))
    store.append(tmp_path / "more.csv")
    added = rf.Ratings.from_arrays([1000, 1001, 1003, 1002], [1, 2, 1, 3], [5, 4, 1, 2])
    assert store == rf.Ratings.concat([*parts[:2], added])


def test_what_comes_twice_in_what_is_appended_follows_the_rule_of_the_store(tmp_path):
    (tmp_path / "a.csv").write_text("user,item,rating\n1,1,3\n")
    store = rf.convert(tmp_path / "a.csv", tmp_path / "a.store", duplicates="sum")
    assert store.append([(1, 1, 1.0), (2, 1, 1.0), (2, 1, 4.0)]) == rf.as_ratings([(1, 1, 4.0), (2, 1, 5.0)])


@pytest.mark.parametrize("act", ["append", "write"])
def test_a_store_given_to_itself_does_not_wait_for_itself(parts, path, act):
    found = []

    def give():
        store = rf.open_store(path)
        if act == "write":
            found.append(rf.store_ratings(store, path) == rf.Ratings.concat(parts[:2]))
            return
        with pytest.raises(ValueError, match="twice, in the store and in what is appended"):
            store.append(rf.open_store(path))
        found.append(len(read_manifest(path)) == 1)

    thread = Thread(target=give, daemon=True)
    thread.start()
    thread.join(60)
    assert found == [True]
