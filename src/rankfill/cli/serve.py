"""rankfill serve: a model that learns from every rating and answers over HTTP."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rankfill.cli.shared import Columns, Threads, Titles, console, described, note, parse_columns, use_threads
from rankfill.data import read_features, read_ratings, read_titles


def serve(
    model: Annotated[
        Path | None,
        typer.Argument(
            metavar="MODEL", help="A model file written by rankfill fit. A folder that has begun needs none."
        ),
    ] = None,
    state: Annotated[
        Path, typer.Option("--state", metavar="FOLDER", help="Holds the log of all ratings and snapshots of the model.")
    ] = Path("state"),
    ratings: Annotated[
        Path | None,
        typer.Option(
            "--ratings", metavar="FILE", help="What the model was fitted to: for refits and complete answers."
        ),
    ] = None,
    item_features: Annotated[
        Path | None,
        typer.Option("--item-features", metavar="FILE", help="What the model was told of its items, for refits."),
    ] = None,
    titles: Titles = None,
    columns: Columns = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file with the token that callers must show. Needed beyond this machine."),
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="LOW:HIGH", help="Ratings that are taken. By default those of the model.")
    ] = None,
    refit_after: Annotated[int, typer.Option(metavar="EVENTS", min=0, help="Fit anew after so many events.")] = 0,
    refit_every: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="Fit anew so often.")] = 0.0,
    snapshot_every: Annotated[
        int, typer.Option(metavar="EVENTS", min=1, help="Write a snapshot after so many events.")
    ] = 100_000,
    queue: Annotated[
        int, typer.Option(metavar="EVENTS", min=1, help="So many may wait to be written before callers have to wait.")
    ] = 100_000,
    threads: Threads = None,
) -> None:
    """Serves a model over HTTP: takes ratings, learns from each before it answers, and recommends.

    A rating is on disk and learned when it is acknowledged. The page at / searches, recommends and rates;
    /openapi.json describes all routes. Ctrl-C leaves a snapshot; the next start goes on from it.

    \b
    rankfill serve m.rankfill --state state/ --titles movies.csv
    rankfill serve m.rankfill --ratings ratings.csv --refit-after 10000
    rankfill serve --state state/ --host 0.0.0.0 --token-file token.txt
    """
    try:
        from rankfill.service import Settings
        from rankfill.service import serve as run
    except ImportError as error:
        raise ValueError(f"the service needs {error.name}; install it: pip install 'rankfill[service]'") from error
    use_threads(threads)
    base = None
    if ratings is not None:
        base = read_ratings(ratings, columns=parse_columns(columns), duplicates="last")
        console().print(described(ratings, base))
    elif refit_after or refit_every:
        note("without --ratings a refit knows only what came in through the service")
    settings = Settings(
        state=state,
        model=model,
        ratings=base,
        item_features=None if item_features is None else read_features(item_features),
        titles={} if titles is None else read_titles(titles),
        scale=_scale(scale),
        host=host,
        port=port,
        token=None if token_file is None else _token(token_file),
        refit_after=refit_after,
        refit_every=refit_every,
        snapshot_every=snapshot_every,
        longest_queue=queue,
    )
    try:
        run(settings, _tell)
    except KeyboardInterrupt:
        console().print(f"Stopped. {state} holds everything; the same command goes on from there.")


def _tell(address: str, about: dict[str, Any]) -> None:
    """Says where the service listens, and what the start took."""
    for trouble in about["troubles"]:
        note(trouble)
    replayed, seconds = about["replayed"], about["recovery_seconds"]
    if about["snapshot"] or replayed:
        console().print(f"Went on from event {about['snapshot']:,}: {replayed:,} replayed, {seconds:.2f} s in all.")
    console().print(f"Listening on {address}; Ctrl-C stops.")


def _token(path: Path) -> str:
    token = path.read_text(encoding="utf-8").strip()
    if len(token) < 16 or not token.isascii() or not token.isprintable():
        raise ValueError(f"{path} must hold a token of at least 16 plain characters")
    return token


def _scale(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, _, high = text.partition(":")
    try:
        bounds = float(low), float(high)
    except ValueError:
        bounds = (1.0, 0.0)
    if not bounds[0] <= bounds[1]:
        raise ValueError(f"--scale must be two numbers such as 1:5, found {text!r}")
    return bounds
