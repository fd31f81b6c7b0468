"""The benchmark of training: what is counted."""

from __future__ import annotations

import numpy as np

from ddz_agents.neural.network import Architecture
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.selfplay import SelfPlay
from ddz_training.measure.speed.parts import PARTS


def test_the_part_is_measured_only_if_it_is_named() -> None:
    named = ["search-time", "douzero", "training", "gpu-step", "gpu-train", "web", "web-weight"]
    assert [key for key, part in PARTS.items() if part.on_request] == named


def test_moves_are_counted_once_and_kickers_not_at_all() -> None:
    """In a game of kickers there are more steps than moves; without opponents every step is of one of the two kinds."""
    architecture = Architecture(width=8, blocks=0, rest_width=4, rest_features=2, critic_width=8, critic_blocks=0)
    sizes = {"num_games": 16, "steps": 40, "minibatch": 256, "shard": 64}
    run = SelfPlay(SelfPlayConfig(architecture=architecture, opponent_share=0.0, **sizes), threads=1)  # type: ignore[arg-type]
    run.step()
    rollout = run._rollout
    assert run.moves == np.count_nonzero(rollout.begins)
    kickers = np.count_nonzero((rollout.actions >= 379) & (rollout.actions < 394))
    assert kickers > 0
    assert run.moves == 16 * 40 - kickers
    run.close()
