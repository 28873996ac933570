"""Pictures beside each other with a line of words over each."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rankfill.data.atomic import whole_file

_INK, _DPI, _INCHES = "#22252b", 150, 4.0


def side_by_side(pictures: Mapping[str, NDArray[Any]], path: str | os.PathLike[str] | None = None) -> Figure:
    """Draws pictures of one size beside each other, with a title over each. No pixel is smoothed.

    Parameters
    ----------
    pictures : mapping of str to ndarray
        Pictures by their titles.
    path : path, optional
        File to save the figure in; its ending says the format. By default it is not saved.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> figure = side_by_side({"black": np.zeros((4, 6), np.uint8), "white": np.full((4, 6), 255, np.uint8)})
    >>> [axes.get_title() for axes in figure.axes]
    ['black', 'white']
    """
    height, width = next(iter(pictures.values())).shape[:2]
    n_columns = len(pictures) if len(pictures) <= 4 else -(-len(pictures) // 2)
    n_rows = -(-len(pictures) // n_columns)
    size = (_INCHES * n_columns, n_rows * (_INCHES * height / width + 0.35))
    figure = Figure(figsize=size, dpi=_DPI, facecolor="white", layout="constrained")
    grid = np.atleast_1d(figure.subplots(n_rows, n_columns)).ravel()
    for axes in grid:
        axes.set_axis_off()
    for axes, (title, picture) in zip(grid, pictures.items(), strict=False):
        axes.imshow(_drawable(picture), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axes.set_title(title, fontsize=10, color=_INK)
    if path is not None:
        with whole_file(path) as temporary:
            figure.savefig(temporary, format=Path(path).suffix[1:].lower() or "png")
    return figure


def _drawable(picture: NDArray[Any]) -> NDArray[np.float64]:
    """Between 0 and 1; grey with transparency as colours with transparency."""
    numbers = np.nan_to_num(picture.astype(np.float64))
    scaled = numbers / np.iinfo(picture.dtype).max if picture.dtype.kind in "ui" else np.clip(numbers, 0, 1)
    if scaled.ndim == 3 and scaled.shape[2] == 1:
        return np.asarray(scaled[..., 0])
    return scaled[..., [0, 0, 0, 1]] if scaled.ndim == 3 and scaled.shape[2] == 2 else scaled
