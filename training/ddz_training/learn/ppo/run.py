"""A self-play run on disk: updates, curves, evaluations and checkpoints, until the budget is spent."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

from ddz_agents.neural.network import NetworkPolicy
from ddz_agents.neural.weights import save_weights
from ddz_env.core.errors import DouDizhuError
from ddz_env.core.options import Options, Range
from ddz_training.learn.curves import CurveFile, CurveLine, columns_of
from ddz_training.learn.errors import CheckpointError, InvalidTrainingError
from ddz_training.learn.ppo.checkpoint import save_checkpoint
from ddz_training.learn.ppo.selfplay import SelfPlay
from ddz_training.learn.settings import Positive
from ddz_training.learn.strength import Evaluation, measure_strength
from ddz_training.measure.match.one_writer import writing

CHECKPOINT = "checkpoint.safetensors"
POLICY = "policy.safetensors"
CURVES = "curves.csv"
EVALUATIONS = "evaluations.csv"


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

    def share(self, run: SelfPlay) -> float:
        """The share of the budget that a run has spent, 0 to 1."""
        spent = [0.0]
        if self.updates is not None:
            spent.append(run.counters.update / self.updates)
        if self.minutes is not None:
            spent.append(run.counters.seconds / 60 / self.minutes)
        return min(1.0, max(spent))


class Yardstick(NamedTuple):
    """How a run is measured while it trains.

    Attributes:
        line: The dataclass of a line of ``evaluations.csv``.
        measure: Measures a run, as :func:`measure` does.
        at_start: Whether the run is measured before its first update, too.
    """

    line: type[Evaluation]
    measure: Callable[[SelfPlay, Callable[[], bool]], Sequence[Evaluation]]
    at_start: bool = False


def refuse_to_overwrite(folder: Path) -> None:
    """A new run must not begin where another has left a checkpoint.

    Raises:
        CheckpointError: If there is one.
    """
    if (folder / CHECKPOINT).exists():
        raise CheckpointError(f"{folder / CHECKPOINT} exists: add --resume to continue it, or name another folder")


def train(
    run: SelfPlay,
    folder: str | Path,
    budget: Budget,
    *,
    on_update: Callable[[CurveLine], None] | None = None,
    on_evaluation: Callable[[Sequence[Evaluation]], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
    yardstick: Yardstick | None = None,
) -> None:
    """Train until the budget is spent.

    The folder holds the checkpoint, the policy's weights, and the curves.  Each file is whole whenever the run is
    killed; the run continues from the last checkpoint, and what the others have beyond it is written again.

    Args:
        run: The run, new or from :func:`~ddz_training.learn.ppo.checkpoint.load_checkpoint`.
        folder: Where its files are.
        budget: How long to train.
        on_update: Called after every update.
        on_evaluation: Called after every evaluation.
        stop: Asked after every update and every deal of an evaluation; True ends the run early, with a checkpoint and
            without the evaluation.
        yardstick: How the run is measured; by default against the opponents of its settings (:func:`measure`).

    Raises:
        CheckpointError: If checkpoint or curves cannot be written, or the curves there are of another version.
        InUseError: If another process trains in the folder.
        TensorFileError: If the weights cannot be written.
    """
    with writing(Path(folder), folder=True):
        _train(run, Path(folder), budget, on_update, on_evaluation, stop, yardstick or Yardstick(Evaluation, measure))


def _train(
    run: SelfPlay,
    folder: Path,
    budget: Budget,
    on_update: Callable[[CurveLine], None] | None,
    on_evaluation: Callable[[Sequence[Evaluation]], None] | None,
    stop: Callable[[], bool],
    yardstick: Yardstick,
) -> None:
    config = run.config
    keep = run.counters.update or -1
    curves = CurveFile(folder / CURVES, columns_of(CurveLine), keep)
    evaluations = CurveFile(folder / EVALUATIONS, columns_of(yardstick.line), keep)

    def evaluate() -> None:
        found = yardstick.measure(run, stop)
        for evaluation in found:
            evaluations.append(dataclasses.asdict(evaluation))
        if on_evaluation:
            on_evaluation(found)

    if yardstick.at_start and config.evaluate_every and not run.counters.update:
        evaluate()
    stopped = False
    while not stopped and budget.share(run) < 1.0:
        line = run.step()
        curves.append(vars(line))
        if on_update:
            on_update(line)
        last = budget.share(run) >= 1.0
        if config.evaluate_every and (last or line.update % config.evaluate_every == 0):
            evaluate()
        stopped = stop()
        if stopped or last or line.update % config.checkpoint_every == 0:
            _save(folder, run)


def _save(folder: Path, run: SelfPlay) -> None:
    save_weights(folder / POLICY, run.weights())
    save_checkpoint(folder / CHECKPOINT, run)


def measure(run: SelfPlay, stop: Callable[[], bool] = lambda: False) -> list[Evaluation]:
    """The strength of a run's policy against the opponents of its settings.

    Args:
        run: The run.
        stop: Asked before every deal; True ends the measurement without a result.
    """
    config = run.config
    model = NetworkPolicy(run.policy if run.device.on_host else copy.deepcopy(run.policy).cpu())
    results = measure_strength(
        model, config.opponents, config.evaluate_deals, rules=config.rules, seed=config.seed, stop=stop
    )
    return [Evaluation.of(run.counters.update, result) for result in results]
