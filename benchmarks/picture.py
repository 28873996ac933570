"""The error on the test ratings against the time it took to get there, a curve a system."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from benchmarks.results import Comparison, Measurement
from benchmarks.rivals import RIVALS

INK, MUTED, FAINT = "#22252b", "#6f7681", "#e9ebee"
OWN = ("#c8401f", "#e0916f")
OTHERS = ("#1f5f9e", "#3b8a5a", "#8a5a9e", "#a3832b", "#4a8f9c", "#7a6a5f", "#5b6b95")


def error_against_time(found: Comparison, path: Path) -> Figure:
    """Draws and saves. A dot is one number of passes, each with the settings tuned for it; a ring marks the best."""
    figure = Figure(figsize=(9.2, 5.4), dpi=150, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    own, others = iter(OWN), iter(OTHERS * 3)
    labels = []
    for rival, curve in found.curves().items():
        is_own = rival.startswith("rankfill")
        colour = next(own, INK) if is_own else next(others)
        labels.append(_draw(axes, curve, found.measure, RIVALS[rival].name, colour, is_own))
    _dress(axes, found)
    _label(figure, axes, labels)
    figure.savefig(path)
    return figure
