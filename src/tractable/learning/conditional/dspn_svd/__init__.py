"""DSPN-SVD: features that depend on a class, and a circuit over these features for each class."""
