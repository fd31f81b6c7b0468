"""Named errors of the benchmark."""

from __future__ import annotations

from ddz_env.core.errors import DouDizhuError
from ddz_training.measure.match.errors import ResultsFileError


class InvalidBenchmarkRequestError(DouDizhuError):
    """The benchmark was asked for something it cannot do: no agent, more deals than the list has, a name twice."""


class FrozenChangedError(DouDizhuError):
    """Deals or players of the benchmark are not what they were when it was fixed; results would not compare."""


class BenchmarkFileError(ResultsFileError):
    """A file holds no results of this benchmark, or its parts contradict each other."""


class NotReproducedError(DouDizhuError):
    """Games of a file of results ended otherwise when they were played again; the message has the first."""
