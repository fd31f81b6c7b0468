"""Training: SB3's ``learn`` with a callback that writes curves, evaluations and checkpoints between the updates."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stable_baselines3.common.callbacks import BaseCallback

from ddz_agents.neural.sb3_policy import SB3Policy
from ddz_training.learn.curves import CurveFile, columns_of
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.ppo.run import CURVES, EVALUATIONS
from ddz_training.learn.sb3.checkpoint import save_run
from ddz_training.learn.sb3.run import Sb3Run, silent_logger
from ddz_training.learn.strength import Evaluation, measure_strength
from ddz_training.measure.match.one_writer import writing

_LEARNED = {
    "entropy": "entropy_loss",
    "policy_loss": "policy_gradient_loss",
    "value_loss": "value_loss",
    "divergence": "approx_kl",
    "clipped": "clip_fraction",
    "explained": "explained_variance",
}
"""What SB3's logger calls the columns of the curves."""


@dataclass
class Sb3Progress:
    """One line of the training curves.

    Attributes:
        update: Updates so far.
        timesteps: The learner's decisions so far.
        games: Games finished so far.
        wins: Share of this update's games that the learner won; NaN if none ended.
        entropy: Mean entropy of the policy, in nats.
        policy_loss: Mean clipped objective, negative.
        value_loss: Mean squared error of the values.
        divergence: Mean estimate of the divergence from the policy that played.
        clipped: Share of the ratios that were clipped.
        explained: Share of the returns' variance that the values had foreseen.
        games_seconds: See :class:`~ddz_training.learn.sb3.run.TimeSplit`, so far, as the next three.
        past_self_seconds: Likewise.
        rollout_seconds: Likewise.
        learning_seconds: Likewise.
    """

    update: int
    timesteps: int
    games: int
    wins: float
    entropy: float
    policy_loss: float
    value_loss: float
    divergence: float
    clipped: float
    explained: float
    games_seconds: float
    past_self_seconds: float
    rollout_seconds: float
    learning_seconds: float


OnUpdate = Callable[[Sb3Progress], None]
OnEvaluation = Callable[[Sequence[Evaluation]], None]


class Stopwatch:
    """Measures where the time of a run goes, update by update.

    Args:
        run: The run.
    """

    def __init__(self, run: Sb3Run) -> None:
        self._run = run
        self._mark = time.perf_counter()
        self._before = self._inside()

    def _inside(self) -> tuple[float, float]:
        return self._run.env.seconds, self._run.past.seconds if self._run.past else 0.0

    def rollout_begins(self) -> None:
        """Call it right before a rollout."""
        self._mark, self._before = time.perf_counter(), self._inside()

    def rollout_ends(self) -> None:
        """Call it right after a rollout: learning begins."""
        now, inside = time.perf_counter(), self._inside()
        stepping, past = inside[0] - self._before[0], inside[1] - self._before[1]
        split = self._run.split
        split.games += stepping - past
        split.past_self += past
        split.rollout += now - self._mark - stepping
        self._mark = now

    def learning_ends(self) -> None:
        """Call it right after the gradient steps."""
        self._run.split.learning += time.perf_counter() - self._mark


class RunCallback(BaseCallback):
    """Does what is to be done between two updates of a run.

    SB3 has no hook behind its gradient steps; the next rollout's beginning, or the end of training, is the first
    moment after them.

    Args:
        run: The run.
        folder: Where its files are.
        on_update: Called after every update.
        on_evaluation: Called after every evaluation.
        stop: Asked after every update and every deal of an evaluation; True ends the run early, with a checkpoint.
    """

    def __init__(
        self,
        run: Sb3Run,
        folder: Path,
        on_update: OnUpdate | None = None,
        on_evaluation: OnEvaluation | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__()
        self._run, self._folder = run, folder
        self._on_update, self._on_evaluation, self._ask = on_update, on_evaluation, stop
        self._watch = Stopwatch(run)
        keep = run.update or -1
        self._curves = CurveFile(folder / CURVES, columns_of(Sb3Progress), keep)
        self._evaluations = CurveFile(folder / EVALUATIONS, columns_of(Evaluation), keep)
        self._learned = self._stopped = False
        self._ended, self._won = run.env.ended, run.env.won
        self._evaluated = run.timesteps

    def _on_rollout_start(self) -> None:
        if self._learned:
            self._watch.learning_ends()
            self._settle(last=False)
        if self._run.past is not None:
            self._run.past.renew(self._run.model.policy)
        self._watch.rollout_begins()

    def _on_step(self) -> bool:
        if self._stopped:
            # SB3 has already counted the step in which it asks whether to continue; it is not learned from.
            self._run.model.num_timesteps -= self._run.config.num_envs
        return not self._stopped

    def _on_rollout_end(self) -> None:
        self._watch.rollout_ends()
        self._learned = True

    def _on_training_end(self) -> None:
        if self._learned:
            self._watch.learning_ends()
            self._settle(last=True)

    def _settle(self, *, last: bool) -> None:
        """Write down what the update brought, and do what is due after it."""
        self._learned = False
        run, config = self._run, self._run.config
        progress = self._progress()
        self._curves.append(vars(progress))
        if self._on_update:
            self._on_update(progress)
        if run.past is not None and run.update % config.snapshot_every == 0:
            run.past.offer(run.model.policy)
        due = (
            config.evaluate_every and run.timesteps // config.evaluate_every > self._evaluated // config.evaluate_every
        )
        if due or (last and config.evaluate_every):
            self._evaluate()
        self._stopped = self._ask()
        if self._stopped or last or (config.checkpoint_every and run.update % config.checkpoint_every == 0):
            save_run(self._folder, run)

    def _progress(self) -> Sb3Progress:
        run = self._run
        ended, won = run.env.ended - self._ended, run.env.won - self._won
        self._ended, self._won = run.env.ended, run.env.won
        run.games += ended
        learned = {name: float(run.model.logger.name_to_value[f"train/{key}"]) for name, key in _LEARNED.items()}
        return Sb3Progress(
            update=run.update,
            timesteps=run.timesteps,
            games=run.games,
            wins=won / ended if ended else math.nan,
            **learned | {"entropy": -learned["entropy"]},
            **{f"{part}_seconds": seconds for part, seconds in vars(run.split).items()},
        )

    def _evaluate(self) -> None:
        run, config = self._run, self._run.config
        self._evaluated = run.timesteps
        results = measure_strength(
            SB3Policy(run.model.policy),
            config.baselines,
            config.evaluate_deals,
            rules=config.rules,
            seed=config.seed,
            stop=self._ask,
        )
        found = [Evaluation.of(run.update, result) for result in results]
        for evaluation in found:
            self._evaluations.append(dataclasses.asdict(evaluation))
        if self._on_evaluation:
            self._on_evaluation(found)


def train(
    run: Sb3Run,
    folder: str | Path,
    timesteps: int,
    *,
    on_update: OnUpdate | None = None,
    on_evaluation: OnEvaluation | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Train until the learner has made so many decisions, those before a resumption included.

    The number is rounded up to whole updates.  The folder gets the model, the past selves, ``curves.csv`` and
    ``evaluations.csv``.

    Args:
        run: The run, new or from :func:`~ddz_training.learn.sb3.checkpoint.load_run`.
        folder: Where its files are.
        timesteps: Decisions in all.
        on_update: Called after every update.
        on_evaluation: Called after every evaluation.
        stop: Asked after every update; True ends the run early, with a checkpoint.

    Raises:
        InvalidTrainingError: If ``timesteps`` is not positive.
        CheckpointError: If a file cannot be written, or the curves there are of another version.
        InUseError: If another process trains in the folder.
    """
    if isinstance(timesteps, bool) or not isinstance(timesteps, int) or timesteps < 1:
        raise InvalidTrainingError(f"timesteps={timesteps!r} must be an integer of at least 1")
    folder, left = Path(folder), timesteps - run.timesteps
    if left <= 0:
        return
    with writing(folder, folder=True):
        run.model.set_logger(silent_logger())
        callback = RunCallback(run, folder, on_update, on_evaluation, stop)
        run.model.learn(left, callback, reset_num_timesteps=run.timesteps == 0)
