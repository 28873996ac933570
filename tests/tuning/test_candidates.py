"""Which settings are tried, and in which order."""

import numpy as np
import pytest
import scipy.stats

import rankfill as rf
from rankfill.tuning.candidates import candidates, paths
from rankfill.tuning.search import rungs


def test_a_grid_is_all_combinations():
    found = candidates(rf.SGD(), {"rank": [2, 3], "penalty": np.array([0.1, 0.2])}, None, 5, 0)
    assert found == [
        {"rank": 2, "penalty": 0.1},
        {"rank": 2, "penalty": 0.2},
        {"rank": 3, "penalty": 0.1},
        {"rank": 3, "penalty": 0.2},
    ]
    assert all(type(params["penalty"]) is float for params in found)
    assert candidates(rf.SGD(), {"rank": [2, 2]}, None, 5, 0) == [{"rank": 2}]


def test_distributions_are_drawn_from_by_the_seed():
    space = {
        "rank": (2, 64),
        "penalty": (0.01, 1.0),
        "rate": scipy.stats.uniform(0.1, 0.2),
        "loss": ["squared", "huber"],
    }
    found = candidates(rf.SGD(), None, space, 300, seed=1)
    assert found == candidates(rf.SGD(), None, space, 300, seed=1) != candidates(rf.SGD(), None, space, 300, seed=2)
    ranks, penalties = ([params[name] for params in found] for name in ("rank", "penalty"))
    assert all(isinstance(rank, int) and 2 <= rank <= 64 for rank in ranks)
    assert {params["loss"] for params in found} == {"squared", "huber"}
    assert all(0.1 <= params["rate"] <= 0.3 for params in found)
    assert np.mean(np.array(penalties) < 0.1) == pytest.approx(0.5, abs=0.1)  # log-uniform


def test_paths_differ_in_regularisation_alone():
    found = [
        {"rank": 2, "penalty": 1.0},
        {"rank": 3, "penalty": 4.0},
        {"rank": 2, "penalty": 9.0},
        {"rank": 3, "penalty": 2.0},
        {"rank": 2, "penalty": None},
    ]
    assert paths(found, "strongest first") == [[2, 0], [1, 3], [4]]
    assert paths(found, "weakest first") == [[0, 2], [3, 1], [4]]
    careful = [{"C": 0.1}, {"C": 0.001}, {"C": 1.0}]
    assert paths(careful, "strongest first") == [[1, 0, 2]]
    assert paths([{"rank": 1}, {"rank": 2}], "none") == [[0], [1]]


def test_passes_grow_by_three_while_paths_fall_to_a_third():
    model = rf.SGD(passes=30)
    assert rungs(model, 1, True) == rungs(model, 2, True) == rungs(model, 50, False) == [None]
    assert rungs(model, 3, True) == [10, 30]
    assert rungs(model, 9, True) == [4, 10, 30]
    assert rungs(rf.SGD(passes=2), 30, True) == [1, 2]
    assert rungs(rf.Bias(), 9, True) == [None]


@pytest.mark.parametrize(
    ("grid", "distributions", "error", "words"),
    [
        (None, None, ValueError, "say what to try by either grid="),
        ({"rank": [1]}, {"rank": [1]}, ValueError, "say what to try by either grid="),
        ({"ranks": [1]}, None, ValueError, "SGD has no parameter 'ranks'; it has averaging, biases"),
        ({"rank": 3}, None, TypeError, "what to try for rank must be a list of values, found 3"),
        ({"loss": "huber"}, None, TypeError, "what to try for loss must be a list of values, found 'huber'"),
        ({"rank": []}, None, ValueError, "there is nothing to try for rank"),
        (None, {"rate": (0.0, 1.0)}, ValueError, r"rate=\(0.0, 1.0\) is no range: give \(low, high\)"),
        (None, {"rate": (3.0, 1.0)}, ValueError, "is no range"),
    ],
)
def test_what_cannot_be_tried_is_refused_in_words(grid, distributions, error, words):
    with pytest.raises(error, match=words):
        candidates(rf.SGD(), grid, distributions, 5, 0)
    with pytest.raises(ValueError, match="trials must be a whole number of at least 1, found 0"):
        candidates(rf.SGD(), None, {"rank": (1, 2)}, 0, 0)
