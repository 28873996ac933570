"""rankfill predict: pairs in, the same pairs with predicted ratings out."""

from pathlib import Path
from typing import Annotated

import typer

from rankfill.cli.output import check_table_output, print_csv, table_writer
from rankfill.cli.shared import (
    ModelFile,
    Threads,
    check_apart,
    console,
    goes_by_times,
    note,
    parse_columns,
    read_model,
    use_threads,
)
from rankfill.data import read_pairs


def predict(
    model: ModelFile,
    pairs: Annotated[
        Path,
        typer.Argument(
            metavar="PAIRS",
            help="A user and an item a line; other columns may follow. A model with time=True goes by a timestamp.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A .csv or .parquet file; stdout without, or -."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="NAMES", help="The columns of user and item: customer,product.")
    ] = None,
    threads: Threads = None,
) -> None:
    """Predicts the ratings of given pairs of user and item.

    Writes user, item and prediction in the order of the pairs. An unknown user is taken for the mean user, an unknown
    item for the mean item, a pair of both gets the mean rating.

    \b
    rankfill predict m.rankfill pairs.csv
    rankfill predict m.rankfill pairs.csv -o predictions.parquet
    """
    target = None if output is None or str(output) == "-" else check_table_output(output)
    if target is not None:
        check_apart(target, pairs, model)
    use_threads(threads)
    fitted = read_model(model)
    names, of_users, of_items = parse_columns(columns), fitted.users_, fitted.items_
    if goes_by_times(fitted):
        users, items, times = read_pairs(pairs, names, users=of_users, items=of_items, timestamps=True)
        predicted = fitted.predict(users, items, timestamps=times)
    else:
        users, items = read_pairs(pairs, names, users=of_users, items=of_items)
        predicted = fitted.predict(users, items)
    table = {"user": users, "item": items, "prediction": predicted}
    if target is None:
        print_csv(table)
    else:
        with table_writer(target) as writer:
            writer.add(table)
        console().print(f"Wrote {len(users):,} predictions to {target}.")
    _tell_unknown(int((fitted.users_.index(users) < 0).sum()), int((fitted.items_.index(items) < 0).sum()), len(users))


def _tell_unknown(users: int, items: int, total: int) -> None:
    if users or items:
        note(
            f"of {total:,} pairs, {users:,} have an unknown user and {items:,} an unknown item: means stand in for them"
        )
