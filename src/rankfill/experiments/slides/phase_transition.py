"""Slides, "a groundbreaking theory": how often a matrix is recovered exactly, over its rank and the entries seen.

R̂ = argmin ‖M‖_* subject to P_E(M) = P_E(R), for an n × n matrix R of rank r without noise; success is a relative
error of at most 10⁻³. "No method can succeed if m ≤ c r n log n", and with m ≥ c r n (log n)² the convex relaxation
is exact with high probability. Every solution is certified (`certificate`); the curves are m = r (2n − r), the
degrees of freedom, and m = c r n log n with c = 1.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patheffects import Normal, Stroke

import rankfill as rf
from rankfill.experiments.drawing import name_axes, panels
from rankfill.experiments.frame import Asked, Line, Records, Result

SUCCESS = 1e-3
NOTES = """
A certificate tells a matrix that was not found from one that was not to be found: near the border the solution is often
proved to be best and yet another matrix, of less trace norm than the one that the entries come from. Far below the
border solutions are not unique, and passes end before the gap is closed.
"""


def run(asked: Asked) -> Result:
    n, trials = asked.choose(50, 20), asked.choose(5, 2)
    ranks = asked.choose((1, 2, 3, 4, 6, 8, 10, 13, 16), (1, 4, 8))
    shares = asked.choose(np.arange(0.1, 0.96, 0.1), np.array([0.2, 0.6, 0.95]))
    records: list[dict[str, Any]] = []
    for rank in ranks:
        for share in shares:
            asked.say(f"rank {rank}, {share:.0%} of the entries")
            found = [_recover(n, rank, share, 1000 * rank + trial) for trial in range(trials)]
            records.append(
                {"rank": rank, "entries": round(share * n * n), "share": float(share)}
                | {"recovered": float(np.mean([error <= SUCCESS for error, _ in found]))}
                | {"largest proved gap": max(gap for _, gap in found)}
            )
    easy = [each for each in records if each["entries"] >= 2 * each["rank"] * n * np.log(n)]
    all_of = [each for each in records if each["recovered"] == 1]
    below = [each for each in records if each["entries"] < each["rank"] * (2 * n - each["rank"])]
    lines = [
        Line("recovered with m ≥ 2 r n log n", "all, for a large enough constant", _share(easy)),
        Line("recovered with fewer entries than degrees of freedom", "none", _share(below)),
        Line(
            "largest proved gap where all were recovered",
            "",
            f"{max(each['largest proved gap'] for each in all_of):.1e}",
        ),
    ]
    words = f"synthetic: {n} × {n} matrices of normal factors, {trials} for each square of the picture"
    return Result(words, lines, {"recovery": records}, {"recovery": _draw(records, n)}, NOTES)


def _recover(n: int, rank: int, share: float, seed: int) -> tuple[float, float]:
    """The relative error of the completed matrix, and how far from the least trace norm it may be."""
    rng = np.random.default_rng(seed)
    whole = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n))
    seen = np.zeros(n * n, dtype=bool)
    seen[rng.permutation(n * n)[: round(share * n * n)]] = True
    ratings = rf.Ratings.from_dense(np.where(seen.reshape(n, n), whole, np.nan))
    settings: dict[str, Any] = {"offset": "none", "clip": False, "tol": None}
    model = rf.SoftImpute(penalty="exact", gap=1e-6, passes=1000, **settings).fit(ratings)
    found = model.user_factors_.astype(np.float64) @ model.item_factors_.T
    error = float(np.linalg.norm(found - whole) / np.linalg.norm(whole))
    return error, float(model.history_[-1].gap or 0.0)


def _share(records: Records) -> str:
    return f"{100 * np.mean([each['recovered'] for each in records]):.0f} %" if records else "no such square"


def _draw(records: Records, n: int) -> Figure:
    ranks, shares = sorted({each["rank"] for each in records}), sorted({each["share"] for each in records})
    square = {(each["rank"], each["share"]): each["recovered"] for each in records}
    figure, (panel,) = panels(1, width=6.2, height=4.4)
    heights = np.array([[square[rank, share] for share in shares] for rank in ranks])
    shown = panel.pcolormesh(shares, np.arange(len(ranks)), heights, cmap="cividis", vmin=0, vmax=1, shading="nearest")
    figure.colorbar(shown, ax=panel, label="share recovered exactly")
    exact = np.array(ranks, dtype=float)
    places = np.arange(len(ranks))
    curves = {
        "degrees of freedom r (2n − r)": (exact * (2 * n - exact), "-o"),
        "r n log n": (exact * n * np.log(n), "--s"),
    }
    outline = [Stroke(linewidth=4, foreground="black"), Normal()]  # seen on the dark and on the bright squares
    for label, (entries, look) in curves.items():
        panel.plot(entries / n**2, places, look, color="white", markersize=4, label=label, path_effects=outline)
    panel.set_xlim(min(shares) - 0.05, max(shares) + 0.05)
    name_axes(panel, f"Exact recovery of {n} × {n} matrices", "share of the entries seen", "rank", legend=False)
    panel.set_yticks(places, [str(rank) for rank in ranks])
    panel.legend(fontsize=8, loc="upper left", facecolor="0.35", labelcolor="white", framealpha=0.9)
    return figure
