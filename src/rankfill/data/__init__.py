"""Ratings, ids, files, splits and data sets."""

from rankfill.data.ratings import Ratings
from rankfill.data.vocabulary import Vocabulary

__all__ = ["Ratings", "Vocabulary"]
