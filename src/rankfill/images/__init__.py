"""Pictures with pixels missing, restored by low-rank completion."""

from rankfill.images.files import read_picture, write_picture
from rankfill.images.inpainting import FACTOR_ANALYSIS, inpaint
from rankfill.images.measures import psnr, snr
from rankfill.images.side_by_side import side_by_side

__all__ = ["FACTOR_ANALYSIS", "inpaint", "psnr", "read_picture", "side_by_side", "snr", "write_picture"]
