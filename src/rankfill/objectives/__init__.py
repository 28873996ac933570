"""Losses and measures: one definition, one scaling."""
