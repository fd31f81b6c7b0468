"""The loop of a run of self-play: steps, curves, evaluations and checkpoints, until the budget is spent."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from ddz_agents.neural.weights import save_weights
from ddz_env.core.errors import DouDizhuError
from ddz_env.core.options import Options, Range
from ddz_training.learn.checkpoint import CHECKPOINT
from ddz_training.learn.curves import CurveFile, CurveLine, columns_of
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.ppo.selfplay import SelfPlay
from ddz_training.learn.settings import Positive
from ddz_training.learn.strength import Evaluation, measure_strength
from ddz_training.measure.store import writing

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
        updates = 0.0 if self.updates is None else run.counters.update / self.updates
        minutes = 0.0 if self.minutes is None else run.counters.seconds / 60 / self.minutes
        return min(1.0, max(updates, minutes))


def measure(run: SelfPlay, stop: Callable[[], bool] = lambda: False) -> list[Evaluation]:
    """The strength of a run's policy against the opponents of its settings.

    Args:
        run: The run.
        stop: Asked before every deal; True ends the measurement without a result.
    """
    config = run.config
    rivals = config.opponents, config.evaluate_deals
    results = measure_strength(run.player(), *rivals, rules=config.rules, seed=config.seed, stop=stop)
    return [Evaluation.of(run.counters.update, result) for result in results]


def train(
    run: SelfPlay,
    folder: str | Path,
    budget: Budget,
    *,
    on_update: Callable[[CurveLine], None] | None = None,
    on_evaluation: Callable[[Sequence[Evaluation]], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Train until the budget is spent.

    The folder holds the checkpoint, the weights, and the curves.  Each file is whole whenever the run is killed; the
    run continues from the last checkpoint, and what the others have beyond it is written again.

    Args:
        run: The run, new or resumed.
        folder: The folder of its files.
        budget: How long to train.
        on_update: Called after every update.
        on_evaluation: Called after every evaluation.
        stop: Asked after every update and every deal of an evaluation; True ends the run early, with a checkpoint and
            without the evaluation.

    Raises:
        CheckpointError: If checkpoint or curves cannot be written, or the curves there are of another version.
        InUseError: If another process trains there.
        TensorFileError: If the weights cannot be written.
    """
    folder, config, stopped = Path(folder), run.config, False
    with writing(folder, folder=True):
        keep = run.counters.update or -1
        curves = CurveFile(folder / CURVES, columns_of(CurveLine), keep)
        evaluations = CurveFile(folder / EVALUATIONS, columns_of(Evaluation), keep)
        while not stopped and budget.share(run) < 1.0:
            line = run.step()
            last = budget.share(run) >= 1.0
            curves.append(vars(line))
            if on_update:
                on_update(line)
            if config.evaluate_every and (last or line.update % config.evaluate_every == 0):
                found = measure(run, stop)
                for evaluation in found:
                    evaluations.append(dataclasses.asdict(evaluation))
                if on_evaluation:
                    on_evaluation(found)
            stopped = stop()
            if stopped or last or line.update % config.checkpoint_every == 0:
                save_weights(folder / POLICY, run.weights())
                run.save(folder / CHECKPOINT)
