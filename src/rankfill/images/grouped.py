"""Squares of a picture that look alike are nearly of low rank: factor analysis of each group of them.

1. A smooth picture is taken off: the mean of the pixels seen nearby.
2. All squares together, as rows of a table with holes, give a first guess.
3. Squares are put into groups by their looks (k-means on the guess, less its mean, at equal contrast).
4. Each group is a table with holes of its own; the covariance of all squares counts as some rows seen beforehand.
5. Squares overlap: a pixel is the mean of all that are said about it.

What is seen in a square, not what was guessed, is what every step fills from.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from sklearn.cluster import MiniBatchKMeans

from rankfill.images.patches import Cut, Picture
from rankfill.imputation import GaussianFactors, Moments

WIDEST_ROW = 80
"""Numbers in a square: 8 × 8 in grey, 5 × 5 in three colours."""
STEP = 2
SMOOTHING = 3.0
GROUP, MOST_GROUPS = 600, 60
"""About how many squares make a group, and the most groups."""
SAMPLE, GROUP_SAMPLE = 4000, 1000
"""The number of squares to learn from, of the picture and of a group; more do not improve the covariance."""
PENALTY = 30.0
CONTRAST = 0.02
"""The least contrast, as a share of the range of the picture; squares with less are grouped as if they had this."""


def fill_by_groups(picture: Picture, seed: int) -> Picture:
    """Fills in a picture of height × width × channels in which NaN is a missing pixel."""
    rng = np.random.default_rng(seed)
    offset = _smooth(picture)
    size = max(1, min(int(np.sqrt(WIDEST_ROW / picture.shape[2])), *picture.shape[:2]))
    cut = Cut(picture.shape, size, STEP if size > STEP else 1)
    rows = cut.rows(picture - offset)
    wanted = np.asarray(np.isnan(rows).any(axis=1))
    scale = float(np.sqrt(np.nanmean(rows**2))) or 1.0
    everything = GaussianFactors(rows.shape[1], PENALTY, passes=8).fit(_sample(rows, rng, SAMPLE) / scale)
    guessed = rows.copy()
    guessed[wanted] = everything.fill(rows[wanted] / scale) * scale
    first = np.where(np.isnan(picture), cut.blend(guessed, np.ones(len(rows))) + offset, picture)
    return cut.blend(
        _fill_groups(cut.rows(picture), cut.rows(first), wanted, everything, rng), wanted.astype(np.float64)
    )


def _fill_groups(
    rows: Picture, guess: Picture, wanted: NDArray[np.bool_], everything: GaussianFactors, rng: np.random.Generator
) -> Picture:
    """Fills the wanted rows, each from the rows that look like it."""
    means = guess.mean(axis=1, keepdims=True)
    looks = guess - means
    least = CONTRAST * float(np.ptp(guess)) or 1.0
    contrasts = np.sqrt(np.mean(looks**2, axis=1, keepdims=True)) + least
    looks /= contrasts
    groups = _group_numbers(looks, rng)
    filled = guess.copy()
    for group in range(groups.max() + 1):
        members = np.flatnonzero(groups == group)
        asked = members[wanted[members]]
        if len(asked) == 0:
            continue
        taught = _sample(members, rng, GROUP_SAMPLE)
        start = _moments(looks[taught])
        mean, contrast = means[taught], contrasts[taught]
        prior = _scale_to(start.scatter, everything.covariance)
        model = GaussianFactors(rows.shape[1], PENALTY, passes=3, tol=0.0, prior=prior)
        model.fit((rows[taught] - mean) / contrast, init=start)
        filled[asked] = model.fill((rows[asked] - means[asked]) / contrasts[asked]) * contrasts[asked] + means[asked]
    return filled


def _moments(looks: Picture) -> Moments:
    """The mean and the scatter matrix of a group of squares as they are guessed."""
    mean = looks.mean(axis=0)
    centred = looks - mean
    return Moments(mean, centred.T @ centred / len(looks))


def _scale_to(scatter: Picture, covariance: Picture) -> Picture:
    """The covariance scaled to the trace of the scatter; a flat group gets a little."""
    size = max(float(np.trace(scatter)), 1e-6 * len(scatter))
    return covariance * (size / float(np.trace(covariance)))


def _group_numbers(looks: Picture, rng: np.random.Generator) -> NDArray[np.int32]:
    n_groups = int(np.clip(len(looks) // GROUP, 1, MOST_GROUPS))
    clusters = MiniBatchKMeans(
        n_groups, random_state=int(rng.integers(2**31)), n_init=1, batch_size=4096, max_iter=20, reassignment_ratio=0.0
    )
    labels: NDArray[np.int32] = clusters.fit(_sample(looks, rng, 5 * SAMPLE)).predict(looks)
    return labels


def _sample(rows: NDArray[Any], rng: np.random.Generator, n: int) -> NDArray[Any]:
    return rows if len(rows) <= n else rows[np.sort(rng.choice(len(rows), n, replace=False))]


def _smooth(picture: Picture) -> Picture:
    """The mean of what is seen around each pixel, from as near as something is seen."""
    seen = ~np.isnan(picture)
    values, width = np.where(seen, picture, 0.0), SMOOTHING
    smooth = np.full(picture.shape, np.nan)
    while np.isnan(smooth).any():
        weights = gaussian_filter(seen.astype(np.float64), (width, width, 0))
        means = gaussian_filter(values, (width, width, 0)) / np.maximum(weights, 1e-300)
        enough = np.isnan(smooth) & (weights > 1e-3)
        smooth[enough] = means[enough]
        width *= 2
    return smooth
