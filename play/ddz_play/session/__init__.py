"""A game with people in it: who sits where, hints, undo, saving, and only what each seat may see.

Nothing here knows of a terminal or a web page; both use the same :class:`Session`.

============  =======================================================================
``deal``      the cards that a game starts from: dealt, given, or as one seat sees them
``record``    a game as a readable file
``session``   the game itself: seats, moves, undo, hints; what a viewer may see
``replay``    a recorded game, step by step, and what an agent says of its decisions
``advice``    what an agent says of a position: ranked moves
``certain``   moves that win whatever the others hold
``reasons``   why a move is advised
============  =======================================================================
"""

from ddz_env.table.session.advice import Advice, Advisers, RankedMove
from ddz_env.table.session.deal import Deal, RecordError
from ddz_env.table.session.errors import HiddenCardsError, NotYourTurnError, SessionError
from ddz_env.table.session.record import PERSON, Record
from ddz_env.table.session.replay import Replay, Reviewed
from ddz_env.table.session.session import PlayedMove, Session, Sight

__all__ = [
    "PERSON",
    "Advice",
    "Advisers",
    "Deal",
    "HiddenCardsError",
    "NotYourTurnError",
    "PlayedMove",
    "RankedMove",
    "Record",
    "RecordError",
    "Replay",
    "Reviewed",
    "Session",
    "SessionError",
    "Sight",
]
