"""Pictures written and read again, and side by side."""

import numpy as np
import pytest
from PIL import Image

from rankfill.images import read_picture, side_by_side, write_picture


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 2), (5, 7, 3), (5, 7, 4)])
def test_a_png_keeps_every_pixel(tmp_path, shape):
    picture = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    write_picture(tmp_path / "p.png", picture)
    np.testing.assert_array_equal(read_picture(tmp_path / "p.png"), picture)
    assert [path.name for path in tmp_path.iterdir()] == ["p.png"]


def test_sixteen_bits_of_grey(tmp_path):
    picture = (np.arange(35).reshape(5, 7) * 1800).astype(np.uint16)
    write_picture(tmp_path / "p.png", picture)
    again = read_picture(tmp_path / "p.png")
    assert again.dtype == np.uint16
    np.testing.assert_array_equal(again, picture)


def test_palettes_and_black_and_white_are_read_as_colours_and_grey(tmp_path):
    colours = Image.fromarray(np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8))
    colours.quantize(8).save(tmp_path / "palette.png")
    assert read_picture(tmp_path / "palette.png").shape == (5, 7, 3)
    Image.fromarray(np.eye(6, dtype=np.uint8) * 255).convert("1").save(tmp_path / "two.png")
    np.testing.assert_array_equal(read_picture(tmp_path / "two.png"), np.eye(6, dtype=np.uint8) * 255)


def test_what_is_no_picture_is_refused(tmp_path):
    (tmp_path / "p.png").write_text("words")
    with pytest.raises(ValueError, match="is no picture"):
        read_picture(tmp_path / "p.png")
    with pytest.raises(ValueError, match="cannot tell the format"):
        write_picture(tmp_path / "p.words", np.zeros((2, 2), np.uint8))
    with pytest.raises(ValueError, match="takes uint8"):
        write_picture(tmp_path / "p.png", np.zeros((2, 2)))
    assert (tmp_path / "p.png").read_text() == "words"


def test_side_by_side(tmp_path):
    grey, colour = np.zeros((20, 30), np.uint8), np.ones((20, 30, 3))
    figure = side_by_side({"one": grey, "two": colour, "three": colour[..., :2]}, tmp_path / "all.png")
    assert [axes.get_title() for axes in figure.axes] == ["one", "two", "three"]
    assert read_picture(tmp_path / "all.png").shape[1] == 1800
