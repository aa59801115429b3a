"""Ensembles: bagging, stacking, and the learner `auto`."""
