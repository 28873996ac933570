"""NN-PA, Table 3: rank 20, five starts, the best kept; the five strongest films of each topic with their genres.

The paper shows six of its twenty topics, to be read. Beside them stands the purity of all (`genres.py`): the share of
the five films that have the genre that sets a topic apart, less the share of all ratings that are of films with it.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import rankfill as rf
from rankfill.data import Dataset
from rankfill.experiments.drawing import dots, name_axes, panels
from rankfill.experiments.frame import Asked, Line, Records, Result
from rankfill.experiments.genres import coherence, genres_of, purity

RANK, TOP = 20, 5


def run(asked: Asked) -> Result:
    material = asked.material(genres=True)
    data = material.dataset
    rank = asked.choose(RANK, 6)
    starts = range(asked.choose(5, 2))
    asked.say("starts")
    settings: dict[str, Any] = {
        "rank": rank,
        "C": 0.01,
        "recipe": "paper",
        "passes": asked.choose(20, 10),
        "tol": None,
        "clip": False,
    }
    fitted = [rf.PassiveAggressive(seed=seed, **settings).fit(data.ratings) for seed in starts]
    best = min(fitted, key=lambda model: model.history_[-1].train)
    asked.say("topics of others")
    found = {
        "NN-PA-I as published": _topics(best, data),
        "PassiveAggressive, its own defaults": _topics(rf.PassiveAggressive(rank=rank + 2).fit(data.ratings), data),
        "topics of the ratings (rf.topics)": _topics(data, data, n_topics=rank),
        "items drawn by their number of ratings": _draw_topics(data, rank),
    }
    scores = [
        {"topics of": name, "number": len(topics), "purity": purity(data, topics), "coherence": coherence(data, topics)}
        for name, topics in found.items()
    ]
    shown = [
        {
            "topic": topic.factor + 1,
            "place": place + 1,
            "title": title,
            "genres": ", ".join(sorted(genres_of(data, item))),
        }
        for topic in found["NN-PA-I as published"]
        for place, (item, title) in enumerate(zip(topic.items, topic.titles, strict=True))
    ]
    lines = [
        Line(f"purity of the {each['number']} topics, {each['topics of']}", "", f"{each['purity']:.3f}")
        for each in scores
    ]
    lines[0] = Line(lines[0].what, "six of 20 shown, to be read", lines[0].ours, "the last line is chance")
    tables: dict[str, Records] = {"topics": shown, "purity": scores}
    return Result(material.words, lines, tables, {"purity": _draw(scores)}, notes=_as_markdown(shown))


def _topics(source: rf.Model | Dataset, data: Dataset, **more: Any) -> list[rf.Topic]:
    found = rf.topics(source, n=TOP, titles=data.titles, **more)
    return [topic for topic in found if topic.items]


def _draw_topics(data: Dataset, rank: int) -> list[rf.Topic]:
    """The value by chance: items drawn as often as they are rated."""
    counts = data.ratings.by_item.counts()
    rng, ids = np.random.default_rng(0), list(data.ratings.items)
    picks = [rng.choice(len(ids), TOP, replace=False, p=counts / counts.sum()) for _ in range(20 * rank)]
    return [rf.Topic(n, tuple(ids[i] for i in rows), ("",) * TOP, (0.0,) * TOP, 0.0) for n, rows in enumerate(picks)]


def _as_markdown(shown: Records) -> str:
    rows = ["The topics of NN-PA-I as published:", "", "| topic | films (genres) |", "|---|---|"]
    for number in sorted({each["topic"] for each in shown}):
        films = [f"{each['title']} ({each['genres']})" for each in shown if each["topic"] == number]
        rows.append(f"| {number} | {' · '.join(films)} |")
    return "\n".join(rows)


def _draw(scores: Records) -> Figure:
    figure, (panel,) = panels(1, width=7, height=2.6)
    values = {each["topics of"]: each["purity"] for each in scores}
    dots(panel, values, [0, 0, 0, 1])
    name_axes(
        panel,
        "How pure topics are",
        "share of the genre that sets a topic apart, less its usual share",
        "",
        legend=False,
    )
    return figure
