"""Models that predict each item from all others: one regression per item."""
