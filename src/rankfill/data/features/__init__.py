"""What is known of items or users beside their ratings, as numbers: `Features`, and the files they come from."""

from rankfill.data.features.encoding import Encoding
from rankfill.data.features.features import Features
from rankfill.data.features.reading import FeaturesLike, as_features, read_features

__all__ = ["Encoding", "Features", "FeaturesLike", "as_features", "read_features"]
