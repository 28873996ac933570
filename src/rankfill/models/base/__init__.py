"""What every family stands on: the contract of a model, factors, learning on, training, settings."""
