"""rankfill inpaint: masks, random pixels, measures, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest

from rankfill.images import read_picture, write_picture


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """A rising plane in three colours."""
    rows, columns = np.mgrid[:40, :50]
    write_picture(tmp_path / "photo.png", np.stack([rows * 5, columns * 4, rows + columns], axis=2).astype(np.uint8))
    return tmp_path / "photo.png"


def test_random_pixels_and_a_picture_of_everything(run, photo):
    folder = photo.parent
    done = run("inpaint", photo, "--keep", 0.5, "-o", folder / "out.png", "--compare", folder / "all.png",
               "--model", "factor-analysis", "--model", "als")  # fmt: skip
    assert done.code == 0, done
    lines = [line.split() for line in done.out.splitlines()]
    assert [line[0] for line in lines[1:4]] == ["model", "factor-analysis", "als"]
    assert float(lines[2][1]) > 30
    restored, whole = read_picture(folder / "out.png"), read_picture(photo)
    assert restored.shape == whole.shape
    assert (restored == whole).mean() >= 0.45
    assert read_picture(folder / "all.png").shape[1] == 2400  # original, damaged and two results


def test_a_mask_and_the_original(run, photo):
    folder, whole = photo.parent, read_picture(photo)
    mask = np.zeros(whole.shape[:2], np.uint8)
    mask[10:12, 5:40] = 255
    write_picture(folder / "mask.png", mask)
    scratched = whole.copy()
    scratched[mask > 0] = 255
    write_picture(folder / "scratched.png", scratched)
    done = run("inpaint", folder / "scratched.png", "--mask", folder / "mask.png", "-o", folder / "out.png")
    assert done.code == 0, done
    assert "–" in done.out  # nothing to measure against
    restored = read_picture(folder / "out.png")
    np.testing.assert_array_equal(restored[mask == 0], whole[mask == 0])
    assert np.abs(restored.astype(int) - whole).max() < 12
    measured = run("inpaint", folder / "scratched.png", "--mask", folder / "mask.png", "--original", photo)
    assert float(measured.out.splitlines()[2].split()[1]) > 40


def test_refusals(refused, photo):
    assert "--mask FILE" in refused("inpaint", photo)
    assert "share above 0" in refused("inpaint", photo, "--keep", 1.5)
    assert "no such file" in refused("inpaint", photo.parent / "none.png", "--keep", 0.5)
    assert "there is no model 'magic'" in refused("inpaint", photo, "--keep", 0.5, "--model", "magic")
    write_picture(photo.parent / "small.png", np.zeros((3, 3), np.uint8))
    assert "they must agree" in refused("inpaint", photo, "--mask", photo.parent / "small.png")
