"""Mixtures of multivariate Gaussians over transformed columns, stacked with a background component."""
