"""In-painting of a grey and a colour picture, beside scikit-image's biharmonic in-painting where that is installed.

    python -m benchmarks inpainting [--data FOLDER] [--pictures FOLDER] [--threads 1]

camera.png and china.jpg from the folder `images` of RANKFILL_DATA, 35 % of their pixels seen at random, and
camera.png under writing and scratches. PSNR and SNR over all pixels, in decibels; CPU seconds of all cores. With
--pictures, original, damage and results are drawn side by side.
"""

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import rankfill as rf
from benchmarks.harness.clock import timed
from rankfill.images import inpaint, psnr, read_picture, side_by_side, snr

MODELS = ("factor-analysis", "soft-impute", "als")
KEEP = 0.35
Restore = Callable[[np.ndarray, np.ndarray], np.ndarray]


def restorers() -> dict[str, Restore]:
    """Ours by name, and biharmonic in-painting."""
    ours: dict[str, Restore] = {
        name: lambda picture, mask, name=name: inpaint(picture, mask, name)  # type: ignore[misc]
        for name in MODELS
    }
    try:
        from skimage.restoration import inpaint_biharmonic
    except ImportError:
        return ours

    def biharmonic(picture: np.ndarray, mask: np.ndarray) -> np.ndarray:
        axis = -1 if picture.ndim == 3 else None
        restored = inpaint_biharmonic(picture / 255, mask, channel_axis=axis)
        return np.rint(255 * np.clip(restored, 0, 1)).astype(np.uint8)

    return ours | {"scikit-image, biharmonic": biharmonic}


def writing(shape: tuple[int, ...]) -> np.ndarray:
    """Lines of words and three scratches."""
    from PIL import Image, ImageDraw, ImageFont

    page = Image.new("L", (shape[1], shape[0]))
    draw = ImageDraw.Draw(page)
    for top in range(8, shape[0], 34):
        draw.text((6, top), "unknown is unknown, never zero: " * 3, fill=255, font=ImageFont.load_default(20))
    for left, right in ((60, 200), (300, 260), (420, 500)):
        draw.line((left, 0, right, shape[0]), fill=255, width=3)
    return np.asarray(page) > 127


def cases(folder: Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Pictures and what is missing of them."""
    camera, china = read_picture(folder / "camera.png"), read_picture(folder / "china.jpg")

    def hide(picture: np.ndarray) -> np.ndarray:
        return np.random.default_rng(0).random(picture.shape[:2]) >= KEEP

    return {
        "camera, 35 % seen": (camera, hide(camera)),
        "china, 35 % seen": (china, hide(china)),
        "camera, writing": (camera, writing(camera.shape)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("RANKFILL_DATA", ""), help="default: RANKFILL_DATA")
    parser.add_argument("--pictures", type=Path, help="a folder for pictures side by side")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    rf.set_threads(arguments.threads)
    threadpool_limits(arguments.threads)
    inpaint(np.eye(16), np.eye(16) > 0)  # imports
    print("| picture | method | PSNR | SNR | CPU seconds |\n|---|---|---|---|---|")
    for title, (picture, mask) in cases(Path(arguments.data) / "images").items():
        damaged = picture.copy()
        damaged[mask] = 0
        shown: dict[str, Any] = {"original": picture, "damaged": damaged}
        for name, restore in restorers().items():
            restored, _, seconds = timed(partial(restore, damaged, mask))
            print(
                f"| {title} | {name} | {psnr(picture, restored):.2f} | {snr(picture, restored):.2f} | {seconds:.1f} |",
                flush=True,
            )
            shown[f"{name}, {psnr(picture, restored):.1f} dB"] = restored
        if arguments.pictures is not None:
            arguments.pictures.mkdir(parents=True, exist_ok=True)
            name = title.replace(",", "").replace(" %", "").replace(" ", "-")
            side_by_side(shown, arguments.pictures / f"{name}.png")


if __name__ == "__main__":
    main()
