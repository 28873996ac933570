"""A CSV file of ratings read into `Ratings`, beside DuckDB alone reading it into arrays.

    python -m benchmarks reading [--shape movielens-10m] [--scale-down 1] [--rounds 3] [--folder FOLDER] [--json FILE]

Each reading is a process of its own, and the two take turns. Shown are the medians of seconds on the clock and of the
processor, and the highest resident memory of `read_ratings` above that of an idle process, beside the size of the
arrays that the result holds.
"""

import argparse
import json
import resource
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness.child import in_child
from benchmarks.harness.report import machine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="movielens-10m", help="the set to imitate (default movielens-10m)")
    parser.add_argument("--scale-down", type=float, default=1.0, help="how many times fewer ratings (default 1)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each reads (default 3)")
    parser.add_argument("--folder", type=Path, default=Path("build/large"), help="where the file goes")
    parser.add_argument("--threads", type=int, default=2, help="threads (default 2)")
    parser.add_argument("--json", type=Path, default=None, help="a file to write the results to")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    file = arguments.folder / f"{arguments.shape}.csv"
    if not file.exists():
        told = {"shape": arguments.shape, "scale_down": arguments.scale_down, "file": str(file)}
        in_child("benchmarks.experiments.reading:synthesize", told, arguments.threads)
    rounds: dict[str, list[dict[str, Any]]] = {"duckdb": [], "rankfill": []}
    for _ in range(arguments.rounds):
        for system, found in rounds.items():
            found.append(in_child(f"benchmarks.experiments.reading:{system}", {"file": str(file)}, arguments.threads))
            print(system, found[-1], flush=True)
    print(*table(rounds), sep="\n")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"machine": machine(), "rounds": rounds}, indent=1) + "\n")


def table(rounds: dict[str, list[dict[str, Any]]]) -> list[str]:
    """The targets, and what was reached."""

    def middle(system: str, what: str) -> float:
        return median(found[what] for found in rounds[system])

    n = rounds["rankfill"][0]["ratings"]
    lines = [f"| {n:,} ratings of CSV | DuckDB alone | `read_ratings` | ratio | aim |", "|---|---|---|---|---|"]
    for what, name in (("seconds", "seconds"), ("processor", "seconds of the processor")):
        alone, whole = middle("duckdb", what), middle("rankfill", what)
        lines.append(f"| {name} | {alone:.2f} | {whole:.2f} | {whole / alone:.2f} | 1.5 |")
    peak, size = middle("rankfill", "peak"), middle("rankfill", "size")
    lines.append(f"| highest memory ÷ {size / 1e6:.0f} MB of the result | | | {peak / size:.2f} | 3 |")
    return lines


def synthesize(shape: str, scale_down: float, file: str) -> dict[str, Any]:
    from rankfill.cli import run

    run(["synthesize", "--like", shape, "--scale-down", str(scale_down), "-o", file])
    return {"bytes": Path(file).stat().st_size}


def duckdb(file: str) -> dict[str, Any]:
    import duckdb as database
    import numpy as np  # noqa: F401  not to be counted

    before = _Cost()
    found = database.execute("SELECT * FROM read_csv(?)", [file]).fetchnumpy()
    return before.told() | {"ratings": len(found["rating"])}


def rankfill(file: str) -> dict[str, Any]:
    import duckdb as database

    import rankfill as rf

    database.execute("SELECT 1")
    rf.Ratings.from_dense([[1.0]])
    before = _Cost()
    ratings = rf.read_ratings(file)
    arrays = [*ratings.by_user, ratings._arrival, *ratings.users.keys, *ratings.items.keys]
    size = sum(array.nbytes for array in arrays if array is not None)
    return before.told() | {"ratings": len(ratings), "size": size}


class _Cost:
    """Seconds and memory from now on."""

    def __init__(self) -> None:
        self._clock, self._processor, self._memory = time.perf_counter(), time.process_time(), _peak()

    def told(self) -> dict[str, Any]:
        return {
            "seconds": time.perf_counter() - self._clock,
            "processor": time.process_time() - self._processor,
            "peak": _peak() - self._memory,
        }


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
