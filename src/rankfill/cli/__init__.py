"""The command `rankfill`, one file per verb.

A verb's module is imported when the verb is typed: the list of verbs and `--version` cost nothing more.
"""

import os
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
    "convert": "Turns files of ratings of any size into a store on disk, which may be larger than memory.",
    "synthesize": "Makes up ratings of the shape of a well-known set, of any size, with little memory.",
    "split": "Splits a file of ratings into one to learn from and one to test with.",
    "fit": "Learns a model from a file of ratings.",
    "update": "Goes on from what a model has learned, with more ratings.",
    "forget": "Removes users from a model file: their ids, rows, counts and what they have rated.",
    "compare": "Compares all models that suit the ratings: errors, lists, times, sizes, and advice.",
    "tune": "Finds good settings of a model by cross-validation.",
    "cross-validate": "Measures settings: every rating is predicted once by a model that has not seen it.",
    "path": "Fits a convex model for one penalty after another, and shows which is best.",
    "evaluate": "Measures a model on ratings it has not seen.",
    "recommend": "Lists what a user would like best; for all users, writes a file.",
    "predict": "Predicts the ratings of given pairs of user and item.",
    "similar": "Lists the items most similar to an item, or the users most similar to a user.",
    "explain": "Explains a prediction by parts that add up to it: factors, neighbours, the user's own ratings.",
    "topics": "Shows the items that go together: the strongest of each topic.",
    "serve": "Serves a model over HTTP: takes ratings, learns from each before it answers, and recommends.",
    "inpaint": "Fills in the missing pixels of a picture: scratches, writing, dust.",
    "reproduce": "Repeats the tables and figures of the papers that the models come from.",
    "info": "Says what is in a model file.",
    "models": "Lists the models to choose from, or explains one with its parameters.",
}


class Verbs(TyperGroup):
    """Knows every verb by its one line of help, and loads one when it is to run."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if name is None or command is None else _load(name), rest


def _load(verb: str) -> Any:
    name = verb.replace("-", "_")
    module = import_module(f"rankfill.cli.{name}")
    function = getattr(module, name)
    alone = typer.Typer(add_completion=False)
    alone.command(verb, cls=getattr(function, "command_class", None))(function)
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
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output wants no more: rankfill … | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        code = 130
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
