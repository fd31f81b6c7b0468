"""The Numba-compiled game engine: bit-packed hands, legal moves, state transitions, dealing and scoring.

Every function here is a plain Python function on unsigned 64-bit words and rows, compiled by Numba; nothing here
allocates, recurses or checks its input.  The borders (:class:`ddz_env.State`, the environments, ``Move.parse``) check
everything.
"""
