"""Trees with hidden nodes: found from distances between columns, and compiled to circuits."""
