"""Named errors of measurement: matches, agents that fail, files of results."""

from __future__ import annotations

from ddz_env.support.errors import DouDizhuError


class InvalidArenaError(DouDizhuError):
    """An arena that cannot be played: one agent, no deals, a negative seed."""


class InvalidDealFileError(DouDizhuError):
    """A file of deals that cannot be read, or whose deals the rules do not deal; the message names the line."""


class AgentFailedError(DouDizhuError):
    """An agent failed, and that stops the match; the message names the agent, the deal, and the call that failed."""


class AgentFaultWarning(UserWarning):
    """An agent failed when it was closed, where it cannot lose a game."""


class WorkerDiedError(DouDizhuError):
    """A worker process ended before its work was done (killed, or out of memory); what was saved is kept."""


class ClusterError(DouDizhuError):
    """Ray is missing, or its cluster cannot be reached."""


class ResultsFileError(DouDizhuError):
    """A results file cannot be read, already exists, or has an unknown suffix."""


class SettingsMismatchError(ResultsFileError):
    """A results file was written under other settings than those of the run that wants to resume it."""


class OtherVersionWarning(UserWarning):
    """A run adds to results of another version of this package; the message has both."""


class InUseError(DouDizhuError):
    """Another process writes to the same file or folder."""


class InvalidExperimentError(DouDizhuError):
    """An experiment that cannot be made: more deals than there are, a value that it does not try."""


class InvalidBenchmarkRequestError(DouDizhuError):
    """A benchmark that cannot be played: no agent, more deals than the list has, a name twice."""


class BenchmarkChangedError(DouDizhuError):
    """Deals or players of the benchmark are not what they were when it was fixed; results would not compare."""


class BenchmarkFileError(ResultsFileError):
    """A file is not one of this benchmark's, or its parts contradict each other."""


class InvalidRecordsError(DouDizhuError):
    """Recorded games that say nothing of strength, or an agent that cannot finish them."""


class NotReproducedError(DouDizhuError):
    """Games of a file of results ended otherwise when they were played again; the message has the first."""
