"""Pictures of a search and of a cross-validated stream, in the manner of `rankfill.plots`."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from rankfill.evaluation.streaming import StreamReport
from rankfill.objectives.scores import parse_score
from rankfill.plots.style import COLOURS, DPI, INK, MUTED, PathLike, finish, little_ink
from rankfill.tuning.result import Trial
from rankfill.tuning.table import value_text

COLOUR, PANEL = COLOURS[0], (4.6, 3.6)
BARS: dict[str, Any] = {"fmt": "o", "markersize": 4, "color": COLOUR, "elinewidth": 1.2, "capsize": 3, "zorder": 4}


def tuning_plot(trials: Sequence[Trial], best: Trial, path: PathLike | None = None) -> Figure:
    """A panel for each parameter that was varied: errors with bars of one standard error, dropped settings faint."""
    tried = [trial for trial in trials if trial.n_folds]
    names = [name for name in best.params if len({repr(trial.params[name]) for trial in tried}) > 1]
    names = names or list(best.params)[:1]
    columns = min(len(names), 3)
    rows = -(-len(names) // columns)
    size = (max(columns * PANEL[0], 6.4), rows * PANEL[1])
    figure = Figure(figsize=size, dpi=DPI, facecolor="white", layout="constrained")
    for number, name in enumerate(names):
        axes = figure.add_subplot(rows, columns, number + 1)
        _draw_parameter(axes, name, tried, best)
        _dress(axes, best.measure if number == 0 else "", name)
    if any(trial.dropped for trial in tried):
        axes.set_title("faint: dropped early", loc="right", fontsize=8.5, color=MUTED)
    return finish(figure, path)


def stream_plot(history: Sequence[StreamReport], path: PathLike | None = None) -> Figure:
    """The running error with a band of one standard error, and faintly the error of each batch by itself."""
    reports = [report for report in history if math.isfinite(report.error)]
    if not reports:
        raise ValueError("there are no errors to draw; the stream was too short to score anything")
    figure = Figure(figsize=(7.5, 4.2), dpi=DPI, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    places = np.array([report.ratings for report in reports])
    errors, latest = (np.array([getattr(report, each) for report in reports]) for each in ("error", "latest"))
    bars = np.nan_to_num([report.std_error for report in reports])
    axes.plot(places, latest, color=COLOUR, linewidth=1, alpha=0.4, zorder=3)
    axes.fill_between(places, errors - bars, errors + bars, color=COLOUR, alpha=0.2, linewidth=0, zorder=3)
    axes.plot(places, errors, color=COLOUR, linewidth=1.8, zorder=4)
    for before, after in itertools.pairwise(reports):
        if after.passes > before.passes:
            axes.axvline(before.ratings, color=MUTED, linewidth=1, linestyle=(0, (5, 4)), zorder=1)
    settled = places >= places[-1] / 20  # the first errors of all would leave no room for the others
    seen = np.concatenate([errors[settled], latest[settled]])
    low, high = seen.min(), seen.max()
    axes.set_ylim(low - 0.08 * (high - low or 1), high + 0.08 * (high - low or 1))
    axes.set_xlim(0, places[-1])
    _dress(axes, reports[0].measure, "ratings")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
    axes.set_title("bold: running, thin: batch by batch", loc="right", fontsize=8.5, color=MUTED)
    label = f"{errors[-1]:.4f} ± {bars[-1]:.4f}"
    _annotate(axes, label, (1, errors[-1]), "axes fraction", "data", (7, 0), ha="left", va="center")
    return finish(figure, path)


def _draw_parameter(axes: Axes, name: str, tried: Sequence[Trial], best: Trial) -> None:
    place = _scale(axes, [trial.params[name] for trial in tried])
    finished = sorted((trial for trial in tried if not trial.dropped), key=lambda trial: place(trial.params[name]))
    dropped = [trial for trial in tried if trial.dropped]
    sign = -1 if parse_score(best.measure).higher_is_better else 1  # what is below is best, or what is above
    lowest: dict[float, float] = {}
    for trial in finished:
        where = place(trial.params[name])
        lowest[where] = min(lowest.get(where, math.inf), trial.loss)
    if len(best.params) == 1 or 2 * len({repr(trial.params[name]) for trial in tried}) <= len(tried):
        axes.plot(list(lowest), [sign * loss for loss in lowest.values()], color=COLOUR, linewidth=1.5, zorder=3)
    axes.errorbar(
        [place(trial.params[name]) for trial in finished],
        [trial.error for trial in finished],
        yerr=np.nan_to_num([trial.std_error for trial in finished]),
        **BARS,
    )
    places, errors = [place(trial.params[name]) for trial in dropped], [trial.error for trial in dropped]
    axes.plot(places, errors, "o", markersize=4, markerfacecolor="none", color=MUTED, alpha=0.6, zorder=2)
    axes.plot(place(best.params[name]), best.error, "o", color=COLOUR, markersize=8, zorder=5)
    bottom = best.loss - float(np.nan_to_num(best.std_error))
    align = {"ha": "center", "va": "top" if sign > 0 else "bottom"}
    label = f"best {best.error:.4f}\nat {value_text(best.params[name])}"
    _annotate(axes, label, (place(best.params[name]), sign * bottom), "data", "data", (0, -6 * sign), **align)
    axes.margins(x=0.1)
    top = _top([trial.loss + float(np.nan_to_num(trial.std_error)) for trial in tried], bottom)
    limits = bottom - 0.3 * (top - bottom), top + 0.05 * (top - bottom)
    axes.set_ylim(min(sign * limit for limit in limits), max(sign * limit for limit in limits))


def _top(errors: Sequence[float], bottom: float) -> float:
    """High enough for three quarters of the errors and those not much worse; the hopeless must not hide the rest."""
    usual = float(np.quantile(errors, 0.75))
    return max(error for error in errors if error <= usual + 2 * (usual - bottom))


def _scale(axes: Axes, values: Sequence[Any]) -> Callable[[Any], float]:
    """Places values on an axis: numbers by size, logarithmic if they span much; anything else in a row."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        if min(values) > 0 and max(values) >= 4 * min(values):
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_minor_locator(NullLocator())
        if len(set(values)) <= 7:
            ticks = sorted(set(values))
            axes.set_xticks(ticks, [value_text(tick) for tick in ticks])
        return float
    words = list(dict.fromkeys(map(value_text, values)))
    axes.set_xticks(range(len(words)), words)
    return lambda value: float(words.index(value_text(value)))


def _dress(axes: Axes, title: str, below: str) -> None:
    little_ink(axes, below)
    axes.set_title(title.upper(), loc="left", fontsize=10, color=INK, fontweight="bold")


def _annotate(
    axes: Axes, words: str, place: tuple[float, float], x: str, y: str, offset: tuple[float, float], **align: Any
) -> None:
    style: dict[str, Any] = {"color": COLOUR, "fontsize": 8.5, "linespacing": 1.3, "parse_math": False}
    axes.annotate(
        words,
        xy=place,
        xycoords=(x, y),
        xytext=offset,
        textcoords="offset points",
        annotation_clip=False,
        **align,
        **style,
    )
