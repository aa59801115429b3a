"""Gated sums of conditional random fields that share one partition function."""
