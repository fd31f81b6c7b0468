"""Dou Dizhu as an OpenSpiel game; importing this package registers ``python_ddz``.

``pyspiel`` is an optional dependency (extra ``peers``).  The page ``docs/guides/openspiel.md`` shows its algorithms.

Example:
    >>> import pyspiel
    >>> import ddz_env.peers.openspiel
    >>> game = pyspiel.load_game("python_ddz(rules=mini)")
    >>> game.num_players(), game.num_distinct_actions()
    (2, 400)
"""

from __future__ import annotations

from ddz_env.peers.openspiel.game import NAME, DouDizhuGame, DouDizhuState

__all__ = ["NAME", "DouDizhuGame", "DouDizhuState"]
