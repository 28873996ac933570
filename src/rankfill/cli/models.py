"""rankfill models: what there is to choose from."""

import inspect

from rich.padding import Padding
from rich.table import Table

from rankfill.cli.parameters import is_flag, meaning_of, option_name, parameters_of, shape_of, shown
from rankfill.cli.shared import console, plain_table
from rankfill.models import MODELS, Model


def models() -> None:
    """Lists the models to choose from, with their parameters.

    \b
    rankfill models
    rankfill fit ratings.csv -o m.rankfill --model bias --shrinkage 10
    """
    screen = console()
    for name, cls in MODELS.items():
        summary = (inspect.getdoc(cls) or "").partition("\n\n")[0].replace("\n", " ")
        screen.print(name, style="bold", end=": ")
        screen.print(summary)
        screen.print(Padding(_parameters(cls), (0, 0, 1, 2), expand=False))


def _parameters(cls: type[Model]) -> Table:
    table = plain_table("option", "takes", "default", "meaning")
    for name, parameter in parameters_of(cls).items():
        takes = f"or --no-{option_name(name)[2:]}" if is_flag(name) else shape_of(parameter.annotation)
        table.add_row(option_name(name), takes, shown(parameter.default), meaning_of(cls, name))
    return table
