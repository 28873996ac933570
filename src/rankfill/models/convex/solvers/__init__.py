"""The algorithms inside the convex models; they know a problem, not a model."""
