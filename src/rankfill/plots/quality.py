"""Models side by side: the error of their predictions, the quality of their lists."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rankfill.plots.style import COLOURS, DPI, FAINT, INK, MUTED, PathLike, finish, finite


def quality_bars(
    models: Mapping[str, tuple[float | None, float | None]],
    path: PathLike | None = None,
    names: tuple[str, str] = ("RMSE, shorter is better", "NDCG@10, longer is better"),
) -> Figure:
    """Draws two bars for each model: the error of its predictions, the quality of its lists.

    Where no model has an error, or none a quality, that panel is left out.

    Parameters
    ----------
    models : mapping of str to tuple of two floats
        Error and quality of each model, from top to bottom; None where there is none.
    path : path, optional
        File to save the picture in; its ending says the format. By default it is not saved.
    names : tuple of two strings, default=("RMSE, shorter is better", "NDCG@10, longer is better")
        What the two are.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> figure = quality_bars({"Bias()": (0.94, 0.08), "Popularity()": (None, 0.17)})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['0.9400', '']
    """
    height = 1.0 + 0.34 * len(models)
    figure = Figure(figsize=(9.5, height), dpi=DPI, facecolor="white", layout="constrained")
    sides = [finite([pair[side] for pair in models.values()]) for side in (0, 1)]
    drawn = [side for side in (0, 1) if not np.isnan(sides[side]).all()] or [0, 1]
    panels = figure.subplots(1, len(drawn), sharey=True, squeeze=False)[0]
    for panel, side in zip(panels, drawn, strict=True):
        _bars(panel, sides[side], names[side], best=("min", "max")[side])
    panels[0].set_yticks(range(len(models)), list(models), fontsize=9, color=INK, parse_math=False)
    panels[0].set_ylim(len(models) - 0.4, -0.6)
    return finish(figure, path)


def _bars(axes: Axes, numbers: NDArray[np.float64], title: str, best: str) -> None:
    """One bar per value, the best in colour, its value at the end."""
    known = np.flatnonzero(~np.isnan(numbers))
    lengths = np.nan_to_num(numbers)
    colours = np.full(len(numbers), FAINT, dtype=object)
    if len(known):
        pick = np.argmin if best == "min" else np.argmax
        colours[known[pick(numbers[known])]] = COLOURS[0]
    axes.barh(range(len(numbers)), lengths, height=0.66, color=list(colours))
    longest = max(float(lengths.max(initial=0.0)), 1e-12)
    for row, value in enumerate(numbers):
        words = "" if np.isnan(value) else f"{value:.4f}"
        axes.text(lengths[row] + 0.012 * longest, row, words, va="center", fontsize=8.5, color=INK)
    axes.set_xlim(0, 1.16 * longest)
    axes.set_title(title, loc="left", fontsize=10, color=INK, fontweight="bold")
    axes.tick_params(length=0, labelsize=8.5, labelcolor=MUTED)
    axes.set_xticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
