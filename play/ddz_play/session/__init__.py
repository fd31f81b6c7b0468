"""Game sessions with people: seating, hints, undo, and views that show a seat only what it may see.

Nothing here knows of a terminal or a web page; both use the same :class:`Session`.

===============  =======================================================================
``session``      the game itself: seats, moves, undo, hints; what a viewer may see
``replay``       a recorded game, step by step, and what an agent says of its decisions
``advice``       what an agent says of a position: ranked moves
``forced_wins``  moves that win whatever the others hold
``reasons``      why a move is advised
``errors``       named errors
===============  =======================================================================
"""

from ddz_play.session.advice import Advice, AdviserPool, RankedMove
from ddz_play.session.errors import HiddenCardsError, NotYourTurnError, SessionError
from ddz_play.session.replay import Replay, ReviewedMove
from ddz_play.session.session import PlayedMove, SeatView, Session

__all__ = [
    "Advice",
    "AdviserPool",
    "HiddenCardsError",
    "NotYourTurnError",
    "PlayedMove",
    "RankedMove",
    "Replay",
    "ReviewedMove",
    "SeatView",
    "Session",
    "SessionError",
]
