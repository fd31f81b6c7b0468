"""What the game is, compiled: words, legal moves, step, deal, score.

Every function here is a plain Python function on unsigned 64-bit words and rows, compiled by Numba; nothing here
allocates, recurses or checks its input.  The borders (:class:`ddz_env.State`, the environments, ``Move.parse``) check
everything.
"""
