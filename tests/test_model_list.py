"""What has to name every model agrees with `MODELS`, or the failure says which line to add where."""

import ast
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import rankfill as rf
from rankfill import evaluation, images, linear, plots
from rankfill.data import datasets, synthetic

ROOT = Path(__file__).parents[1]
STUB, CHOOSING, API = ROOT / "src/rankfill/__init__.pyi", ROOT / "docs/choosing.md", ROOT / "docs/api.md"
METHODS = sorted((ROOT / "docs/methods").glob("*.md"))
PAGES = [
    page
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if not page.is_relative_to(ROOT / "docs/gallery") and not page.is_relative_to(ROOT / "docs/api")
]
CLASSES = [cls.__name__ for cls in rf.MODELS.values()]


def imported_from_models() -> list[str]:
    """The names that the stub imports from the models, in its order."""
    imports = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ImportFrom)]
    return [each.name for node in imports if node.module == "models" for each in node.names]


def models_in(page: str) -> list[str]:
    """The classes that the first column of the table under "All models" names."""
    table = page.partition("## All models\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| \[`(\w+)`\]", table, flags=re.MULTILINE)


@pytest.mark.parametrize("model", CLASSES)
def test_the_stub_lists_the_model(model: str) -> None:
    where = STUB.relative_to(ROOT)
    assert model in imported_from_models(), f'add {model} to "from .models import (…)" in {where}'
    assert model in rf.__all__, f'add "{model}" to __all__ in {where}'


@pytest.mark.parametrize("model", CLASSES)
def test_the_table_of_models_lists_the_model(model: str) -> None:
    row = f"| [`{model}`](api/rankfill.{model}.rst) | job | data | learns on | takes features | error bars | cost |"
    assert model in models_in(CHOOSING.read_text()), (
        f'add this row to the table under "All models" in {CHOOSING.relative_to(ROOT)}: {row}'
    )


@pytest.mark.parametrize("model", CLASSES)
def test_the_methods_explain_the_model(model: str) -> None:
    explained = [page for page in METHODS if page.name != "index.md" and f"`{model}" in page.read_text()]
    assert explained, f"explain `{model}` on the page of its family in docs/methods, or on a new one"
    assert f"`{model}`" in (ROOT / "docs/methods/index.md").read_text(), f"add `{model}` to docs/methods/index.md"


def test_the_table_of_models_tells_the_truth() -> None:
    """Who learns on, takes features and has error bars is known to the classes."""
    rows = re.findall(r"^\| \[`(\w+)`\]\S* \|(.*)\|$", CHOOSING.read_text(), flags=re.MULTILINE)
    assert len(rows) >= len(CLASSES)
    for name, cells in rows:
        if name == "Auto":  # can what the models can that it has chosen
            continue
        cls, (_, _, learns_on, features, bars, _) = getattr(rf, name), [cell.strip() for cell in cells.split("|")]
        assert bool(learns_on) == hasattr(cls, "partial_fit"), f"{name} in docs/choosing.md: learns on?"
        assert bool(features) == bool(cls.takes_features), f"{name} in docs/choosing.md: takes features?"
        assert bool(bars) == hasattr(cls, "interval"), f"{name} in docs/choosing.md: error bars?"


@pytest.mark.parametrize("name", [name for name in rf.__all__ if callable(getattr(rf, name))])
def test_the_api_lists_every_public_name(name: str) -> None:
    assert re.search(rf"^   {name}$", API.read_text(), flags=re.MULTILINE), f"add {name} to {API.relative_to(ROOT)}"


@pytest.mark.parametrize("module", [evaluation, images, linear, plots, datasets, synthetic])
def test_the_api_lists_the_functions_and_classes_of_a_module(module: ModuleType) -> None:
    names = [
        name for name in module.__all__ if inspect.isfunction(thing := getattr(module, name)) or inspect.isclass(thing)
    ]
    listed = set(re.findall(r"^   (?:\w+\.)*(\w+)$", API.read_text(), flags=re.MULTILINE))
    assert names
    assert not (missing := set(names) - listed), f"add {', '.join(sorted(missing))} to {API.relative_to(ROOT)}"


def test_nothing_is_listed_that_is_not_there() -> None:
    """A model that was renamed or removed."""
    gone = {name for name in models_in(CHOOSING.read_text()) if name not in CLASSES}
    assert not gone, f"take {', '.join(gone)} out of the table in {CHOOSING.relative_to(ROOT)}"


def headings(page: str) -> set[str]:
    """The anchors that GitHub and the site make of the headings of a page."""
    texts = re.findall(r"^#+ (.*)$", page, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


def source_of(target: Path) -> Path:
    """Pages that are made when the site is built stand for what they are made of."""
    if target.parent == ROOT / "docs/api":
        return API
    if target.parent == ROOT / "docs/gallery":
        return ROOT / "examples" / (target.stem + ".py" if target.stem != "index" else "README.rst")
    return target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, _, anchor in (link.partition("#") for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text())):
        if target.startswith("http"):
            continue
        there = source_of((page.parent / target).resolve() if target else page)
        assert there.exists(), f"{page.name} links to {target}, which is not there"
        if anchor:
            assert anchor in headings(there.read_text()), f"{page.name} links to {target}#{anchor}; no such heading"
