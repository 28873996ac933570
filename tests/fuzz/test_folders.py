"""Damaged stores, features, checkpoints and service state: what was kept, or one line that says what is wrong."""

import shutil
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankfill as rf
from rankfill.service.run import Service, Settings

CORPUS = Path(__file__).parent / "corpus"
few = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def lay_out(folder, files):
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def timed(path):
    ratings = rf.read_ratings(path)
    return rf.Ratings(ratings.users, ratings.items, ratings.by_user, 1000 * np.arange(len(ratings)))


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("stores"), {}
    for name in ("numbers.csv", "strings.csv"):
        rf.store_ratings(timed(CORPUS / name), folder / name)
        made[name] = contents(folder / name)
    return made


def look_around(store):
    """All that follows offsets and indices of the files."""
    users, items = store.users.ids(), store.items.ids()
    for place in (0, len(store) - 1):
        store.rating(place)
    store.describe()
    rf.SGD(rank=2, passes=1).fit(store)
    model = rf.ALS(rank=2, passes=1).fit(store)
    return model.predict(users[:2], items[:2])


@few
@given(data=st.data(), kind=st.sampled_from(["numbers.csv", "strings.csv"]))
def test_stores(tmp_path, stores, damaged, answers, data, kind):
    name, content = data.draw(damaged(stores[kind]))
    lay_out(tmp_path / "store", stores[kind] | {name: content})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        store = answers(rf.open_store, tmp_path / "store")
        if store is not None:
            answers(look_around, store)
            answers(store.check)


FEATURES = {
    "films.csv": b"movieId,title,genres,year,length\n1,Up,Drama|War,1999,90\n2,Down,War,2001,\n3,In,Comedy,1950,1.5\n",
    "films.tsv": b"id\tgenres\tfree\nx1\tDrama\t1\nx2\tWar|Drama\t0\nx3\t\t1\n",
}


@few
@given(data=st.data())
def test_features(place, damaged, answers, data):
    place.write_bytes(data.draw(damaged(FEATURES))[1])
    features = answers(rf.read_features, place)
    if features is None:
        return
    assert np.isfinite(features.matrix.data).all()
    assert features.matrix.shape == (len(features.ids), len(features.names))
    some = features.ids.ids()
    ratings = rf.Ratings.from_arrays(np.arange(len(some)), some, 1.0 + np.arange(len(some)) % 5)
    answers(lambda: rf.FeatureRidge().fit(ratings, item_features=features))


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("checkpoints"), {}
    for cls in (rf.ALS, rf.PassiveAggressive, rf.SoftImpute, rf.Broyden):
        cls(passes=2).fit(rf.read_ratings(CORPUS / "numbers.csv"), checkpoint=folder / cls.__name__)
        made[cls.__name__] = (folder / cls.__name__ / "checkpoint.safetensors").read_bytes()
    return made


@few
@given(data=st.data())
def test_checkpoints(tmp_path, checkpoints, damaged, answers, data):
    name, content = data.draw(damaged(checkpoints))
    lay_out(tmp_path / "c", {"checkpoint.safetensors": content})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        ratings = rf.read_ratings(CORPUS / "numbers.csv")
        answers(lambda: getattr(rf, name)(passes=3).fit(ratings, checkpoint=tmp_path / "c").predict_all())


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """A service that was ended, and one that was cut off: part of its events are in the log alone."""
    folder = tmp_path_factory.mktemp("service")
    model = rf.PassiveAggressive(rank=2, C=0.1, passes=2).fit(rf.read_ratings(CORPUS / "strings.csv"))
    model.save(folder / "model")
    Service(Settings(state=folder / "state", model=folder / "model")).close()
    with closing(sqlite3.connect(folder / "state" / "events.sqlite")) as log:
        users, items = (side.ids()[:2].tolist() for side in (model.users_, model.items_))
        body = str([users, items, [4, 5], [0, 0]]).replace("'", '"')
        log.execute("INSERT INTO batches VALUES (1, 2, ?, ?)", (bytes(8), body.encode()))
        log.commit()
    return {name: content for name, content in contents(folder / "state").items() if "lock" not in name}


@settings(few, max_examples=25)
@given(data=st.data())
def test_state_of_the_service(tmp_path, state, damaged, answers, data):
    name, content = data.draw(damaged(state))
    lay_out(tmp_path / "state", state | {name: content})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        service = answers(lambda: Service(Settings(state=tmp_path / "state")))
        if service is not None:
            answers(service.close)
