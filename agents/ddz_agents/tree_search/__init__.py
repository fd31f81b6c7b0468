"""Monte Carlo tree search: determinize, select, expand, simulate, backpropagate.

From ``isuct`` to its move in seven files: :mod:`ddz_agents.search_agent` (whether a view can be searched, and what
needs no search), :mod:`~ddz_agents.worlds.determinize` (its determinizations),
:mod:`~ddz_agents.tree_search.agent` (options, and how trees grow),
:mod:`~ddz_agents.worlds.inference` (which worlds are drawn from: uniform ones, or with ``particles`` weighted ones),
:mod:`~ddz_agents.tree_search.search` (figure 2: the loop and its functions), :mod:`~ddz_agents.tree_search.tree` (its
arrays) and :mod:`~ddz_agents.tree_search.choice` (from the root to a move).  :mod:`~ddz_agents.tree_search.rollout`
compares candidates without a tree.
"""
