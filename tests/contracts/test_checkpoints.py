"""A fit with a checkpoint goes on where it was cut off, and refuses to go on from that of another fit.

That it goes on to the same bits in every option is in `test_options.py`.
"""

import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import rankfill as rf
from rankfill.models import MODELS
from rankfill.models.base.checkpoint import FILE

ITERATIVE = [name for name, cls in MODELS.items() if "passes" in cls().get_params()]


def without_seconds(model):
    return [replace(report, seconds=0) for report in model.history_]


@pytest.mark.parametrize("after", [1, 2, 3, 5])
def test_goes_on_to_the_same_bits(iterative_model, ratings, answers, fresh, cut_off, tmp_path, after):
    """Before the first checkpoint, at one, and behind one."""
    whole = fresh(iterative_model, passes=6).fit(ratings, checkpoint=tmp_path / "whole", every=2)
    model = fresh(iterative_model, passes=6)
    cut = {"ratings": ratings, "checkpoint": tmp_path / "cut", "every": 2}
    if len(whole.history_) >= after:
        with pytest.raises(cut_off.Error):
            model.fit(**cut, callbacks=[cut_off(after)])
    model = fresh(iterative_model, passes=6).fit(**cut)
    assert answers(model) == answers(whole)
    assert without_seconds(model) == without_seconds(whole)


def test_passes_that_learn_alone_are_those_of_a_fit_without(iterative_model, ratings, answers, fresh, tmp_path):
    """Nothing is lost at a checkpoint after which nothing follows."""
    plain = fresh(iterative_model).fit(ratings)
    noted = fresh(iterative_model).fit(ratings, checkpoint=tmp_path)
    assert answers(noted) == answers(plain)
    assert without_seconds(noted) == without_seconds(plain)


def test_more_passes_go_on_from_where_a_fit_ended(iterative_model, ratings, fresh, tmp_path):
    first = fresh(iterative_model, passes=3, tol=None).fit(ratings, checkpoint=tmp_path)
    seen = []
    more = fresh(iterative_model, passes=5, tol=None).fit(ratings, checkpoint=tmp_path, callbacks=[seen.append])
    assert without_seconds(more)[:3] == without_seconds(first)
    assert [report.epoch for report in seen] == list(range(len(first.history_), len(more.history_) + 1))
    if len(more.history_) == 5:
        with pytest.raises(ValueError, match="5 passes already, more than the 2 asked for"):
            fresh(iterative_model, passes=2, tol=None).fit(ratings, checkpoint=tmp_path)


def test_a_finished_fit_is_given_back(iterative_model, ratings, answers, fresh, tmp_path):
    model = fresh(iterative_model).fit(ratings, checkpoint=tmp_path)
    again = fresh(iterative_model).fit(ratings, checkpoint=tmp_path)
    assert answers(again) == answers(model)
    assert again.history_ == model.history_


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ITERATIVE and name != "bayesian-mf"])
def test_models_without_passes_refuse_in_words(name, ratings, tmp_path):
    with pytest.raises(ValueError, match=r"does not learn pass by pass.*leave checkpoint out"):
        MODELS[name]().fit(ratings, checkpoint=tmp_path)


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("rank", {"model": rf.ALS(rank=3, passes=2)}),
        ("model", {"model": rf.SGD(rank=4, passes=2)}),
        ("ratings", {"ratings": lambda ratings: ratings.with_values(lambda values: values + 1)}),
        ("validation", {"validation": lambda ratings: ratings}),
        ("measure", {"validation": lambda ratings: ratings, "measure": "mae"}),
        ("init", {"init": lambda ratings: rf.ALS(rank=4, passes=1).fit(ratings)}),
        ("every", {"every": 3}),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(what, change, ratings, tmp_path):
    rf.ALS(rank=4, passes=2).fit(ratings, checkpoint=tmp_path)
    told = {"ratings": lambda ratings: ratings} | change
    model = told.pop("model", rf.ALS(rank=4, passes=2))
    told = {name: value(ratings) if callable(value) else value for name, value in told.items()}
    with pytest.raises(ValueError, match=f"other .*{what}.*; name another folder, or remove it"):
        model.fit(**told, checkpoint=tmp_path)


def test_features_are_part_of_the_fit(ratings, tmp_path):
    features = pd.DataFrame({"item": ratings.items.ids(), "weight": np.arange(ratings.n_items)})
    rf.ALS(rank=2, passes=2).fit(ratings, item_features=features, checkpoint=tmp_path)
    rf.ALS(rank=2, passes=2).fit(ratings, item_features=features, checkpoint=tmp_path)
    features["weight"] = features["weight"] ** 2
    with pytest.raises(ValueError, match="other item_features"):
        rf.ALS(rank=2, passes=2).fit(ratings, item_features=features, checkpoint=tmp_path)


def test_what_is_not_a_folder_or_not_whole_is_refused(ratings, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="is a file; name a folder"):
        rf.ALS(rank=2).fit(ratings, checkpoint=tmp_path / "file")
    with pytest.raises(ValueError, match="every"):
        rf.ALS(rank=2).fit(ratings, checkpoint=tmp_path, every=0)
    rf.ALS(rank=2).fit(ratings, checkpoint=tmp_path)
    content = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"cannot go on from checkpoint.*name another folder"):
        rf.ALS(rank=2).fit(ratings, checkpoint=tmp_path)


KILLED = """
import sys
import rankfill as rf
ratings = rf.synthetic.low_rank(400, 200, n_ratings=8000, seed=0)
print("ready", flush=True)
rf.SGD(rank=8, passes=400, tol=None).fit(ratings, checkpoint=sys.argv[1], every=1)
"""


def test_a_killed_fit_goes_on_to_the_same_bits(answers, tmp_path):
    ratings = rf.synthetic.low_rank(400, 200, n_ratings=8000, seed=0)
    made, rng = [], np.random.default_rng(0)
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            time.sleep(0.1 + 0.4 * rng.random())
            child.send_signal(signal.SIGKILL)
        seen = []
        rf.SGD(rank=8, passes=400, tol=None).fit(
            ratings, checkpoint=tmp_path, every=1, callbacks=[seen.append, lambda report: True]
        )
        made.append(seen[0].epoch)
    assert made == sorted(made)
    model = rf.SGD(rank=8, passes=400, tol=None).fit(ratings, checkpoint=tmp_path, every=1)
    whole = rf.SGD(rank=8, passes=400, tol=None).fit(ratings)
    assert without_seconds(model) == without_seconds(whole)
    np.testing.assert_array_equal(model.predict_all(), whole.predict_all())
