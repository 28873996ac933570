"""NN-PA, Theorem 1 and Corollary 1: the regret measured against its bound, over the number of rounds.

Against every fixed Q ≥ 0, NN-PA-I on T rounds with P fixed loses at most ‖Q − Q₁‖²/(2C) + T C ρ/2 more, ρ = max ‖p_u‖²
and Q₁ the start. A pass moves P, then Q with P fixed, and reports the losses of the second half, each taken before its
update: that is the left-hand side. The rounds are the first T ratings of a random order. With one item it is Theorem 1.
The Q in hindsight that it is held against is the non-negative least-squares solution for the same P.
"""

from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import nnls

import rankfill as rf
from rankfill.experiments.drawing import line, name_axes, panels
from rankfill.experiments.frame import Asked, Line, Records, Result

RANK = 10
Root = Literal["exact", "approximate"]
ROOTS: tuple[Root, ...] = ("exact", "approximate")


def run(asked: Asked) -> Result:
    material = asked.material()
    ratings = material.ratings
    single = ratings.select(ratings.item_indices == np.argmax(ratings.by_item.counts()))
    lengths = np.unique(np.geomspace(500, min(len(ratings), 200_000), asked.choose(9, 5)).astype(int))
    records: list[dict[str, Any]] = []
    for statement, source, sizes in (
        ("Corollary 1, all items", ratings, lengths),
        ("Theorem 1, one item", single, np.unique(np.geomspace(20, len(single), len(lengths)).astype(int))),
    ):
        order = np.random.default_rng(0).permutation(len(source))
        for size in sizes:
            chosen = np.zeros(len(source), dtype=bool)
            chosen[order[:size]] = True
            for root in ROOTS:
                asked.say(f"{statement}, {size:,} rounds, {root}")
                records.append({"statement": statement, "root": root} | _measure(source.select(chosen), root))
    lines = []
    for statement in dict.fromkeys(each["statement"] for each in records):
        for root in ROOTS:
            shares = [each["regret"] / each["bound"] for each in _own(records, statement, root)]
            lines.append(Line(f"{statement}, {root}: largest regret/bound", "≤ 1", f"{max(shares):.3f}"))
    return Result(material.words, lines, {"regret": records}, {"regret": _draw(records)})


def _measure(rounds: rf.Ratings, root: Root) -> dict[str, Any]:
    """C = 1/√T, which makes the bound grow like √T for a Q of norm √ρ (the paper's choice up to a constant)."""
    cap = 1 / len(rounds) ** 0.5
    settings: dict[str, Any] = {"rank": RANK, "recipe": "paper", "passes": 1, "tol": None, "clip": False}
    model = rf.PassiveAggressive(C=cap, root=root, **settings)
    rng = np.random.default_rng(1)
    start = rng.random((rounds.n_users, RANK)), np.zeros((rounds.n_items, RANK))
    model.fit(rounds, init=start)
    P = model.user_factors_.astype(np.float64)
    Q = np.zeros((rounds.n_items, RANK))
    loss = 0.0
    by_item = np.argsort(rounds.item_indices, kind="stable")
    for own in np.split(by_item, np.flatnonzero(np.diff(rounds.item_indices[by_item])) + 1):
        item = rounds.item_indices[own[0]]
        x, y = P[rounds.user_indices[own]], rounds.values[own].astype(np.float64)
        Q[item] = nnls(np.vstack([x, np.eye(RANK)]), np.append(y, np.zeros(RANK)))[0]
        loss += float(np.abs(x @ Q[item] - y).sum())
    largest = float((P[np.unique(rounds.user_indices)] ** 2).sum(axis=1).max())
    bound = float((Q**2).sum()) / (2 * cap) + len(rounds) * cap * largest / 2
    suffered = model.history_[0].objective
    return {"rounds": len(rounds), "C": cap, "loss": suffered, "hindsight": loss} | {
        "regret": suffered - loss,
        "bound": bound,
    }


def _own(records: Records, statement: str, root: Root) -> Records:
    return [each for each in records if (each["statement"], each["root"]) == (statement, root)]


def _draw(records: Records) -> Figure:
    statements = list(dict.fromkeys(each["statement"] for each in records))
    figure, axes = panels(len(statements))
    for panel, statement in zip(axes, statements, strict=True):
        for look, root in enumerate(ROOTS):
            own = _own(records, statement, root)
            line(panel, [each["rounds"] for each in own], [each["regret"] for each in own], look, f"regret, {root}")
        line(panel, [each["rounds"] for each in own], [each["bound"] for each in own], 2, "bound")
        name_axes(panel, statement, "rounds", "loss beyond the best Q in hindsight", log="xy")
    return figure
