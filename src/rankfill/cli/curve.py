"""A learning curve in the terminal: one row per pass, with a bar for the eye, beside the bias model."""

import math
from collections.abc import Sequence

from rich.table import Table

from rankfill.cli.shared import plain_table
from rankfill.models import EpochReport
from rankfill.objectives.scores import parse_score

MOST_ROWS = 12
_BAR = 24


def curve_table(history: Sequence[EpochReport], baseline: float | None = None) -> Table:
    """`baseline` is the bias model's error on the same validation ratings, in the same measure."""
    watched, losses = [_loss_of(report) for report in history], [_loss(report) for report in history]
    validated = history[0].validation is not None
    best = min(range(len(history)), key=lambda row: losses[row] if math.isfinite(losses[row]) else math.inf)
    span = [*watched, *([] if baseline is None else [baseline])]
    table = plain_table("pass#", "train#", *(["validation#"] if validated else []), "seconds#")
    measure = history[0].validation_measure if validated else history[0].measure
    better = "longer" if parse_score(measure).higher_is_better else "shorter"
    table.add_column(f"{measure}, {better} is better", style="cyan", no_wrap=True)
    for row in _shown_rows(len(history), best):
        report = history[row]
        table.add_row(
            str(report.epoch),
            f"{report.train:.4f}",
            *([f"{report.validation:.4f}"] if validated else []),
            f"{report.seconds:.2f}",
            _bar(watched[row], span) + (" best" if validated and row == best and len(history) > 1 else ""),
        )
    if baseline is not None:
        table.add_row("bias", "", f"{baseline:.4f}", "", _bar(baseline, span), style="dim")
    return table


def _loss_of(report: EpochReport) -> float:
    return report.train if report.validation is None else report.validation


def _loss(report: EpochReport) -> float:
    return report.train if report.validation is None else report.loss


def _shown_rows(n: int, best: int) -> list[int]:
    """All passes, or of many an even choice with the first, the best and the last."""
    if n <= MOST_ROWS:
        return list(range(n))
    step = (n - 1) / (MOST_ROWS - 2)
    return sorted({round(step * k) for k in range(MOST_ROWS - 1)} | {best})


def _bar(value: float, span: Sequence[float]) -> str:
    finite = [each for each in span if math.isfinite(each)]
    if not math.isfinite(value):
        return "?"
    low, high = min(finite), max(finite)
    return "━" * (1 + round((_BAR - 1) * (value - low) / (high - low) if high > low else 0))
