"""Several learners, and one circuit that is a mixture of the models which suit held-out rows best."""
