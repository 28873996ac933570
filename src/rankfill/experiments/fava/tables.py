"""FAVA, Tables 1 to 4 and Figure 2: parameters found on a small sub-matrix, for larger ones and for all ratings.

TTF is `TraceTradeoff`, TBF is `TraceBounded`. The published grids are λ = 0.1, 0.2, …, 4.0 and γ = 10, …, 10000, and
γ bounds tr(P Pᵀ) + tr(Q Qᵀ), twice our trace norm. For ratings as they are, the best λ and γ of sub-matrices as large
as the paper's come out about five times as large as the paper's at every size. Dividing its ratings by the largest, 5,
would do that; the paper does not say. So the grids here are for ratings in that unit, with the mean removed first. The
paper samples 4, 8 and 16 % of the rows and columns of MovieLens 10M; from smaller sets larger shares are drawn, for
matrices of about the same size.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import rankfill as rf
from rankfill.experiments.drawing import line, name_axes, panels, whole_numbers
from rankfill.experiments.fava._tuning import folds_of, measure, search
from rankfill.experiments.frame import Asked, Line, Records, Result

PENALTIES = tuple(round(0.1 * step, 1) for step in range(40, 0, -1))
BOUNDS = (*(size * step for size in (10, 100, 1000) for step in range(1, 10)), 10_000)
METHODS = ("TTF tuned there", "TBF tuned there", "FAVA", "TTF", "TBF")
PUBLISHED = {
    "TTF tuned there": (0.91466, 0.89963, 0.87537),
    "TBF tuned there": (0.91610, 0.90097, 0.87782),
    "FAVA": (0.90673, 0.90506, 0.89737),
    "TTF": (0.91489, 0.91307, 0.91235),
    "TBF": (0.91654, 0.93982, 0.98986),
}
"""Means over the five samples of each size in Table 2."""
WHOLE = {"FAVA": "0.81530 (95 min)", "TTF": "0.92111 (8 days)", "TBF": "1.0513 (48 min)"}
ESTIMATED = ("0.81530", "0.81513", "0.81885")
NOTES = """
The data are others, so look at the order. With the parameters of the first small matrix it is the paper's: FAVA, the
trade-off (TTF), the bound (TBF), at every size and on all ratings, and the farther from that matrix, the larger the
distances. Tuned on the larger matrices themselves, TTF and TBF are ahead of FAVA there, as in the paper.

In Table 4 the paper finds the size of the sample to be of little account. On MovieLens 1M larger samples have more
factors that last, and FAVA with more of them is a little worse.

Seconds are of CPU time. What took the paper 95 minutes and 8 days takes seconds, on a tenth of the ratings and with
other solvers: the trade-off is solved by factors whose rank grows, to a proved gap. A search goes from simple to
complex models with warm starts and ends once the error has risen twice: the values of the grid after that, of the
bound above all, take half a minute a fit and are not the best.
"""


class Parameters:
    """λ, γ and the factorization variances of a sub-matrix, in the paper's unit."""

    def __init__(self, sample: rf.Ratings, unit: float, quick: bool) -> None:
        self.unit = unit
        self.gap, self.tol = (1e-2, 1e-3) if quick else (1e-3, 1e-4)
        parts = folds_of(sample)
        penalties, bounds = (PENALTIES[::4], BOUNDS[:20:4]) if quick else (PENALTIES, BOUNDS)
        tradeoff = rf.TraceTradeoff(offset="mean", gap=self.gap)
        self.tradeoff = search(tradeoff, "penalty", [unit * each for each in penalties], parts)
        bounded = rf.TraceBounded(offset="mean", tol=self.tol)
        self.bounded = search(bounded, "trace", [unit * each / 2 for each in bounds], parts)
        fitted = rf.TraceTradeoff(penalty=self.tradeoff.value, offset="mean", gap=1e-4).fit(sample)
        variances = rf.factorization_variances(fitted)
        self.variances = variances[variances > 1e-3 * variances.max(initial=0.0)]  # others were about to vanish

    def models(self) -> dict[str, Any]:
        return {
            "FAVA": rf.FAVA(variances=self.variances, offset="mean"),
            "TTF": rf.TraceTradeoff(penalty=self.tradeoff.value, offset="mean", gap=self.gap),
            "TBF": rf.TraceBounded(trace=self.bounded.value, offset="mean", tol=self.tol),
        }


def run(asked: Asked) -> Result:
    material = asked.material()
    train, test = rf.split(material.ratings, test=0.2, by="entry", seed=0)
    ratios = (0.04, 0.08, 0.16) if len(train) > 4e6 else asked.choose((0.085, 0.2, 0.43), (0.55, 0.7, 0.85))
    unit = float(np.abs(train.values).max())
    records: list[dict[str, Any]] = []
    firsts: list[Parameters] = []
    for ratio in ratios:
        for number in range(asked.choose(5, 1)):
            asked.say(f"{ratio:.0%} of users and items, sample {number + 1}")
            sample = rf.sample_submatrix(train, ratio, seed=number)
            own = Parameters(sample, unit, asked.quick)
            firsts += [own] if number == 0 else []
            size = {"users": sample.n_users, "items": sample.n_items, "ratings": len(sample)}
            records.append({"ratio": ratio, "sample": number + 1} | size | _compare(sample, own, firsts[0]))
    asked.say("all ratings")
    whole = _whole(train, test, firsts)
    lines = _lines(records, ratios) + [
        Line(f"Table 3, all ratings: {each['method']}", WHOLE[each["method"]], _format(each), "parameters of M₁")
        for each in whole[:3]
    ]
    lines += [
        Line(f"Table 4: FAVA with σ² of M at {ratio:.0%}", published, _format(each))
        for ratio, published, each in zip(ratios, ESTIMATED, [whole[0], *whole[3:]], strict=True)
    ]
    tables: dict[str, Records] = {"tables-1-and-2": records, "tables-3-and-4": whole}
    return Result(material.words, lines, tables, {"figure-2": _draw(records, ratios)}, NOTES)


def _compare(sample: rf.Ratings, own: Parameters, first: Parameters) -> dict[str, Any]:
    """A line of Table 2, with the seconds of Figure 2."""
    parts, found = folds_of(sample), {"λ": own.tradeoff.value / own.unit, "γ": 2 * own.bounded.value / own.unit}
    errors = {"TTF tuned there": own.tradeoff.errors, "TBF tuned there": own.bounded.errors}
    seconds = {"TTF tuned there": own.tradeoff.seconds, "TBF tuned there": own.bounded.seconds}
    for name, model in first.models().items():
        errors[name], seconds[name] = measure(model, parts)
    for name in METHODS:
        found |= {name: float(np.mean(errors[name])), f"{name}, sd": float(np.std(errors[name]))}
        found |= {f"{name}, CPU seconds": seconds[name]}
    return found


def _whole(train: rf.Ratings, test: rf.Ratings, firsts: list[Parameters]) -> list[dict[str, Any]]:
    """Table 3: all three with the parameters of the first matrix; Table 4: FAVA with those of larger ones."""
    models = [(name, 1, model) for name, model in firsts[0].models().items()]
    models += [("FAVA", size, each.models()["FAVA"]) for size, each in enumerate(firsts[1:], start=2)]
    records = []
    for name, size, model in models:
        errors, seconds = measure(model, [(train, test)])
        variances = len(firsts[size - 1].variances) if name == "FAVA" else None
        records.append({"method": name, "size": size, "factors": variances, "RMSE": errors[0], "CPU seconds": seconds})
    return records


def _format(each: dict[str, Any]) -> str:
    factors = f", {each['factors']} factors" if each["factors"] else ""
    return f"{each['RMSE']:.4f} ({each['CPU seconds']:.1f} s{factors})"


def _lines(records: Records, ratios: Any) -> list[Line]:
    lines = []
    for place, ratio in enumerate(ratios):
        own = [each for each in records if each["ratio"] == ratio]
        size = f"{_span([each['ratings'] for each in own])} ratings"
        for name in METHODS:
            remark = "parameters of M₁" if "tuned" not in name else ""
            if (letter := {"TTF tuned there": "λ", "TBF tuned there": "γ"}.get(name)) is not None:
                remark = f"{letter} = {_span([each[letter] for each in own])}"
            ours = f"{np.mean([each[name] for each in own]):.4f}"
            lines.append(Line(f"Table 2, {size}: {name}", f"{PUBLISHED[name][place]:.4f}", ours, remark))
    return lines


def _span(values: list[float]) -> str:
    """Formats a range, such as 0.9 to 1.1."""
    least, most = (f"{each:,.4g}" if each < 1000 else f"{each:,.0f}" for each in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"


def _draw(records: Records, ratios: Any) -> Figure:
    figure, (times, errors) = panels(2, width=5)
    matrices = np.arange(1, len(records) + 1)
    for look, name in enumerate(METHODS[:2]):
        line(times, matrices, [each[f"{name}, CPU seconds"] for each in records], look, name.split()[0])
    name_axes(times, "Figure 2: time to tune a parameter", "sub-matrix, small to large", "CPU seconds", log="y")
    whole_numbers(times)
    for look, name in enumerate(METHODS):
        own = [[each for each in records if each["ratio"] == ratio] for ratio in ratios]
        sizes = [np.mean([each["ratings"] for each in part]) for part in own]
        line(errors, sizes, [np.mean([each[name] for each in part]) for part in own], look, name)
    name_axes(errors, "Table 2: means over the samples", "ratings in the sub-matrix", "RMSE, five folds", log="x")
    return figure
