"""The errors and ranks along a path of penalties."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from rankfill.plots.style import COLOURS, DPI, INK, MUTED, PathLike, finish, finite, label_ends, little_ink


class PathStepLike(Protocol):
    """The part of a step of `rankfill.path` that is drawn."""

    @property
    def penalty(self) -> float: ...
    @property
    def rank(self) -> int: ...
    @property
    def train(self) -> float: ...
    @property
    def validation(self) -> float | None: ...


def penalty_path(steps: Sequence[PathStepLike], path: PathLike | None = None) -> Figure:
    """Draws errors and rank against the penalty; a dot marks the lowest validation error.

    Parameters
    ----------
    steps : sequence of PathStep
        What `rankfill.path` returns.
    path : path, optional
        File to save the picture in; its ending says the format. By default it is not saved.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from rankfill.evaluation import PathStep
    >>> figure = penalty_path([PathStep(4.0, 1, 1.1, 1.2, 1e-4, 0.1), PathStep(2.0, 5, 0.9, 1.1, 1e-4, 0.1)])
    >>> [text.get_text().split()[0] for text in figure.axes[0].texts]
    ['training', 'validation']
    """
    figure = Figure(figsize=(7.5, 5.2), dpi=DPI, facecolor="white", layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    penalties = [step.penalty for step in steps]
    training, validation = (finite([getattr(step, name) for step in steps]) for name in ("train", "validation"))
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
    label_ends(above, ends)
    return finish(figure, path)
