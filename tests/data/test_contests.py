"""The Netflix Prize and Yahoo Music, on small files of their formats."""

import gzip

import numpy as np
import pytest

import rankfill as rf
from rankfill.data.datasets import netflix, yahoo_music
from rankfill.experiments.frame import Asked

FILMS = {
    1: "1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n",
    2: "2:\n822109,4,2005-09-05\n",
    17770: "17770:\n6,1,1999-12-30\n",
}
TRAIN_KDD = "0|2\n507696\t90\t3811\t13:24:00\n137915\t0\t3811\t13:24:30\n9|1\n137915\t50\t0\t00:00:01\n"


def write(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode("latin-1"))
    return folder


@pytest.fixture
def prize(tmp_path):
    files = {f"training_set/mv_{film:07}.txt": text for film, text in FILMS.items()}
    titles = "1,2003,Dinosaur Planet\n2,NULL,Lettres, \xe9crites\n17770,1999,Alien Hunter\n"
    return write(tmp_path / "nf", files | {"movie_titles.txt": titles})


def entries(ratings):
    """User, item and rating of each, with the time."""
    ids = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
    return set(zip(*(each.tolist() for each in (*ids, ratings.values, ratings.timestamps)), strict=True))


WHOLE = {
    (1488844, 1, 3.0, 1125964800),
    (822109, 1, 5.0, 1115942400),
    (822109, 2, 4.0, 1125878400),
    (6, 17770, 1.0, 946512000),
}


def test_netflix_from_a_file_for_each_film(prize):
    found = netflix(prize)
    assert entries(found.ratings) == WHOLE
    assert found.titles == {1: "Dinosaur Planet", 2: "Lettres, écrites", 17770: "Alien Hunter"}
    assert entries(netflix(prize / "training_set").ratings) == WHOLE
    assert netflix(prize / "training_set").titles == found.titles
    assert entries(rf.read_ratings(prize)) == entries(rf.read_ratings(prize / "training_set")) == WHOLE


def test_netflix_from_combined_files(tmp_path):
    folder = write(tmp_path, {"combined_data_1.txt": FILMS[1] + FILMS[2], "combined_data_2.txt": FILMS[17770]})
    assert entries(netflix(folder).ratings) == entries(rf.read_ratings(folder)) == WHOLE
    part = rf.read_ratings(folder / "combined_data_1.txt")
    assert (len(part), part.n_items) == (3, 2)
    assert rf.read_ratings(folder / "combined_data_1.txt", timestamps=False).timestamps is None


def test_netflix_with_the_line_ends_of_windows_and_no_last_one(tmp_path):
    text = (FILMS[1] + FILMS[2]).replace("\n", "\r\n").rstrip()
    folder = write(tmp_path, {"combined_data_1.txt": text})
    assert len(rf.read_ratings(folder)) == 3


def test_kdd_cup(tmp_path):
    folder = write(tmp_path, {"trainIdx1.txt": TRAIN_KDD})
    expected = {
        (0, 507696, 90.0, 3811 * 86400 + 48240),
        (0, 137915, 0.0, 3811 * 86400 + 48270),
        (9, 137915, 50.0, 1),
    }
    for found in (yahoo_music("kddcup", folder).ratings, rf.read_ratings(folder / "trainIdx1.txt")):
        assert entries(found) == expected


@pytest.mark.parametrize("packed", [False, True])
def test_yahoo_r1_reads_never_again_as_zero(tmp_path, packed):
    text, name = "1\t1000125\t90\n1\t1006373\t255\n7\t1000125\t0\n", "ydata-ymusic-user-artist-ratings-v1_0.txt"
    names = "ydata-ymusic-artist-names-v1_0.txt"
    folder = write(tmp_path, {name: text, names: '-100\tNot Applicable\n1000125\tAC/DC "live"\n'})
    if packed:
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        (folder / name).unlink()
    found = yahoo_music("r1", folder)
    assert found.ratings.values.tolist() == [90.0, 0.0, 0.0]
    np.testing.assert_array_equal(found.ratings.users.ids(np.arange(2)), [1, 7])
    assert found.titles[1000125] == 'AC/DC "live"'


def test_yahoo_r2_is_all_its_parts_with_genres(tmp_path):
    files = {
        "train_0.txt": "0\t166\t5\n0\t285\t1\n",
        "train_1.txt": "200000\t166\t3\n",
        "test_0.txt": "0\t300\t4\n",
        "song-attributes.txt": "166\t1\t2\t7\n285\t1\t2\t8\n300\t1\t2\t0\n",
        "genre-hierarchy.txt": "0\t0\t1\tUnknown\n7\t0\t1\tClassic Rock\n8\t0\t1\tJazz\n",
    }
    found = yahoo_music("r2", write(tmp_path, files))
    assert (len(found.ratings), found.ratings.n_users, found.ratings.n_items) == (4, 2, 3)
    assert found.genres == {166: ("Classic Rock",), 285: ("Jazz",), 300: ("Unknown",)}
    assert len(yahoo_music("r2", tmp_path / "train_1.txt").ratings) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "1:\n5,3,2005-09-06\n6;4\n",
            r"line 3 of .*combined_data_1.txt: '6;4' is neither a heading nor user,item|user,",
        ),
        ("1:\n5,three,2005-09-06\n", "line 2 of .*: '5,three,2005-09-06' is neither a heading nor user,rating,date"),
        ("1:\n2:\n", "has headings but no ratings below them"),
        ("1:\n5,3,2005-09-06\n5,4,2005-09-07\n", "5.*1"),
    ],
)
def test_faults_are_told_with_their_line(tmp_path, text, words):
    folder = write(tmp_path, {"combined_data_1.txt": text})
    with pytest.raises(ValueError, match=words):
        rf.read_ratings(folder)


def test_every_file_begins_with_a_heading(tmp_path):
    folder = write(tmp_path, {"combined_data_1.txt": FILMS[1], "combined_data_2.txt": "5,3,2005-09-06\n"})
    with pytest.raises(ValueError, match=r"combined_data_2.txt does not begin with a heading, such as 1: \(Netflix\)"):
        rf.read_ratings(folder)


def test_sets_that_are_not_there_are_told_in_words(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"Netflix Prize data are not in .* expected training_set/mv_\*\.txt"):
        netflix(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"Yahoo Music R2 is not in .* or its folder yahoo-r2: expected train_"):
        yahoo_music("r2", tmp_path)
    monkeypatch.delenv("RANKFILL_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="is not here"):
        yahoo_music("r1")
    with pytest.raises(ValueError, match="there is no set 'r9' of Yahoo Music; choose one of r1, r2, kddcup"):
        yahoo_music("r9", tmp_path)
    write(tmp_path / "yahoo-r2", {"train_0.txt": "1\tx\t3\n"})
    with pytest.raises(ValueError, match="yahoo-r2 cannot be read: "):
        yahoo_music("r2", tmp_path)


def test_experiments_take_them_from_the_folder_of_data(prize):
    prize.rename(prize.parent / "netflix")
    material = Asked(data=prize.parent, dataset="netflix").material()
    assert material.words == "netflix: 4 ratings by 3 users of 3 items"
