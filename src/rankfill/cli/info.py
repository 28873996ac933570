"""rankfill info: what is in a model file."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.filesize import decimal
from rich.table import Table

from rankfill.cli.choices import show_choices
from rankfill.cli.parameters import option_text
from rankfill.cli.shared import Json, ModelFile, console, plain_table, read_model, without_nan
from rankfill.models import MODELS, Auto, Model


def info(model: ModelFile, as_json: Json = False) -> None:
    """Says what is in a model file.

    \b
    rankfill info m.rankfill
    rankfill info m.rankfill --json
    """
    fitted = read_model(model)
    facts = _facts(fitted, model)
    if as_json:
        print(json.dumps(without_nan(facts), indent=2))
        return
    console().print(_table(facts))
    if isinstance(fitted, Auto):
        console().print()
        show_choices(fitted.choices_)


def _facts(model: Model, path: Path) -> dict[str, Any]:
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "model": next(name for name, cls in MODELS.items() if cls is type(model)),
        "parameters": model.get_params(deep=False),
        "users": len(model.users_),
        "items": len(model.items_),
        "ratings": model.n_ratings_,
        "mean": model.mean_,
        "range": list(model.range_),
        "rank": getattr(model, "rank_", None),
        "history": [asdict(report) for report in model.history_],
        **({"choices": model.choices_.as_dicts()} if isinstance(model, Auto) else {}),
    }


def _table(facts: dict[str, Any]) -> Table:
    table = plain_table()
    table.add_column(style="dim")
    parameters = " ".join(option_text(name, value) for name, value in facts["parameters"].items())
    low, high = facts["range"]
    rows = {
        "file": f"{facts['file']}, {decimal(facts['bytes'])}",
        "model": facts["model"],
        "parameters": parameters,
        "learned from": f"{facts['ratings']:,} ratings by {facts['users']:,} users of {facts['items']:,} items",
        "ratings": f"mean {facts['mean']:.4g}, from {low:g} to {high:g}",
        "rank": facts["rank"] or "none",
        "passes": _passes(facts["history"]),
    }
    for name, value in rows.items():
        table.add_row(name, str(value))
    return table


def _passes(history: list[dict[str, Any]]) -> str:
    if not history:
        return "none: learned from a stream"
    last = history[-1]
    told = f"{last['epoch']} in {last['seconds']:.2f} s, {last['measure']} in training {last['train']:.4f} at the end"
    measured = [report for report in history if report["validation"] is not None]
    if not measured:
        return told
    best = min(measured, key=lambda report: report["validation"])
    return f"{told}; kept is pass {best['epoch']}, in validation {best['validation']:.4f}"
