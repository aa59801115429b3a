"""The learner `auto`: a mixture of models of several learners, weighted on held-out rows."""
