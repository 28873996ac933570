"""Why a prediction is what it is: one bar per part."""

import textwrap
from collections.abc import Sequence
from typing import Any, Protocol

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankfill.models import Part
from rankfill.models.base.explanation import name_of_part, shown_parts
from rankfill.plots.style import COLOURS, DPI, FAINT, INK, MUTED, PathLike, finish
from rankfill.shown import shorten

_LONGEST = 38


class ExplanationLike(Protocol):
    """The part of a `rankfill.Explanation` that is drawn."""

    @property
    def score(self) -> float: ...
    @property
    def parts(self) -> Sequence[Part]: ...
    @property
    def ratings(self) -> Sequence[Part]: ...
    @property
    def titles(self) -> Any: ...
    def heading(self) -> str: ...


def reasons_plot(explanation: ExplanationLike, path: PathLike | None = None, n: int = 10) -> Figure:
    """Draws what each part adds to a prediction: to the right what speaks for it, to the left what speaks against it.

    Where the ratings of the user are known they are drawn; elsewhere the parts. Each bar begins where the one above it
    ends, so that the last one ends at the prediction.

    Parameters
    ----------
    explanation : Explanation
        What `model.explain` returns.
    path : path, optional
        File to save the picture in; its ending says the format. By default it is not saved.
    n : int, default=10
        How many parts beside level and effects are drawn; the others are added up in one bar.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 2, 4])
    >>> figure = reasons_plot(rf.Bias().fit(ratings).explain("bob", "milk"))
    >>> len(figure.axes[0].patches)
    3
    """
    known = [part for part in explanation.ratings if part.contribution == part.contribution]
    parts = shown_parts(known or explanation.parts, n)
    figure = Figure(figsize=(7.0, 1.1 + 0.27 * len(parts)), dpi=DPI, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    _draw(axes, parts, explanation.titles)
    heading = "\n".join(textwrap.wrap(shorten(explanation.heading(), 150), 80))
    style: dict[str, Any] = {"fontsize": 9, "color": INK, "fontweight": "bold", "parse_math": False}
    figure.suptitle(heading, x=0.01, horizontalalignment="left", **style)
    return finish(figure, path)


def _draw(axes: Axes, parts: Sequence[Part], titles: Any) -> None:
    total, ends = 0.0, [0.0]
    for place, part in enumerate(parts):
        colour = MUTED if part.kind in ("level", "rest") else COLOURS[0] if part.contribution >= 0 else COLOURS[1]
        axes.barh(place, part.contribution, left=total, height=0.7, color=colour)
        total += part.contribution
        ends.append(total)
    # The common level is cut off: what differs between parts would be too small to see beside it.
    others = ends[2:] if parts and parts[0].kind == "level" and len(parts) > 1 else ends
    low, high = min(others + ends[1:2]), max(others + ends[1:2])
    room = 0.08 * (high - low) or 1.0
    axes.set_xlim(low - 3 * room, high + 3 * room)
    for place, (part, start, end) in enumerate(zip(parts, ends[:-1], ends[1:], strict=True)):
        words = f"{part.contribution:+.2f}".replace("-", "−")
        axes.annotate(
            words,
            (max(start, end), place),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=MUTED,
        )
    names = [shorten(name_of_part(part, titles), _LONGEST) for part in parts]
    ratings = ["" if part.rating is None else f"  {part.rating:g}" for part in parts]
    axes.set_yticks(
        range(len(parts)), [name + rating for name, rating in zip(names, ratings, strict=True)], parse_math=False
    )
    axes.set_ylim(len(parts) - 0.4, -0.6)
    axes.axvline(total, color=FAINT, linewidth=1.5, zorder=0)
    axes.set_xlabel("prediction", fontsize=9, color=MUTED)
    axes.tick_params(length=0, labelsize=8.5, labelcolor=INK)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(MUTED)
