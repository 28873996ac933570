"""Ratings on disk: converting, fitting from a store and from memory, and what each takes.

    python -m benchmarks store [STEP …] [--shape netflix|yahoo-music|…] [--scale-down 1] [--folder FOLDER] [--json FILE]

Steps, by default all in this order, each in a process of its own:

synthesize   makes the ratings up as Parquet; left out where the file is there
sort         DuckDB alone sorts them by user and item into a table, with a limit of 1 GB
convert      `rf.convert` with memory=1 GB; seconds, highest resident memory, bytes per rating
fit          PassiveAggressive, rank 30, from the store: seconds of an alternation, highest anonymous memory
limited      the same from the store, nothing of it in the page cache, in half the memory that the store takes on disk
memory       the same from memory: whether the bits are the same

Results are added to the JSON file, and the table is printed of what is there.
"""

import argparse
import hashlib
import json
import resource
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.harness.child import in_child
from benchmarks.harness.limits import drop_from_cache, memory_limit
from benchmarks.harness.report import machine

MEMORY = 10**9
STEPS = ("synthesize", "sort", "convert", "fit", "limited", "memory")
PASSES = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", default="all", choices=[*STEPS, "all"], help="what to do (default: all)")
    parser.add_argument("--shape", default="netflix", help="the set to imitate (default netflix)")
    parser.add_argument("--scale-down", type=float, default=1.0, help="how many times fewer ratings (default 1)")
    parser.add_argument("--folder", type=Path, default=Path("build/large"), help="where files go (default build/large)")
    parser.add_argument("--threads", type=int, default=2, help="threads (default 2)")
    parser.add_argument("--json", type=Path, default=None, help="a file of results to add to")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    kept = arguments.json or arguments.folder / "results.json"
    results: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {"machine": machine(), "runs": {}}
    name = arguments.shape if arguments.scale_down == 1 else f"{arguments.shape}, {arguments.scale_down:g} times fewer"
    run = results["runs"].setdefault(name, {})
    for step in STEPS if "all" in arguments.steps else arguments.steps:
        told = {"shape": arguments.shape, "scale_down": arguments.scale_down, "folder": str(arguments.folder)}
        run[step] = in_child(f"benchmarks.experiments.store:{step}", told, arguments.threads)
        print(step, run[step], flush=True)
        kept.write_text(json.dumps(results, indent=1) + "\n")
    print(*table(results["runs"]), sep="\n")


def table(runs: dict[str, Any]) -> list[str]:
    """The targets, and what was reached; of ratios also those of seconds of the processor."""
    lines = ["| shape | what | reached | target |", "|---|---|---|---|"]
    for name, run in runs.items():
        convert, sort, fit, memory = (run.get(step, {}) for step in ("convert", "sort", "fit", "memory"))
        rows: list[tuple[str, str, str]] = []
        if "seconds" in convert:
            rows.append(("convert, peak resident memory", f"{convert['peak'] / 1e9:.2f} GB", "1.5 GB"))
            rows.append(("bytes per rating on disk", f"{convert['bytes']:.1f}", "12"))
        if "seconds" in convert and "seconds" in sort:
            what = f"convert ({convert['seconds']:.0f} s) ÷ DuckDB's sort ({sort['seconds']:.0f} s)"
            rows.append((what, _ratios(convert, sort, "seconds"), "3"))
        if "alternation" in fit:
            most = f"{(fit['factors'] + 3e8) / 1e6:.0f} MB"
            took = f"{fit['alternation']:.1f} s, {fit['processor']:.1f} of the processor"
            rows.append(("one alternation of PassiveAggressive, rank 30", took, "12 s"))
            rows.append(("highest anonymous memory of the fit", f"{fit['anonymous'] / 1e6:.0f} MB", most))
        if "alternation" in (limited := run.get("limited", {})):
            what = f"a fit in {limited['limit'] / 1e9:.2f} GB, half of the store, page cache and all"
            same = "the same bits" if limited["digest"] == fit.get("digest") else "other bits"
            rows.append((what, f"{limited['whole']:.0f} s, {same}", "completes"))
        if "alternation" in fit and "alternation" in memory:
            rows.append(("an alternation ÷ one from memory", _ratios(fit, memory, "alternation"), "1.3"))
            rows.append(("the same bits as from memory", "yes" if fit["digest"] == memory["digest"] else "no", "yes"))
        lines += [f"| {name} | {what} | {reached} | {target} |" for what, reached, target in rows]
    return lines


def _ratios(one: dict[str, Any], other: dict[str, Any], what: str) -> str:
    return f"{one[what] / other[what]:.2f} ({one['processor'] / other['processor']:.2f})"


def synthesize(shape: str, scale_down: float, folder: str) -> dict[str, Any]:
    from rankfill.cli import run

    file = _file(shape, folder)
    if not file.exists():
        run(["synthesize", "--like", shape, "--scale-down", str(scale_down), "-o", str(file)])
    return {"bytes": file.stat().st_size}


def sort(shape: str, scale_down: float, folder: str) -> dict[str, Any]:
    import duckdb

    kept = Path(folder) / "sorted.duckdb"
    kept.unlink(missing_ok=True)
    spill = str(Path(folder) / "spill")
    database = duckdb.connect(str(kept), config={"memory_limit": "1GB", "temp_directory": spill, "threads": 2})
    began = time.perf_counter()
    query = f"SELECT * FROM read_parquet('{_file(shape, folder)}') ORDER BY user, item"
    database.execute(f"CREATE TABLE sorted AS {query}")
    database.execute("CHECKPOINT")
    seconds = time.perf_counter() - began
    database.close()
    kept.unlink()
    return {"seconds": seconds, "processor": time.process_time(), "peak": _peak()}


def convert(shape: str, scale_down: float, folder: str) -> dict[str, Any]:
    import rankfill as rf

    stages: dict[str, float] = {}
    began = time.perf_counter()

    def note(stage: str, done: int, total: int) -> None:
        stages[stage] = time.perf_counter() - began

    store = rf.convert(_file(shape, folder), _store(shape, folder), memory=MEMORY, progress=note)
    seconds = time.perf_counter() - began
    size = store.size_on_disk / len(store)
    return {"seconds": seconds, "processor": time.process_time(), "peak": _peak(), "bytes": size, "stages": stages}


def fit(shape: str, scale_down: float, folder: str) -> dict[str, Any]:
    import rankfill as rf

    return _fit(rf.open_store(_store(shape, folder)))


def limited(shape: str, scale_down: float, folder: str) -> dict[str, Any]:
    import rankfill as rf

    store = rf.open_store(_store(shape, folder))
    limit = store.size_on_disk // 2
    for file in store.path.rglob("*"):
        drop_from_cache(file)
    with memory_limit(limit) as kind:
        return _fit(store) | {"limit": limit, "by": kind}


def memory(shape: str, scale_down: float, folder: str) -> dict[str, Any]:
    import rankfill as rf

    return _fit(rf.open_store(_store(shape, folder)).load())


def _fit(ratings: Any) -> dict[str, Any]:
    import rankfill as rf

    watch, worked = _Watch(), []
    began = time.perf_counter()
    asked = rf.PassiveAggressive(rank=30, C=0.1, passes=PASSES, tol=None)
    model = asked.fit(ratings, callbacks=[lambda _: worked.append(time.process_time())])
    whole, anonymous = time.perf_counter() - began, watch.stop()
    ends = [report.seconds for report in model.history_]
    factors = model._users.array.nbytes + model._items.array.nbytes
    digest = hashlib.sha256(model.user_factors_.tobytes() + model.item_factors_.tobytes()).hexdigest()
    return {
        "alternation": min(after - before for before, after in pairwise(ends)),
        "processor": min(after - before for before, after in pairwise(worked)),
        "first": ends[0],
        "whole": whole,
        "anonymous": anonymous,
        "factors": factors,
        "digest": digest,
    }


class _Watch:
    """The highest anonymous memory of this process, looked at twenty times a second."""

    def __init__(self) -> None:
        self._highest, self._done = 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._done.wait(0.05):
            lines = Path("/proc/self/status").read_text().splitlines()
            now = next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
            self._highest = max(self._highest, now)

    def stop(self) -> int:
        self._done.set()
        self._thread.join()
        return self._highest


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _file(shape: str, folder: str) -> Path:
    return Path(folder) / f"{shape}.parquet"


def _store(shape: str, folder: str) -> Path:
    return Path(folder) / f"{shape}.store"


if __name__ == "__main__":
    main()
