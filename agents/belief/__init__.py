"""A network that has learned where the hidden cards lie: deals are drawn from it rank by rank.

:mod:`~agents.belief.conduct` counts how each seat has played, :mod:`~agents.belief.layers` is the network as compiled
code, :mod:`~agents.belief.stored` its file, :mod:`~agents.belief.network` the same network for training (PyTorch), and
:mod:`~agents.belief.model` draws the worlds of a view.
"""
