"""Factors by gradients: stochastic, full, and with reduced variance."""
