"""Regular selective sum-product trees, found by splits and merges."""
