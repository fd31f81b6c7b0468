"""Exceptions and warnings of the measurement package, for contests, failing agents and results files."""

from __future__ import annotations

from ddz_env.support.errors import DouDizhuError


class InvalidArenaError(DouDizhuError):
    """Raised when an arena cannot be played, for example with one agent, no deals or a negative seed."""


class InvalidDealFileError(DouDizhuError):
    """Raised when a deal file cannot be read or does not fit the rules; the message names the line."""


class AgentFailedError(DouDizhuError):
    """Raised when a failing agent stops the match; the message names the agent, the deal and the failed call."""


class AgentFaultWarning(UserWarning):
    """Issued when an agent fails while it is being closed and can no longer lose a game."""


class WorkerDiedError(DouDizhuError):
    """Raised when a worker process dies before finishing its tasks; results saved before are kept."""


class ClusterError(DouDizhuError):
    """Raised when Ray is missing or its cluster cannot be reached."""


class ResultsFileError(DouDizhuError):
    """Raised when a results file cannot be read, already exists, or has an unknown suffix."""


class SettingsMismatchError(ResultsFileError):
    """Raised when a results file's settings differ from those of the run that is to resume it."""


class OtherVersionWarning(UserWarning):
    """Issued when a run adds to results of another version of this package; the message names both versions."""


class InUseError(DouDizhuError):
    """Raised when another process is writing to the same file or folder."""


class InvalidExperimentError(DouDizhuError):
    """Raised when an experiment cannot be set up, for example with more deals than exist."""


class InvalidBenchmarkRequestError(DouDizhuError):
    """Raised when a benchmark cannot be played because of no agent, too many deals or a duplicated name."""


class BenchmarkChangedError(DouDizhuError):
    """Raised when the benchmark's deals or opponents have changed, which would make results incomparable."""


class BenchmarkFileError(ResultsFileError):
    """Raised when a file does not belong to this benchmark or contradicts itself."""


class InvalidRecordsError(DouDizhuError):
    """Raised when recorded games allow no estimate of strength."""


class NotReproducedError(DouDizhuError):
    """Raised when replayed games end differently from their records; the message names the first few."""
