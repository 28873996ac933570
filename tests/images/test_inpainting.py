"""Pictures restored: exact low rank, what is seen untouched, masks and types of all kinds."""

import itertools

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import rankfill as rf
from rankfill.images import inpaint, psnr, snr
from rankfill.images.inpainting import OVERLAP, TILE, _tiles
from rankfill.images.patches import Cut

METHODS = ("factor-analysis", "als")


def scene(height=32, width=40, channels=None, seed=0):
    """Smooth hills with an edge and stripes, between 0 and 1."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:height, :width]
    shape = (height, width) if channels is None else (height, width, channels)
    hills = gaussian_filter(rng.normal(size=shape), (6, 6, 0)[: len(shape)])
    hills = (hills - hills.min()) / np.ptp(hills)
    edge = 0.3 * (rows + columns > 50) + 0.1 * np.sin(columns / 2)
    return np.clip(0.6 * hills + (edge if channels is None else edge[..., None]), 0, 1)


def random_mask(shape, share=0.5, seed=1):
    return np.random.default_rng(seed).random(shape[:2]) < share


def written_over(shape):
    """Letters, more or less: thin strokes all over, and two scratches."""
    mask = np.zeros(shape[:2], bool)
    mask[5::9, 3:-3] = mask[:, 7::13] = True
    mask[20:23] = True
    np.fill_diagonal(mask, True)
    return mask


@pytest.mark.parametrize("colours", [None, 3])
def test_an_exactly_low_rank_picture_is_recovered(colours):
    rng = np.random.default_rng(0)
    rows = rng.random((60, 2))
    matrix = rows @ rng.random((2, 70 * (colours or 1)))
    picture = matrix if colours is None else matrix.reshape(60, colours, 70).transpose(0, 2, 1)
    mask = random_mask(picture.shape)
    for end in (picture.argmin(), picture.argmax()):  # nothing is filled in beyond what is seen
        mask[np.unravel_index(end, picture.shape)[:2]] = False
    restored = inpaint(picture, mask, rf.ALS(rank=2, penalty=1e-4, biases=False, passes=200, tol=None, clip=False))
    np.testing.assert_allclose(restored, picture, atol=5e-3)


def test_colours_share_the_factors_of_the_rows():
    rng = np.random.default_rng(0)
    picture = np.einsum("hr,wcr->hwc", rng.random((40, 2)), rng.random((30, 3, 2)))
    mask = random_mask(picture.shape, 0.6)[..., None] & np.array([True, False, False])
    model = rf.ALS(rank=2, penalty=1e-5, biases=False, passes=300, tol=None, clip=False)
    together = inpaint(picture, mask, model)
    alone = inpaint(picture[..., 0], mask[..., 0], model)
    assert psnr(picture[..., 0], together[..., 0]) > psnr(picture[..., 0], alone)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("channels", "kind"),
    [(None, np.uint8), (1, np.float64), (2, np.uint8), (3, np.float32), (3, np.uint16), (4, np.uint8)],
)
def test_what_is_seen_stays_and_the_rest_is_better_than_a_flat_grey(method, channels, kind):
    whole = scene(channels=channels)
    picture = whole.astype(kind) if kind in (np.float32, np.float64) else (whole * np.iinfo(kind).max).astype(kind)
    mask = random_mask(picture.shape)
    damaged = picture.copy()
    damaged[mask] = 7 if kind is np.uint8 else 0
    if channels in (2, 4):
        damaged[..., -1] = picture[..., -1]
    restored = inpaint(damaged, mask, method)
    assert restored.dtype == picture.dtype
    assert restored.shape == picture.shape
    assert restored[~mask].tobytes() == picture[~mask].tobytes()
    if channels in (2, 4):
        np.testing.assert_array_equal(restored[..., -1], picture[..., -1])
    flat = damaged.copy()
    flat[mask] = picture[~mask].mean(axis=0)
    assert psnr(picture, restored) > psnr(picture, flat) + 2


def test_factor_analysis_restores_writing_better_than_the_mean_nearby():
    picture = scene(96, 96)
    mask = written_over(picture.shape)
    restored = inpaint(np.where(mask, 0, picture), mask)
    seen = (~mask).astype(float)
    nearby = gaussian_filter(picture * seen, 1) / gaussian_filter(seen, 1)
    assert psnr(picture, restored) > psnr(picture, np.where(mask, nearby, picture)) + 3


@pytest.mark.parametrize("method", METHODS)
def test_masks_of_all_kinds(method):
    picture = scene(24, 26, 3)
    blob, one, none, most = (np.zeros((24, 26), bool) for _ in range(4))
    blob[6:18, 4:18] = one[0, 0] = most[:] = True
    most[::9, ::7] = False
    row_and_column = one.copy()
    row_and_column[5], row_and_column[:, 9] = True, True
    by_channel = np.random.default_rng(3).random(picture.shape) < 0.3
    for mask in (blob, one, none, most, row_and_column, by_channel, by_channel.astype(np.uint8) * 255):
        restored = inpaint(picture, mask, method)
        seen = ~(mask.astype(bool) if mask.ndim == 3 else np.broadcast_to(mask[..., None], picture.shape))
        np.testing.assert_array_equal(restored[seen], picture[seen])
        assert np.isfinite(restored).all()
        assert restored.min() >= picture.min()
        assert restored.max() <= picture.max()


def test_nan_is_missing_in_a_picture_of_real_numbers():
    picture = scene()
    mask = random_mask(picture.shape)
    with_nan = np.where(mask, np.nan, picture)
    np.testing.assert_array_equal(inpaint(with_nan), inpaint(picture, mask))
    assert np.isnan(with_nan).sum() == mask.sum()  # the picture given is left alone


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 3), (7, 40)])
def test_tiny_pictures(shape):
    picture = np.full(shape, 0.5)
    mask = np.zeros(shape, bool)
    mask[0, 0] = mask.size > 1
    np.testing.assert_allclose(inpaint(np.where(mask, 0, picture), mask), picture)


def test_same_seed_same_picture():
    picture, mask = scene(60, 60), random_mask((60, 60))
    assert inpaint(picture, mask, seed=4).tobytes() == inpaint(picture, mask, seed=4).tobytes()


def test_tiles_cover_a_large_picture_and_overlap():
    for length in (1, TILE, TILE + 1, 500, 2000):
        tiles = _tiles(length)
        assert tiles[0].start == 0
        assert tiles[-1].stop == length
        assert all(first.stop - second.start >= OVERLAP // 2 for first, second in itertools.pairwise(tiles))
    picture = scene(40, TILE + 150)
    mask = random_mask(picture.shape)
    restored = inpaint(np.where(mask, 0, picture), mask, "als")
    assert psnr(picture, restored) > 20


def test_squares_put_together_again_are_the_picture():
    picture = np.random.default_rng(0).random((13, 17, 3))
    for size, step in ((4, 3), (5, 1), (13, 5)):
        cut = Cut(picture.shape, size, step)
        rows = cut.rows(picture)
        np.testing.assert_allclose(cut.blend(rows, np.arange(1.0, len(rows) + 1)), picture, atol=1e-12)


def test_decibels_by_definition():
    x, y = np.array([[10, 200]], np.uint8), np.array([[13, 196]], np.uint8)
    assert psnr(x, y) == pytest.approx(10 * np.log10(255**2 / ((9 + 16) / 2)))
    assert snr(x, y) == pytest.approx(10 * np.log10((100 + 40000) / 25))
    assert psnr(x, x) == np.inf


def test_bad_pictures_are_refused_in_words():
    picture = scene()
    for image, mask, model, words in [
        (picture, np.ones(picture.shape, bool), "als", "no pixel that is seen"),
        (picture, np.ones((3, 3), bool), "als", "size of the picture"),
        (picture, picture > 0.5, "magic", "there is no model 'magic'"),
        (picture[0], None, "als", "height × width"),
        (picture.astype(str), None, "als", "whole or real numbers"),
        (np.where(picture > 0.5, np.inf, picture), None, "als", "must be finite"),
    ]:
        with pytest.raises(ValueError, match=words):
            inpaint(image, mask, model)
    with pytest.raises(ValueError, match="one size"):
        psnr(picture, picture[1:])
