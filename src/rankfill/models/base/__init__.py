"""What all families share: the contract of a model, factors, online learning, training, settings."""
