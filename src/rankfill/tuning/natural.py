"""The default search: the model that an automatic choice takes, and settings around its own."""

from typing import Any

from sklearn.base import clone

from rankfill.data import RatingsLike, as_ratings
from rankfill.models import Auto, Model
from rankfill.objectives.scores import PREDICTION, parse_score

_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
_AROUND = ("penalty", "shrinkage", "C")
"""Settings that are found by size; the first that a model has is searched."""


def natural_search(model: Auto, ratings: RatingsLike, measure: str | None) -> tuple[Model, dict[str, list[Any]]]:
    """The model that is chosen to predict, or by a measure of lists to recommend, and a grid around its settings.

    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(60, 40, n_ratings=900, noise=2.0, seed=0)
    >>> natural_search(rf.Auto(), ratings, None)
    (BayesianMF(sweeps=50), {'rank': [16, 32, 64]})
    """
    lists = measure is not None and parse_score(measure).name not in PREDICTION
    goal = "recommend" if lists else "predict"
    chosen = clone(model).set_params(goal=goal).fit(as_ratings(ratings))
    part = chosen.recommender_ if lists else chosen.predictor_
    grid: dict[str, list[Any]] = {}
    settings = part.get_params()
    for name in _AROUND:
        middle = getattr(part, f"{name}_", settings.get(name))
        if isinstance(middle, float) and middle > 0:
            grid[name] = [float(f"{factor * middle:.3g}") for factor in _FACTORS]
            break
    if "rank" in settings:
        grid["rank"] = [max(1, settings["rank"] // 2), settings["rank"], 2 * settings["rank"]]
    if not grid:
        raise ValueError(f"{part!r} does best, and has no settings to search; name a model and a grid")
    return clone(part), grid
