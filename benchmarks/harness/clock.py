"""The one clock of the benchmarks."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Timed(NamedTuple):
    """What some work returned, the seconds it took, and those that all threads of this process spent on it."""

    result: Any
    seconds: float
    cpu: float


def timed(work: Callable[[], Any]) -> Timed:
    began, began_cpu = time.perf_counter(), time.process_time()
    result = work()
    return Timed(result, time.perf_counter() - began, time.process_time() - began_cpu)
