"""Named errors of data sets."""

from __future__ import annotations

from ddz_env.core.errors import DouDizhuError


class DataSetError(DouDizhuError):
    """A data set cannot be made or read: nothing to record, no table, or one for other observations or actions."""


class GameRecordError(DataSetError):
    """A recorded game does not replay: a move does not fit, or it ends otherwise than the record says."""
