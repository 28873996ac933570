"""MovieLens sets from folders, zips and (imitated) downloads."""

import dataclasses
import hashlib
import zipfile

import numpy as np
import pytest

from rankfill.data import datasets
from rankfill.data.datasets import movielens

GENRES = [f"genre{k}" for k in range(19)]

# A few lines in the format of each set, with ids and titles as the real ones have them.
CONTENT = {
    "100k": {
        "u.data": b"196\t2\t3\t881250949\n22\t1\t1\t878887116\n",
        "u.item": b"1|Toy Story (1995)|01-Jan-1995||http://x|" + b"|".join([b"0", b"1", b"1"] + 16 * [b"0"]) + b"\n"
        b"2|Mis\xe9rables, Les (1995)|01-Jan-1995||http://y|" + b"|".join([b"1"] + 18 * [b"0"]) + b"\n",
        "u.genre": "\n".join(f"{genre}|{k}" for k, genre in enumerate(["unknown", *GENRES[1:]])).encode() + b"\n\n",
    },
    "1m": {
        "ratings.dat": b"1::1193::5::978300760\n1::661::3::978302109\n2::661::4::978298413\n",
        "movies.dat": b"661::Mis\xe9rables, Les (1995)::Drama|Musical\n1193::Airplane! (1980)::Comedy\n",
    },
    "10m": {
        "ratings.dat": b"1::122::5::838985046\n2::185::0.5::838983525\n",
        "movies.dat": '122::Les "Misérables": part 2::Drama\n185::Net, The (1995)::(no genres listed)\n'.encode(),
    },
    "latest-small": {
        "ratings.csv": b"userId,movieId,rating,timestamp\n1,1,4.0,964982703\n1,3,0.5,964981247\n",
        "movies.csv": b'movieId,title,genres\n1,"Usual, The (1995)",Crime|Thriller\n3,Alone,(no genres listed)\n',
    },
}
CONTENT["20m"] = CONTENT["25m"] = CONTENT["latest-small"]


@pytest.fixture(autouse=True)
def small_sets(request, monkeypatch, tmp_path):
    """The real specification, but for the number of ratings; no real data in reach unless a test is marked so."""
    if request.node.get_closest_marker("data"):
        return
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("RANKFILL_DATA", raising=False)
    for name, files in datasets._FILES.items():
        monkeypatch.setitem(
            datasets._FILES, name, dataclasses.replace(files, n_ratings=files.n_ratings and 2 + (name == "1m"))
        )


@pytest.fixture
def folder(tmp_path):
    def folder(name, parent="sets"):
        target = tmp_path / parent / datasets._FILES[name].folder
        target.mkdir(parents=True)
        for file, content in CONTENT[name].items():
            (target / file).write_bytes(content)
        return target

    return folder


@pytest.fixture
def archive(tmp_path, monkeypatch):
    def archive(name, parent="sets", right_sum=True):
        files = datasets._FILES[name]
        target = tmp_path / parent / files.archive
        target.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(target, "w") as made:
            for file, content in CONTENT[name].items():
                made.writestr(f"{files.folder}/{file}", content)
        if right_sum and files.md5:
            found = hashlib.md5(target.read_bytes()).hexdigest()
            monkeypatch.setitem(datasets._FILES, name, dataclasses.replace(files, md5=found))
        return target

    return archive


@pytest.mark.parametrize("name", CONTENT)
def test_folder_zip_and_parent_give_the_same_set(folder, archive, name):
    inside = folder(name)
    from_folder = movielens(name, inside)
    assert from_folder.name == f"movielens-{name}"
    assert from_folder == movielens(name, inside.parent)
    assert from_folder == movielens(name, archive(name, "zips"))
    assert from_folder == movielens(name, archive(name, "zips").parent)


def test_ratings_titles_and_genres_are_those_of_the_files(folder):
    oldest = movielens("100k", folder("100k"))
    assert oldest.titles == {1: "Toy Story (1995)", 2: "Misérables, Les (1995)"}
    assert oldest.genres == {1: ("genre1", "genre2"), 2: ()}
    assert list(oldest.ratings.users) == [22, 196]
    ten = movielens("10m", folder("10m", "other"))
    assert ten.titles[122] == 'Les "Misérables": part 2'
    assert ten.genres == {122: ("Drama",), 185: ()}
    assert ten.ratings.values.tolist() == [5, 0.5]
    small = movielens("latest-small", folder("latest-small", "third"))
    assert small.titles[1] == "Usual, The (1995)"
    assert small.genres[1] == ("Crime", "Thriller")
    assert small.ratings.timestamps.tolist() == [964982703, 964981247]


def test_the_environment_comes_before_the_cache(folder, archive, monkeypatch, tmp_path):
    archive("1m", "cache/rankfill")
    assert len(movielens("1m").ratings) == 3
    damaged = folder("1m", "named")
    (damaged / "ratings.dat").write_bytes(b"1::1::5::1\n")
    monkeypatch.setenv("RANKFILL_DATA", str(tmp_path / "named"))
    with pytest.raises(ValueError, match=r"ratings.dat holds 1 ratings, MovieLens 1m 3: it is incomplete"):
        movielens("1m")


def test_a_set_that_is_nowhere_is_an_error_that_says_where_it_was_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKFILL_DATA", str(tmp_path / "here"))
    with pytest.raises(FileNotFoundError) as caught:
        movielens("20m")
    message = str(caught.value)
    assert f"not in {tmp_path / 'here'} or {tmp_path / 'cache' / 'rankfill'}" in message
    assert "download=True" in message
    assert "ml-20m.zip" in message


def test_an_unknown_name_lists_the_known(folder):
    with pytest.raises(
        ValueError, match="no MovieLens set '2m' here; choose one of 100k, 1m, 10m, 20m, 25m, latest-small"
    ):
        movielens("2m")


def test_a_zip_with_a_wrong_sum_or_without_the_files_is_refused(archive, tmp_path):
    with pytest.raises(ValueError, match=r"ml-1m.zip has the MD5 sum .* damaged or another set"):
        movielens("1m", archive("1m", right_sum=False))
    target = tmp_path / "ml-latest-small.zip"
    target.write_bytes(b"no zip at all")
    with pytest.raises(ValueError, match="is not a whole zip"):
        movielens("latest-small", target)
    with zipfile.ZipFile(target, "w") as made:
        made.writestr("readme.txt", "nothing here")
    with pytest.raises(ValueError, match=r"lacks ratings.csv or movies.csv; is it ml-latest-small.zip\?"):
        movielens("latest-small", target)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A folder in the place of the web site."""
    (tmp_path / "site").mkdir()
    monkeypatch.setattr(datasets, "BASE_URL", (tmp_path / "site").as_uri() + "/")
    return tmp_path / "site"


def test_a_download_goes_to_the_cache_and_is_found_there_next_time(server, archive, tmp_path):
    archive("1m", "site")
    first = movielens("1m", download=True)
    assert [file.name for file in (tmp_path / "cache" / "rankfill").iterdir()] == ["ml-1m.zip"]
    (server / "ml-1m.zip").unlink()
    assert movielens("1m", download=True) == movielens("1m") == first


def test_a_download_goes_to_the_given_path(server, archive, tmp_path):
    archive("1m", "site")
    movielens("1m", tmp_path / "mine", download=True)
    assert (tmp_path / "mine" / "ml-1m.zip").exists()
    assert len(movielens("1m", tmp_path / "mine").ratings) == 3


@pytest.mark.parametrize("layout", ["MD5 (ml-latest-small.zip) = {}\n", "{}  ml-latest-small.zip\n"])
def test_the_latest_set_is_checked_by_the_published_sum(server, archive, layout, tmp_path):
    made = archive("latest-small", "site")
    published = server / "ml-latest-small.zip.md5"
    published.write_text(layout.format("0" * 32))
    with pytest.raises(ValueError, match="the official file 00000000000000000000000000000000"):
        movielens("latest-small", download=True)
    assert not list((tmp_path / "cache" / "rankfill").iterdir())
    published.write_text(layout.format(hashlib.md5(made.read_bytes()).hexdigest()))
    assert len(movielens("latest-small", download=True).ratings) == 2


def test_a_failed_download_leaves_nothing_and_says_what_to_do(server, archive, tmp_path):
    with pytest.raises(OSError, match=r"ml-1m.zip cannot be fetched: .*; fetch it by other means"):
        movielens("1m", download=True)
    archive("1m", "site", right_sum=False)
    with pytest.raises(ValueError, match=r"ml-1m.zip has the MD5 sum"):
        movielens("1m", download=True)
    assert not list((tmp_path / "cache" / "rankfill").iterdir())


def test_a_set_is_printed_in_a_line(folder):
    shown = repr(movielens("1m", folder("1m")))
    assert shown == "Dataset(name='movielens-1m', ratings=Ratings(3 ratings, 2 users, 2 items, values 3 to 5))"


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "shape", "n_ratings"),
    [("100k", (943, 1_682), 100_000), ("1m", (6_040, 3_706), 1_000_209), ("latest-small", (610, 9_724), 100_836)],
)
def test_the_real_sets_have_their_known_size_and_titles_for_every_item(data_folder, name, shape, n_ratings):
    real = movielens(name, data_folder)
    assert real.ratings.shape == shape
    assert len(real.ratings) == n_ratings
    assert set(real.ratings.items) <= set(real.titles)
    assert real.titles[1] == "Toy Story (1995)"
    assert "Animation" in real.genres[1]
    assert real.ratings.timestamps.min() > np.datetime64("1995-01-01", "s").astype(int)
