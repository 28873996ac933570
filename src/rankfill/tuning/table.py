"""Trials as a table for the eye: best first, those dropped early below."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from rankfill.objectives.scores import parse_score

if TYPE_CHECKING:
    from rankfill.tuning.result import Trial

MOST_ROWS = 20
_BAR = 20


def trial_table(trials: Sequence["Trial"], best: "Trial | None" = None, most_rows: int = MOST_ROWS) -> Table:
    """One row per trial that has an error; where there are many, the best of them."""
    tried = sorted(
        (trial for trial in trials if trial.n_folds or trial.failed),
        key=lambda trial: (bool(trial.failed), trial.dropped, trial.loss),
    )
    if best is not None:
        tried = [best, *(trial for trial in tried if trial is not best)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    names = list(dict.fromkeys(name for trial in trials for name in trial.params))
    for name in (*names, "passes", trials[0].measure if trials else "error", "± s.e.", "folds"):
        table.add_column(name, justify="right", no_wrap=True)
    higher = bool(trials) and parse_score(trials[0].measure).higher_is_better
    table.add_column("longer is better" if higher else "shorter is better", style="cyan", no_wrap=True)
    errors = [trial.error for trial in tried if not (trial.dropped or trial.failed)] or [math.nan]
    for trial in tried[:most_rows]:
        table.add_row(
            *(value_text(trial.params.get(name)) for name in names),
            str(trial.passes),
            f"{trial.error:.4f}",
            "" if math.isnan(trial.std_error) else f"{trial.std_error:.4f}",
            str(trial.n_folds),
            _remark(trial) or _bar(trial.error, min(errors), max(errors)) + " best" * (trial is best),
            style="dim" if _remark(trial) else None,
        )
    if len(tried) > most_rows:
        table.add_row("…", f"{len(tried) - most_rows} more", style="dim")
    return table


def _remark(trial: "Trial") -> str:
    return "failed" if trial.failed else "dropped" if trial.dropped else ""


def value_text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _bar(value: float, low: float, high: float) -> str:
    return "━" * (1 + round((_BAR - 1) * (value - low) / (high - low) if high > low else 0))
