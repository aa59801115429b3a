"""Trees over targets, in which each target is regressed on the inputs: parts of conditional mixtures."""
