"""Single queries of a Bayesian network by variable elimination in the relevant part of the network."""

from tractable.networks.answering.answers import NetworkAnswers, network_answers
from tractable.networks.answering.factors import distributions

__all__ = ["NetworkAnswers", "distributions", "network_answers"]
