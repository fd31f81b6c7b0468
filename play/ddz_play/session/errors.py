"""Exceptions raised by a game with people in it."""

from __future__ import annotations

from ddz_env.support.errors import DouDizhuError


class SessionError(DouDizhuError):
    """The session cannot do what was asked in its present state; the message says what it can do."""


class NotYourTurnError(SessionError):
    """The seat that tried to move is not the seat to act, or is not held by a person."""


class HiddenCardsError(SessionError):
    """A viewer may not see the requested cards."""
