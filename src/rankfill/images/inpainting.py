"""In-painting: fills in the missing pixels of a picture from the others."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from rankfill.data import Ratings
from rankfill.images.grouped import fill_by_groups
from rankfill.images.patches import Picture
from rankfill.models import MODELS, Model
from rankfill.models.base.settings import without_hints

FACTOR_ANALYSIS = "factor-analysis"
TILE, OVERLAP = 256, 64
"""Pixels. A larger picture is completed in overlapping tiles that fade into each other."""


def inpaint(
    image: ArrayLike, mask: ArrayLike | None = None, model: str | Model = FACTOR_ANALYSIS, *, seed: int = 0
) -> NDArray[Any]:
    """Fills in the missing pixels of a picture; the others stay as they are, to the bit.

    Parameters
    ----------
    image : array of shape (height, width) or (height, width, channels)
        Whole or real numbers. A last axis has 1 (grey), 2 (grey and transparency), 3 (colours) or 4 channels (colours
        and transparency). Transparency is left alone. NaN is a missing pixel.
    mask : array of bool, optional
        True where a pixel is missing: height × width, or with the channels of the image. By default only NaN is
        missing.
    model : str or Model, default="factor-analysis"
        "factor-analysis" learns what little squares of this picture look like (see `grouped.py`). A model of rankfill,
        or its name such as "soft-impute", completes the picture as one matrix, its colours side by side so that they
        share the factors of the rows.
    seed : int, default=0
        Seed of what factor analysis draws at random. A model has its own.

    Returns
    -------
    ndarray
        A copy of the image, of the same shape and type, without holes.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfill.images import inpaint
    >>> picture = np.outer(np.arange(40), np.arange(50)).astype(np.uint16)
    >>> mask = np.zeros(picture.shape, bool)
    >>> mask[10:12, 5:30] = True  # a scratch
    >>> restored = inpaint(np.where(mask, 0, picture), mask)
    >>> int(np.abs(restored.astype(int) - picture).max()) < 20
    True
    """
    given = np.asarray(image)
    missing = _missing_pixels(given, mask)
    result = given.copy()
    pixels, holes = result.reshape(*given.shape[:2], -1), missing.reshape(*given.shape[:2], -1)
    n_colours = pixels.shape[2] - (pixels.shape[2] in (2, 4))
    holes[..., n_colours:] = False
    if not holes.any():
        return result
    picture = np.where(holes, np.nan, pixels)[..., :n_colours].astype(np.float64)
    if np.isnan(picture).all(axis=(0, 1)).any():
        raise ValueError("a channel has no pixel that is seen; there is nothing to fill it from")
    lowest, highest = np.nanmin(picture), np.nanmax(picture)
    filled = fill_by_groups(picture, seed) if model == FACTOR_ANALYSIS else _complete(picture, _model(model))
    filled = np.clip(filled, lowest, highest)
    colours = holes[..., :n_colours]
    restored = filled[colours]
    pixels[..., :n_colours][colours] = np.rint(restored) if given.dtype.kind in "ui" else restored
    return result


def _missing_pixels(image: NDArray[Any], mask: ArrayLike | None) -> NDArray[np.bool_]:
    """Checks the picture and the mask; True for each number of the picture that is missing."""
    if image.ndim not in (2, 3) or (image.ndim == 3 and not 1 <= image.shape[2] <= 4) or image.size == 0:
        raise ValueError(f"a picture is height × width, or has 1 to 4 channels on a last axis, found {image.shape}")
    if image.dtype.kind not in "uif":
        raise ValueError(f"a picture has whole or real numbers, found {image.dtype}; convert it")
    covered = np.zeros(image.shape[:2], bool) if mask is None else np.asarray(mask).astype(bool)
    if covered.shape == image.shape[:2] and image.ndim == 3:
        covered = covered[..., None]
    elif covered.shape != image.shape:
        raise ValueError(f"the mask must be of the size of the picture {image.shape}, found {covered.shape}")
    unseen = np.isnan(image) if image.dtype.kind == "f" else np.zeros(image.shape, bool)
    if np.isinf(image).any():
        raise ValueError("a picture must be finite, found an infinite pixel; set it to NaN if it is missing")
    return np.array(np.broadcast_to(covered, image.shape) | unseen)


def _model(model: str | Model) -> Model:
    if isinstance(model, Model):
        return model
    if model not in MODELS:
        raise ValueError(f"there is no model {model!r}; choose one of {', '.join((FACTOR_ANALYSIS, *MODELS))}")
    return MODELS[model]()


def _complete(picture: Picture, model: Model) -> Picture:
    """Fills in tile by tile; where tiles overlap, their weights fall linearly to the edges."""
    total, weight = np.zeros(picture.shape), np.zeros((*picture.shape[:2], 1))
    for rows in _tiles(picture.shape[0]):
        for columns in _tiles(picture.shape[1]):
            ramps = (np.minimum(np.arange(1, n + 1), np.arange(n, 0, -1)) for n in (_length(rows), _length(columns)))
            fade = np.multiply.outer(*(np.minimum(ramp, OVERLAP) for ramp in ramps))[..., None]
            total[rows, columns] += fade * _as_matrix(picture[rows, columns], model)
            weight[rows, columns] += fade
    return total / weight


def _as_matrix(picture: Picture, model: Model) -> Picture:
    height, width, n_colours = picture.shape
    matrix = picture.transpose(0, 2, 1).reshape(height, n_colours * width)
    if np.isnan(matrix).any() and not np.isnan(matrix).all():
        missing = np.nonzero(np.isnan(matrix))
        matrix = matrix.copy()
        with without_hints():
            matrix[missing] = clone(model).fit(Ratings.from_dense(matrix)).predict(*missing)
    return np.nan_to_num(matrix).reshape(height, n_colours, width).transpose(0, 2, 1)


def _tiles(length: int) -> list[slice]:
    """Parts of equal length that cover the whole, each overlapping the next."""
    if length <= TILE:
        return [slice(0, length)]
    n = -(-(length - OVERLAP) // (TILE - OVERLAP))
    starts = np.linspace(0, length - TILE, n).round().astype(int)
    return [slice(int(start), int(start) + TILE) for start in starts]


def _length(part: slice) -> int:
    return int(part.stop - part.start)
