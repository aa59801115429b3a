"""Markov networks whose weights are fitted to targets given inputs."""
