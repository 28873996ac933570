"""Blondel, Kubo, Ueda: Online Passive-Aggressive Algorithms for Non-Negative Matrix Factorization and Completion.

AISTATS 2014.
"""
