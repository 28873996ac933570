"""NearestNeighbors against the neighbours of scikit-surprise, where the definitions coincide.

Its answers are stored in `surprise.json`: for made-up ratings, and for some pairs of fold u1 of MovieLens 100K, ids and
predictions alone. Where the package is installed, the numbers are compared with the package. To store
them anew, with scikit-surprise and the data:

    RANKFILL_DATA=… python tests/models/neighbours/test_surprise.py
"""

import json
import os
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import rankfill as rf

STORE = Path(__file__).with_name("surprise.json")
EFFECTS = {"method": "als", "n_epochs": 1, "reg_i": 5, "reg_u": 5}  # with one epoch, the effects of Bias(shrinkage=5)
CASES = {  # Surprise's class, its similarity, and the same here
    "basic, cosine, items": ("KNNBasic", "cosine", False, {"baseline": "none", "similarity": "cosine"}),
    "basic, cosine, users": ("KNNBasic", "cosine", True, {"baseline": "none", "similarity": "cosine"}),
    "basic, pearson, items": ("KNNBasic", "pearson", False, {"baseline": "none", "centre": "common"}),
    "means, pearson, items": ("KNNWithMeans", "pearson", False, {"baseline": "means", "centre": "common"}),
    "means, cosine, users": ("KNNWithMeans", "cosine", True, {"baseline": "means", "similarity": "cosine"}),
    "baseline, pearson, items": ("KNNBaseline", "pearson", False, {"centre": "common"}),
    "baseline, pearson, users": ("KNNBaseline", "pearson", True, {"centre": "common"}),
    "baseline, pearson_baseline, items": ("KNNBaseline", "pearson_baseline", False, {"centre": "baseline"}),
    "baseline, pearson_baseline, users": ("KNNBaseline", "pearson_baseline", True, {"centre": "baseline"}),
}
K, SUPPORT = 20, 3


def made_up():
    """Ratings of 1 to 5, in the order of users and items, and all pairs that are not rated."""
    rng = np.random.default_rng(5)
    dense = np.where(rng.random((40, 30)) < 0.5, rng.integers(1, 6, (40, 30)), 0)
    users, items = np.nonzero(dense)
    return (users, items, dense[users, items]), np.nonzero(dense == 0)


def movielens(folder):
    """Fold u1, and three hundred pairs of its test of which both sides are known."""
    train, test = (np.loadtxt(Path(folder) / "ml-100k" / f"u1.{part}", dtype=np.int64) for part in ("base", "test"))
    known = np.isin(test[:, 0], train[:, 0]) & np.isin(test[:, 1], train[:, 1])
    pairs = test[known][:: int(known.sum()) // 300]
    return tuple(train[:, :3].T), tuple(pairs[:, :2].T)


def theirs(data, pairs, case):
    import surprise

    algorithm, similarity, users, _ = CASES[case]
    options = {"name": similarity, "user_based": users, "min_support": SUPPORT, "shrinkage": 0}
    baseline = {"bsl_options": EFFECTS} if "baseline" in similarity or algorithm == "KNNBaseline" else {}
    model = getattr(surprise, algorithm)(k=K, sim_options=options, verbose=False, **baseline)
    reader = surprise.Reader(rating_scale=(1, 5))
    rows = list(zip(*(each.tolist() for each in data), strict=True))
    frame = surprise.Dataset(reader).construct_trainset([(*row, None) for row in rows])
    model.fit(frame)
    return [model.predict(user, item).est for user, item in zip(*(each.tolist() for each in pairs), strict=True)]


def ours(data, pairs, case):
    _, _, users, options = CASES[case]
    settings = {"keep": 10_000, "min_support": SUPPORT, "shrinkage": 0.0, "penalty": 0.0, "k": K}
    model = rf.NearestNeighbors(side="users" if users else "items", **settings, **options)
    return model.fit(rf.Ratings.from_arrays(*data)).predict(*pairs)


def stored(name, case):
    return json.loads(STORE.read_text())[name][case]


@pytest.mark.parametrize("case", CASES)
def test_made_up_ratings_are_predicted_as_by_surprise(case):
    np.testing.assert_allclose(ours(*made_up(), case), stored("made up", case), rtol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_movielens_is_predicted_as_by_surprise(case, data_folder):
    data, pairs = movielens(data_folder)
    np.testing.assert_array_equal(np.array(pairs).T.tolist(), stored("u1", "pairs"))
    np.testing.assert_allclose(ours(data, pairs, case), stored("u1", case), rtol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_what_is_stored_is_what_the_package_answers(case):
    pytest.importorskip("surprise")
    np.testing.assert_allclose(theirs(*made_up(), case), stored("made up", case), atol=1e-7)


if __name__ == "__main__":
    data, pairs = movielens(os.environ["RANKFILL_DATA"])
    answers = {
        "version": version("scikit-surprise"),
        "made up": {case: np.round(theirs(*made_up(), case), 7).tolist() for case in CASES},
        "u1": {"pairs": np.array(pairs).T.tolist()}
        | {case: np.round(theirs(data, pairs, case), 7).tolist() for case in CASES},
    }
    STORE.write_text(json.dumps(answers) + "\n")
