"""Parts of conditional sum-product networks: regressions, trees, products, sums, and how sums come to be."""
