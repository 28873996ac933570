"""A fit from a store completes with half the memory that the store takes on disk, where ratings in memory do not."""

import hashlib
import subprocess
import sys

import pytest

import rankfill as rf

resource = pytest.importorskip("resource")

CHILD = """
import hashlib, resource, sys
from pathlib import Path
import rankfill as rf
from rankfill.data.ratings import passing
from rankfill.data.store import rows

rows.BLOCK = rf.kernels.rows.PIECE = passing._AT_ONCE = 1 << 14
path, way = sys.argv[1:]
rf.set_threads(1)

def fit(ratings):
    return rf.PassiveAggressive(rank=6, C=0.1, passes=2).fit(ratings)

tiny = rf.store_ratings(rf.synthetic.low_rank(20, 10, n_ratings=100), path + "/tiny-" + way)
fit(rf.split(tiny, 0.2)[0])
store = rf.open_store(path + "/a.store")
taken = next(1024 * int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (taken + store.size_on_disk // 2,) * 2)
part = {"store": lambda: store, "part": lambda: rf.split(store, 0.2)[0], "memory": store.load}[way]
try:
    model = fit(part())
except MemoryError:
    print("too little")
else:
    print(hashlib.sha256(model.user_factors_.tobytes() + model.item_factors_.tobytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limited")
    ratings = rf.synthetic.low_rank(3000, 900, n_ratings=1_500_000)
    return rf.store_ratings(ratings, folder / "a.store").path.parent, ratings


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts what is not mapped from files")
@pytest.mark.parametrize("way", ["store", "part", "memory"])
def test_half_the_memory_of_a_store_is_enough_for_a_fit_from_it(folder, way):
    path, ratings = folder
    told = subprocess.run([sys.executable, "-c", CHILD, str(path), way], capture_output=True, text=True, check=True)
    if way == "memory":
        assert told.stdout == "too little\n"
        return
    learned = ratings if way == "store" else rf.split(ratings, 0.2)[0]
    model = rf.PassiveAggressive(rank=6, C=0.1, passes=2).fit(learned)
    expected = hashlib.sha256(model.user_factors_.tobytes() + model.item_factors_.tobytes()).hexdigest()
    assert told.stdout == expected + "\n"
