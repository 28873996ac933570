"""Models on disk: whole, the same in another process, and refused in words when they are not what they should be."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save as save_safetensors

import rankfill as rf
from rankfill.data.tensors import read_tensors, write_tensors
from rankfill.models import MODELS

ASK = """
import sys
from pathlib import Path
import numpy as np
import rankfill as rf

for path in sorted(Path(sys.argv[1]).glob("*.rankfill")):
    model = rf.load(path)
    users, items = np.append(model.users_.ids(), sys.argv[2:3]), np.append(model.items_.ids(), sys.argv[2:3])
    if not model.users_.of_strings:
        users, items = np.append(model.users_.ids(), -77), np.append(model.items_.ids(), -77)
    predictions = model.predict(users[:, None], items)
    best = model.recommend(users, n=4)
    np.savez(path.with_suffix(".npz"), predictions=predictions, items=best.items.astype(str), scores=best.scores)
    print(type(model).__name__, sorted(model.get_params().items()), len(model.history_))
"""


@pytest.fixture(scope="module")
def other_process(tmp_path_factory):
    """Every model with numbers and with strings for ids, saved here, loaded and asked in one fresh process."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    filled = rng.random((13, 6)) < 0.6
    filled[:, 0] = True
    users, items = np.nonzero(filled)
    values = rng.integers(1, 6, len(users)).astype(float)
    fitted = {}
    for name, cls in MODELS.items():
        cheap = {key: value for key, value in {"passes": 3, "rank": 4}.items() if key in cls().get_params()}
        for kind in ("numbers", "strings"):
            ids = [np.array([f"{side} æ{k}" for k in range(13)])[index] for side, index in (("u", users), ("i", items))]
            if kind == "numbers":
                ids = [7 * users - 20, 10**12 + items]
            model = cls(**cheap).fit(rf.Ratings.from_arrays(*ids, values))
            rf.save(model, folder / f"{name} {kind}.rankfill")
            fitted[name, kind] = model
    done = subprocess.run(
        [sys.executable, "-c", ASK, folder, "nobody"], capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return folder, fitted, done.stdout


@pytest.mark.parametrize("kind", ["numbers", "strings"])
@pytest.mark.parametrize("name", sorted(MODELS))
def test_model_answers_in_another_process_as_it_did_here(other_process, name, kind):
    folder, fitted, printed = other_process
    model, there = fitted[name, kind], np.load(folder / f"{name} {kind}.npz")
    unknown = "nobody" if kind == "strings" else -77
    users, items = np.append(model.users_.ids(), unknown), np.append(model.items_.ids(), unknown)
    assert there["predictions"].tobytes() == model.predict(users[:, None], items).tobytes()
    best = model.recommend(users, n=4)
    assert there["scores"].tobytes() == best.scores.tobytes()
    np.testing.assert_array_equal(there["items"], best.items.astype(str))
    assert f"{type(model).__name__} {sorted(model.get_params().items())} {len(model.history_)}" in printed


def test_round_trip_keeps_everything(model, named_ratings, state, answers, tmp_path):
    model.fit(named_ratings, validation=named_ratings)
    model.save(tmp_path / "m.rankfill")
    loaded = rf.load(tmp_path / "m.rankfill")
    assert type(loaded) is type(model)
    assert answers(loaded) == answers(model)
    assert loaded.history_ == model.history_
    assert loaded.get_params() == model.get_params()
    assert (loaded.mean_, loaded.range_) == (model.mean_, model.range_)
    assert state(loaded) == state(model)
    assert repr(loaded) == repr(model)


def test_loaded_model_folds_in_and_fits_anew(model, ratings, other_ratings, answers, fresh, tmp_path):
    model.fit(ratings)
    rf.save(model, tmp_path / "m.rankfill")
    loaded = rf.load(tmp_path / "m.rankfill")
    np.testing.assert_array_equal(loaded.fold_in(other_ratings), model.fold_in(other_ratings))
    assert answers(loaded.fit(other_ratings)) == answers(fresh(model).fit(other_ratings))


def test_file_may_be_replaced_while_a_model_is_read_from_it(model, ratings, other_ratings, answers, fresh, tmp_path):
    path = tmp_path / "m.rankfill"
    rf.save(model.fit(ratings), path)
    loaded = rf.load(path)
    rf.save(fresh(model).fit(other_ratings), path)
    assert answers(loaded) == answers(model)
    loaded.save(path)
    assert answers(rf.load(path)) == answers(model)


def test_a_path_may_be_text_or_a_path(model, ratings, answers, tmp_path):
    model.fit(ratings)
    rf.save(model, os.fspath(tmp_path / "m.rankfill"))
    assert answers(rf.load(os.fspath(tmp_path / "m.rankfill"))) == answers(model)


def test_failing_write_leaves_the_old_file_whole_and_no_other(model, ratings, answers, fresh, tmp_path, monkeypatch):
    path = tmp_path / "m.rankfill"
    model.fit(ratings).save(path)
    before = path.read_bytes()

    def disk_full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match="no space left"):
        fresh(model, clip=False).fit(ratings).save(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["m.rankfill"]


@pytest.mark.parametrize("keep", [0, 3, 8, 50, 0.5, -1])
def test_file_cut_short_is_refused_in_words(model, ratings, tmp_path, keep):
    path = tmp_path / "m.rankfill"
    model.fit(ratings).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole)) if isinstance(keep, float) else keep])
    with pytest.raises(ValueError, match=r"m\.rankfill (was cut short|is not a model file)"):
        rf.load(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"user,item,rating\n1,2,3.5\n" * 50,
        pickle.dumps({"rank": 3}),
        bytes(range(256)) * 10,
        (2).to_bytes(8, "little") + b"[]",
        (4).to_bytes(8, "little") + b"null",
        save_safetensors({"weights": np.ones((2, 3), dtype=np.float32)}),
        save_safetensors({"weights": np.ones((2, 3), dtype=np.float32)}, metadata={"format": "pt"}),
        save_safetensors({"weights": np.ones((2, 3), dtype=np.float32)}, metadata={"version": "3"}),
        save_safetensors({"weights": np.ones((2, 3), dtype=np.float16)}),
    ],
    ids=["empty", "csv", "pickle", "bytes", "list", "null", "bare", "of others", "numbers of others", "half floats"],
)
def test_file_that_is_no_model_is_refused_in_words(tmp_path, content):
    path = tmp_path / "m.rankfill"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"m\.rankfill is not a model"):
        rf.load(path)


@pytest.mark.parametrize("part", ["user_counts", "seen_items", "parameters", "history"])
def test_file_that_lacks_part_of_a_model_is_refused_in_words(model, ratings, tmp_path, part):
    path = tmp_path / "m.rankfill"
    model.fit(ratings).save(path)
    tensors, about = read_tensors(path)
    tensors.pop(part, None)
    about.pop(part, None)
    write_tensors(path, tensors, about)
    with pytest.raises(ValueError, match=rf"lacks part of a model \('{part}'\); save the model again"):
        rf.load(path)


def test_folder_is_not_written_over(model, ratings, tmp_path):
    with pytest.raises(ValueError, match=r"it exists and is not a file; name a file"):
        model.fit(ratings).save(tmp_path)


def test_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        rf.load(tmp_path / "nowhere.rankfill")


def test_newer_format_is_refused_with_the_remedy(model, ratings, tmp_path):
    path = tmp_path / "m.rankfill"
    model.fit(ratings).save(path)
    tensors, about = read_tensors(path)
    version = about["rankfill"]
    write_tensors(path, tensors, about | {"rankfill": version + 1})
    with pytest.raises(ValueError, match=f"has format {version + 1}, this rankfill reads up to {version}; upgrade"):
        rf.load(path)


def test_unknown_family_is_refused_with_the_remedy(model, ratings, tmp_path):
    path = tmp_path / "m.rankfill"
    model.fit(ratings).save(path)
    tensors, about = read_tensors(path)
    write_tensors(path, tensors, about | {"model": "Oracle"})
    with pytest.raises(ValueError, match=r"holds a .Oracle., which this rankfill does not have; upgrade rankfill"):
        rf.load(path)
