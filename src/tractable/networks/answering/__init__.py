"""Single questions to a Bayesian network: variable elimination in the part that a question needs."""

from tractable.networks.answering.answers import NetworkAnswers, network_answers

__all__ = ["NetworkAnswers", "network_answers"]
