"""Pictures of how a model learned and of what it found. They are plain `Figure`s: no window, no global state."""

import bisect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import TextToPath
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter
from numpy.typing import NDArray

from rankfill.models import EpochReport, Model

History = Sequence[EpochReport]
PathLike = str | os.PathLike[str]

INK, MUTED, FAINT = "#22252b", "#6f7681", "#e4e7eb"
COLOURS = ("#1f5f9e", "#c4622d", "#3b8a5a", "#8a5a9e", "#a3832b", "#4a8f9c")
BAR, BAR_BELOW_ZERO = "#cfdff0", "#f3d9cb"
DPI, SMALL = 150, 8
PANEL_WIDTHS = {1: 5.0, 2: 4.0, 3: 10 / 3}
"""Inches, by the number of columns; three make 1500 pixels."""
PANEL_PAD = 0.12


class TopicLike(Protocol):
    """What is drawn of a topic; `rankfill.topics` gives such."""

    @property
    def factor(self) -> int: ...
    @property
    def titles(self) -> Sequence[str]: ...
    @property
    def weights(self) -> Sequence[float]: ...
    @property
    def share(self) -> float: ...


class PathStepLike(Protocol):
    """What is drawn of a step of a path; `rankfill.path` gives such."""

    @property
    def penalty(self) -> float: ...
    @property
    def rank(self) -> int: ...
    @property
    def train(self) -> float: ...
    @property
    def validation(self) -> float | None: ...


def learning_curve(
    histories: Model | History | Sequence[Model] | Mapping[str, Model | History],
    path: PathLike | None = None,
    baseline: float | Mapping[str, float] | None = None,
) -> Figure:
    """Training and validation error, pass by pass, of one model or several; saved as a picture when given a path.

    Takes a fitted model, its `history_`, a list of models, or a mapping from names to either. A dot marks the pass
    with the lowest validation error. With one model the upper axis tells the time spent learning. `baseline` is an
    error to beat, drawn as a dashed line: a number, or a mapping such as {"bias": 0.94} for other labels.

    >>> reports = [EpochReport(1, 0.1, 9.0, 1.2, 1.3), EpochReport(2, 0.2, 8.0, 0.9, 1.1)]
    >>> figure = learning_curve(reports, baseline={"bias": 1.0})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['validation 1.1000', 'training 0.9000', 'bias 1.0000']
    """
    curves = _named(histories)
    figure = Figure(figsize=(7.5, 4.2), dpi=DPI, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    ends: list[tuple[float, str, str]] = []
    for number, (name, history) in enumerate(curves.items()):
        ends += _draw_history(axes, history, COLOURS[number % len(COLOURS)], name if len(curves) > 1 else "")
    levels = baseline if isinstance(baseline, Mapping) else {} if baseline is None else {"baseline": baseline}
    for name, level in levels.items():
        axes.axhline(level, color=MUTED, linewidth=1, linestyle=(0, (5, 4)), zorder=1)
        ends.append((level, f"{name} {level:.4f}", MUTED))
    timed = len(curves) == 1 and _time_axis(axes, next(iter(curves.values())))
    _dress(axes, curves, title_pad=16 if timed else 8)
    _label_ends(axes, ends)
    return saved(figure, path)


def topics_plot(topics: Sequence[TopicLike], path: PathLike | None = None) -> Figure:
    """A panel a topic, a bar an item, all on one scale; saved as a picture when given a path.

    The share of the mean prediction that the topic carries stands in the heading. Negative weights point the
    same way in another colour. Titles that do not fit are shortened.
    """
    if len(topics) == 0:
        raise ValueError("there are no topics to draw; give at least one")
    n_columns = 2 if len(topics) in (2, 4) else min(len(topics), 3)
    n_rows = -(-len(topics) // n_columns)
    n_bars = max(1, *(len(topic.titles) for topic in topics))
    width = PANEL_WIDTHS[n_columns]
    spacing = ConstrainedLayoutEngine(w_pad=PANEL_PAD, h_pad=0.08)
    size = (n_columns * width, n_rows * (0.5 + 0.2 * n_bars))
    figure = Figure(figsize=size, dpi=DPI, facecolor="white", layout=spacing)
    longest = max((abs(weight) for topic in topics for weight in topic.weights), default=0.0) or 1.0
    for number, topic in enumerate(topics):
        axes = figure.add_subplot(n_rows, n_columns, number + 1)
        _draw_topic(axes, topic, n_bars, longest, 72 * (width - 2 * PANEL_PAD))
        share = f"{100 * topic.share:.1f} %" + (" of the mean prediction" if number == 0 else "")
        axes.set_title(share, loc="right", fontsize=8.5, color=MUTED, pad=4)
    return saved(figure, path)


def penalty_path(steps: Sequence[PathStepLike], path: PathLike | None = None) -> Figure:
    """Errors above, rank below, against the penalty; a dot marks the lowest validation error.

    >>> from rankfill.evaluation import PathStep
    >>> figure = penalty_path([PathStep(4.0, 1, 1.1, 1.2, 1e-4, 0.1), PathStep(2.0, 5, 0.9, 1.1, 1e-4, 0.1)])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['training 0.9000', 'validation 1.1000\\nbest at penalty 2']
    """
    figure = Figure(figsize=(7.5, 5.2), dpi=DPI, facecolor="white", layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    penalties = [step.penalty for step in steps]
    training, validation = (_finite([getattr(step, name) for step in steps]) for name in ("train", "validation"))
    ends = [(float(training[-1]), f"training {training[-1]:.4f}", MUTED)]
    above.plot(penalties, training, color=MUTED, linewidth=1.2, marker="o", markersize=3)
    if not np.isnan(validation).all():
        best = int(np.nanargmin(validation))
        above.plot(penalties, validation, color=COLOURS[0], linewidth=1.8, marker="o", markersize=3)
        above.plot(penalties[best], validation[best], "o", color=COLOURS[0], markersize=7)
        words = f"validation {validation[best]:.4f}\nbest at penalty {penalties[best]:.4g}"
        ends.append((float(validation[-1]), words, COLOURS[0]))
    below.plot(penalties, [step.rank for step in steps], color=COLOURS[1], linewidth=1.8, marker="o", markersize=3)
    for axes, title, words in ((above, "RMSE", ""), (below, "RANK", "penalty, falling")):
        little_ink(axes, words)
        axes.set_title(title, loc="left", fontsize=10, color=INK, fontweight="bold")
        axes.margins(y=0.08)
    below.set_xscale("log")
    below.invert_xaxis()
    below.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5) if max(penalties) < 1000 * min(penalties) else (1,)))
    below.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    below.xaxis.set_minor_locator(NullLocator())
    _label_ends(above, ends)
    return saved(figure, path)


def _named(histories: Any) -> dict[str, History]:
    """Each history under its name; models of the same kind are told apart by a number."""
    if isinstance(histories, Mapping):
        named = dict(histories)
    elif isinstance(histories, Model):
        named = {type(histories).__name__: histories}
    elif len(histories) and isinstance(histories[0], Model):
        kinds = [type(model).__name__ for model in histories]
        named = {
            kind if kinds.count(kind) == 1 else f"{kind} {1 + kinds[:number].count(kind)}": model
            for number, (kind, model) in enumerate(zip(kinds, histories, strict=True))
        }
    else:
        named = {"history": histories}
    curves: dict[str, History] = {}
    for name, source in named.items():
        if isinstance(source, Model):
            source._check_fitted()
        curves[name] = source.history_ if isinstance(source, Model) else source
        if len(curves[name]) == 0:
            raise ValueError(f"{name} has no passes to draw; fit the model first")
    if not curves:
        raise ValueError("there is nothing to draw; give at least one fitted model")
    measures = {report.measure for history in curves.values() for report in history}
    if len(measures) > 1:
        raise ValueError(f"one picture shows one measure, found {' and '.join(sorted(measures))}; draw them apart")
    return curves


def _draw_history(axes: Axes, history: History, colour: str, name: str) -> list[tuple[float, str, str]]:
    """Draws both errors and returns the labels for the ends of the lines: height, words, colour."""
    passes = np.array([report.epoch for report in history])
    training = _finite([report.train for report in history])
    validation = _finite([report.validation for report in history])
    dots: dict[str, Any] = {"marker": "o", "markersize": 3} if len(history) <= 15 else {}
    ends = []
    measured = np.flatnonzero(~np.isnan(validation))
    if len(measured):
        axes.plot(passes, validation, color=colour, linewidth=1.8, zorder=4, **dots)
        best = measured[np.argmin(validation[measured])]
        axes.plot(passes[best], validation[best], "o", color=colour, markersize=6, zorder=5)
        last = float(validation[measured[-1]])
        lowest = f"{validation[best]:.4f} at pass {passes[best]}"
        words = f"validation {last:.4f}" + (f"\nbest {lowest}" if validation[best] < last else "")
        ends.append((last, f"{name}: {lowest}" if name else words, colour))
    strength: dict[str, Any] = {"linewidth": 1.2, "alpha": 0.5} if ends else {"linewidth": 1.8}
    axes.plot(passes, training, color=colour, zorder=3, **strength, **dots)
    if not np.isnan(training).all() and not (name and ends):
        last = float(training[~np.isnan(training)][-1])
        words = f"{name}: {last:.4f} in training" if name else f"training {last:.4f}"
        ends.append((last, words, MUTED if ends else colour))
    return ends


def _finite(errors: Sequence[float | None]) -> NDArray[np.float64]:
    """NaN for what was not measured or has run away."""
    values = np.array(errors, dtype=np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _dress(axes: Axes, curves: Mapping[str, History], title_pad: float) -> None:
    """Axes with little ink: passes below, the name of the measure over faint lines."""
    last = max(history[-1].epoch for history in curves.values())
    margin = 0.02 * (last - 1) or 0.5
    axes.set_xlim(1 - margin, last + margin)
    round_passes = MaxNLocator(integer=True, nbins=8, steps=[1, 2, 5, 10]).tick_values(1, last)
    axes.set_xticks([1, *(tick for tick in round_passes if 1 < tick <= last)])
    little_ink(axes, "pass")
    axes.margins(y=0.08)
    measure = next(iter(curves.values()))[0].measure
    axes.set_title(measure.upper(), loc="left", fontsize=10, color=INK, fontweight="bold", y=1, pad=title_pad)
    if len(curves) > 1 and any(report.validation is not None for history in curves.values() for report in history):
        axes.set_title("bold: validation, thin: training", loc="right", fontsize=8.5, color=MUTED, y=1, pad=title_pad)


def little_ink(axes: Axes, below: str) -> None:
    """Faint lines at round heights, no frame, the name of what is below."""
    axes.set_xlabel(below, fontsize=9, color=MUTED)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    axes.tick_params(length=0, labelsize=8.5, labelcolor=MUTED)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(MUTED)


def _label_ends(axes: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Words to the right of each line, moved apart where they would overlap."""
    low, high = axes.get_ylim()
    wanted = np.array([(level - low) / (high - low) for level, _, _ in ends])
    needed = np.array([0.055 * (1 + words.count("\n")) for _, words, _ in ends])
    for (_, words, colour), height in zip(ends, _apart(wanted, needed), strict=True):
        place: dict[str, Any] = {
            "xy": (1, height),
            "xycoords": "axes fraction",
            "xytext": (7, 0),
            "textcoords": "offset points",
        }
        style: dict[str, Any] = {
            "color": colour,
            "fontsize": 8.5,
            "va": "center",
            "linespacing": 1.35,
            "parse_math": False,
        }
        axes.annotate(words, **place, **style, annotation_clip=False)


def _apart(wanted: NDArray[np.float64], needed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Heights near the wanted ones, from 0 up, in which labels of the needed sizes do not overlap."""
    placed = np.maximum(wanted, needed / 2)
    order = np.argsort(wanted, kind="stable")
    gaps = (needed[order][:-1] + needed[order][1:]) / 2
    for _ in range(100):
        for below, above, gap in zip(order[:-1], order[1:], gaps, strict=True):
            overlap = max(0.0, gap - (placed[above] - placed[below]))
            down = min(overlap / 2, placed[below] - needed[below] / 2)
            placed[below] -= down
            placed[above] += overlap - down
    return placed


def _time_axis(axes: Axes, history: History) -> bool:
    """The time spent learning, at the passes reached by then; whether there was any to show."""
    seconds = np.array([report.seconds for report in history])
    if len(history) < 2 or not seconds[-1] > seconds[0]:
        return False
    units = (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3))
    unit, length = next((each for each in units if seconds[-1] >= 2 * each[1]), units[-1])
    ticks = np.array(MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(seconds[0] / length, seconds[-1] / length))
    ticks = ticks[(ticks * length >= seconds[0]) & (ticks * length <= seconds[-1])]
    places = np.interp(ticks * length, seconds, [report.epoch for report in history])
    apart = np.diff(places, prepend=-np.inf) > 0.08 * (history[-1].epoch - 1)
    above = axes.secondary_xaxis("top")
    above.set_xticks(places[apart], [f"{tick:g} {unit}" for tick in ticks[apart]])
    above.set_xlabel("learning time", fontsize=9, color=MUTED)
    above.tick_params(length=0, labelsize=8.5, labelcolor=MUTED)
    above.spines["top"].set_visible(False)
    return True


def _draw_topic(axes: Axes, topic: TopicLike, n_bars: int, longest: float, width: float) -> None:
    """Titles are written over pale bars: that leaves them the width of the panel, given in points."""
    decimals = max(0, 2 - int(np.floor(np.log10(longest))))
    numbers = [f"{weight:.{decimals}f}".replace("-", "−") for weight in topic.weights]
    for_bars = width - _text_width(f"−{longest:.{decimals}f}") - 6
    right = longest * width / for_bars
    colours = [BAR if weight >= 0 else BAR_BELOW_ZERO for weight in topic.weights]
    axes.barh(range(len(numbers)), np.abs(topic.weights), height=0.82, color=colours)
    style: dict[str, Any] = {"va": "center_baseline", "fontsize": SMALL, "parse_math": False, "in_layout": False}
    for height, (title, number) in enumerate(zip(topic.titles, numbers, strict=True)):
        axes.text(3 * right / width, height, _shortened(title, for_bars - 6), color=INK, **style)
        axes.text(right, height, number, color=MUTED, ha="right", **style)
    if not numbers:
        axes.text(0, 0, "no items", color=MUTED, **style)
    axes.set_title(f"Topic {topic.factor}", loc="left", fontsize=9, color=INK, fontweight="bold", pad=4)
    axes.set_xlim(0, right)
    axes.set_ylim(n_bars - 0.5, -0.5)
    axes.set_axis_off()


def _shortened(title: str, width: float) -> str:
    """The title on one line, cut with "…" to a width in points."""
    words = " ".join(str(title).split())
    if _text_width(words) <= width:
        return words
    fits = bisect.bisect_right(range(len(words)), width, key=lambda n: _text_width(words[:n] + "…"))
    return words[: max(fits - 1, 0)].rstrip() + "…"


def _text_width(words: str) -> float:
    """In points, at the small size."""
    width, _, _ = TextToPath().get_text_width_height_descent(words, FontProperties(size=SMALL), ismath=False)
    return float(width)


def saved(figure: Figure, path: PathLike | None) -> Figure:
    """The figure, written to a file where one is given."""
    if path is not None:
        figure.savefig(path, format=Path(path).suffix[1:].lower() or "png")
    return figure
