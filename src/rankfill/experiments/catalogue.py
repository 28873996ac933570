"""The catalogue of experiments: every file in a folder of `experiments/`, by its name and that of the folder."""

import ast
from importlib import import_module
from pathlib import Path

from rankfill.experiments.frame import Asked, Result
from rankfill.shown import shown

_HERE = Path(__file__).parent


def experiments() -> dict[str, str]:
    """The names of all experiments, each with the first line of its documentation."""
    return {name: _first_line(path) for name, path in _files().items()}


def run(name: str, asked: Asked) -> Result:
    """Runs an experiment."""
    files = _files()
    if name not in files:
        raise ValueError(f"there is no experiment {shown(name)}; choose one of {', '.join(files)}")
    path = files[name]
    result: Result = import_module(f"rankfill.experiments.{path.parent.name}.{path.stem}").run(asked)
    return result


def _files() -> dict[str, Path]:
    found = sorted(path for path in _HERE.glob("*/*.py") if not path.stem.startswith("_"))
    return {_name(path): path for path in found}


def _name(path: Path) -> str:
    """nnpa/vs_pa.py is nnpa-vs-pa; records/records.py is just records."""
    folder = path.parent.name
    return (folder if path.stem == folder else f"{folder}-{path.stem}").replace("_", "-")


def _first_line(path: Path) -> str:
    """Reads the docstring without importing the module, so that listing is quick."""
    documentation = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return documentation.split("\n", 1)[0]
