"""Exceptions raised by exact search."""

from __future__ import annotations

from ddz_env.support.errors import DouDizhuError


class NotSolvableError(DouDizhuError):
    """Raised when exact search cannot handle a position; the message says which positions it can handle."""


class SearchLimitError(DouDizhuError):
    """Raised when a game or an information set is too large for exact search; the message names the limit."""
