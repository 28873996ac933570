"""What the figures have in common: lines that differ in colour, marker and dash, and named axes."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
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


def line(axes: Axes, x: ArrayLike, y: ArrayLike, look: int, label: str, spread: ArrayLike | None = None) -> None:
    """A line with its own look; `spread` shades as much above and below it."""
    colour, marker, dashes = LOOKS[look % len(LOOKS)]
    places, heights = np.asarray(x, np.float64), np.asarray(y, np.float64)
    every = max(1, len(places) // MOST_MARKERS)
    axes.plot(
        places, heights, color=colour, marker=marker, linestyle=dashes, markevery=every, markersize=4.5, label=label
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
    if "y" in log:
        axes.set_yscale("log")
    axes.tick_params(which="both", length=0, labelsize=8, labelcolor=MUTED)
    axes.grid(color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("bottom", "left"))
        spine.set_color(MUTED)
    if legend:
        axes.legend(frameon=False, fontsize=8, labelcolor=INK)


def bars(axes: Axes, groups: Sequence[str], values: dict[str, Sequence[float]]) -> None:
    """Groups of bars side by side, one look a name, each with its number."""
    width = 0.8 / len(values)
    for number, (name, heights) in enumerate(values.items()):
        places = np.arange(len(groups)) + (number - (len(values) - 1) / 2) * width
        hatch = ("", "//", "..", "xx", "--", "++")[number % 6]
        drawn = axes.bar(places, heights, 0.92 * width, color=LOOKS[number][0], label=name, hatch=hatch, alpha=0.85)
        axes.bar_label(drawn, fmt="{:.3g}", fontsize=7, color=INK)
    axes.set_xticks(np.arange(len(groups)), groups)
