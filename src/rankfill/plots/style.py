"""The common style of the pictures: colours, axes with little ink, words at the ends of lines."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from rankfill.data.atomic import whole_file

PathLike = str | os.PathLike[str]

INK, MUTED, FAINT = "#22252b", "#6f7681", "#e4e7eb"
COLOURS = ("#1f5f9e", "#c4622d", "#3b8a5a", "#8a5a9e", "#a3832b", "#4a8f9c")
DPI = 150


def little_ink(axes: Axes, below: str) -> None:
    """Draws faint lines at round heights, no frame, and the name of what is below."""
    axes.set_xlabel(below, fontsize=9, color=MUTED)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    axes.tick_params(length=0, labelsize=8.5, labelcolor=MUTED)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(MUTED)


def label_ends(axes: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Writes words to the right of each line, moved apart where they would overlap."""
    low, high = axes.get_ylim()
    wanted = np.array([(height - low) / (high - low) for height, _, _ in ends])
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


def finish(figure: Figure, path: PathLike | None) -> Figure:
    """Writes the figure to a file where one is given, and returns it."""
    if path is not None:
        with whole_file(path) as temporary:
            figure.savefig(temporary, format=Path(path).suffix[1:].lower() or "png")
    return figure


def finite(errors: Sequence[float | None]) -> NDArray[np.float64]:
    """NaN for what was not measured or has run away."""
    values = np.array(errors, dtype=np.float64)
    return np.where(np.isfinite(values), values, np.nan)


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
