"""The ratings matrix."""

from rankfill.data.duplicates import Duplicates
from rankfill.data.ratings.ratings import Ratings

__all__ = ["Duplicates", "Ratings"]
