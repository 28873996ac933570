"""What came out of a search: every setting tried with its error, the best, and the model learned with it."""

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from rankfill.evaluation.fold_errors import FoldErrors
from rankfill.models import Model
from rankfill.objectives.measures import Measure
from rankfill.tuning.table import trial_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Trial(FoldErrors):
    """One setting and its errors, a fold each; NaN for folds it was not tried on."""

    params: dict[str, Any]
    passes: int
    """The most passes it was given; one that was dropped early has been given fewer than the best."""
    dropped: bool = False
    rung: int = 0
    """How often it was given more passes."""
    learned: int = 0
    """Passes made in all, over all folds."""
    seconds: float = 0.0
    failed: str = ""
    """Why it could not be learned, such as a step too large; the error then is infinite."""

    @property
    def n_folds(self) -> int:
        return int(np.isfinite(self.errors).sum())

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        return f"{settings}: {self}"


@dataclass(frozen=True, eq=False, repr=False)
class Tuning:
    """Prints as a table, best first, and draws itself with `plot`."""

    trials: Sequence[Trial]
    best: Trial
    best_model: Model | None
    """The model with the best settings, learned from everything; None with `refit=False`."""
    measure: Measure
    seconds: float
    interrupted: bool = field(default=False)

    @property
    def best_params(self) -> dict[str, Any]:
        return self.best.params

    @property
    def at_edge(self) -> dict[str, str]:
        """Parameters whose best value is the "smallest" or "largest" of several tried: there may be better beyond."""
        edges = {}
        for name, value in self.best.params.items():
            tried = {trial.params[name] for trial in self.trials if isinstance(trial.params[name], int | float)}
            if len(tried) > 1 and value in (min(tried), max(tried)) and not isinstance(value, bool):
                edges[name] = "smallest" if value == min(tried) else "largest"
        return edges

    def plot(self, path: str | os.PathLike[str] | None = None) -> "Figure":
        """The error against each parameter, with bars of one standard error; saved when given a path."""
        from rankfill.tuning.pictures import tuning_plot

        return tuning_plot(self.trials, self.best, path=path)

    def __repr__(self) -> str:
        text = io.StringIO()
        Console(file=text, width=100, color_system=None, markup=False, emoji=False).print(
            trial_table(self.trials, self.best)
        )
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def best_of(trials: Sequence[Trial]) -> Trial:
    """The lowest error among those that got furthest; compared over folds that all of these have been tried on."""
    running = [trial for trial in trials if trial.n_folds and not trial.dropped]
    if not running:
        failures = [trial.failed for trial in trials if trial.failed]
        raise ValueError(failures[0] if failures else "nothing could be scored: the ratings are too few; give more")
    furthest = max(trial.rung for trial in running)
    final = [trial for trial in running if trial.rung == furthest]
    folds = min(trial.n_folds for trial in final)
    return min(final, key=lambda trial: _mean_of_first(trial, folds))


def _mean_of_first(trial: Trial, folds: int) -> float:
    finite = trial.errors[np.isfinite(trial.errors)]
    return float(finite[:folds].mean())
