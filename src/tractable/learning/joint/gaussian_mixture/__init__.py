"""Mixtures of full Gaussians over mapped columns, stacked with a background."""
