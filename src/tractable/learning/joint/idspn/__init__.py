"""Sum-product networks whose leaves are the circuits of Markov networks."""
