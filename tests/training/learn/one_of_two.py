"""What each process of a run of several does, for ``test_processes.py``: train, and keep the last gradients."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import torch

from ddz_training.learn.loop import Budget, train
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.selfplay import CurveLine, SelfPlay
from ddz_training.learn.processes import join_processes
from tests.training.learn.test_games import SMALL

GAMES, GROUPS, DECISIONS = 24, 2, 100_000


def settings(processes: int) -> SelfPlayConfig:
    """Of each of some processes that share the games: all decisions are one minibatch."""
    shares = {"num_envs": GAMES // processes, "groups": GROUPS // processes, "minibatch": DECISIONS // processes}
    return SelfPlayConfig(
        architecture=SMALL, num_steps=48, microbatch=100, update_epochs=1, opponent_share=0.0, eval_freq=0,
        checkpoint_minutes=0, **shares,
    )  # fmt: skip


def main(folder: Path, updates: int, dies: bool) -> None:
    """Train; the second process is killed after the second update if it is to die."""
    with join_processes("cpu") as processes:
        run = SelfPlay(settings(processes.size), 1, processes=processes)

        def on_update(line: CurveLine) -> None:
            if dies and not processes.is_leader and line.update == 2:
                os.kill(os.getpid(), signal.SIGKILL)

        train(run, Budget(updates=updates), folder, on_update=on_update)
        if processes.is_leader:
            torch.save([weight.grad for weight in run.learner.policy.parameters()], folder / "gradients.pt")
        run.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "dies")
