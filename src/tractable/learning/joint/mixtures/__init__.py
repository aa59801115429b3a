"""Mixtures of products and of trees."""
