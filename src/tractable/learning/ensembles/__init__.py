"""Several models as one: bagging, stacking, and the learner that tries all others."""
