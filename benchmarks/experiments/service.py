"""The service under load: durable events per second, lists while it learns, recovery, memory.

python -m benchmarks service [--users 70000 --items 10000 --rank 32] [--seconds 10]

Service and clients share this machine. The service is `rankfill serve` on a model of PassiveAggressive fitted to
synthetic ratings; every event is on disk (SQLite, synchronous=FULL) and learned when it is acknowledged. Latencies are
those the client sees, in milliseconds.
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import uvloop

import rankfill as rf
from benchmarks.harness.http_load import get, load, post
from rankfill.client import Client

CLIENTS = 64


class Served:
    """A service in a process of its own."""

    def __init__(self, state: Path, *arguments: object) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = [sys.executable, "-c", "from rankfill.cli import main; main()", "serve", "--state", str(state)]
        command += ["--port", str(self.port), "--scale", "1:5", *map(str, arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.client = Client(f"http://127.0.0.1:{self.port}", timeout=600)
        while True:
            try:
                self.ready = self.client.ready()
                return
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError("the service did not come up") from None
                time.sleep(0.05)

    def memory(self) -> float:
        """Megabytes that are its own: what it maps from files and does not change is not counted."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return float(status.split("RssAnon:")[1].split()[0]) / 1024

    def cpu(self) -> float:
        """Seconds of processor it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, how: int = signal.SIGINT) -> None:
        self.client.close()
        self.process.send_signal(how)
        self.process.wait()


def events(random: np.random.Generator, n: int, users: int, items: int) -> list[dict[str, Any]]:
    return [
        {"user": int(user), "item": int(item), "rating": int(rating)}
        for user, item, rating in zip(
            random.integers(0, users, n), random.zipf(1.3, n) % items, random.integers(1, 6, n), strict=True
        )
    ]


def percentiles(seconds: "np.ndarray") -> str:
    p50, p99 = 1000 * np.percentile(seconds, [50, 99])
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms"


def run(part: Any, served: Served) -> tuple[Any, str]:
    """What the clients found, and the share of a processor that service and clients took."""
    begin, clients, service = time.perf_counter(), time.process_time(), served.cpu()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(part)
    seconds = time.perf_counter() - begin
    shares = (served.cpu() - service) / seconds, (time.process_time() - clients) / seconds
    return found, f"processor: service {shares[0]:.0%}, clients {shares[1]:.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, default in (("users", 70_000), ("items", 10_000), ("rank", 32), ("replay", 1_000_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=10.0)
    arguments = parser.parse_args()
    random, shape = np.random.default_rng(0), (arguments.users, arguments.items)
    folder = Path(tempfile.mkdtemp())
    ratings = rf.synthetic.low_rank(*shape, 2_000_000, seed=0)
    stars = ratings.with_values(lambda values: np.clip(np.round(values - values.mean() + 3), 1, 5))
    rf.PassiveAggressive(rank=arguments.rank, C=0.05, passes=2).fit(stars).save(folder / "m.rankfill")
    served = Served(folder / "state", folder / "m.rankfill")
    print(
        f"{len(ratings):,} ratings of {shape[0]:,} × {shape[1]:,}, rank {arguments.rank}; load {os.getloadavg()[0]:.1f}"
    )

    singles = [[post("/ratings", json.dumps(e).encode()) for e in events(random, 500, *shape)] for _ in range(CLIENTS)]
    (seconds, failed), used = run(load(served.port, singles, arguments.seconds), served)
    print(f"one event a request, {CLIENTS} clients: {len(seconds) / arguments.seconds:,.0f} events/s (target 10,000), "
          f"{percentiles(seconds)} (target p99 50), {failed} failed; {used}")  # fmt: skip

    batches = [
        [post("/ratings", json.dumps(events(random, 1000, *shape)).encode()) for _ in range(10)] for _ in range(4)
    ]
    (seconds, failed), used = run(load(served.port, batches, arguments.seconds), served)
    print(f"batches of 1000, 4 clients: {1000 * len(seconds) / arguments.seconds:,.0f} events/s (target 200,000), "
          f"{percentiles(seconds)}, {failed} failed; {used}")  # fmt: skip

    lists = [[get(f"/recommend/{user}") for user in random.integers(0, shape[0], 500)] for _ in range(2)]
    trickle = [[post("/ratings", json.dumps(events(random, 50, *shape)).encode()) for _ in range(50)] for _ in range(2)]

    async def both() -> tuple[Any, Any]:
        writing = asyncio.create_task(load(served.port, trickle, arguments.seconds, pause=0.02))
        reading = await load(served.port, lists, arguments.seconds, pause=0.004)
        return reading, await writing

    ((seconds, failed), (written, _)), used = run(both(), served)
    print(f"lists while {50 * len(written) / arguments.seconds:,.0f} events/s arrive: {percentiles(seconds)} "
          f"(targets 1 and 20), {len(seconds) / arguments.seconds:,.0f} lists/s, {failed} failed; {used}")  # fmt: skip

    model = served.client.status()
    factors = 4 * (model["users"] + model["items"]) * -(-arguments.rank // 16) * 16 / 1e6
    print(f"memory: {served.memory():.0f} MB (target 2 × factors + 200 = {2 * factors + 200:.0f})")
    served.stop()

    served = Served(folder / "replayed", folder / "m.rankfill", "--snapshot-every", 10**9)
    for _ in range(arguments.replay // 10_000):
        served.client.rate_many(events(random, 10_000, *shape))
    served.stop(signal.SIGKILL)
    served = Served(folder / "replayed")
    replayed, recovery = served.ready["replayed"], served.ready["recovery_seconds"]
    print(f"recovery: {replayed:,} events in {recovery:.2f} s, {replayed / recovery:,.0f} events/s (target 1,000,000)")
    served.stop()


if __name__ == "__main__":
    main()
