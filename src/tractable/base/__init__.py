"""Foundations of all packages: array types, compiled functions, threads, settings and progress."""
