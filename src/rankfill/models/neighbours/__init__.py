"""Models that ask what is similar: nearest neighbours among items or users."""
