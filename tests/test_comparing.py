"""Many models on one split: the numbers are those of evaluate, the advice follows from them."""

import pytest

import rankfill as rf
from rankfill import comparing


@pytest.fixture(scope="module")
def ratings():
    return rf.synthetic.low_rank(200, 100, n_ratings=6000, seed=0)


def test_every_number_is_that_of_evaluate(ratings):
    found = rf.compare(ratings, [rf.Bias(), rf.SGD(), rf.Popularity()], seed=3)
    train, test = rf.split(ratings, test=0.2, seed=3)
    assert (found.n_train, found.n_test) == (len(train), len(test))
    for each in found.models:
        model = {"Bias()": rf.Bias(), "SGD()": rf.SGD(), "Popularity()": rf.Popularity()}[each.model]
        scores = rf.evaluate(model.fit(train), test)
        assert each.ndcg == scores["ndcg"]
        assert each.error == (scores["rmse"] if model.predicts_ratings else None)
        assert min(each.fit_seconds, each.list_milliseconds, each.megabytes) > 0
    qualities = [each.ndcg for each in found.models]
    assert qualities == sorted(qualities, reverse=True)
    assert found.best("error").model == "SGD()"
    assert f"To predict ratings: SGD(), rmse {found.best('error').error:.4f}" in repr(found)
    assert "below that of Bias()" in repr(found)
    assert list(found.to_frame("pandas").columns)[:3] == ["model", "error", "ndcg"]
    assert "<td>Bias()</td>" in found._repr_html_()


def test_numbers_are_shown_however_small_they_are():
    found = comparing.Comparison(
        [
            comparing.Compared("Bias()", 0.94, 0.08, fit_seconds=12.345, list_milliseconds=0.00041, megabytes=0.0),
            comparing.Compared("SGD()", fit_seconds=0.096, list_milliseconds=0.5, note="failed"),
        ],
        n_train=8,
        n_test=2,
    )
    assert found.rows()[1:] == [
        ("Bias()", "0.9400", "0.0800", "12.35", "0.00041", "0.00", ""),
        ("SGD()", "", "", "0.096", "0.50", "", "failed"),
    ]


def test_by_default_whatever_suits_is_compared(ratings, monkeypatch):
    few = {name: rf.MODELS[name] for name in ("auto", "als", "multiplicative-nmf", "bias")}
    monkeypatch.setattr(comparing, "MODELS", few)
    names = {each.model for each in rf.compare(ratings).models}
    assert {"ALS()", "ALS(feedback='implicit')", "Bias()", "Popularity()", "MultiplicativeNMF()"} <= names
    assert "Auto()" not in names
    signed = {each.model for each in rf.compare(ratings.with_values(lambda values: values - 3)).models}
    assert not {"ALS(feedback='implicit')", "MultiplicativeNMF()"} & signed
    marks = rf.compare(ratings.with_values(lambda values: values * 0 + 1)).models
    assert {each.error for each in marks} == {None}
    assert "Popularity()" in {each.model for each in marks}


def test_what_there_is_no_time_for_and_what_fails_is_named(ratings):
    refused = rf.PassiveAggressive(nonnegative="both")
    signed = ratings.with_values(lambda values: values - 3)
    found = {each.model: each.note for each in rf.compare(signed, [rf.Bias(), refused]).models}
    assert found["Bias()"] == ""
    assert found[repr(refused)].startswith("failed: nonnegative=")
    short = rf.compare(ratings, [rf.Bias(), rf.SGD()], seconds=1e-9)
    assert all(each.note.startswith("no time: about") for each in short.models)
    assert short.advice() == []
    with pytest.raises(TypeError, match="models must be rankfill models"):
        rf.compare(ratings, ["als"])
    with pytest.raises(ValueError, match="seconds must be a positive number"):
        rf.compare(ratings, seconds=0)


def test_ctrl_c_keeps_what_was_measured(ratings):
    def interrupt(text):
        if text.startswith("2 of 2"):
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        found = rf.compare(ratings, [rf.Bias(), rf.SGD()], progress=interrupt)
    assert sorted(each.note for each in found.models) == ["", "interrupted"]
