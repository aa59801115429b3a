"""A conditional random field of conjunctive features that grows together with its circuit."""
