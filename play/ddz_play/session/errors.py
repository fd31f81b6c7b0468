"""Named errors of a game with people in it."""

from __future__ import annotations

from ddz_env.support.errors import DouDizhuError


class SessionError(DouDizhuError):
    """A session cannot do this now; the message says what it can do."""


class NotYourTurnError(SessionError):
    """The seat that was to move is not the one to act, or is not a person's."""


class HiddenCardsError(SessionError):
    """A viewer may not see this."""
