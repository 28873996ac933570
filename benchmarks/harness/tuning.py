"""Settings chosen on the validation ratings: the same effort for every system.

Every candidate of a system's grid is fitted on the tuning part of the training ratings with every number of passes of
its ladder. For each number of passes the best candidate is kept, and the best number of passes of all. The result is
a file of numbers, `benchmarks/tuned/<data set>.json`, that later runs start from.
"""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.harness.child import Result, plain
from benchmarks.harness.datasets import About
from benchmarks.rivals import RIVALS
from benchmarks.rivals.base import Plan, Settings

TUNED = Path(__file__).parents[1] / "tuned"
Run = Callable[..., Result]
"""Called as run(function, arguments, threads, environment)."""


class TuningError(RuntimeError):
    """A system did not get through its grid."""


@dataclass(frozen=True)
class Choice:
    """The settings to use for each number of passes, and the number that did best; errors are on validation."""

    best: int
    settings: dict[int, Settings]
    errors: dict[int, float] = field(default_factory=dict)
    tuned: bool = True

    @classmethod
    def documented(cls, ladder: tuple[int, ...]) -> "Choice":
        """The system's defaults, with the most passes."""
        return cls(max(ladder), {passes: {} for passes in ladder}, tuned=False)

    @classmethod
    def from_errors(cls, candidates: list[Settings], ladder: tuple[int, ...], errors: list[list[float]]) -> "Choice":
        """From errors with one row per candidate and one column per number of passes."""
        rows = {passes: min(range(len(candidates)), key=lambda row: errors[row][n]) for n, passes in enumerate(ladder)}
        lowest = {passes: errors[rows[passes]][n] for n, passes in enumerate(ladder)}
        return cls(min(lowest, key=lowest.__getitem__), {passes: candidates[rows[passes]] for passes in ladder}, lowest)


class Tuned:
    """The file of choices for one data set; `group` keeps ranks, measures and splits apart."""

    def __init__(self, folder: Path, about: About, rank: int, measure: str) -> None:
        self.path = folder / f"{about.name}.json"
        self.group = f"rank {rank}, {measure}, split {about.seed}"
        self._content: dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() else {}

    def get(self, rival: str, ladder: tuple[int, ...]) -> Choice | None:
        """What was chosen before, if that was for all these numbers of passes."""
        kept = self._content.get(self.group, {}).get(rival)
        if kept is None or not set(map(str, ladder)) <= set(kept["settings"]):
            return None
        errors = {passes: _error(kept["errors"][str(passes)]) for passes in ladder}
        settings = {passes: kept["settings"][str(passes)] for passes in ladder}
        return Choice(min(errors, key=errors.__getitem__), settings, errors)

    def put(self, rival: str, choice: Choice) -> None:
        self._content.setdefault(self.group, {})[rival] = plain(asdict(choice))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self._content, indent=1, sort_keys=True) + "\n")


def choose(rival: str, folder: Path, plan: Plan, ladder: tuple[int, ...], task: str, measure: str, run: Run) -> Choice:
    """Tries the grid in one child."""
    system = RIVALS[rival]()
    candidates = system.candidates()
    arguments = {
        "rival": rival,
        "folder": str(folder),
        "plan": asdict(plan),
        "candidates": candidates,
        "ladder": list(ladder),
        "task": task,
        "measure": measure,
    }
    result = run("benchmarks.harness.measures:tune", arguments, plan.threads, system.environment(plan.threads))
    if "failed" in result:
        raise TuningError(f"tuning failed: {result['failed']}")
    errors = [[_error(error) for error in row] for row in result["errors"]]
    return Choice.from_errors(candidates, ladder, errors)


def _error(kept: float | None) -> float:
    """JSON has no infinity: null stands for an error that ran away."""
    return math.inf if kept is None else kept
