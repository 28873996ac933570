"""Measures of the distance of a restored picture from the original, in decibels.

    psnr = 10 log₁₀(peak² / mean (x − x̂)²)        snr = 10 log₁₀(Σ x² / Σ (x − x̂)²)

over all pixels of all channels. `peak` is the largest value of the type of whole numbers, and 1 for real numbers.
"""

import numpy as np
from numpy.typing import ArrayLike


def psnr(original: ArrayLike, restored: ArrayLike) -> float:
    """The peak signal-to-noise ratio of a restored picture, in decibels: more is nearer to the original.

    Parameters
    ----------
    original : array
        The picture as it was; its type tells the peak, see above.
    restored : array
        The picture as it was filled in, of the same shape.

    Returns
    -------
    float
        Infinite where both are equal.

    Examples
    --------
    >>> psnr(np.array([[0, 255]], np.uint8), np.array([[0, 204]], np.uint8))
    16.989700043360187
    """
    x, squares = np.asarray(original), _squares(original, restored)
    peak = float(np.iinfo(x.dtype).max) if x.dtype.kind in "ui" else 1.0
    return _decibels(peak**2 * x.size, squares)


def snr(original: ArrayLike, restored: ArrayLike) -> float:
    """The signal-to-noise ratio of a restored picture, in decibels: more is nearer to the original.

    Parameters
    ----------
    original : array
        The picture as it was.
    restored : array
        The picture as it was filled in, of the same shape.

    Returns
    -------
    float
        Infinite where both are equal.

    Examples
    --------
    >>> snr([3.0, 4.0], [3.0, 4.5])
    20.0
    """
    return _decibels(float(np.sum(np.square(original, dtype=np.float64))), _squares(original, restored))


def _squares(original: ArrayLike, restored: ArrayLike) -> float:
    x, y = np.asarray(original, dtype=np.float64), np.asarray(restored, dtype=np.float64)
    if x.shape != y.shape:
        raise ValueError(f"pictures of one size can be compared, found {x.shape} and {y.shape}")
    return float(np.sum((x - y) ** 2))


def _decibels(signal: float, noise: float) -> float:
    return float(10 * np.log10(signal / noise)) if noise > 0 else float("inf")
