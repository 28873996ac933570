"""Xin, Jaakkola: Primal–Dual Methods for Sparse Constrained Matrix Completion (AISTATS 2012)."""
