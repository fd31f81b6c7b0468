"""The settings of a training: read as they are written, refused by name, and changed over the budget."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from ddz_env.support.errors import InvalidRulesError
from ddz_training.learn.dmc import DmcConfig
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.loop import Budget, train
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.ppo import PpoLearner, Rollout
from ddz_training.learn.ppo.selfplay import SelfPlay
from tests.training.cli.terminal import refused
from tests.training.learn.test_games import SMALL
from tests.training.learn.test_selfplay import small_config


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"groups": 5, "num_envs": 24}, "groups=5 must divide num_envs=24"),
        ({"seed": 2**63}, "seed=9223372036854775808 must be a whole number from 0 to 9,223,372,036,854,775,807"),
        ({"frozen": ("random",)}, "give both"),
        ({"frozen_share": 0.1}, "give both"),
        ({"frozen": ("random",), "frozen_share": 0.6, "opponent_share": 0.5}, "together they must be at most 1"),
        ({"eval_deals": 0}, "eval_deals=0: evaluations need a deal; eval_freq=0 leaves them out"),
    ],
)
def test_settings_that_do_not_fit_have_a_named_error(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidTrainingError, match=message):
        SelfPlayConfig(**settings)


def test_settings_that_fit_are_taken() -> None:
    SelfPlayConfig(eval_deals=0, eval_freq=0)
    SelfPlayConfig(opponent_share=0.33, rules_share=0.56, frozen=("random",), frozen_share=0.11)  # 1 but for rounding


def test_step_size_and_entropy_fall_in_a_straight_line_over_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: dict[str, Any] = {"learning_rate": 1e-3, "final_lr_factor": 0.2, "ent_coef": 0.02, "final_ent_coef": 0.01}
    weights, steps, policy_loss = list[float](), list[float](), PpoLearner.policy_loss

    def spy(learner: PpoLearner, rollout: Rollout, rows: Tensor, pairs: int, entropy_weight: float) -> Any:
        weights.append(entropy_weight)
        return policy_loss(learner, rollout, rows, pairs, entropy_weight)

    monkeypatch.setattr(PpoLearner, "policy_loss", spy)
    with contextlib.closing(SelfPlay(small_config(**rates), 1)) as run:
        optimizer = run.learner.optimizer
        train(run, Budget(updates=4), on_update=lambda _: steps.append(optimizer.param_groups[0]["lr"]))
    assert steps == pytest.approx([1e-3, 8e-4, 6e-4, 4e-4])
    assert sorted(set(weights), reverse=True) == pytest.approx([0.02, 0.0175, 0.015, 0.0125])


def test_settings_are_read_as_they_are_written() -> None:
    texts = ["gae_lambda=0.9", "architecture.width=64", "architecture.blocks=3", "eval_opponents=rules", "rules=rlcard"]
    config = SelfPlayConfig().with_changes(SelfPlayConfig.read(texts))
    assert (config.gae_lambda, config.eval_opponents, config.rules) == (0.9, ("rules",), "rlcard")
    assert config.architecture == dataclasses.replace(SelfPlayConfig().architecture, width=64, blocks=3)
    assert SelfPlayConfig.from_dict(json.loads(json.dumps(config.as_dict()))) == config
    small = SelfPlayConfig(architecture=SMALL).with_changes({"architecture.width": 8})
    assert small.architecture == dataclasses.replace(SMALL, width=8)
    with pytest.raises(InvalidTrainingError, match=r"did you mean 'architecture\.width'"):
        SelfPlayConfig.read(["architecture.with=1"])
    with pytest.raises(InvalidRulesError):
        SelfPlayConfig().with_changes({"rules": "texas"})


def test_a_device_has_a_recipe() -> None:
    assert SelfPlayConfig.for_device(None) == SelfPlayConfig.for_device("cpu") == SelfPlayConfig()
    assert SelfPlayConfig.for_device("cuda").num_envs > 10_000
    assert DmcConfig.for_device("cuda") == DmcConfig(device="cuda")
    with pytest.raises(InvalidTrainingError, match="must be one of cpu, cuda"):
        SelfPlayConfig.for_device("gpu")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("selfplay", "say how long to train: --minutes 60, or --updates 500"),
        ("selfplay --minutes 1 --learning 1", "No such option"),
        ("selfplay --minutes 1 --init nothing.safetensors", "there is no such file"),
        ("selfplay --minutes 1 --threads 0", "threads=0"),
        ("sb3 --opponents ghost", "no agent is called 'ghost'"),
        ("sb3 --role king", "unknown role 'king'"),
        ("sb3 --eval-deals 0", "eval_deals=0: evaluations need a deal"),
        ("sb3 --set role=king", "settings are options now: --role king, not role=king"),
        ("sb3 --threads 0", "threads=0"),
        ("sb3 --resume", "nothing to resume"),
    ],
)
def test_bad_input_is_one_named_line(arguments: str, message: str, tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    command, *options = arguments.split()
    assert message in refused("train", command, "--out", tmp_path, *options)
    assert not list(tmp_path.iterdir())
