"""Medians, spreads and ratios of repeated measurements."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """The median of some figures with the lowest and the highest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> "Spread":
        return cls(statistics.median(figures), min(figures), max(figures))

    def scaled(self, factor: float) -> "Spread":
        return Spread(self.median * factor, self.low * factor, self.high * factor)


def paired_ratio(figures: Sequence[float], reference: Sequence[float]) -> Spread:
    """The k-th figure over the k-th of the reference, both taken in one round: what slows a round cancels.

    >>> paired_ratio([2.0, 6.0, 4.0], [1.0, 3.0, 1.0])
    Spread(median=2.0, low=2.0, high=4.0)
    """
    pairs = list(zip(figures, reference, strict=True))
    return Spread.of([figure / base for figure, base in pairs])


def spreads(runs: Sequence[dict[str, float | None]]) -> dict[str, Spread]:
    """The spread of every quantity that all of the runs have."""
    shared = [name for name in (runs[0] if runs else ()) if all(run.get(name) is not None for run in runs)]
    return {name: Spread.of([float(run[name] or 0.0) for run in runs]) for name in shared}


def in_words(spread: Spread, digits: int = 3, span: bool = True) -> str:
    """For a table: the median, then the span in brackets unless it is not asked for or nothing moved."""
    median, low, high = (_round(each, digits) for each in (spread.median, spread.low, spread.high))
    return median if low == high or not span else f"{median} ({low}–{high})"


def _round(figure: float, digits: int) -> str:
    """So many significant digits, without an exponent."""
    if figure == 0:
        return "0"
    text = f"{figure:.{digits}g}"
    return f"{float(text):,.0f}" if abs(figure) >= 10 ** (digits - 1) else f"{float(text):.{digits}g}"
