"""Named errors of hand inference."""

from __future__ import annotations

from ddz_env.errors import DouDizhuError


class InvalidInferenceOptionError(DouDizhuError):
    """An option of hand inference outside its range, or a model that answers with something else than was asked."""


class InconsistentHistoryError(DouDizhuError):
    """A view whose history is missing, or does not lead to the position on the table."""
