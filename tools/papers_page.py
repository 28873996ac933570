"""Makes docs/results/papers.md and its pictures from what `rankfill reproduce` left in a folder.

rankfill reproduce --all -o results && python tools/papers_page.py results

What is not in the folder stays on the page as it was, so that one experiment can be run anew.
"""

import re
import shutil
import sys
from pathlib import Path

from rankfill.experiments.catalogue import experiments

TARGET = Path(__file__).parent.parent / "docs" / "results"
HEAD = """# The papers

What `rankfill reproduce NAME` gives for every table and figure of the five documents that the methods come from, each
with its data, command, date and machine. Seconds are those of one core of a shared machine: compare them within a
table. CSV files with all numbers stay in the folder that the command writes. This page is made by
`rankfill reproduce --all -o results && python tools/papers_page.py results`.

Our data are smaller than most of the papers': MovieLens 1M where they have MovieLens 10M, Netflix and Yahoo Music. With
your copy of those the same commands take `--dataset ml-10m`, `netflix`, `yahoo-r1`, `yahoo-r2` or `yahoo-kddcup`.

"""


def section(name: str, folder: Path, pictures: Path) -> str:
    """A report as part of the page; its pictures take the place of older ones."""
    text = (folder / "report.md").read_text(encoding="utf-8")
    data, _, rest = text.partition("\n\n# ")
    rest = re.sub(r"\nAll figures: .*\n", "\n", rest)
    for old in pictures.glob(f"{name}-*.png"):
        old.unlink()
    for picture in sorted(folder.glob("*.png")):
        shutil.copy(picture, pictures / f"{name}-{picture.name}")
    rest = re.sub(r"!\[(.*?)\]\((.*?)\)", rf"![{name}, \1](papers/{name}-\2)", rest)
    head, _, body = rest.partition("\n\n")
    return f"## {head}\n\n{body.strip()}\n\n{data}\n"


def sections_of(page: str) -> dict[str, str]:
    """The parts of a page by the names of their experiments."""
    return {part.partition("\n")[0]: f"## {part.strip()}\n" for part in page.split("\n## ")[1:]}


def main(results: Path, target: Path = TARGET) -> None:
    page, pictures = target / "papers.md", target / "papers"
    pictures.mkdir(exist_ok=True)
    parts = sections_of(page.read_text(encoding="utf-8")) if page.is_file() else {}
    for name in experiments():
        if (results / name / "report.md").is_file():
            parts[name] = section(name, results / name, pictures)
    missing = ", ".join(f"`{name}`" for name in experiments() if name not in parts)
    absent = f"Not run for this page: {missing}.\n\n" if missing else ""
    page.write_text(HEAD + absent + "\n".join(parts[name] for name in experiments() if name in parts), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
