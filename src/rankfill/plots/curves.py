"""Learning curves: errors pass by pass."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rankfill.models import EpochReport, Model
from rankfill.plots.style import COLOURS, DPI, INK, MUTED, PathLike, finish, finite, label_ends, little_ink

History = Sequence[EpochReport]


def learning_curve(
    histories: Model | History | Sequence[Model] | Mapping[str, Model | History],
    path: PathLike | None = None,
    baseline: float | Mapping[str, float] | None = None,
) -> Figure:
    """Draws training and validation error, pass by pass, for one model or several.

    A dot marks the pass that is best on the validation ratings. Where `fit` went by another measure than the model's
    own, training errors are left out. With one model the upper axis tells the time spent learning.

    Parameters
    ----------
    histories : Model, history, list of Model, or mapping
        A fitted model, its `history_`, a list of models, or a mapping from names to either.
    path : path, optional
        File to save the picture in; its ending says the format. By default it is not saved.
    baseline : float or mapping, optional
        An error to beat, drawn as a dashed line: a number, or several by their labels such as ``{"bias": 0.94}``.
        By default none.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> reports = [EpochReport(1, 0.1, 9.0, 1.2, 1.3), EpochReport(2, 0.2, 8.0, 0.9, 1.1)]
    >>> figure = learning_curve(reports, baseline={"bias": 1.0})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['validation 1.1000', 'training 0.9000', 'bias 1.0000']
    """
    curves = _by_name(histories)
    figure = Figure(figsize=(7.5, 4.2), dpi=DPI, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    ends: list[tuple[float, str, str]] = []
    for number, (name, history) in enumerate(curves.items()):
        ends += _draw_history(axes, history, COLOURS[number % len(COLOURS)], name if len(curves) > 1 else "")
    baselines = baseline if isinstance(baseline, Mapping) else {} if baseline is None else {"baseline": baseline}
    for name, error in baselines.items():
        axes.axhline(error, color=MUTED, linewidth=1, linestyle=(0, (5, 4)), zorder=1)
        ends.append((error, f"{name} {error:.4f}", MUTED))
    timed = len(curves) == 1 and _time_axis(axes, next(iter(curves.values())))
    _dress(axes, curves, title_pad=16 if timed else 8)
    label_ends(axes, ends)
    return finish(figure, path)


def _by_name(histories: Any) -> dict[str, History]:
    """Each history under its name; models of the same kind are told apart by a number."""
    if isinstance(histories, Mapping):
        named = dict(histories)
    elif isinstance(histories, Model):
        named = {type(histories).__name__: histories}
    elif len(histories) and isinstance(histories[0], Model):
        kinds = [type(model).__name__ for model in histories]
        named = {
            kind if kinds.count(kind) == 1 else f"{kind} {1 + kinds[:number].count(kind)}": model
            for number, (kind, model) in enumerate(zip(kinds, histories, strict=True))
        }
    else:
        named = {"history": histories}
    curves: dict[str, History] = {}
    for name, source in named.items():
        if isinstance(source, Model):
            source._check_fitted()
        curves[name] = source.history_ if isinstance(source, Model) else source
        if len(curves[name]) == 0:
            raise ValueError(f"{name} has no passes to draw; fit the model first")
    if not curves:
        raise ValueError("there is nothing to draw; give at least one fitted model")
    measures = {_measure_of(report) for history in curves.values() for report in history}
    if len(measures) > 1:
        raise ValueError(f"one picture shows one measure, found {' and '.join(sorted(measures))}; draw them apart")
    return curves


def _measure_of(report: EpochReport) -> str:
    return report.measure if report.validation is None else report.validation_measure


def _draw_history(axes: Axes, history: History, colour: str, name: str) -> list[tuple[float, str, str]]:
    """Draws both errors and returns the labels for the ends of the lines: height, words, colour."""
    passes = np.array([report.epoch for report in history])
    training = finite([report.train for report in history])
    validation = finite([report.validation for report in history])
    dots: dict[str, Any] = {"marker": "o", "markersize": 3} if len(history) <= 15 else {}
    ends = []
    measured = np.flatnonzero(~np.isnan(validation))
    if len(measured):
        axes.plot(passes, validation, color=colour, linewidth=1.8, zorder=4, **dots)
        best = measured[np.argmin([history[int(at)].loss for at in measured])]
        axes.plot(passes[best], validation[best], "o", color=colour, markersize=6, zorder=5)
        last = float(validation[measured[-1]])
        found = f"{validation[best]:.4f} at pass {passes[best]}"
        words = f"validation {last:.4f}" + (f"\nbest {found}" if validation[best] != last else "")
        ends.append((last, f"{name}: {found}" if name else words, colour))
    if history[0].validation is not None and history[0].judged_by is not None:
        return ends  # the training error is in another measure
    strength: dict[str, Any] = {"linewidth": 1.2, "alpha": 0.5} if ends else {"linewidth": 1.8}
    axes.plot(passes, training, color=colour, zorder=3, **strength, **dots)
    if not np.isnan(training).all() and not (name and ends):
        last = float(training[~np.isnan(training)][-1])
        words = f"{name}: {last:.4f} in training" if name else f"training {last:.4f}"
        ends.append((last, words, MUTED if ends else colour))
    return ends


def _dress(axes: Axes, curves: Mapping[str, History], title_pad: float) -> None:
    """Draws axes with little ink: passes below, the name of the measure over faint lines."""
    last = max(history[-1].epoch for history in curves.values())
    margin = 0.02 * (last - 1) or 0.5
    axes.set_xlim(1 - margin, last + margin)
    round_passes = MaxNLocator(integer=True, nbins=8, steps=[1, 2, 5, 10]).tick_values(1, last)
    axes.set_xticks([1, *(tick for tick in round_passes if 1 < tick <= last)])
    little_ink(axes, "pass")
    axes.margins(y=0.08)
    measure = _measure_of(next(iter(curves.values()))[0])
    axes.set_title(measure.upper(), loc="left", fontsize=10, color=INK, fontweight="bold", y=1, pad=title_pad)
    if len(curves) > 1 and any(report.validation is not None for history in curves.values() for report in history):
        axes.set_title("bold: validation, thin: training", loc="right", fontsize=8.5, color=MUTED, y=1, pad=title_pad)


def _time_axis(axes: Axes, history: History) -> bool:
    """The time spent learning, at the passes reached by then; whether there was any to show."""
    seconds = np.array([report.seconds for report in history])
    if len(history) < 2 or not seconds[-1] > seconds[0]:
        return False
    units = (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3))
    unit, length = next((each for each in units if seconds[-1] >= 2 * each[1]), units[-1])
    ticks = np.array(MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(seconds[0] / length, seconds[-1] / length))
    ticks = ticks[(ticks * length >= seconds[0]) & (ticks * length <= seconds[-1])]
    places = np.interp(ticks * length, seconds, [report.epoch for report in history])
    apart = np.diff(places, prepend=-np.inf) > 0.08 * (history[-1].epoch - 1)
    above = axes.secondary_xaxis("top")
    above.set_xticks(places[apart], [f"{tick:g} {unit}" for tick in ticks[apart]])
    above.set_xlabel("learning time", fontsize=9, color=MUTED)
    above.tick_params(length=0, labelsize=8.5, labelcolor=MUTED)
    above.spines["top"].set_visible(False)
    return True
