"""rankfill inpaint: fills in the missing pixels of a picture."""

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from rankfill.cli.shared import Threads, check_output, check_picture, console, plain_table, use_threads
from rankfill.images import FACTOR_ANALYSIS, psnr, read_picture, side_by_side, snr, write_picture
from rankfill.images import inpaint as restore


def inpaint(
    photo: Annotated[Path, typer.Argument(metavar="PHOTO", help="The picture: .png, .jpg and others.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write the picture filled in.")
    ] = None,
    mask: Annotated[
        Path | None,
        typer.Option("--mask", metavar="FILE", help="A picture of the same size, not black where a pixel is missing."),
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option("--keep", metavar="SHARE", help="Try it: hide all but this share of the pixels, at random."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help=f"{FACTOR_ANALYSIS}, or a model; may be given again."),
    ] = None,
    original: Annotated[
        Path | None, typer.Option("--original", metavar="FILE", help="The picture without damage, to measure against.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option("--compare", metavar="FILE", help="Draw original, damage and results side by side.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the choice of hidden pixels, and of the method.")] = 0,
    threads: Threads = None,
) -> None:
    """Fills in the missing pixels of a picture: scratches, writing, dust.

    PSNR and SNR, in decibels, tell how near it comes to the original, where that is known. With several models the
    first one is written.

    \b
    rankfill inpaint photo.png --mask scratches.png -o restored.png
    rankfill inpaint photo.png --keep 0.35 -o restored.png --compare all.png --model factor-analysis --model soft-impute
    """
    for path, check in ((output, check_output), (compare, check_picture)):
        if path is not None:
            check(path)
    use_threads(threads)
    picture = read_picture(photo)
    missing = _missing(picture, mask, keep, seed)
    whole = picture if keep is not None else None if original is None else read_picture(original)
    shown = {} if whole is None else {"original": whole}
    shown["damaged"] = _blacken(picture, missing)
    table = plain_table("model", "PSNR#", "SNR#", "seconds#")
    results: list[NDArray[Any]] = []
    for name in model or [FACTOR_ANALYSIS]:
        began = time.perf_counter()
        results.append(restore(picture, missing, name, seed=seed))
        seconds = f"{time.perf_counter() - began:.1f}"
        nearness = ["–", "–"] if whole is None else [f"{each(whole, results[-1]):.2f}" for each in (psnr, snr)]
        table.add_row(name, *nearness, seconds)
        shown[name if whole is None else f"{name}, {nearness[0]} dB"] = results[-1]
    console().print(f"{photo.name}: {np.mean(missing):.1%} of the pixels are missing")
    console().print(table)
    if output is not None:
        write_picture(output, results[0])
        console().print(f"Wrote {output}.")
    if compare is not None:
        side_by_side(shown, compare)
        console().print(f"Drew {compare}.")


def _missing(picture: NDArray[Any], mask: Path | None, keep: float | None, seed: int) -> NDArray[np.bool_]:
    if (mask is None) == (keep is None):
        raise ValueError("give --mask FILE for a damaged picture, or --keep SHARE to hide pixels at random")
    if keep is not None:
        if not 0 < keep <= 1:
            raise ValueError(f"--keep must be a share above 0 and up to 1, found {keep:g}")
        return np.random.default_rng(seed).random(picture.shape[:2]) >= keep
    assert mask is not None
    covered = read_picture(mask)
    if covered.shape[:2] != picture.shape[:2]:
        sizes = [f"{shape[1]} × {shape[0]}" for shape in (covered.shape, picture.shape)]
        raise ValueError(f"the mask {mask} is {sizes[0]} pixels and the picture {sizes[1]}; they must agree")
    if covered.ndim == 2:
        return covered > 0
    colours = covered[..., : 1 if covered.shape[2] == 2 else 3]
    opaque = covered[..., -1] > 0 if covered.shape[2] in (2, 4) else True
    return np.asarray((colours > 0).any(axis=2) & opaque)


def _blacken(picture: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """Black where a pixel is missing."""
    damaged = picture.copy()
    if picture.ndim == 2:
        damaged[missing] = 0
    else:
        damaged[missing, : picture.shape[2] - (picture.shape[2] in (2, 4))] = 0
    return damaged
