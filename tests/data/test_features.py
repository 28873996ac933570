"""Features: what is made of each kind of column, files as people have them, alignment, and columns in any order."""

import datetime
import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import rankfill as rf
from rankfill.data.features import as_features

FILMS = (
    "movieId,title,genres,year,sold\n7,Heat,Crime|Drama,1995,1\n8,Babe,Comedy,1997,0\n9,M,Drama|Crime,1999,1\n5,X,,,0\n"
)


@pytest.fixture
def films(tmp_path):
    path = tmp_path / "movies.csv"
    path.write_text(FILMS)
    return path


def test_lists_numbers_flags_and_texts_of_a_file(films):
    features = rf.read_features(films, id="movieId")
    assert features.names == ["genres=Comedy", "genres=Crime", "genres=Drama", "sold", "year"]
    assert features.ignored == {"title": "text"}
    deviation = np.std([1995, 1997, 1999])
    expected = [
        [0, 1, 1, 1, -2 / deviation],
        [1, 0, 0, 0, 0],
        [0, 1, 1, 1, 2 / deviation],
        [0, 0, 0, 0, 0],
    ]
    np.testing.assert_allclose(features.matrix.toarray(), expected, rtol=1e-6)
    assert features.matrix.dtype == np.float32
    assert features.ids.ids().tolist() == [7, 8, 9, 5]
    assert repr(features) == (
        "Features(4 ids, 5 columns: 3 of genres (list), sold (flag), year (number); ignored: title (text))"
    )


@given(st.permutations(["title", "genres", "year", "sold"]))
def test_the_order_of_columns_makes_no_difference(order):
    frame = pd.DataFrame(
        {
            "movieId": [7, 8, 9],
            "title": ["Heat", "Babe", "M"],
            "genres": ["Crime|Drama", "Comedy", "Drama|Crime"],
            "year": [1995, 1997, 1999],
            "sold": [True, False, True],
        }
    )
    one, other = rf.Features.from_frame(frame), rf.Features.from_frame(frame[[*order, "movieId"]])
    assert one.encoding == other.encoding
    assert (one.matrix.toarray() == other.matrix.toarray()).all()


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, lambda columns: pl.DataFrame(columns).lazy()])
def test_frames_of_any_library(library):
    columns = {
        "colour": ["red", None, "blue", "red", "red"],
        "item": ["a", "b", "c", "d", "e"],
        "tags": [["x", "y"], [], ["x"], None, ["y"]],
        "seen": [datetime.date(2020, 1, day) for day in (1, 2, 3, 4, 5)],
        "weight": [1.0, float("nan"), 3.0, 2.0, 2.0],
    }
    features = rf.Features.from_frame(library(columns))
    assert features.names == ["colour=blue", "colour=red", "seen", "tags=x", "tags=y", "weight"]
    assert features.matrix.toarray()[1, [0, 1, 3, 4, 5]].tolist() == [0, 0, 0, 0, 0]  # nothing but a date
    assert features.matrix.toarray()[:, 2] == pytest.approx(np.array([-2, -1, 0, 1, 2]) / np.sqrt(2))


def test_numbers_are_categories_when_told_so():
    table = {"job": [1, 1, 20, 20], "code": ["007", "7", "x", "y"]}
    assert rf.Features.from_table([1, 2, 3, 4], table).ignored == {"code": "text"}
    features = rf.Features.from_table([1, 2, 3, 4], table, categories=["job", "code"])
    assert features.names == ["code=007", "code=7", "code=x", "code=y", "job=1", "job=20"]
    with pytest.raises(ValueError, match=r"categories must name columns among job, code; found jobs"):
        rf.Features.from_table([1, 2, 3, 4], table, categories=["jobs"])


def test_constant_and_empty_columns_are_ignored():
    features = rf.Features.from_table([1, 2], {"same": [3, 3], "empty": [None, ""], "huge": ["inf", "1e200"]})
    assert features.names == []
    assert features.ignored == {"empty": "constant", "huge": "text", "same": "constant"}
    assert features.aligned(rf.Vocabulary([2, 3])).shape == (2, 0)
    assert repr(features).startswith("Features(2 ids, 0 columns; ignored: ")


def test_alignment_to_other_ids(films):
    features = rf.read_features(films)
    wanted = rf.Vocabulary([100, 9, 5, 7])
    rows = features.aligned(wanted)
    assert rows.shape == (4, 5)
    assert (rows.toarray()[[1, 3]] == features.matrix.toarray()[[2, 0]]).all()
    assert (rows.toarray()[[0, 2]] == 0).all()
    assert features.known(wanted).tolist() == [False, True, True, True]  # 5 is known, though all of it is zero
    with pytest.raises(TypeError, match="the ids known here are numbers, found strings"):
        features.aligned(rf.Vocabulary(["9"]))


def test_new_items_take_the_columns_and_scales_of_the_old_ones(films, tmp_path):
    old = rf.read_features(films)
    new = tmp_path / "new.csv"
    new.write_text("movieId,genres,year,studio\n20,Drama,2001,A\n21,Western|Crime,1997,B\n22,,,C\n")
    deviation = np.std([1995, 1997, 1999])
    expected = [[0, 0, 1, 0, 4 / deviation], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
    for features in (
        rf.read_features(new, like=old),
        as_features(new, like=old.encoding),
        rf.read_features(new).like(old),
    ):
        assert features.encoding == old.encoding
        np.testing.assert_allclose(features.matrix.toarray(), expected, rtol=1e-6)
    new.write_text("movieId,year\n20,soon\n")
    with pytest.raises(ValueError, match=r"year must be a finite number .* found 'soon' at row 0"):
        rf.read_features(new, like=old)


def test_arrays_and_sparse_matrices_stay_as_they_are():
    values = np.arange(24, dtype=float).reshape(2, 12)
    features = rf.Features.from_arrays(["a", "b"], values)
    assert features.names[:3] == ["00", "01", "02"]
    assert (features.matrix.toarray() == values).all()
    turned = rf.Features.from_sparse(scipy.sparse.coo_array([[1.0, 2.0]]), names=["z", "a"])
    assert (turned.names, turned.matrix.toarray().tolist()) == (["a", "z"], [[2.0, 1.0]])
    with pytest.raises(ValueError, match="features must be finite, found nan in row 1"):
        rf.Features.from_arrays([0, 1], [[1.0], [np.nan]])
    with pytest.raises(ValueError, match="names must be 2 different ones"):
        rf.Features.from_arrays([0], [[1.0, 2.0]], names=["x", "x"])
    with pytest.raises(ValueError, match="one row per id"):
        rf.Features.from_arrays([0, 1, 2], values)


def test_files_of_many_forms(tmp_path):
    expected = rf.Features.from_table([1, 2, 3], {"colour": ["red", "blue", "red"], "size": [1, 2, 4]})
    frame = pd.DataFrame({"id": [1, 2, 3], "colour": ["red", "blue", "red"], "size": [1, 2, 4]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    (tmp_path / "a.dat").write_text("1::red::1\n2::blue::2\n3::red::4\n")
    for name in ("a.csv", "a.tsv", "a.parquet", "a.csv.gz"):
        features = rf.read_features(tmp_path / name)
        assert features.encoding == expected.encoding
        assert (features.matrix.toarray() == expected.matrix.toarray()).all()
    named = rf.read_features(tmp_path / "a.dat", columns=["id", "colour", "size"])
    assert named.encoding == expected.encoding
    assert rf.read_features(tmp_path / "a.dat").names == ["column_2=blue", "column_2=red", "column_3"]


def test_ids_take_the_type_of_those_known(films):
    known = rf.Vocabulary(["7", "8x"])
    assert rf.read_features(films, ids=known).ids.ids().tolist() == ["7", "8", "9", "5"]
    films.write_text("movieId,year\nx7,1\ny,2\n")
    with pytest.raises(ValueError, match=r"line 2 of movies.csv: the id 'x7' is no whole number"):
        rf.read_features(films, ids=rf.Vocabulary([7]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("movieId,year\n1,5\n1,6\n", "has 1 on line 2 and on line 3; keep one line for each id"),
        ("movieId,year\n,5\n2,6\n", "line 2 of bad.csv: the id is empty"),
        ("movieId,year\n1,5\n2\n3,6\n", "line 3 of bad.csv has 1 columns, the first 2"),
        ("movieId,year\n", "has a header but nothing below it"),
        ("movieId,year,year\n1,2,3\n", "has a column twice"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        rf.read_features(path)


def test_a_column_that_is_not_there(films):
    with pytest.raises(ValueError, match=r"id must be a column of movies.csv, one of movieId, title"):
        rf.read_features(films, id="film")
    with pytest.raises(TypeError, match="features are Features, a data frame or the path of a file, found int"):
        as_features(3)


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "n_ids", "kinds"),
    [
        ("ml-1m/movies.dat", 3883, {"genres": "list", "title": "text"}),
        ("ml-1m/users.dat", 6040, {"age": "category", "gender": "category", "occupation": "category", "zip": "text"}),
        ("ml-100k/u.item", 1682, {"Comedy": "flag", "released": "date", "url": "text"}),
        ("ml-100k/u.user", 943, {"age": "number", "gender": "category", "occupation": "category", "zip": "text"}),
        ("ml-latest-small/movies.csv", 9742, {"genres": "list", "title": "text"}),
    ],
)
def test_the_files_of_movielens(data_folder, file, n_ids, kinds):
    features = rf.read_features(data_folder / file)
    found = dict(zip(features.encoding.columns, features.encoding.kinds, strict=True))
    assert len(features) == n_ids
    assert kinds.items() <= found.items()


def test_new_items_in_a_file_without_a_header_have_the_columns_of_the_first(tmp_path):
    (tmp_path / "movies.dat").write_text("1::Heat (1995)::Crime|Drama\n2::Babe (1995)::Comedy\n3::Alien::Horror\n")
    films = rf.read_features(tmp_path / "movies.dat")
    (tmp_path / "new.dat").write_text("7::New (2027)::Horror\n")
    new = rf.read_features(tmp_path / "new.dat", like=films)
    assert dict(zip(new.names, new.matrix.toarray()[0].tolist(), strict=True))["genres=Horror"] == 1


def test_a_file_without_a_column_that_was_learned_from_is_refused(tmp_path):
    films = rf.Features.from_table([1, 2], {"kind": ["old", "new"], "year": [1990, 2000]})
    (tmp_path / "new.csv").write_text("movieId,colour\n7,red\n")
    with pytest.raises(
        ValueError, match="none of the columns that were learned from, year, but colour; give it a header"
    ):
        rf.read_features(tmp_path / "new.csv", like=films)
