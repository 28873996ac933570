"""Passive-aggressive factorisation: no learning rate."""
