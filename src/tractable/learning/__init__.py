"""From a table to a circuit: learners, the methods that fit parameters, ensembles, tuning and training."""
