"""What can go wrong on the web, with the status that answers it."""

from __future__ import annotations

from ddz_env.core.errors import DouDizhuError


class NoSuchGameError(DouDizhuError):
    """There is no game of that name, or it has expired."""


class GameLostError(DouDizhuError):
    """A game's file has been damaged."""


class StaleGameError(DouDizhuError):
    """The game has gone on since the page that asks was drawn."""


class RequestError(DouDizhuError):
    """A request does not say what it should; the message names the field."""


class WebOptionError(DouDizhuError):
    """The server cannot be started like that."""
