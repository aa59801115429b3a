"""Neural networks over the inputs, trained alone and together with a circuit over the targets."""
