"""Factors from one column at a time: Broyden updates and stochastic gradients."""
