"""Ratings, ids, files, splits and data sets."""

from rankfill.data.ratings import Ratings
from rankfill.data.readers import read_pairs, read_ratings, read_titles
from rankfill.data.vocabulary import Vocabulary

__all__ = ["Ratings", "Vocabulary", "read_pairs", "read_ratings", "read_titles"]
