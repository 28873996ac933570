"""Akyıldız: Online Matrix Factorization via Broyden Updates (MLSS 2015)."""
