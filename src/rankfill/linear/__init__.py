"""Linear models on sparse features, for plain supervised data: the solvers of `FeatureRidge`, alone."""

from rankfill.linear.estimators import SparseClassifier, SparseRegression

__all__ = ["SparseClassifier", "SparseRegression"]
