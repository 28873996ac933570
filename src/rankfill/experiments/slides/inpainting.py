"""Slides, image in-painting: a picture under writing and scratches, and one of which 35 % of the pixels are seen.

The slides show the pictures and no figures. Here: factor analysis of like squares (the default of `images.inpaint`),
and the convex completion of the slides, soft-impute on the picture as a matrix. PSNR and SNR over all pixels, in
decibels.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rankfill.experiments.drawing import panels
from rankfill.experiments.frame import Asked, Line, Result
from rankfill.images import inpaint, psnr, read_picture, snr

METHODS = ("factor-analysis", "soft-impute")
KEEP = 0.35


def run(asked: Asked) -> Result:
    found, words = cases(asked)
    records: list[dict[str, Any]] = []
    figures = {}
    for title, (picture, missing) in found.items():
        damaged = picture.copy()
        damaged[missing] = 0
        shown = {"original": picture, "damaged": damaged}
        for name in METHODS:
            asked.say(f"{title}, {name}")
            restored = inpaint(damaged, missing, name)
            ratios = {"PSNR": psnr(picture, restored), "SNR": snr(picture, restored)}
            records.append({"picture": title, "method": name} | ratios)
            shown[f"{name}, {ratios['PSNR']:.1f} dB"] = restored
        records.append(
            {"picture": title, "method": "damaged", "PSNR": psnr(picture, damaged), "SNR": snr(picture, damaged)}
        )
        figures[title.replace(" %", "").replace(",", "").replace(" ", "-")] = _draw(shown)
    lines = [
        Line(f"{each['picture']}: {each['method']}", "a picture", f"PSNR {each['PSNR']:.2f}, SNR {each['SNR']:.2f} dB")
        for each in records
    ]
    return Result(words, lines, {"ratios": records}, figures)


def cases(asked: Asked) -> tuple[dict[str, tuple[NDArray[Any], NDArray[np.bool_]]], str]:
    """Pictures and what is missing of them."""
    folder = (asked.data or Path(os.environ.get("RANKFILL_DATA", "."))) / "images"
    if asked.quick or not (folder / "camera.png").is_file():
        picture, words = _make_picture(asked.choose(256, 48)), "synthetic picture of waves and discs"
    else:
        picture, words = read_picture(folder / "camera.png"), "camera.png, 512 × 512, grey"
    hidden = np.random.default_rng(0).random(picture.shape[:2]) >= KEEP
    return {"35 % seen": (picture, hidden), "writing": (picture, writing(picture.shape))}, words


def writing(shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Lines of words and three scratches."""
    from PIL import Image, ImageDraw, ImageFont

    page = Image.new("L", (shape[1], shape[0]))
    draw = ImageDraw.Draw(page)
    font = ImageFont.load_default(max(9, 20 * shape[1] // 512))
    for top in range(8, shape[0], 34):
        draw.text((6, top), "unknown is unknown, never zero: " * 3, fill=255, font=font)
    for left, right in ((60, 200), (300, 260), (420, 500)):
        ends = (left * shape[1] / 512, 0, right * shape[1] / 512, shape[0])
        draw.line(ends, fill=255, width=max(1, 3 * shape[1] // 512))
    return np.asarray(page) > 127


def _make_picture(side: int) -> NDArray[np.uint8]:
    y, x = np.mgrid[0:side, 0:side] / side
    waves = 0.5 + 0.25 * np.sin(9 * x + 4 * y) + 0.2 * np.cos(7 * y)
    discs = ((x - 0.3) ** 2 + (y - 0.4) ** 2 < 0.03) | ((x - 0.7) ** 2 + (y - 0.65) ** 2 < 0.05)
    picture: NDArray[np.uint8] = np.rint(255 * np.where(discs, 0.9 * waves + 0.1, 0.8 * waves).clip(0, 1)).astype(
        np.uint8
    )
    return picture


def _draw(shown: dict[str, NDArray[Any]]) -> Figure:
    figure, axes = panels(len(shown), width=2.6, height=2.9)
    for panel, (title, picture) in zip(axes, shown.items(), strict=True):
        panel.imshow(picture, cmap="gray", vmin=0, vmax=255)
        panel.set_title(title, fontsize=9)
        panel.set_axis_off()
    return figure
