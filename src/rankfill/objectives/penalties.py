"""Penalties where none is set, in units of the size of what is to be learned.

Noise of variance 1 on n entries, n̄_u a user and n̄_i an item, has a spectral norm of about ¾ (√n̄_u + √n̄_i); a λ below it
learns noise. `LEAST` holds on sparse data, where that norm is small and ratings are few; `BY_COUNT` is λ a rating.
"""

import math

LEAST = 15.0
BY_COUNT = 0.065


def norm_of_noise(n_ratings: int, n_users: int, n_items: int) -> float:
    """¾ (√n̄_u + √n̄_i)."""
    return 0.75 * (math.sqrt(n_ratings / n_users) + math.sqrt(n_ratings / n_items))
