"""The topics of a model, one panel each."""

import bisect
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import TextToPath

from rankfill.plots.style import DPI, INK, MUTED, PathLike, finish

BAR, BAR_BELOW_ZERO = "#cfdff0", "#f3d9cb"
SMALL = 8
PANEL_WIDTHS = {1: 5.0, 2: 4.0, 3: 10 / 3}
"""Inches, by the number of columns; three make 1500 pixels."""
PANEL_PAD = 0.12


class TopicLike(Protocol):
    """The part of a `rankfill.Topic` that is drawn."""

    @property
    def factor(self) -> int: ...
    @property
    def titles(self) -> Sequence[str]: ...
    @property
    def weights(self) -> Sequence[float]: ...
    @property
    def share(self) -> float: ...


def topics_plot(topics: Sequence[TopicLike], path: PathLike | None = None) -> Figure:
    """Draws one panel per topic with one bar per item, all on one scale.

    The heading of a panel is the label or the number of the topic, and the share of the mean prediction it carries.
    Negative weights point the same way in another colour. Titles that do not fit are shortened.

    Parameters
    ----------
    topics : sequence of Topic
        What `rankfill.topics` returns, or some of it; at least one.
    path : path, optional
        File to save the picture in; its ending says the format. By default it is not saved.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import rankfill as rf
    >>> horror, romance = rf.Topic(0, (7,), ("Alien",), (2.1,), 0.52), rf.Topic(1, (3,), ("Emma",), (1.9,), 0.48)
    >>> len(topics_plot([horror, romance]).axes)
    2
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
        alone = number == 0 and not getattr(topic, "label", "")
        share = f"{100 * topic.share:.1f} %" + (" of the mean prediction" if alone else "")
        axes.set_title(share, loc="right", fontsize=8.5, color=MUTED, pad=4)
    return finish(figure, path)


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
        axes.text(3 * right / width, height, _shorten(title, for_bars - 6), color=INK, **style)
        axes.text(right, height, number, color=MUTED, ha="right", **style)
    if not numbers:
        axes.text(0, 0, "no items", color=MUTED, **style)
    label = getattr(topic, "label", "")
    name = _shorten(label, 0.55 * width) if label else f"Topic {topic.factor}"
    axes.set_title(name, loc="left", fontsize=9, color=INK, fontweight="bold", pad=4)
    axes.set_xlim(0, right)
    axes.set_ylim(n_bars - 0.5, -0.5)
    axes.set_axis_off()


def _shorten(title: str, width: float) -> str:
    """The title on one line, cut with "…" to a width in points."""
    words = " ".join(str(title).split())
    if _text_width(words) <= width:
        return words
    fits = bisect.bisect_right(range(len(words)), width, key=lambda n: _text_width(words[:n] + "…"))
    return words[: max(fits - 1, 0)].rstrip() + "…"


def _text_width(words: str) -> float:
    """The width in points, at the small size."""
    width, _, _ = TextToPath().get_text_width_height_descent(words, FontProperties(size=SMALL), ismath=False)
    return float(width)
