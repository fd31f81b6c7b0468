"""The one loop of all trainings: steps, curves, evaluations and checkpoints, until the budget is spent.

A :class:`Training` learns step by step; :func:`train` takes the steps and writes down what they bring.  Those that have
curves and are measured on the way are :class:`Evaluated`, and those that a kill does not end are
:class:`~ddz_training.learn.checkpoint.Resumable`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import torch

from ddz_agents.neural.model import PolicyModel
from ddz_env.core.errors import DouDizhuError
from ddz_env.core.options import Options, Range
from ddz_training.learn.curves import CurveFile, columns_of
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.settings import Positive
from ddz_training.learn.strength import Evaluation, measure_strength
from ddz_training.measure.match.one_writer import writing

POLICY = "policy.safetensors"
CURVES = "curves.csv"
EVALUATIONS = "evaluations.csv"

SECONDS = 10.0
"""Between two saves of a training without curves; a save takes a small part of one."""

OnLine = Callable[[Any], None]
OnEvaluation = Callable[[Sequence[Evaluation]], None]
Stop = Callable[[], bool]


def _never() -> bool:
    return False


class Training(ABC):
    """What learns step by step."""

    @abstractmethod
    def step(self) -> Any:
        """Learn a little, and say what it brought."""

    def share(self) -> float:
        """The share of what the settings ask for that is done; 0 where they do not say how long to learn."""
        return 0.0

    def save(self, place: Path) -> None:  # noqa: B027 (some keep nothing)
        """Write everything that is to be kept."""

    def close(self) -> None:  # noqa: B027 (some hold nothing)
        """Release threads and agents."""

    def run(self, place: Path | None = None, on_step: OnLine | None = None, stop: Stop = _never) -> None:
        """Learn what the settings ask for, or until ``stop`` says so, and save as it goes; see :func:`train`."""
        train(self, place, on_update=on_step, stop=stop)
        self.close()


class Evaluated(ABC):
    """What has curves, and a policy that is measured on the way.

    Attributes:
        config: The settings.
        line: What a step brings, a dataclass: the columns of ``curves.csv``.
        rivals: Whom the policy is measured against.
    """

    line: ClassVar[type[Any]]
    config: Any
    rivals: tuple[str, ...]

    @property
    @abstractmethod
    def update(self) -> int:
        """Updates so far."""

    @abstractmethod
    def player(self) -> PolicyModel:
        """The policy to measure."""

    @abstractmethod
    def is_due(self, line: Any) -> tuple[bool, bool]:
        """Whether to evaluate after a step, and whether to save."""

    @abstractmethod
    def save(self, place: Path) -> None:
        """Write everything that is to be kept."""


def step_size(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the step size of an optimizer."""
    for group in optimizer.param_groups:
        group["lr"] = rate


# --- How long, and how it is measured ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Budget(Options):
    """How long a run trains, from its very beginning; a resumed run counts what it did before.

    Attributes:
        updates: Updates; None for no limit.
        minutes: Minutes of training, evaluations not counted; None for no limit.

    Raises:
        InvalidTrainingError: If there is no limit at all or one is not positive.
    """

    error: ClassVar[type[DouDizhuError]] = InvalidTrainingError

    updates: Annotated[int, Range(1)] | None = None
    minutes: Positive | None = None

    def check(self) -> None:
        """Refuse to train for ever."""
        if self.updates is None and self.minutes is None:
            raise InvalidTrainingError("say how long to train: a number of updates or of minutes")

    def share(self, run: Any) -> float:
        """The share of the budget that a run of self-play has spent, 0 to 1."""
        updates = 0.0 if self.updates is None else run.counters.update / self.updates
        minutes = 0.0 if self.minutes is None else run.counters.seconds / 60 / self.minutes
        return min(1.0, max(updates, minutes))


def measure(run: Evaluated, stop: Stop = _never) -> list[Evaluation]:
    """The strength of a run's policy against the opponents of its settings.

    Args:
        run: The run.
        stop: Asked before every deal; True ends the measurement without a result.
    """
    config = run.config
    about = {"rules": config.rules, "seed": config.seed, "stop": stop}
    results = measure_strength(run.player(), run.rivals, config.evaluate_deals, **about)
    return [Evaluation.of(run.update, result) for result in results]


# --- The loop ---------------------------------------------------------------------------------------------------------


@dataclass
class Diary:
    """Does what is to be done between two steps of a run: curves, evaluations and checkpoints.

    Attributes:
        run: The run.
        place: Its folder or file; None writes nothing, for runs without curves.
        on_update: Called after every step.
        on_evaluation: Called after every evaluation.
        stop: Asked after every step and every deal of an evaluation.
    """

    run: Training | Evaluated
    place: Path | None
    on_update: OnLine | None = None
    on_evaluation: OnEvaluation | None = None
    stop: Stop = _never

    def __post_init__(self) -> None:
        self._saved, run = -math.inf, self.run
        if isinstance(run, Evaluated) and self.place is not None:
            keep = run.update or -1
            self._curves = CurveFile(self.place / CURVES, columns_of(run.line), keep)
            self._evaluations = CurveFile(self.place / EVALUATIONS, columns_of(Evaluation), keep)

    def settle(self, line: Any, *, last: bool) -> bool:
        """Write down what a step brought, and do what is due after it.

        A run without curves is saved by time, so that a kill costs seconds whatever a step takes, and after its first
        step, so that a fault shows at once.

        Args:
            line: What it brought.
            last: Whether it was the last.

        Returns:
            Whether to stop early.
        """
        run, evaluates, saves = self.run, False, False
        if isinstance(run, Evaluated):
            evaluates, saves = run.is_due(line)
            self._curves.append(vars(line))
        elif self.place is not None and time.monotonic() - self._saved >= SECONDS:
            self._saved = time.monotonic()
            run.save(self.place)
        if self.on_update:
            self.on_update(line)
        if isinstance(run, Evaluated) and run.config.evaluate_every and (evaluates or last):
            self._evaluate(run)
        stopped = self.stop()
        if self.place is not None and (stopped or last or saves):
            run.save(self.place)
        return stopped

    def _evaluate(self, run: Evaluated) -> None:
        found = measure(run, self.stop)
        for evaluation in found:
            self._evaluations.append(dataclasses.asdict(evaluation))
        if self.on_evaluation:
            self.on_evaluation(found)


def train(
    run: Training,
    place: str | Path | None,
    budget: Budget | None = None,
    *,
    on_update: OnLine | None = None,
    on_evaluation: OnEvaluation | None = None,
    stop: Stop = _never,
) -> None:
    """Train until the budget is spent.

    A folder holds the checkpoint, the weights, and the curves.  Each file is whole whenever the run is killed; the run
    continues from the last checkpoint, and what the others have beyond it is written again.

    Args:
        run: The run, new or resumed.
        place: The folder of its files, or its file; None writes nothing.
        budget: How long to train; None for what the settings of the run say.
        on_update: Called after every step.
        on_evaluation: Called after every evaluation.
        stop: Asked after every step and every deal of an evaluation; True ends the run early, with a checkpoint and
            without the evaluation.

    Raises:
        CheckpointError: If checkpoint or curves cannot be written, or the curves there are of another version.
        InUseError: If another process trains there.
        TensorFileError: If the weights cannot be written.
    """
    place = None if place is None else Path(place)
    spent = run.share if budget is None else functools.partial(budget.share, run)
    with writing(place, folder=True) if place is not None and isinstance(run, Evaluated) else nullcontext():
        diary, stopped = Diary(run, place, on_update, on_evaluation, stop), False
        while not stopped and spent() < 1.0:
            line = run.step()
            stopped = diary.settle(line, last=spent() >= 1.0)
