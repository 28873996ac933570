"""rankfill forget: a model file without some of its users."""

from pathlib import Path
from typing import Annotated

import typer

from rankfill.cli.shared import ModelFile, check_output, console, note, parse_ids, read_model
from rankfill.shown import shown


def forget(
    model: ModelFile,
    user: Annotated[list[str], typer.Option("--user", "-u", metavar="ID", help="Whom; may be given several times.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write the model; over the old one by default."),
    ] = None,
) -> None:
    """Removes users from a model file: their ids, rows, counts and what they have rated.

    Afterwards they are as any unknown user. What items have learned from them stays until the next fit without them.

    \b
    rankfill forget m.rankfill --user 42
    rankfill forget m.rankfill --user ann --user bob -o without.rankfill
    """
    target = check_output(output or model)
    fitted = read_model(model)
    ids = parse_ids(user, fitted.users_, "user")
    known = fitted.users_.index(ids) >= 0
    for unknown in ids[~known].tolist():
        note(f"user {shown(unknown)} is not known to this model")
    before = fitted.n_ratings_
    fitted.forget(ids)
    fitted.save(target)
    gone = before - fitted.n_ratings_
    console().print(f"Forgot {int(known.sum()):,} users with {gone:,} ratings; wrote {target}.")
