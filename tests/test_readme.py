"""Every block of code in the README and in docs/ runs, in a folder with small files of the names they use."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import rankfill as rf
from rankfill.cli import run

ROOT = Path(__file__).parents[1]
MADE = ("api", "gallery")
"""Folders of docs/ that are made when the site is built."""
ELSEWHERE = (ROOT / "docs/guide/serving.md", ROOT / "docs/guide/spark.md")
"""Their code runs beside a service and on a cluster: tests/service/test_docs.py, tests/spark/test_docs.py."""
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if page.relative_to(ROOT).parts[1:2] not in [(name,) for name in MADE] and page not in ELSEWHERE
]
MEMBERS = 120


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of each block of code; one without a language is of the shell or an excerpt."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)


PAGES_WITH_CODE = [page for page in PAGES if any("rankfill" in text or "rf." in text for _, text in blocks(page))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Part of the film club as `rankfill quickstart` leaves it, the same under other names, and a damaged picture."""
    club = rf.synthetic.film_club()
    some = club.ratings.select(club.ratings.user_indices < MEMBERS)
    users, items = some.users.ids()[some.user_indices], some.items.ids()[some.item_indices]
    lines = [f"{user},{item},{value:g}" for user, item, value in zip(users, items, some.values, strict=True)]
    (tmp_path / "quickstart").mkdir()
    for name in ("quickstart/ratings.csv", "ratings.csv", "huge.csv"):
        (tmp_path / name).write_text("\n".join(["user,item,rating", *lines]) + "\n")
    plays = [line.rpartition(",")[0] for line in lines]
    (tmp_path / "events.csv").write_text("\n".join(["user,item", *plays, *plays[::3]]) + "\n")
    titles = [f'{item},"{title}"' for item, title in club.titles.items()]
    (tmp_path / "quickstart/titles.csv").write_text("\n".join(["item,title", *titles]) + "\n")
    picture, mask = damaged_picture()
    rf.images.write_picture(tmp_path / "photo.png", picture)
    rf.images.write_picture(tmp_path / "scratches.png", 255 * mask.astype(np.uint8))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def damaged_picture() -> tuple[np.ndarray, np.ndarray]:
    picture = np.add.outer(np.arange(0, 120, 3), np.arange(0, 90, 2)).astype(np.uint8)
    mask = np.zeros(picture.shape, bool)
    mask[10:12, 5:30] = True
    return picture, mask


def test_there_are_pages_with_code() -> None:
    assert ROOT / "README.md" in PAGES_WITH_CODE
    assert len(PAGES_WITH_CODE) >= 15


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known: dict[str, object] = {}
    for language, text in blocks(page):
        if language == "python":
            exec(compile(text, page.name, "exec"), known)
        else:
            for line in text.splitlines():
                follow(line.removeprefix("$ "), page, capsys)


def follow(line: str, page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Runs a command of rankfill; of `make`, looks for the target."""
    words = shlex.split(line, comments=True)
    if words[:2] == ["rankfill", "quickstart"]:
        return  # its files are there; tests/cli runs it
    if words[:1] == ["rankfill"]:
        assert run(words[1:]) == 0, f"{page.name}: {line}\n{capsys.readouterr().err}"
    elif words[:1] == ["make"]:
        target = words[1].replace(".venv", "$(VENV)")
        assert f"\n{target}:" in (ROOT / "Makefile").read_text(), f"{page.name}: {line}"
