"""Learning of circuits: learners, parameter methods, ensembles, tuning and training."""
