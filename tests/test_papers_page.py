"""tools/papers_page.py: the page of the papers is put together from reports, and keeps what was not run anew."""

import runpy
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from rankfill.experiments.catalogue import experiments
from rankfill.experiments.frame import Line, Result
from rankfill.experiments.report import write

ROOT = Path(__file__).parents[1]
main = runpy.run_path(str(ROOT / "tools" / "papers_page.py"))["main"]


def report(folder: Path, name: str, ours: str, picture: str) -> None:
    result = Result(
        "ten ratings", [Line("error", "0.9", ours)], {"errors": [{"error": ours}]}, {picture: Figure()}, "A note."
    )
    write(name, "Title.", result, folder / name, f"rankfill reproduce {name}", 1.0)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    report(tmp_path / "first", "slides-svd", "0.111", "old")
    report(tmp_path / "first", "nnpa-vs-pa", "0.222", "figure-2")
    (tmp_path / "docs").mkdir()
    main(tmp_path / "first", tmp_path / "docs")
    return tmp_path / "docs" / "papers.md"


def test_reports_become_sections_in_the_order_of_the_catalogue(page):
    text = page.read_text()
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == ["nnpa-vs-pa", "slides-svd"]
    assert "Title.\n\n`rankfill reproduce slides-svd`, " in text
    assert "| error | 0.9 | 0.111 |  |\n\nA note.\n\n![slides-svd, old](papers/slides-svd-old.png)\n\nData: ten" in text
    assert (page.parent / "papers" / "slides-svd-old.png").stat().st_size > 100
    assert "All figures:" not in text


def test_what_has_not_been_run_is_named(page):
    (absent,) = [line for line in page.read_text().splitlines() if line.startswith("Not run for this page: ")]
    assert absent.count("`") == 2 * (len(experiments()) - 2)
    assert "`slides-svd`" not in absent


def test_an_experiment_run_anew_takes_the_place_of_its_old_section_and_picture(page, tmp_path):
    before = page.read_text().split("\n## ")
    report(tmp_path / "second", "slides-svd", "0.333", "new")
    main(tmp_path / "second", page.parent)
    after = page.read_text().split("\n## ")
    assert after[:2] == before[:2]
    assert "0.333" in after[2]
    assert "0.111" not in after[2]
    assert {path.name for path in (page.parent / "papers").iterdir()} == {
        "nnpa-vs-pa-figure-2.png",
        "slides-svd-new.png",
    }


def test_the_page_in_the_repository_has_every_experiment_and_no_picture_too_many():
    text = (ROOT / "docs" / "results" / "papers.md").read_text(encoding="utf-8")
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(experiments())
    assert "Not run for this page" not in text
    pictures = ROOT / "docs" / "results" / "papers"
    assert all(f"](papers/{path.name})" in text for path in pictures.iterdir())
