"""Sum-product networks learned by partitioning a table."""
