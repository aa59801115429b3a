"""Single questions to a Bayesian network: variable elimination in the part that a question needs."""

from tractable.networks.answering.answers import NetworkAnswers, network_answers
from tractable.networks.answering.tables import distributions

__all__ = ["NetworkAnswers", "distributions", "network_answers"]
