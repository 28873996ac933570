"""Shows in the terminal what an automatic choice was made among."""

from rich.table import Table

from rankfill.cli.shared import console, plain_table
from rankfill.models.auto.choices import Choices


def show_choices(choices: Choices) -> None:
    """The table, and the choice in words."""
    screen = console()
    screen.print(choice_table(choices))
    screen.print()
    for line in choices.why():
        screen.print(line)


def choice_table(choices: Choices) -> Table:
    """One row per model that was tried, those chosen in bold."""
    head, *rows = choices.rows()
    table = plain_table(*(f"{name}#" if name in ("rmse", "ndcg@10", "seconds") else name for name in head))
    for choice, row in zip(choices, rows, strict=True):
        table.add_row(*row, style="bold" if choice.chosen else None)
    return table
