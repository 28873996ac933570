"""What a child measures of one system. Each function returns plain numbers and nothing else.

Predictions of every system are clipped to the range of the training ratings; where one has no answer the mean
rating stands in. A warm-up on a few thousand ratings comes before every clock.
"""

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import datasets
from benchmarks.harness.clock import timed
from benchmarks.harness.memory import PeakMemory
from benchmarks.rivals import RIVALS
from benchmarks.rivals.base import Interactions, Plan, Rival
from rankfill.objectives.measures import MEASURES

WARM_UP = 5000
Numbers = dict[str, Any]


def fit(rival: str, folder: str, plan: dict[str, int], settings: dict[str, Any]) -> Numbers:
    """Seconds to prepare, fit and predict, the memory gained, and the errors on the test ratings."""
    system, wanted, data = RIVALS[rival](**settings), Plan(**plan), Path(folder)
    train, test = datasets.read(data, "train"), datasets.read(data, "test")
    load = os.getloadavg()[0]
    _warm_up(system, train, wanted)
    memory = PeakMemory()
    prepared, prepare_seconds, _ = timed(lambda: system.prepare(train, wanted))
    memory.restart()
    fitted, seconds, _ = timed(lambda: system.fit(prepared, wanted))
    peak = memory.peak()
    own_seconds = system.seconds(fitted)
    seconds = seconds if own_seconds is None else own_seconds
    return {
        "prepare_seconds": prepare_seconds,
        "fit_seconds": seconds,
        "nanoseconds": 1e9 * seconds / (len(train) * wanted.passes),
        "peak_bytes": None if system.in_other_process else peak,
        "load": load,
        **_errors(system, fitted, train, test),
    }


def stream(rival: str, folder: str, plan: dict[str, int], settings: dict[str, Any]) -> Numbers:
    """Events learned a second, in the order of their arrival, and the errors on the test ratings after them."""
    system, wanted, data = RIVALS[rival](**settings), Plan(**plan), Path(folder)
    events, test = datasets.read(data, "train").in_memory(), datasets.read(data, "test")
    load = os.getloadavg()[0]
    system.stream(events.head(WARM_UP), wanted)
    memory = PeakMemory()
    memory.restart()
    fitted, seconds, _ = timed(lambda: system.stream(events, wanted))
    return {
        "fit_seconds": seconds,
        "events_per_second": len(events) / seconds,
        "peak_bytes": memory.peak(),
        "load": load,
        **_errors(system, fitted, events, test),
    }


def top_n(rival: str, folder: str, plan: dict[str, int], settings: dict[str, Any], n: int = 10) -> Numbers:
    """Users served a second with their n best unrated items. One at a time or all at once, as the system can."""
    system, wanted = RIVALS[rival](**settings), Plan(**plan)
    train = datasets.read(Path(folder), "train")
    load = os.getloadavg()[0]
    fitted = system.fit(system.prepare(train, wanted), wanted)
    users = np.unique(train.users)[: system.most_users].astype(np.int32)
    system.top_n(fitted, users[:64], n)
    lists, seconds, _ = timed(lambda: system.top_n(fitted, users, n))
    if lists.shape != (len(users), n):
        raise ValueError(f"expected {n} items for each of {len(users)} users, found {lists.shape}")
    return {"top_n_seconds": seconds, "users_per_second": len(users) / seconds, "load": load}


def tune(
    rival: str,
    folder: str,
    plan: dict[str, int],
    candidates: list[dict[str, Any]],
    ladder: list[int],
    task: str,
    measure: str,
) -> Numbers:
    """The error on the validation ratings of every candidate (rows) after every number of passes (columns)."""
    tuning, validation = (datasets.read(Path(folder), part) for part in ("tuning", "validation"))
    errors = []
    trouble: Exception | None = None
    for candidate in candidates:
        system, row = RIVALS[rival](**candidate), []
        prepared = system.prepare(tuning, Plan(**plan)) if task == "fit" else tuning.in_memory()
        for passes in ladder:
            wanted = Plan(**{**plan, "passes": passes})
            try:
                fitted = system.fit(prepared, wanted) if task == "fit" else system.stream(prepared, wanted)
                row.append(_errors(system, fitted, tuning, validation)[measure])
            except Exception as error:  # some settings are beyond some systems; others may do
                trouble = error
                row.append(math.inf)
        errors.append(row)
    if trouble is not None and not np.isfinite(errors).any():
        raise trouble
    return {"errors": errors}


def _warm_up(system: Rival, train: Interactions, plan: Plan) -> None:
    """Loads libraries, wakes threads, starts virtual machines."""
    once = Plan(plan.rank, plan.threads, 1, plan.seed)
    few = train.head(WARM_UP)
    system.predict(system.fit(system.prepare(few, once), once), few.users[:100], few.items[:100])


def _errors(system: Rival, fitted: Any, train: Interactions, test: Interactions) -> Numbers:
    raw, seconds, _ = timed(lambda: system.predict(fitted, np.asarray(test.users), np.asarray(test.items)))
    predictions = _complete(np.asarray(raw), train.values)
    errors = {name: error(test.values, predictions) for name, error in MEASURES.items()}
    return {"predict_seconds": seconds, **errors}


def _complete(predictions: NDArray[np.floating], ratings: NDArray[np.floating]) -> NDArray[np.floating]:
    """Clipped to the range of the ratings, their mean where there was no answer."""
    mean = ratings.mean(dtype=np.float64)
    return np.clip(np.where(np.isnan(predictions), mean, predictions), ratings.min(), ratings.max())
