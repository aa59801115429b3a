"""Sum-product networks whose leaves are circuits of Markov networks."""
