"""Bayesian factorisation by Gibbs sampling: the mean of many factorisations, and how sure it is."""
