"""Whether chains of samples agree: what is watched of each of them, sweep by sweep."""

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rankfill.models.bayesian.diagnostics import Diagnosis
from rankfill.models.bayesian.model import BayesianMF
from rankfill.models.bayesian.uncertain import TRACES
from rankfill.plots.style import COLOURS, DPI, INK, MUTED, PathLike, finish, little_ink

_NAMES = {"rmse": "RMSE on the ratings", "noise": "standard deviation of the noise"}


def trace_plot(model: BayesianMF, path: PathLike | None = None) -> Figure:
    """Draws error and noise of every chain, sweep by sweep.

    Above each panel stand R̂, which is near 1 where the chains and their halves agree, and the number of independent
    draws that the sweeps after `burn_in`, which are to the right of the dashed line, are worth.

    Parameters
    ----------
    model : BayesianMF
        A fitted model.
    path : path, optional
        File to save the picture in; its ending says the format. By default it is not saved.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(60, 40, n_ratings=900, noise=0.5, seed=0)
    >>> figure = trace_plot(rf.BayesianMF(rank=2, sweeps=20, chains=2).fit(ratings))
    >>> len(figure.axes), len(figure.axes[0].lines)
    (2, 3)
    """
    traces, found = model.traces_, model.diagnostics()
    figure = Figure(figsize=(7.5, 5.2), dpi=DPI, facecolor="white", layout="constrained")
    for place, (axes, name) in enumerate(zip(figure.subplots(2, 1, sharex=True), TRACES, strict=True)):
        for number, trace in enumerate(traces[:, :, place]):
            axes.plot(_sweeps(trace), trace, color=COLOURS[number % len(COLOURS)], linewidth=1)
        axes.axvline(model.burn_in + 0.5, color=MUTED, linewidth=1, linestyle=(0, (5, 4)), zorder=1)
        axes.set_title(f"{_NAMES[name]}{_diagnosis_words(found, name)}", fontsize=9.5, color=INK, loc="left")
        little_ink(axes, "sweep" if place else "")
    return finish(figure, path)


def _sweeps(trace: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.arange(1, len(trace) + 1)


def _diagnosis_words(found: Mapping[str, Diagnosis], name: str) -> str:
    diagnosis = found[name]
    if math.isnan(diagnosis.r_hat):
        return ""
    return f": R̂ {diagnosis.r_hat:.2f}, {diagnosis.effective:.0f} independent draws"
