"""Slides, biases and k-NN: every recipe for removing biases and for neighbours, as one table.

The slides give the recipes and no figures: global mean, item mean, user mean, item mean plus the user's mean
deviation, shrinkage; item- and user-based neighbours by cosine, Pearson or inverse Euclidean similarity, with equal,
similarity and learned weights. A fifth of each user's ratings tests; `top5` is the share of the true five best that
are predicted.
"""

from typing import Any

import rankfill as rf
from rankfill.experiments.drawing import dots, name_axes, panels
from rankfill.experiments.frame import Asked, Line, Result

BIASES: dict[str, dict[str, Any]] = {
    "global mean": {"effects": "none"},
    "item mean": {"effects": "items", "shrinkage": 0.0},
    "user mean": {"effects": "users", "shrinkage": 0.0},
    "item mean + user's deviation": {"effects": "both", "shrinkage": 0.0},
    "item mean + user's deviation, shrunk (α = 5)": {"effects": "both", "shrinkage": 5.0},
}
PLAIN: dict[str, Any] = {"shrinkage": 0.0, "penalty": 0.0, "min_support": 2, "k": 20}
NEIGHBOURS: dict[str, dict[str, Any]] = {
    f"{side}, {similarity}, {weights} weights": {"side": side, "similarity": similarity, "weights": weights} | PLAIN
    for side in ("items", "users")
    for similarity in ("cosine", "pearson", "inverse-euclidean")
    for weights in ("equal", "similarity")
} | {
    "items, Pearson shrunk by support, similarity weights": {"weights": "similarity"},
    "items, Pearson shrunk by support, learned weights": {"weights": "learned"},
}


NOTES = """
Taken to the letter, neighbours are worse than the biases they start from: the most alike are those with two or three
ratings in common, and those are alike by chance. Shrinking similarities by their support mends it; the last two
recipes do that. Learned weights need a penalty as well, which is why they are not tried without.
"""


def run(asked: Asked) -> Result:
    material = asked.material()
    train, test = rf.split(material.ratings, test=0.2, by="user", seed=0)
    records: list[dict[str, Any]] = []
    recipes = [("bias", name, rf.Bias(**settings)) for name, settings in BIASES.items()]
    recipes += [("k-NN", name, rf.NearestNeighbors(**settings)) for name, settings in NEIGHBOURS.items()]
    for family, name, model in recipes:
        asked.say(f"{family}, {name}")
        scores = rf.evaluate(model.fit(train), test, scores=["rmse", "mae", "top5"])
        records.append({"family": family, "recipe": name} | scores)
    lines = [
        Line(
            f"{each['family']}: {each['recipe']}",
            "no figure",
            f"RMSE {each['rmse']:.4f}, MAE {each['mae']:.4f}, top 5 {each['top5']:.3f}",
        )
        for each in records
    ]
    figure, (panel,) = panels(1, width=8, height=5)
    values = {f"{each['family']}: {each['recipe']}": each["rmse"] for each in records}
    dots(panel, values, [0 if each["family"] == "bias" else 1 for each in records])
    name_axes(panel, "Error of every recipe", "RMSE on the test ratings", "", legend=False)
    return Result(material.words, lines, {"recipes": records}, {"recipes": figure}, NOTES)
