"""Conditional arithmetic circuits that are grown for the likelihood of targets given inputs."""
