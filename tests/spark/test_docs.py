"""The code of the guide runs, and so does the command."""

import re
from pathlib import Path

import pytest

import rankfill as rf
from rankfill.cli import run

GUIDE = Path(__file__).parents[2] / "docs/guide/spark.md"
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    import pyarrow.parquet

    ratings = rf.synthetic.low_rank(50, 30, n_ratings=600, seed=2)
    (tmp_path / "ratings").mkdir()
    pyarrow.parquet.write_table(ratings.to_frame("pyarrow"), tmp_path / "ratings/one.parquet")
    monkeypatch.chdir(tmp_path)
    return ratings


@pytest.mark.filterwarnings("ignore:the model has learned from . of the 5 test ratings")
def test_the_code_of_the_guide_runs(spark, folder):
    (code,) = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), flags=re.MULTILINE | re.DOTALL)
    frame = spark.createDataFrame(folder.to_frame("pyarrow")).limit(5)
    known = {"pairs": frame, "held_out": frame}
    code = code.replace("rank=64", "rank=4, passes=2").replace("ratings/", f"{Path.cwd()}/ratings/")
    exec(compile(code, GUIDE.name, "exec"), known)
    assert known["model"].n_ratings_ == len(folder)
    assert Path("als.rankfill").exists()


def test_the_command_fits_what_fit_fits(spark, folder, capsys):
    master = spark.conf.get("spark.master")
    options = ["--model", "als", "--rank", "3", "--passes", "2", "-o", "m.rankfill", "--spark", master]
    assert run(["fit", "ratings/*.parquet", *options]) == 0, capsys.readouterr().err
    assert "600 ratings by 50 users of 30 items" in capsys.readouterr().out
    here = rf.ALS(rank=3, passes=2).fit(folder)
    assert (rf.load("m.rankfill").user_factors_ == here.user_factors_).all()


def test_the_command_says_what_needs_all_ratings_in_one_place(folder, capsys):
    assert run(["fit", "ratings", "-o", "m.rankfill", "--spark", "local[1]", "--validation", "0.2"]) != 0
    assert "--validation needs all ratings in one place" in capsys.readouterr().err
