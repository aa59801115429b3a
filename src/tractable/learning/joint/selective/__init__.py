"""Regular selective sum-product trees, learned by splits and merges.

A tree is products, decisions and marginals. A *marginal* is a distribution over some states of one column. A
*decision* is a sum over two or more columns that is regular selective with respect to one of them: its
children have different states of that column, like the children of a node of a decision tree. A *product* has
independent factors. No child of a product is a product, and no child of a decision decides the same column.

There is one representation, flat arrays (`nodes`): a node is a number, and what is known of it stands at that
place of each array. Its children, the states of its column and the rows that reach it are ranges of other
arrays. Nothing of a node that is removed is overwritten before the tree is committed, so that a change is
undone by putting the former children back.

A change is made in three steps (`tree`): the structure of the new nodes is copied (`copying`), everything
that is known of them is counted, rows going down and scores going up (`filling`), and they take the place of
the old ones. `splits` and `merges` score what could be done next to one node, `candidates` keeps the nodes in
a queue, and `search` climbs. All loops over nodes and rows are compiled.
"""
