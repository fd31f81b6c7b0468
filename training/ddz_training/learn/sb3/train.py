"""Training: SB3's ``learn`` with a callback that keeps the run's diary between the updates."""

from __future__ import annotations

import time
from pathlib import Path

from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.run import Diary, OnEvaluation, OnLine, Stop
from ddz_training.learn.sb3.run import Sb3Run
from ddz_training.measure.match.one_writer import writing


class Stopwatch:
    """Measures where the time of a run goes, update by update.

    Args:
        run: The run.
    """

    def __init__(self, run: Sb3Run) -> None:
        self._run = run
        self.rollout_begins()

    def _now(self) -> tuple[float, float, float]:
        """The time, and what stepping and past selves have taken so far."""
        return time.perf_counter(), self._run.env.seconds, self._run.past.seconds if self._run.past else 0.0

    def rollout_begins(self) -> None:
        """Call it right before a rollout."""
        self._mark = self._now()

    def rollout_ends(self) -> None:
        """Call it right after a rollout: learning begins."""
        now, split = self._now(), self._run.split
        whole, stepping, past = (after - before for after, before in zip(now, self._mark, strict=True))
        split.games += stepping - past
        split.past_self += past
        split.rollout += whole - stepping
        self._mark = now

    def learning_ends(self) -> None:
        """Call it right after the gradient steps."""
        self._run.split.learning += self._now()[0] - self._mark[0]


class RunCallback(BaseCallback):
    """Does what is to be done between two updates of a run.

    SB3 has no hook behind its gradient steps; the next rollout's beginning, or the end of training, is the first
    moment after them.

    Args:
        run: The run.
        diary: Its diary.
    """

    def __init__(self, run: Sb3Run, diary: Diary) -> None:
        super().__init__()
        self._run, self._diary, self._watch = run, diary, Stopwatch(run)
        self._learned = self._stopped = False

    def _on_rollout_start(self) -> None:
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
        self._settle(last=True)

    def _settle(self, *, last: bool) -> None:
        """Write down what an update brought, if there was one."""
        run = self._run
        if self._learned:
            self._learned = False
            self._watch.learning_ends()
            if run.past is not None and run.update % run.config.snapshot_every == 0:
                run.past.offer(run.model.policy)
            self._stopped = self._diary.settle(run.progress(), last=last)


def train(
    run: Sb3Run,
    folder: str | Path,
    timesteps: int,
    *,
    on_update: OnLine | None = None,
    on_evaluation: OnEvaluation | None = None,
    stop: Stop = lambda: False,
) -> None:
    """Train until the learner has made so many decisions, those before a resumption included.

    The number is rounded up to whole updates.  The folder gets the model, the past selves, ``curves.csv`` and
    ``evaluations.csv``.

    Args:
        run: The run, new or from :func:`~ddz_training.learn.sb3.run.load_run`.
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
        # SB3's tables would tear the progress bar; what they hold stands in the curves.
        run.model.set_logger(Logger(folder=None, output_formats=[]))
        callback = RunCallback(run, Diary(run, folder, on_update, on_evaluation, stop))
        run.model.learn(left, callback, reset_num_timesteps=run.timesteps == 0)
