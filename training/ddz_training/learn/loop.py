"""The training loop: step after step, with curves, evaluations and checkpoints, until the budget is spent.

What learns is a :class:`Training`: self-play (:mod:`.ppo.selfplay`), deep Monte Carlo (:mod:`.dmc`), imitation
(:mod:`.imitation`) and Stable-Baselines3 (:mod:`.sb3.train`) say what one step is; everything else is here.
"""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from ddz_agents.neural.model import PolicyModel
from ddz_env.core.errors import DouDizhuError
from ddz_env.core.options import Options, Range
from ddz_training.learn.errors import CheckpointError, InvalidTrainingError
from ddz_training.learn.run_log import EVALUATIONS, RunLog, columns_of
from ddz_training.learn.settings import Positive, TrainingSettings
from ddz_training.learn.strength import Evaluation, measure_strength
from ddz_training.measure.match.one_writer import writing

POLICY, CHECKPOINT = "policy.safetensors", "checkpoint.safetensors"
"""The files of a training in its folder: its weights, and what it is resumed from."""

SOURCE = ("ddz_training.learn",)
"""Whose source decides a training, besides the environment's and the agents'."""


def never() -> bool:
    """The training is not to stop early."""
    return False


@dataclass
class Counters:
    """How far a training is.

    Attributes:
        update: Steps of :func:`train`.
        steps: Decisions of the environments, forced ones included.
        decisions: Decisions that were learned from, each counted once.
        games: Games that have ended.
        seconds: Seconds of training, evaluations not counted.
    """

    update: int = 0
    steps: int = 0
    decisions: int = 0
    games: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Budget(Options):
    """How long a training lasts, from its very beginning; a resumed one counts what it did before.

    Attributes:
        updates: Updates; None for no limit.
        minutes: Minutes of training, evaluations not counted; None for no limit.
        decisions: Decisions that are learned from; None for no limit.

    Raises:
        InvalidTrainingError: If there is no limit at all or one is not positive.
    """

    error: ClassVar[type[DouDizhuError]] = InvalidTrainingError

    updates: Annotated[int, Range(1)] | None = None
    minutes: Positive | None = None
    decisions: Annotated[int, Range(1)] | None = None

    def check(self) -> None:
        """Refuse to train for ever."""
        if all(limit is None for limit in vars(self).values()):
            raise InvalidTrainingError("say how long to train: a number of updates or of minutes")

    def share(self, counters: Counters) -> float:
        """The share of the budget that is spent, 0 to 1."""
        done: dict[str, float] = {
            "updates": counters.update,
            "minutes": counters.seconds / 60,
            "decisions": counters.decisions,
        }
        shares = [done[name] / limit for name, limit in vars(self).items() if limit is not None]
        return min(1.0, max(shares))


class Training(ABC):
    """What learns step by step.

    Args:
        config: The settings.

    Attributes:
        config: The settings.
        counters: How far it is.
        line_type: What a step brought: a dataclass of numbers with fields of :class:`Counters` and of what
            :meth:`learn` finds, the number of the step first.  Its text is shown beside the bar.
        tables: The CSV file of each kind of line that is written.
    """

    line_type: ClassVar[type]
    tables: ClassVar[Mapping[type, str]] = {Evaluation: EVALUATIONS}
    config: TrainingSettings

    def __init__(self, config: TrainingSettings) -> None:
        self.config = config
        self.counters = Counters()

    @abstractmethod
    def learn(self) -> Mapping[str, Any]:
        """One update, counted in :attr:`counters` but for the update and the seconds; what else it brought, by name."""

    @abstractmethod
    def player(self) -> PolicyModel:
        """The policy as it is."""

    @abstractmethod
    def keep(self, folder: Path) -> None:
        """Write the weights, and what a resumed training needs, into a folder; each file is replaced atomically."""

    @abstractmethod
    def close(self) -> None:
        """Release threads and agents."""

    def step(self) -> Any:
        """One update; what it brought, a :attr:`line_type`."""
        began = time.perf_counter()
        found = self.learn()
        self.counters.update += 1
        self.counters.seconds += time.perf_counter() - began
        known = {**vars(self.counters), **found}
        return self.line_type(**{name: known[name] for name in columns_of(self.line_type)})

    def evaluates(self) -> bool:
        """Whether an evaluation is due after the last step."""
        return bool(self.config.evaluate_every) and self.counters.update % self.config.evaluate_every == 0

    def measure(self, stop: Callable[[], bool] = never) -> list[Evaluation]:
        """The policy's strength against the rivals of the settings.

        Args:
            stop: Called before every deal; True ends the measurement without a result.
        """
        rivals = self.config.rivals, self.config.evaluate_deals
        found = measure_strength(self.player(), *rivals, rules=self.config.rules, seed=self.config.seed, stop=stop)
        return [Evaluation.of(self.counters.update, result) for result in found]


def train(
    run: Training,
    budget: Budget,
    folder: str | Path | None = None,
    *,
    tensorboard: Path | None = None,
    on_update: Callable[[Any], object] = lambda line: None,
    on_evaluation: Callable[[Sequence[Evaluation]], object] = lambda found: None,
    stop: Callable[[], bool] = never,
) -> None:
    """Train until the budget is spent.

    Each file of the folder is whole whenever the training is killed; it continues from the last checkpoint, and what
    the curves have beyond that is written again.

    Args:
        run: What learns, new or resumed.
        budget: How long.
        folder: Where weights, checkpoint, curves and evaluations go; None keeps nothing.
        tensorboard: A folder for TensorBoard; None writes nothing there.
        on_update: Called with the line of every update.
        on_evaluation: Called with every evaluation.
        stop: Called after every update and before every deal of an evaluation; True ends the training early, with a
            checkpoint and without the evaluation.

    Raises:
        CheckpointError: If a file cannot be written, or the curves there are of another version.
        InUseError: If another process trains there.
        MissingTensorBoardError: If TensorBoard is wanted and not installed.
        TensorFileError: If the weights cannot be written.
    """
    folder, config, stopped = None if folder is None else Path(folder), run.config, False
    with contextlib.ExitStack() as held:
        if folder is not None:
            held.enter_context(writing(folder, folder=True))
        log = held.enter_context(contextlib.closing(RunLog(run.tables, folder, tensorboard, run.counters.update)))
        while not stopped and budget.share(run.counters) < 1.0:
            line = run.step()
            last = budget.share(run.counters) >= 1.0
            log.add(line)
            on_update(line)
            if run.evaluates() or (last and config.evaluate_every):
                found = run.measure(stop)
                for evaluation in found:
                    log.add(evaluation)
                on_evaluation(found)
            stopped = stop()
            if folder is not None and (stopped or last or run.counters.update % config.checkpoint_every == 0):
                run.keep(folder)


def refuse_to_overwrite(path: Path) -> None:
    """A new training must not begin where another has left its file.

    Raises:
        CheckpointError: If there is one.
    """
    if path.exists():
        raise CheckpointError(f"{path} exists: add --resume to continue it, or name another folder")
