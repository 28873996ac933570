"""rankfill models: what there is to choose from."""

from typing import Annotated

import typer
from rich.padding import Padding
from rich.table import Table

from rankfill.cli.docstrings import parse
from rankfill.cli.errors import as_options
from rankfill.cli.parameters import class_of, explain, is_flag, option_name, parameters_of, value_text
from rankfill.cli.shared import console, plain_table
from rankfill.models import MODELS, Model


def models(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A model to explain; all by default.")] = None,
) -> None:
    """Lists the models to choose from, or explains one with its parameters.

    \b
    rankfill models
    rankfill models sgd
    """
    if name is None:
        console().print(_summaries())
        console().print("\nrankfill models NAME explains a model and its parameters.")
        return
    cls = class_of(name)
    about = parse(cls.__doc__)
    screen = console()
    screen.print(name, style="bold", end=": ")
    screen.print(f"{about.summary}\n")
    for paragraph in filter(None, about.text.split("\n\n")):
        screen.print(as_options(" ".join(paragraph.replace("`", "").split())) + "\n")
    screen.print(Padding(_parameters(cls), (0, 0, 0, 2), expand=False))


def _summaries() -> Table:
    table = plain_table("model", "what it is")
    for name, cls in MODELS.items():
        table.add_row(name, parse(cls.__doc__).summary)
    return table


def _parameters(cls: type[Model]) -> Table:
    table = plain_table("option", "takes", "default", "meaning")
    for name, parameter in parameters_of(cls).items():
        takes, meaning = explain(cls, name)
        takes = f"or --no-{option_name(name)[2:]}" if is_flag(name) else takes
        table.add_row(option_name(name), takes, value_text(parameter.default), meaning)
    return table
