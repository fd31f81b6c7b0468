"""Named errors of the demonstration."""

from __future__ import annotations

from ddz_env.errors import DouDizhuError


class InvalidDemonstrationError(DouDizhuError):
    """The demonstration was asked for something that it cannot do."""


class ReportError(DouDizhuError):
    """The report cannot be written."""
