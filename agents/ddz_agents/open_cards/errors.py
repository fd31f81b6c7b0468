"""Named errors of exact search."""

from __future__ import annotations

from ddz_env.support.errors import DouDizhuError


class NotSolvableError(DouDizhuError):
    """A position that exact search cannot search; the message says what it can."""


class SearchLimitError(DouDizhuError):
    """A game or an information set is too large for exact search; the message names the limit."""
