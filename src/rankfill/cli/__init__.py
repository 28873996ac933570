"""The command `rankfill`, one file a verb.

A verb's module is imported when the verb is typed: the list of verbs and `--version` cost nothing more.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from rankfill.cli.errors import BAD_INPUT, in_words, tracebacks_wanted

VERBS = {
    "quickstart": "Shows everything in ten seconds on a made-up film club, and leaves the files to play with.",
    "fit": "Learns a model from a file of ratings.",
    "tune": "Finds good settings of a model by cross-validation.",
    "cross-validate": "Measures settings: every rating is predicted once by a model that has not seen it.",
    "path": "Fits a convex model for one penalty after another, and shows which is best.",
    "evaluate": "Measures a model on ratings it has not seen.",
    "recommend": "Lists what a user would like best; for all users, writes a file.",
    "predict": "Predicts the ratings of given pairs of user and item.",
    "topics": "Shows the items that go together: the strongest of each factor.",
    "inpaint": "Fills in the missing pixels of a picture: scratches, writing, dust.",
    "faces": "Fills in faces with missing pixels by three methods: the tables and figures of Akyıldız (2015).",
    "info": "Says what is in a model file.",
    "models": "Lists the models to choose from, with their parameters.",
}


class Verbs(TyperGroup):
    """Knows every verb by its one line of help, and loads one when it is to run."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if name is None or command is None else _load(name), rest


def _load(verb: str) -> Any:
    name = verb.replace("-", "_")
    module = import_module(f"rankfill.cli.{name}")
    alone = typer.Typer(add_completion=False)
    alone.command(verb)(getattr(module, name))
    return get_command(alone)


def _version(wanted: bool) -> None:
    if wanted:
        from rankfill import __version__

        print(f"rankfill {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Verbs,
    help="""Fills in huge, mostly empty matrices: ratings in; predictions, recommendations and topics out.

    \b
    rankfill quickstart
    rankfill fit ratings.csv -o m.rankfill --validation 0.2
    rankfill recommend m.rankfill --user 42 --titles movies.csv""",
    epilog="rankfill VERB --help explains a verb with examples.",
)


@app.callback(invoke_without_command=True)
def rankfill(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def _registered_by_its_help(verb: str) -> None:
    def stand_in() -> None: ...

    app.command(verb, help=VERBS[verb])(stand_in)


for _verb in VERBS:
    _registered_by_its_help(_verb)


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code: 2 for bad input, told in one line; 130 for Ctrl-C."""
    try:
        code = get_command(app).main(arguments, prog_name="rankfill", standalone_mode=False)
    except BAD_INPUT as error:
        if tracebacks_wanted():
            raise
        print(f"rankfill: {in_words(error)}", file=sys.stderr)
        return 2
    if code == 130:
        print("rankfill: interrupted; nothing was saved", file=sys.stderr)
    return code if isinstance(code, int) else 0


def main() -> None:
    sys.exit(run())
