"""Auto: a predictor and a recommender, chosen on ratings kept aside."""
