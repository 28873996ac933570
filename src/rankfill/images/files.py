"""Pictures as files: PNG, JPEG and what else Pillow reads, as arrays of uint8 or uint16."""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

PathLike = str | os.PathLike[str]
_KEPT = ("L", "LA", "RGB", "RGBA")


def read_picture(path: PathLike) -> NDArray[Any]:
    """Height × width for grey, with a last axis for colours and for transparency."""
    try:
        with Image.open(path) as picture:
            if picture.mode.startswith("I"):
                return np.asarray(picture).astype(np.uint16)
            if picture.mode not in _KEPT:
                grey = picture.mode == "1"
                see_through = "transparency" in picture.info or picture.mode == "PA"
                return np.asarray(picture.convert("L" if grey else "RGBA" if see_through else "RGB"))
            return np.asarray(picture)
    except UnidentifiedImageError:
        raise ValueError(f"{path} is no picture that can be read; give a PNG or JPEG file") from None


def write_picture(path: PathLike, picture: NDArray[Any]) -> None:
    """Whole or not at all; uint8, or uint16 for grey, in the format that the name ends in."""
    target = Path(path)
    kinds = Image.registered_extensions()
    if target.suffix.lower() not in kinds:
        raise ValueError(f"cannot tell the format of {target}; let its name end in .png or .jpg")
    if picture.dtype not in (np.uint8, np.uint16) or (picture.dtype == np.uint16 and picture.ndim > 2):
        raise ValueError(
            f"a picture file takes uint8, or uint16 in grey, found {picture.dtype} of shape {picture.shape}; convert it"
        )
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        written = Path(folder) / "picture"
        Image.fromarray(picture).save(written, format=kinds[target.suffix.lower()])
        written.replace(target)
