"""The figures of the experiment with faces: pictures side by side, and errors against time and samples."""

import os
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

from rankfill.experiments.faces import Filled, Holes
from rankfill.plots.style import COLOURS, DPI, FAINT, INK, MUTED, finish

PathLike = str | os.PathLike[str]
ACROSS = 3
"""The number of faces side by side in a panel, and on top of each other."""


def side_by_side(holes: Holes, results: Sequence[Filled], path: PathLike | None = None) -> Figure:
    """Draws the same nine faces with the pixels missing, as each method filled them in, and as they are (Figure 2)."""
    n = holes.pictures.shape[1]
    chosen = np.linspace(0, n - 1, min(n, ACROSS**2)).round().astype(int)
    panels = [
        ("with holes", "{:.1f} dB", holes.blacken()),
        *((result.name, f"{result.passes} passes, {{:.1f}} dB", result.pictures) for result in results),
        ("as they are", "", holes.pictures),
    ]
    size, spacing = (2.4 * len(panels), 3.0), ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.1)
    figure = Figure(figsize=size, dpi=DPI, facecolor="white", layout=spacing)
    for number, (name, words, pictures) in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), number + 1)
        axes.imshow(_tiles(pictures[:, chosen]), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axes.set_axis_off()
        axes.set_title(name, fontsize=10, color=INK, fontweight="bold", pad=16)
        ratio = words.format(holes.snr(pictures)[0]) if words else ""
        axes.text(0.5, 1.02, ratio, transform=axes.transAxes, ha="center", fontsize=8.5, color=MUTED)
    return finish(figure, path)


def errors(results: Sequence[Filled], path: PathLike | None = None) -> Figure:
    """Root mean square error over all pixels, against the time spent learning and the columns read (Figure 1)."""
    figure = Figure(figsize=(9, 3.6), dpi=DPI, facecolor="white", layout="constrained")
    for number, words in enumerate(("seconds of learning", "columns read")):
        axes = figure.add_subplot(1, 2, number + 1)
        for result, colour in zip(results, COLOURS, strict=False):
            places = [point.samples if number else point.seconds for point in result.curve]
            heights = [point.error for point in result.curve]
            axes.plot(places, heights, color=colour, linewidth=1.6, marker="o", markersize=2.5, label=result.name)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(words, fontsize=9, color=MUTED)
        axes.yaxis.set_major_formatter("{x:.2f}")
        axes.yaxis.set_minor_formatter("{x:.2f}")
        axes.tick_params(which="both", length=0, labelsize=8.5, labelcolor=MUTED)
        axes.grid(which="both", axis="y", color=FAINT, linewidth=0.8)
        for side, spine in axes.spines.items():
            spine.set_visible(side == "bottom")
            spine.set_color(MUTED)
        if number == 0:
            axes.set_title("RMS error of the pixels", loc="left", fontsize=10, color=INK, fontweight="bold")
        else:
            axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)
    return finish(figure, path)


def _tiles(pictures: NDArray[np.float32]) -> NDArray[np.float32]:
    """Pictures of √n × √n pixels, a column each, as one picture of `ACROSS` a row, white between them."""
    side = round(len(pictures) ** 0.5)
    rows = -(-pictures.shape[1] // ACROSS)
    tiled = np.ones((rows * (side + 1) - 1, ACROSS * (side + 1) - 1), np.float32)
    for number, picture in enumerate(pictures.T):
        top, left = (side + 1) * (number // ACROSS), (side + 1) * (number % ACROSS)
        tiled[top : top + side, left : left + side] = picture.reshape(side, side)
    return tiled
