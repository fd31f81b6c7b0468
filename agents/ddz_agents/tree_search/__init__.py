"""Monte Carlo tree search: determinize, select, expand, simulate, backpropagate.

From ``isuct`` to its move in seven files: :mod:`~ddz_agents.tree_search.agent` (checks, grows trees) with
:mod:`~ddz_agents.tree_search.options`, :mod:`~ddz_agents.tree_search.search` (figure 2: the loop and its formulas),
:mod:`~ddz_agents.worlds.determinize` (its determinizations), :mod:`~ddz_agents.tree_search.tree` (its arrays),
:mod:`~ddz_agents.tree_search.simulate` (its playouts) and :mod:`~ddz_agents.tree_search.choice` (from the root to a
move).  :mod:`~ddz_agents.tree_search.rollout` compares candidates without a tree.
"""
