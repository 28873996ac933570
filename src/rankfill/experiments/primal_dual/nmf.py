"""Primal–dual, section 5: convex non-negative factorisation beside multiplicative updates, from many starts.

Both minimise ½ Σ e² + (λ/2)(‖P‖² + ‖Q‖²) over non-negative factors. The paper claims of multiplicative updates that
they are "frequently trapped in locally optimal solutions" and depend on the start; of its own method that it "solves
a convex problem" and that "many elements are exactly zero". It shows no figures for this. Below both stands what no
matrix can get below, signs allowed (`certificate`).
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import rankfill as rf
from rankfill.experiments.drawing import LOOKS, name_axes, panels, whole_numbers
from rankfill.experiments.frame import Asked, Line, Records, Result

PD, PUBLISHED, NMF = "PD, non-negative", "PD, weights alone, as published", "multiplicative NMF"
NOTES = """
The paper moves the weights ξ of the terms and leaves the terms as they were found (`schedule="published-weights"`).
One term comes in with each pass, and after as many passes as ours makes it is still above multiplicative NMF. With
terms that move as well (`schedule="retighten"`, the default) the convex method is the best of the three and depends
least on the start.
"""


def run(asked: Asked) -> Result:
    material = asked.material()
    ratings = material.ratings
    size = asked.choose(100_000, 3000)  # as large as a run of many starts allows
    if len(ratings) > 1.5 * size:
        ratings = rf.sample_submatrix(ratings, (size / len(ratings)) ** 0.5, min_ratings=5, seed=0)
    penalty, starts = asked.choose(10.0, 4.0), asked.choose(5, 2)
    asked.say("the bound")
    free = rf.TraceTradeoff(penalty=penalty, offset="none", gap=1e-4, passes=200).fit(ratings)
    bound = rf.certificate(free, ratings).dual
    records: list[dict[str, Any]] = []
    for seed in range(starts):
        asked.say(f"start {seed + 1}")
        common: dict[str, Any] = {"penalty": penalty, "seed": seed, "clip": False}
        passes = asked.choose(60, 15)
        convex = rf.PrimalDual(nonnegative=True, offset="none", passes=passes, **common).fit(ratings)
        published: dict[str, Any] = {"schedule": "published-weights", "nonnegative": True, "offset": "none"}
        weights = rf.PrimalDual(**published, passes=passes, tol=None, **common).fit(ratings)
        plain = rf.MultiplicativeNMF(rank=max(convex.rank_, 2), shrinkage=0.0, passes=10 * passes, **common)
        start = [_positive(n, plain.rank, ratings.mean(), seed + side) for side, n in enumerate(ratings.shape)]
        plain.fit(ratings, init=(start[0], start[1]))
        for name, model in ((PD, convex), (PUBLISHED, weights), (NMF, plain)):
            factors = np.vstack([model.user_factors_, model.item_factors_])
            records.append(
                {"method": name, "start": seed, "rank": model.rank_, "objective": model.history_[-1].objective}
                | {"zeros, %": 100 * float((factors == 0).mean()), "seconds": model.history_[-1].seconds}
            )
    lines = [Line("no matrix gets below, signs allowed", "", f"{bound:.1f}")]
    for name, words in ((PD, ""), (PUBLISHED, "one optimum"), (NMF, "depends on the start")):
        values = [each["objective"] for each in records if each["method"] == name]
        lines.append(Line(f"{name}, objective over {starts} starts", words, f"{min(values):.1f} to {max(values):.1f}"))
    for name, words in ((PD, ""), (PUBLISHED, "many exactly zero"), (NMF, "none")):
        zeros = np.mean([each["zeros, %"] for each in records if each["method"] == name])
        lines.append(Line(f"{name}, factors that are zero", words, f"{zeros:.1f} %"))
    words = f"{material.words}; here {len(ratings):,} of them"
    return Result(words, lines, {"starts": records}, {"objectives": _draw(records, bound)}, NOTES)


def _positive(n: int, rank: int, mean: float, seed: int) -> np.ndarray:
    """Random factors whose products are about as large as the ratings."""
    return np.random.default_rng(seed).uniform(0, 2 * np.sqrt(mean / rank), (n, rank))


def _draw(records: Records, bound: float) -> Figure:
    figure, (panel,) = panels(1, width=6)
    for look, name in enumerate((PD, NMF, PUBLISHED)):
        own = [each for each in records if each["method"] == name]
        colour, marker, _ = LOOKS[look]
        places, heights = [each["start"] + 1 for each in own], [100 * (each["objective"] / bound - 1) for each in own]
        panel.scatter(places, heights, s=28, c=colour, marker=marker, label=name)
    name_axes(panel, "Objective reached from each start", "start", "above what no matrix gets below, %", log="y")
    whole_numbers(panel)
    return figure
