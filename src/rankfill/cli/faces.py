"""rankfill faces: pictures of faces with holes, filled in by Broyden updates, NMF and stochastic gradients."""

from pathlib import Path
from typing import Annotated

import typer

from rankfill.cli.progress import PassBar
from rankfill.cli.shared import Threads, check_output, console, plain_table, use_threads
from rankfill.data.olivetti import olivetti
from rankfill.experiments.faces import PUBLISHED, Filled, Holes, fill, methods
from rankfill.experiments.faces_pictures import errors, side_by_side


def faces(
    data: Annotated[
        Path | None, typer.Option("--data", metavar="PATH", help="olivettifaces.mat, or the folder it is in.")
    ] = None,
    download: Annotated[bool, typer.Option("--download", help="Let scikit-learn fetch the faces if need be.")] = False,
    missing: Annotated[float, typer.Option("--missing", help="The share of pixels that is taken away.")] = 0.25,
    rank: Annotated[int, typer.Option("--rank", help="How many factors describe a face and a pixel.")] = 30,
    penalty: Annotated[float, typer.Option("--penalty", help="Of the Broyden updates.")] = 2.0,
    passes: Annotated[int, typer.Option("--passes", help="Over the faces, one at a time.")] = 30,
    nmf_passes: Annotated[int, typer.Option("--nmf-passes", help="Of multiplicative updates of all faces.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Of the holes and of the methods.")] = 0,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to leave the pictures.")
    ] = Path(),
    threads: Threads = None,
) -> None:
    """Fills in faces with missing pixels by three methods: the tables and figures of Akyıldız (2015).

    Leaves faces.png, the faces side by side, and faces-errors.png, errors against time and columns read.

    \b
    rankfill faces --data olivettifaces.mat -o pictures/
    rankfill faces --missing 0.5 --nmf-passes 200
    """
    use_threads(threads)
    output.mkdir(parents=True, exist_ok=True)
    files = check_output(output / "faces.png"), check_output(output / "faces-errors.png")
    holes = Holes.at_random(olivetti(data, download), missing, seed)
    pixels, n = holes.pictures.shape
    screen = console()
    screen.print(f"{n} faces of {pixels} pixels, {missing:.0%} of the pixels missing, rank {rank}.\n")
    results = []
    for name, model in methods(rank, penalty, passes, nmf_passes, seed).items():
        with PassBar(model.passes, int(holes.known.sum())) as bar:
            results.append(fill(name, model, holes, [bar]))
    screen.print(_table(holes, results))
    screen.print("\nSignal-to-noise ratios in dB, 10 log10(sum of squares / sum of squared errors).")
    screen.print("The paper does not say how it measures its own: compare the order and the distance.\n")
    side_by_side(holes, results, files[0])
    errors(results, files[1])
    screen.print(f"Wrote {files[0]} and {files[1]}.")


def _table(holes: Holes, results: list[Filled]) -> object:
    table = plain_table("method", "passes#", "all pixels#", "missing pixels#", "seconds#", "in the paper#")
    whole, hole = holes.snr(holes.blackened())
    table.add_row("missing pixels black", "", f"{whole:.2f}", f"{hole:.2f}", "", f"{PUBLISHED['missing pixels']:.2f}")
    for result in results:
        last, published = result.last, PUBLISHED.get(result.name)
        numbers = f"{last.whole:.2f}", f"{last.missing:.2f}", f"{last.seconds:.1f}"
        table.add_row(result.name, str(result.passes), *numbers, "" if published is None else f"{published:.2f}")
    return table
