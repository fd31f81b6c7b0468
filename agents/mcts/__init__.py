"""Monte Carlo tree search: determinize, select, expand, simulate, backpropagate.

From ``isuct`` to its tree: :mod:`~agents.mcts.agent` (checks, grows trees, chooses) with :mod:`~agents.mcts.options`,
:mod:`~agents.mcts.search` (figure 2: the loop), :mod:`~agents.mcts.select` (its formulas), :mod:`~agents.mcts.tree`
(its arrays), :mod:`~agents.mcts.simulate` (its playouts) and :mod:`~agents.mcts.choice` (from the root to a move).
:mod:`~agents.mcts.rollout` compares candidates without a tree; ``ablations`` holds the forms that lost.
"""
