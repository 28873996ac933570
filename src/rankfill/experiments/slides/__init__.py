"""Gaïffas: Large Scale Machine Learning, slides of a summer school (Le Mans)."""
