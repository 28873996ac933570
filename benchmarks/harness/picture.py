"""The error on the test ratings against the time it took to get there, one curve per system."""

from dataclasses import dataclass, replace
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from benchmarks.harness.results import Comparison, Measurement
from benchmarks.rivals import REFERENCE

INK, MUTED, FAINT = "#22252b", "#6f7681", "#e9ebee"
OWN = ("#c8401f", "#e58a3a", "#b5305a", "#8f2d1f", "#d46a8c", "#a0622d")
FEW = 5
LONG, NEW_LINE = 20, "\n"  # a longer name has its error below it
OTHERS = ("#1f5f9e", "#3b8a5a", "#8a5a9e", "#a3832b", "#4a8f9c", "#7a6a5f", "#5b6b95")


@dataclass(frozen=True)
class Curve:
    """What is drawn of one system: seconds (lowest, median, highest) and errors by number of passes."""

    name: str
    own: bool
    passes: list[int]
    seconds: NDArray[np.float64]
    errors: NDArray[np.float64]
    colour: str = INK

    @classmethod
    def of(cls, points: list[Measurement], measure: str, own: bool) -> "Curve":
        times = [point.spreads()["fit_seconds"] for point in points]
        seconds = np.array([[time.low, time.median, time.high] for time in times])
        errors = np.array([point.spreads()[measure].median for point in points])
        return cls(points[0].name, own, [point.plan.passes for point in points], seconds, errors)


def error_against_time(found: Comparison, path: Path) -> Figure:
    """Draws and saves. A dot is one number of passes, with the settings tuned for it; the large dot the best."""
    figure = Figure(figsize=(9.2, 5.4), dpi=130, facecolor="white", layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    curves = _worth_drawing(found)
    for curve in curves:
        _draw(axes, curve)
    _dress(axes, found, curves)
    canvas.draw()  # settles the layout, so that labels can be placed by pixels
    _label(axes, curves, canvas)
    figure.savefig(path)
    return figure


def _worth_drawing(found: Comparison) -> list[Curve]:
    """Every peer; of many of rankfill's own the one ratios are taken to, and those that lead at some error."""
    curves = {
        rival: Curve.of(points, found.measure, rival.startswith("rankfill")) for rival, points in found.curves().items()
    }
    own = [curve for curve in curves.values() if curve.own]
    drawn = [
        curve
        for rival, curve in curves.items()
        if not curve.own or len(own) <= FEW or rival == REFERENCE["fit"] or _leads(curve, own)
    ]
    colours = {True: cycle(OWN), False: cycle(OTHERS)}
    return [replace(curve, colour=next(colours[curve.own])) for curve in drawn]


def _leads(curve: Curve, others: list[Curve]) -> bool:
    """Whether it comes to one of its errors before any of the others does."""
    return any(
        all((other.seconds[other.errors <= error, 1] >= seconds).all() for other in others)
        for seconds, error in zip(curve.seconds[:, 1], curve.errors, strict=True)
    )


def _draw(axes: Axes, curve: Curve) -> None:
    low, middle, high = curve.seconds.T
    above = 2 if curve.own else 0
    axes.plot(middle, curve.errors, color=curve.colour, linewidth=2.4 if curve.own else 1.5, zorder=3 + above)
    axes.plot(middle, curve.errors, "o", color=curve.colour, markersize=4, zorder=4 + above)
    axes.hlines(curve.errors, low, high, color=curve.colour, linewidth=4, alpha=0.2, zorder=2)
    best = int(np.argmin(curve.errors))
    axes.plot(
        middle[best],
        curve.errors[best],
        "o",
        color=curve.colour,
        markersize=8.5,
        markeredgecolor="white",
        markeredgewidth=1.2,
        zorder=7,
    )


def _dress(axes: Axes, found: Comparison, curves: list[Curve]) -> None:
    about, plan = found.about, found.plan
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0) if _decades(curves) <= 3 else (1.0,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: _in_units(seconds)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.1)
    axes.set_ylim(*_limits(curves))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10]))
    axes.tick_params(which="both", length=0, labelsize=9, labelcolor=MUTED)
    axes.grid(axis="both", which="major", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(MUTED)
    bars = f"; bars from the fastest to the slowest of {found.repetitions} repetitions" if found.repetitions > 1 else ""
    axes.set_xlabel(f"time to fit, median{bars}", fontsize=9.5, color=MUTED)
    measure = {"rmse": "RMSE", "mae": "MAE", "nmae": "nmae, %"}[found.measure]
    threads = f"{plan.threads} thread{'s' * (plan.threads > 1)}"
    axes.set_title(
        f"{about.label}: {measure} on test ratings", loc="left", fontsize=11.5, color=INK, fontweight="bold", pad=24
    )
    words = f"{about.n_ratings:,} ratings · rank {plan.rank} · {threads} · a dot for each number of passes, settings "
    words += "tuned for each · down and left is better"
    axes.text(0, 1.025, words, transform=axes.transAxes, fontsize=8.5, color=MUTED)


def _limits(curves: list[Curve]) -> tuple[float, float]:
    """From below the best of all to well above the worst system's best; early points may lie higher, unseen."""
    bests = [float(curve.errors.min()) for curve in curves]
    low, high = min(bests), max(bests)
    span = (high - low) or 0.1 * low
    return low - 0.12 * span, min(high + 0.6 * span, max(float(c.errors.max()) for c in curves) + 0.1 * span)


def _decades(curves: list[Curve]) -> float:
    seconds = np.concatenate([curve.seconds[:, 1] for curve in curves])
    return float(np.log10(seconds.max() / seconds.min()))


def _in_units(seconds: float) -> str:
    return f"{seconds:,.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def _label(axes: Axes, curves: list[Curve], canvas: FigureCanvasAgg) -> None:
    """Names beside the curves, each where it covers the least of other names and of all curves."""
    ink = np.concatenate([_along(axes, curve) for curve in curves])
    frame, right = axes.get_window_extent(), axes.figure.bbox.x1 - 8
    taken: list[Bbox] = []
    for curve in sorted(curves, key=lambda each: (len(each.errors) > 1, not each.own)):  # the least free first
        best = int(np.argmin(curve.errors))
        options = []
        for place, point in enumerate(dict.fromkeys((best, len(curve.errors) - 1, 0, len(curve.errors) // 2))):
            for shift, horizontal, vertical in _SIDES:
                text = _text(axes, curve, best, point, shift, horizontal, vertical)
                box = text.get_window_extent(canvas.get_renderer()).padded(6)
                inside = frame.x0 <= box.x0 and box.x1 <= right and frame.y0 <= box.y0 and box.y1 <= frame.y1
                clash = 1000 * sum(box.overlaps(other) for other in taken) + box.count_contains(ink)
                options.append((clash + (0 if inside else 1000) + 0.5 * place, len(options), text, box))
        _, chosen, text, box = min(options, key=lambda option: option[:2])
        for number, option in enumerate(options):
            if number != chosen:
                option[2].remove()
        taken.append(box)


_SIDES = (
    ((9, 0), "left", "center"),
    ((0, -9), "center", "top"),
    ((0, 9), "center", "bottom"),
    ((-9, 0), "right", "center"),
    ((7, 7), "left", "bottom"),
    ((7, -7), "left", "top"),
    ((-7, -7), "right", "top"),
    ((-7, 7), "right", "bottom"),
)


def _text(
    axes: Axes, curve: Curve, best: int, point: int, shift: tuple[int, int], horizontal: str, vertical: str
) -> Any:
    words = f"{curve.name}{NEW_LINE if len(curve.name) > LONG else ' '}{curve.errors[best]:.4f}"
    return axes.annotate(
        words,
        (curve.seconds[point, 1], curve.errors[point]),
        xytext=shift,
        textcoords="offset points",
        ha=horizontal,
        va=vertical,
        color=curve.colour,
        fontsize=9.5 if curve.own else 9,
        fontweight="bold" if curve.own else "normal",
        annotation_clip=True,
        path_effects=[withStroke(linewidth=3, foreground="white")],
        zorder=9,
    )


def _along(axes: Axes, curve: Curve) -> NDArray[np.float64]:
    """Points on the curve, in pixels, close enough to stand for the ink."""
    low, corners, high = (axes.transData.transform(np.column_stack([part, curve.errors])) for part in curve.seconds.T)
    steps = np.linspace(0, 1, 60)[:, None]
    strokes = [*pairwise(corners), *zip(low, high, strict=True)]
    return np.concatenate([corners, *(start + steps * (end - start) for start, end in strokes)])
