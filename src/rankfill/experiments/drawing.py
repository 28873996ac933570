"""The common style of the figures: lines that differ in colour, marker and dash, and named axes."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from numpy.typing import ArrayLike

from rankfill.plots.style import DPI, FAINT, INK, MUTED

LOOKS = (
    ("#0072b2", "o", "-"),
    ("#d55e00", "s", "--"),
    ("#009e73", "^", "-."),
    ("#cc79a7", "D", ":"),
    ("#e69f00", "v", "-"),
    ("#56b4e9", "P", "--"),
    ("#000000", "x", "-."),
)
"""Colours of Okabe and Ito, which the colour-blind can tell apart; markers and dashes for those who see none."""
MOST_MARKERS = 12


def panels(columns: int, rows: int = 1, width: float = 4.3, height: float = 3.3) -> tuple[Figure, list[Axes]]:
    """An empty figure of so many panels, from the upper left, row by row."""
    figure = Figure(figsize=(width * columns, height * rows), dpi=DPI, facecolor="white", layout="constrained")
    return figure, [figure.add_subplot(rows, columns, number + 1) for number in range(rows * columns)]


def line(
    axes: Axes,
    x: ArrayLike,
    y: ArrayLike,
    look: int,
    label: str,
    spread: ArrayLike | None = None,
    *,
    faint: bool = False,
) -> None:
    """A line with its own look; `spread` shades as much above and below it, and `faint` stands back with hollow marks.

    Later looks are thinner, with smaller marks, so that a line under another of the same course is still seen.
    """
    colour, marker, dashes = LOOKS[look % len(LOOKS)]
    places, heights = np.asarray(x, np.float64), np.asarray(y, np.float64)
    every = max(1, len(places) // MOST_MARKERS)
    axes.plot(
        places,
        heights,
        color=colour,
        marker=marker,
        markerfacecolor="white" if faint else colour,
        linestyle=dashes,
        linewidth=max(1.2, 2.4 - 0.5 * look) if not faint else 0.9,
        markevery=every,
        markersize=max(4.0, 7.5 - 1.5 * look) if not faint else 5.0,
        label=label,
    )
    if spread is not None:
        half = np.asarray(spread, np.float64)
        axes.fill_between(places, heights - half, heights + half, color=colour, alpha=0.15, linewidth=0)


def name_axes(axes: Axes, title: str, below: str, left: str, log: str = "", *, legend: bool = True) -> None:
    """Words for the panel and its axes; `log` names the axes with a logarithmic scale, such as "xy"."""
    axes.set_title(title, loc="left", fontsize=10, color=INK, fontweight="bold")
    axes.set_xlabel(below, fontsize=9, color=INK)
    axes.set_ylabel(left, fontsize=9, color=INK)
    if "x" in log:
        axes.set_xscale("log")
        _few_ticks(axes.xaxis)
    if "y" in log:
        axes.set_yscale("log")
        _few_ticks(axes.yaxis)
    axes.tick_params(which="both", length=0, labelsize=8, labelcolor=MUTED)
    axes.grid(color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("bottom", "left"))
        spine.set_color(MUTED)
    if legend:
        axes.legend(frameon=False, fontsize=8, labelcolor=INK)


def whole_numbers(axes: Axes) -> None:
    """Below the panel only whole numbers: ranks, starts, passes."""
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _few_ticks(axis: Axis) -> None:
    """Numbers at powers of ten; within less than two of them at 1, 2 and 5 as well, and none at their neighbours."""
    low, high = axis.get_view_interval()
    if high < 100 * low:
        subs = (1.0, 2.0, 5.0) if high > 5 * low else (1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def dots(axes: Axes, values: dict[str, float], looks: Sequence[int], form: str = "{:.3f}") -> None:
    """One dot per name, the first on top, each with its number; two looks tell groups apart."""
    for place, ((_, value), look) in enumerate(zip(values.items(), looks, strict=True)):
        colour, marker, _ = LOOKS[look]
        axes.plot(value, place, color=colour, marker=marker, markersize=6.5, linestyle="none")
        words = {"xytext": (7, 0), "textcoords": "offset points", "va": "center", "fontsize": 8, "color": INK}
        axes.annotate(form.format(value), (value, place), **words)  # type: ignore[arg-type]
    axes.set_yticks(range(len(values)), list(values))
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.margins(x=0.12)
