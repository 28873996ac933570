"""Records: MovieLens 100K on its split u1 and MovieLens 1M at 90/10, our best models beside the published errors.

u1 comes with the data; 1M is split at random, a tenth tests, and published errors are means over such splits. Every
line says what a method looks at: the ids of users and items, the times of ratings, features. No published one here
uses the times.
"""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import rankfill as rf
from rankfill.experiments.drawing import dots, name_axes, panels
from rankfill.experiments.frame import Asked, Line, Records, Result

U1, RANDOM = "MovieLens 100K, u1", "MovieLens 1M, 90/10"
PUBLISHED = {
    U1: [
        ("GC-MC", 0.910, "ids", "van den Berg, Kipf, Welling 2017"),
        ("GC-MC with features", 0.905, "ids, features", "van den Berg, Kipf, Welling 2017"),
        ("GLocal-K", 0.8889, "ids", "Han et al., CIKM 2021, and its repository"),
    ],
    RANDOM: [
        ("GC-MC", 0.832, "ids", "van den Berg, Kipf, Welling 2017"),
        ("CF-NADE", 0.829, "ids", "Zheng et al., ICML 2016"),
        ("KernelNet", 0.823, "ids", "Muller et al., ICML 2018, and its repository"),
        ("GLocal-K", 0.8227, "ids", "Han et al., CIKM 2021, and its repository"),
    ],
}
NOTES = """
Ours were fitted once, with nothing set but `time=True` where times are used; MovieLens was among the data looked at
when the defaults were chosen. The public notebook of GLocal-K prints the least test error of all its epochs, so its
figure is a little flattered too.
"""


@dataclass(frozen=True)
class Task:
    """Ratings to learn from, ratings to predict, and what is known of users and items besides."""

    name: str
    train: rf.Ratings
    test: rf.Ratings
    features: dict[str, Any] = field(default_factory=dict)


def run(asked: Asked) -> Result:
    tasks, words = find_tasks(asked)
    records: list[dict[str, Any]] = []
    for task in tasks:
        for name, model, uses in _models(task, asked.quick):
            asked.say(f"{task.name}, {name}")
            began = time.process_time()
            fitted = model.fit(task.train, **(task.features if "features" in uses else {}))
            seconds = time.process_time() - began
            error = rf.evaluate(fitted, task.test, scores=["rmse"])["rmse"]
            records.append({"split": task.name, "method": name, "whose": "ours", "uses": uses, "RMSE": error})
            records[-1] |= {"CPU seconds": seconds, "source": ""}
        for name, error, uses, source in PUBLISHED.get(task.name, []):
            records.append({"split": task.name, "method": name, "whose": "published", "uses": uses, "RMSE": error})
            records[-1] |= {"CPU seconds": None, "source": source}
    lines = [_line(each) for each in records]
    return Result(words, lines, {"records": records}, {"records": _draw(records)}, NOTES)


def _line(each: dict[str, Any]) -> Line:
    name = f"{each['split']}: {each['method']} ({each['uses']})"
    if each["whose"] == "published":
        return Line(name, f"{each['RMSE']:.4g}", "", each["source"])
    return Line(name, "", f"{each['RMSE']:.4f}, fitted in {each['CPU seconds']:.1f} s of CPU")


def _models(task: Task, quick: bool) -> list[tuple[str, rf.Model, str]]:
    """The methods with the least errors of their kind, with defaults, and the mean effects to compare with."""
    few: dict[str, Any] = {"sweeps": 30} if quick else {}
    models: list[tuple[str, rf.Model, str]] = [
        ("Bias", rf.Bias(), "ids"),
        ("SGD", rf.SGD(), "ids"),
        ("BayesianMF", rf.BayesianMF(**few), "ids"),
    ]
    if task.features:
        models.append(("BayesianMF with features", rf.BayesianMF(**few), "ids, features"))
    if task.train.timestamps is not None:
        models.append(("BayesianMF with times", rf.BayesianMF(time=True, **few), "ids, times"))
    if task.features and task.train.timestamps is not None:
        models.append(("BayesianMF with both", rf.BayesianMF(time=True, **few), "ids, times, features"))
    return models


def find_tasks(asked: Asked) -> tuple[list[Task], str]:
    """Both splits where the data are; else, and for a quick run, one of made-up ratings."""
    folder = asked.data or Path(os.environ.get("RANKFILL_DATA", "."))
    tasks = []
    if not asked.quick:
        if (folder / "ml-100k" / "u1.base").is_file():
            train, test = (_read(folder / "ml-100k" / f"u1.{part}") for part in ("base", "test"))
            known = {"item_features": "u.item", "user_features": "u.user"}
            features = {each: rf.read_features(folder / "ml-100k" / file) for each, file in known.items()}
            tasks.append(Task(U1, train, test, features))
        if (folder / "ml-1m" / "ratings.dat").is_file():
            ratings = rf.datasets.movielens("1m", folder).ratings
            tasks.append(Task(RANDOM, *rf.split(ratings, test=0.1, by="entry", seed=0)))
    if tasks:
        return tasks, " and ".join(each.name for each in tasks)
    ratings = rf.synthetic.film_club().ratings
    words = f"synthetic film club{', quick' if asked.quick else '; MovieLens was not found'}: {len(ratings):,} ratings"
    return [Task("film club, 90/10", *rf.split(ratings, test=0.1, by="entry", seed=0))], words


def _read(path: Path) -> rf.Ratings:
    columns = np.loadtxt(path, dtype=np.int64).T
    return rf.Ratings.from_arrays(columns[0], columns[1], columns[2], timestamps=columns[3])


def _draw(records: Records) -> Figure:
    names = list(dict.fromkeys(each["split"] for each in records))
    figure, axes = panels(len(names), width=5.4, height=3)
    for panel, name in zip(axes, names, strict=True):
        own = sorted((each for each in records if each["split"] == name), key=lambda each: -float(each["RMSE"]))
        values = {f"{each['method']}, {each['whose']}": each["RMSE"] for each in own}
        dots(panel, values, [0 if each["whose"] == "ours" else 1 for each in own], "{:.4f}")
        name_axes(panel, name, "RMSE on the test ratings", "", legend=False)
    return figure
