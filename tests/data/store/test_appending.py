"""What is appended is there, merged by the same rules; and nothing that dies on the way leaves half of anything."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone

import rankfill as rf
from rankfill.data.store import merging, writing
from rankfill.data.store.manifest import read_manifest
from rankfill.models.base.checkpoint import FILE

KILLS = int(os.environ.get("RANKFILL_KILLS", "3"))
"""How often each kind of writer is killed; `make test-kills` does it a hundred times as often."""


def some(seed, n=300, timed=False, first=0):
    made = np.random.default_rng(seed)
    pairs = made.choice(60 * 25, n, replace=False)
    times = made.integers(0, 1000, n) if timed else None
    return rf.Ratings.from_arrays(first + pairs // 25, pairs % 25, made.integers(1, 6, n), times)


@pytest.mark.parametrize("timed", [True, False])
def test_appended_ratings_are_merged_as_if_they_had_come_together(tmp_path, monkeypatch, timed):
    monkeypatch.setattr(writing.PartWriter, "least_size", 64)
    monkeypatch.setattr(merging, "MEMORY", 1)
    parts = [some(1, timed=timed), some(2, timed=timed, first=100), some(3, timed=timed, first=37_000)]
    store = rf.store_ratings(parts[0], tmp_path / "a.store")
    for more in parts[1:]:
        assert store.append(more) is store
    assert len(read_manifest(store.path)) == 3
    expected = rf.Ratings.concat(parts)
    assert store.compact() == expected
    assert len(read_manifest(store.path)) == 1 == len(list(store.path.glob("part-*")))
    np.testing.assert_array_equal(store.by_item.indices, expected.by_item.indices)
    np.testing.assert_array_equal(store.by_item.values, expected.by_item.values)


def test_a_fit_sees_what_was_appended(tmp_path):
    parts = some(1), some(2, first=100)
    rf.store_ratings(parts[0], tmp_path / "a.store").append(parts[1])
    mine = rf.ALS(rank=2, passes=3).fit(tmp_path / "a.store")
    theirs = rf.ALS(rank=2, passes=3).fit(rf.Ratings.concat(parts))
    np.testing.assert_array_equal(mine.user_factors_, theirs.user_factors_)


@pytest.mark.parametrize("duplicates", ["last", "first", "sum", "count"])
def test_pairs_that_are_there_already_follow_the_rule_of_the_store(tmp_path, duplicates):
    parts = some(1), some(2)
    (tmp_path / "a.csv").write_text("user,item,rating\n" + lines(parts[0]))
    store = rf.convert(tmp_path / "a.csv", tmp_path / "a.store", duplicates=duplicates)
    ones = parts if duplicates != "count" else [part.with_values(np.ones_like) for part in parts]
    expected = rf.Ratings.concat(ones, duplicates="sum" if duplicates == "count" else duplicates)
    assert store.append(ones[1]) == expected


def lines(ratings):
    columns = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices), ratings.values
    return "".join(f"{user},{item},{value:g}\n" for user, item, value in zip(*columns, strict=True))


def test_what_does_not_fit_is_refused_before_anything_is_written(tmp_path):
    store = rf.store_ratings(some(1), tmp_path / "a.store")
    with pytest.raises(ValueError, match=r"rates item .* twice, in the store and in what is appended"):
        store.append(some(2))
    with pytest.raises(ValueError, match="has no timestamps"):
        store.append(some(2, timed=True))
    with pytest.raises(TypeError, match=r"users of the store .* are numbers"):
        store.append(rf.Ratings.from_arrays(["ann"], [1], [5]))
    assert rf.open_store(store.path) == some(1)


def test_two_writers_do_not_meet(tmp_path):
    from rankfill.data.store.manifest import writing as lock

    store = rf.store_ratings(some(1), tmp_path / "a.store")
    with lock(store.path), pytest.raises(ValueError, match="another process is writing"):
        store.append(some(2, first=100))


WORK = """
import sys
import numpy as np
import rankfill as rf
kind, path = sys.argv[1:]
rf.convert, rf.open_store, rf.PassiveAggressive  # which loads them
print("ready", flush=True)
if kind == "convert":
    rf.convert(path + "/a.csv", path + "/a.store", duplicates="last")
elif kind == "fit":
    told = {"checkpoint": path + "/checkpoint", "every": 2}
    rf.PassiveAggressive(rank=8, C=0.1, passes=30, tol=None).fit(rf.open_store(path + "/a.store"), **told)
else:
    store = rf.open_store(path + "/a.store")
    for k in range(1, 16):
        store.append(rf.Ratings.from_arrays([10_000 + k], [1], [5.0]))
        print(k, flush=True)
        if k % 5 == 0:
            store.compact()
"""


def begun(kind, folder):
    """A writer that is ready, in a process of its own."""
    child = subprocess.Popen(
        [sys.executable, "-c", WORK, kind, str(folder)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert child.stdout.readline() == "ready\n"
    return child


def seconds(kind, folder):
    """What a writer takes that nobody disturbs, on the machine as it is now."""
    began = time.perf_counter()
    child = begun(kind, folder)
    child.communicate()
    assert child.returncode == 0
    return time.perf_counter() - began


def killed(kind, folder, after):
    """Ends a writer so many seconds after it has begun; the lines it wrote, and whether it was still at it."""
    child = begun(kind, folder)
    time.sleep(after)
    os.killpg(child.pid, signal.SIGKILL)
    told = child.communicate()[0].split("\n")[:-1]
    assert child.returncode in (0, -signal.SIGKILL)
    return told, child.returncode != 0


@pytest.mark.parametrize("kind", ["convert", "append"])
def test_killed_at_any_moment_what_was_there_opens_and_is_whole(tmp_path, kind):
    moments, found = random.Random(7), []
    before = some(1)
    (tmp_path / "a.csv").write_text("user,item,rating\n" + lines(some(5, n=1200)) * 200)
    after = rf.read_ratings(tmp_path / "a.csv", duplicates="last")
    rf.store_ratings(before, tmp_path / "a.store")
    whole = seconds(kind, tmp_path)
    for _ in range(KILLS):
        shutil.rmtree(tmp_path / "a.store", ignore_errors=True)
        rf.store_ratings(before, tmp_path / "a.store")
        told, disturbed = killed(kind, tmp_path, moments.uniform(0, 1.1 * whole))
        store = rf.open_store(tmp_path / "a.store").check()
        if kind == "convert":
            assert store in (before, after)
            assert disturbed or store == after
        else:
            kept = store.users.ids()[store.users.ids() > 10_000].tolist()
            assert kept in ([10_000 + k for k in range(1, n)] for n in (len(told) + 1, len(told) + 2))
            assert len(store) == len(before) + len(kept)
        found.append((disturbed, len(store)))
    print(f"{kind}: ratings there afterwards, and how often", Counter(size for disturbed, size in found if disturbed))
    print(f"{kind}: done before they were killed:", sum(not disturbed for disturbed, _ in found))


def test_a_fit_that_is_killed_at_any_moment_goes_on_to_the_same_bits(tmp_path):
    moments, left = random.Random(8), []
    store = rf.store_ratings(rf.synthetic.low_rank(3000, 500, n_ratings=60_000), tmp_path / "a.store")
    model = rf.PassiveAggressive(rank=8, C=0.1, passes=30, tol=None)
    whole = clone(model).fit(store)
    undisturbed = seconds("fit", tmp_path)
    for _ in range(KILLS):
        shutil.rmtree(tmp_path / "checkpoint", ignore_errors=True)
        killed("fit", tmp_path, moments.uniform(0, 1.1 * undisturbed))
        seen = []
        told = {"checkpoint": tmp_path / "checkpoint", "every": 2, "callbacks": [seen.append]}
        again = clone(model).fit(store, **told)
        np.testing.assert_array_equal(again.user_factors_, whole.user_factors_)
        np.testing.assert_array_equal(again.item_factors_, whole.item_factors_)
        assert [each.objective for each in again.history_] == [each.objective for each in whole.history_]
        assert [each.name for each in (tmp_path / "checkpoint").iterdir()] == [FILE]
        left.append(30 - len(seen))
    print("fit: passes that the killed ones had left, and how often", sorted(Counter(left).items()))


def test_a_first_conversion_that_is_killed_leaves_nothing_that_opens(tmp_path):
    (tmp_path / "a.csv").write_text("user,item,rating\n" + lines(some(5, n=1200)) * 400)
    child = subprocess.Popen([sys.executable, "-c", WORK, "convert", str(tmp_path)], stdout=subprocess.PIPE)
    child.stdout.readline()
    time.sleep(0.1)
    child.kill()
    child.communicate()
    if child.returncode != 0:
        with pytest.raises(FileNotFoundError, match="is no store"):
            rf.open_store(tmp_path / "a.store")
    store = rf.convert(tmp_path / "a.csv", tmp_path / "a.store", duplicates="last")
    assert store == rf.read_ratings(tmp_path / "a.csv", duplicates="last")
    assert len(list(store.path.iterdir())) == 2  # what was left by the killed one is gone
