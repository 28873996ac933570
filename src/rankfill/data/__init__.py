"""Ratings, ids, files, splits and data sets."""

from rankfill.data import datasets, synthetic
from rankfill.data.accepting import RatingsLike, as_ratings
from rankfill.data.batches import read_batches
from rankfill.data.dataset import Dataset
from rankfill.data.features import Features, FeaturesLike, as_features, read_features
from rankfill.data.ratings import Ratings
from rankfill.data.readers import read_pairs, read_ratings, read_titles
from rankfill.data.splits import split
from rankfill.data.store import RatingStore, convert, open_store, store_ratings
from rankfill.data.submatrix import sample_submatrix
from rankfill.data.vocabulary import Vocabulary

__all__ = [
    "Dataset",
    "Features",
    "FeaturesLike",
    "RatingStore",
    "Ratings",
    "RatingsLike",
    "Vocabulary",
    "as_features",
    "as_ratings",
    "convert",
    "datasets",
    "open_store",
    "read_batches",
    "read_features",
    "read_pairs",
    "read_ratings",
    "read_titles",
    "sample_submatrix",
    "split",
    "store_ratings",
    "synthetic",
]
