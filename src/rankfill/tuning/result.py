"""The result of a search: every setting tried with its error, the best, and the model learned with it."""

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from rankfill.evaluation.fold_errors import FoldErrors
from rankfill.models import Model
from rankfill.objectives.scores import parse_score
from rankfill.shown import html_table
from rankfill.tuning.table import trial_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Trial(FoldErrors):
    """One setting and its errors.

    Attributes
    ----------
    measure : str
        The name of the measure, such as "rmse" or "ndcg@10".
    errors : ndarray of shape (n_folds,)
        The error in each fold, NaN for folds it was not tried on.
    params : dict
        The parameters that were varied, with their values.
    passes : int
        Most passes it was given; one that was dropped early has been given fewer than the best.
    dropped : bool
        Whether it was given up early for better ones.
    rung : int
        How often it was given more passes.
    learned : int
        Number of passes made in all, over all folds.
    seconds : float
        Time spent on it.
    failed : str
        Why it could not be learned, such as a step too large; its errors then are infinite. Empty otherwise.
    error : float
        The mean of the errors.
    std_error : float
        The standard error of that mean.
    n_folds : int
        Number of folds with an error.

    Examples
    --------
    >>> Trial("rmse", np.array([0.9, 1.1]), params={"penalty": 0.04}, passes=30)
    penalty=0.04: rmse 1.0000 ± 0.1000 (2 folds)
    """

    params: dict[str, Any]
    passes: int
    dropped: bool = False
    rung: int = 0
    learned: int = 0
    seconds: float = 0.0
    failed: str = ""

    @property
    def n_folds(self) -> int:
        return int(np.isfinite(self.errors).sum())

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        return f"{settings}: {self}"


@dataclass(frozen=True, eq=False, repr=False)
class Tuning:
    """The result of `tune`: every setting tried, the best of them, and the model learned with it.

    Prints as a table, best first.

    Attributes
    ----------
    trials : sequence of Trial
        One per setting.
    best : Trial
        The one with the lowest error, or the highest value of a measure of lists, among those that got furthest.
    best_model : Model or None
        A model with the best settings, learned from everything; None with ``refit=False``.
    measure : str
        The name of the measure, such as "rmse" or "ndcg@10".
    seconds : float
        How long the search took.
    interrupted : bool
        Whether Ctrl-C ended it.
    best_params : dict
        The parameters of the best trial.
    at_edge : dict
        Parameters whose best value is the "smallest" or the "largest" one tried: there may be better ones beyond.

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(80, 50, n_ratings=1500, rank=2, seed=0)
    >>> found = rf.tune(rf.Bias(), ratings, grid={"shrinkage": [3.0, 1000.0]})
    >>> found.at_edge
    {'shrinkage': 'smallest'}
    """

    trials: Sequence[Trial]
    best: Trial
    best_model: Model | None
    measure: str
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
        """Draws the error against each parameter that was varied, with bars of one standard error.

        Parameters
        ----------
        path : path, optional
            File to save the picture in; its ending says the format. By default it is not saved.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from rankfill.tuning.pictures import tuning_plot

        return tuning_plot(self.trials, self.best, path=path)

    def _repr_html_(self) -> str:
        columns = trial_table(self.trials, self.best).columns
        rows = zip(*([str(cell) for cell in column.cells] for column in columns), strict=True)
        return html_table(rows, header=[str(column.header) for column in columns])

    def __repr__(self) -> str:
        text = io.StringIO()
        Console(file=text, width=100, color_system=None, markup=False, emoji=False).print(
            trial_table(self.trials, self.best)
        )
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def best_of(trials: Sequence[Trial]) -> Trial:
    """The best among those that got furthest; compared over folds that all of these have been tried on."""
    running = [trial for trial in trials if trial.n_folds and not trial.dropped]
    if not running:
        failures = [trial.failed for trial in trials if trial.failed]
        raise ValueError(failures[0] if failures else "nothing could be scored: the ratings are too few; give more")
    furthest = max(trial.rung for trial in running)
    final = [trial for trial in running if trial.rung == furthest]
    folds = min(trial.n_folds for trial in final)
    return min(final, key=lambda trial: parse_score(trial.measure).loss(_mean_of_first(trial, folds)))


def _mean_of_first(trial: Trial, folds: int) -> float:
    finite = trial.errors[np.isfinite(trial.errors)]
    return float(finite[:folds].mean())
