"""Damaged files and odd command lines: a result, or one line that says what is wrong. Never a crash, never a traceback.

Hypothesis damages the seeds in `corpus` (made by make_corpus.py) and the files of freshly fitted models: bits are
flipped, bytes put in, taken out, doubled and cut off. The gate tries a few hundred; `make fuzz` a hundred thousand.
"""

import contextlib
import io
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankfill as rf
import rankfill.cli
from rankfill.data import read_pairs, read_titles
from rankfill.kernels import set_threads

SEEDS = {path.name: path.read_bytes() for path in sorted((Path(__file__).parent / "corpus").iterdir())}

few = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])


@few
@given(data=st.data(), duplicates=st.sampled_from(["error", "last", "mean"]))
def test_ratings(place, damaged, answers, data, duplicates):
    place.write_bytes(data.draw(damaged(SEEDS))[1])
    ratings = answers(rf.read_ratings, place, duplicates=duplicates)
    if ratings is not None:
        assert len(ratings) > 0
        assert np.isfinite(ratings.values).all()
        assert ratings.by_user.indices.max() < ratings.n_items


@few
@given(data=st.data())
def test_pairs_titles_and_batches(place, damaged, answers, data):
    place.write_bytes(data.draw(damaged(SEEDS))[1])
    pairs = answers(read_pairs, place)
    assert pairs is None or len(pairs[0]) == len(pairs[1]) > 0
    answers(read_titles, place)
    answers(lambda: sum(map(len, rf.read_batches(place))))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    corpus = Path(__file__).parent / "corpus"
    numbers, strings = rf.read_ratings(corpus / "numbers.csv"), rf.read_ratings(corpus / "strings.csv")
    fitted = {}
    for number, (name, cls) in enumerate(rf.MODELS.items()):  # numbers and strings in turn
        known = cls().get_params()
        settings = {key: value for key, value in {"rank": 2, "passes": 2, "penalty": 1.0}.items() if key in known}
        fitted[name] = cls(**settings).fit(strings if number % 2 else numbers)
    for name, model in fitted.items():
        model.save(folder / name)
    return {name: (folder / name).read_bytes() for name in fitted}


def use(model):
    """Everything that follows row numbers and ids of the file, for those in it and for others."""
    users, items = model.users_.ids()[:3], model.items_.ids()[:3]
    unknown = "nobody" if model.users_.of_strings else -5
    model.predict(users, items)
    model.predict(unknown, items[:1])
    model.predict_all(users)
    model.recommend([*users, unknown], n=3)
    model.recommend(users, n=3, exclude_seen=False)
    rated = rf.Ratings.from_arrays(users, items[: len(users)], [3.0] * len(users))
    model.fold_in(rated)
    if hasattr(model, "partial_fit"):
        model.partial_fit(rated)
        model.learn_one(users[0], items[-1], 4.0)
        model.learn_one(unknown, items[-1], 4.0)
        model.predict(unknown, items)
    return model


@few
@given(data=st.data())
def test_model_files(place, models, damaged, answers, data):
    _, content = data.draw(damaged(models))
    place.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a flipped bit makes other numbers, even huge ones
        model = answers(rf.load, place)
        if model is not None:
            answers(use, model)


OPTIONS = """
fit evaluate predict recommend topics info models cross-validate -o -n --user --model als sgd bias --rank 2 -1 1e9 nan
--columns user,item,rating --duplicates last --validation 0.5 --titles --all-users --min-ratings --json --threads 1
--passes --seed --help --include-seen MODEL NUMBERS STRINGS NOWHERE out.csv out.parquet
"""
WORDS = st.sampled_from(OPTIONS.split()) | st.text(st.characters(exclude_characters="/"), max_size=8)


@settings(few, max_examples=25)
@given(verb=st.sampled_from(["fit", "evaluate", "predict", "recommend", "topics", "info", "models"]), data=st.data())
def test_command_lines(tmp_path, models, damaged, monkeypatch, verb, data):
    monkeypatch.chdir(tmp_path)
    tables, model = dict(SEEDS), models[data.draw(st.sampled_from(sorted(models)))]
    if data.draw(st.booleans()):
        name, content = data.draw(damaged(SEEDS))
        tables[name] = content
    files = {"MODEL": model, "NUMBERS": tables["numbers.csv"], "STRINGS": tables["strings.csv.gz"]}
    for name, content in files.items():
        Path(name).write_bytes(content)
    first = {"fit": ["NUMBERS", "-o", "out", "--passes", "1"], "evaluate": ["MODEL", "NUMBERS"]}
    first |= {"predict": ["MODEL", "STRINGS"], "models": []}
    words = [*first.get(verb, ["MODEL"]), *data.draw(st.lists(WORDS, max_size=5))]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = rankfill.cli.run([verb, *words])
    set_threads(None)
    assert code in (0, 2), (words, err.getvalue())
    if code == 2:
        assert len(err.getvalue().splitlines()) >= 1, words
        assert err.getvalue().splitlines()[-1].startswith("rankfill: "), err.getvalue()
    assert not list(tmp_path.glob("*.writing"))
