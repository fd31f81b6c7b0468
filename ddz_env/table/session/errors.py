"""What goes wrong at the table."""

from __future__ import annotations

from ddz_env.core.errors import DouDizhuError


class SessionError(DouDizhuError):
    """Something was asked of a session that it cannot do now; the message says what it can."""


class NotYourTurnError(SessionError):
    """A seat was to move that is not to act, or is not a person's."""


class HiddenCardsError(SessionError):
    """Somebody asked to see what its seat may not see."""


class RecordError(DouDizhuError):
    """A text is no record of a game, or the game in it cannot be played; the message names the line."""
