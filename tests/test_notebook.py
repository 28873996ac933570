"""What a notebook shows: tables with everything escaped."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.models import MODELS


@pytest.fixture(scope="module")
def ratings():
    return rf.synthetic.low_rank(40, 25, 600, seed=0)


def test_ratings_and_results_are_tables(ratings):
    train, test = rf.split(ratings, test=0.2)
    model = rf.Bias().fit(train)
    scores = rf.evaluate(model, test, scores=["rmse", "ndcg@5"])
    assert scores == {"rmse": scores["rmse"], "ndcg@5": scores["ndcg@5"]}
    folds = rf.cross_validate(rf.Bias(), ratings, folds=3)
    found = rf.tune(rf.Bias(), ratings, grid={"shrinkage": [1.0, 7.0]}, folds=2)
    path = rf.path(rf.SoftImpute(gap=1e-1), train, validation=test, steps=3)
    for result, words in (
        (ratings, ["ratings", "600"]),
        (scores, ["rmse", f"{scores['ndcg@5']:.4f}"]),
        (folds, ["rmse", f"{folds.errors[2]:.4f}", f"{folds.error:.4f} ± "]),
        (found, ["shrinkage", "best", "7"]),
        (path, ["penalty", f"{path.best.validation:.4f}", " best"]),
        (model.recommend(train.users.ids(np.arange(30)), n=3), ["<th>3</th>", "and 10 more users"]),
        (model.explain(train.users.ids([0])[0], train.items.ids([0])[0]), ["mean rating"]),
    ):
        html = result._repr_html_()
        assert "<table>" in html
        assert html.count("<tr>") == html.count("</tr>") > 1
        for word in words:
            assert word in html, (type(result).__name__, word)


def test_ids_cannot_write_into_the_page():
    ratings = rf.Ratings.from_arrays(["<b>ann", "bob"], ["<script>tea", "milk"], [5, 3])
    html = rf.Bias().fit(ratings).recommend(["<b>ann", "bob"], n=2)._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;tea" in html


def test_every_model_shows_its_settings():
    for cls in MODELS.values():
        assert cls.__name__ in cls()._repr_html_()
