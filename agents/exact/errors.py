"""Named errors of exact search."""

from __future__ import annotations

from ddz_env.errors import DouDizhuError


class NotSolvableError(DouDizhuError):
    """Exact search was asked for something it cannot search; the message says what it can."""


class SearchLimitError(DouDizhuError):
    """A game or an information set is too large for exact search; the message names the limit."""


class InconsistentViewError(DouDizhuError):
    """A view whose history does not account for the cards on the table, or that no deal agrees with."""
