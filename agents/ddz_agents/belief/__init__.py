"""A network that has learned where the hidden cards lie: deals are drawn from it rank by rank.

:mod:`~ddz_agents.belief.conduct` counts how each seat has played, :mod:`~ddz_agents.belief.layers` is the network as
compiled code, :mod:`~ddz_agents.belief.network` the same network for training (PyTorch), and
:mod:`~ddz_agents.belief.model` reads its file and draws the worlds of a view.
"""
