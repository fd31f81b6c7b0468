"""Exceptions raised by game sessions with people."""

from __future__ import annotations

from ddz_env.support.errors import DouDizhuError


class SessionError(DouDizhuError):
    """Raised when a session cannot do what was asked in its present state; the message says what it can do."""


class NotYourTurnError(SessionError):
    """Raised when a move is made for a seat that is not to act or is not held by a person."""


class HiddenCardsError(SessionError):
    """Raised when a viewer requests cards that this viewer may not see."""
