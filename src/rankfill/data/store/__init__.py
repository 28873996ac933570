"""Ratings on disk, larger than memory: an index by user and by item, made by an external sort."""

from rankfill.data.store.converting import convert, store_ratings
from rankfill.data.store.store import Rating, RatingStore, open_store

__all__ = ["Rating", "RatingStore", "convert", "open_store", "store_ratings"]
