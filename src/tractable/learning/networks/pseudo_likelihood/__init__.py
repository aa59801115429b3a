"""The pseudo-likelihood of Markov networks, as an objective for weights and as a score of rows."""
