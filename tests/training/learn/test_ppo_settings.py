"""The settings of a self-play run: read as they are written, refused by name, annealed in a straight line."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from ddz_env.core.errors import InvalidRulesError
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.imitation import ImitationConfig
from ddz_training.learn.ppo.config import SelfPlayConfig
from tests.training.learn.test_ppo_rollout import SMALL


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "elo"}, "objective='elo' must be one of win, stake"),
        ({"groups": 5, "num_games": 24}, "groups=5 must divide num_games=24"),
        ({"epochs": 1.5}, "epochs=1.5 must be a whole number"),
        ({"learning_rate": 0}, "learning_rate=0 must be a number above 0"),
        ({"entropy": float("nan")}, "entropy=nan must be a number of at least 0"),
        ({"seed": 2**63}, "seed=9223372036854775808 must be a whole number from 0 to 9,223,372,036,854,775,807"),
        ({"frozen": ("random",)}, "give both"),
        ({"frozen_share": 0.1}, "give both"),
        ({"frozen": ("random",), "frozen_share": 0.6, "opponent_share": 0.5}, "together at most 1"),
        ({"learner_side": "dealer"}, "learner_side"),
    ],
)
def test_settings_out_of_range_have_a_named_error(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidTrainingError, match=message):
        SelfPlayConfig(**settings)


def test_so_have_those_of_a_warm_start() -> None:
    for name, wrong in (("decisions", 0), ("student_share", 1.5), ("learning_rate", 0.0)):
        with pytest.raises(InvalidTrainingError, match=f"{name}={wrong} must be a"):
            ImitationConfig(**{name: wrong})


def test_step_size_and_entropy_go_down_in_a_straight_line_and_stay_there() -> None:
    rates: dict[str, Any] = {"learning_rate": 1e-3, "final_learning_rate": 0.1, "entropy": 0.02, "final_entropy": 0.01}
    config = SelfPlayConfig(anneal_updates=100, **rates)
    assert config.annealed(0) == (1e-3, 0.02)
    assert config.annealed(50) == pytest.approx((5.5e-4, 0.015))
    assert config.annealed(100) == config.annealed(10_000) == pytest.approx((1e-4, 0.01))
    assert config.changed({"anneal_updates": 0}).annealed(10_000) == (1e-3, 0.02)


def test_options_that_went_are_read_where_they_meant_what_stayed() -> None:
    """From the settings of 0.2.0 in checkpoints, and as they were written behind ``--set``."""
    went = {"lookahead": 0.0, "candidates": 4, "least": 0.01, "floor": 0.02, "precision": "float32", "graphs": True}
    went |= {"upper": 1.0, "magnet": 0.0, "auxiliary": 0.0}
    config = SelfPlayConfig(lam=0.9)
    assert SelfPlayConfig.from_dict(config.as_dict() | went) == config
    assert SelfPlayConfig.read(["lookahead=0", "floor=0.3", "lam=0.9", "precision=float32"]) == {"lam": 0.9}
    others = {"lookahead": 0.8, "least": 0.1, "precision": "bfloat16", "upper": 0.25, "magnet": 0.1, "auxiliary": 1.0}
    for name, value in others.items():
        with pytest.raises(InvalidTrainingError, match=f"{name}={value!r}: this option went"):
            SelfPlayConfig.read([f"{name}={value}"])
        with pytest.raises(InvalidTrainingError, match=f"{name}={value!r}: this option went"):
            SelfPlayConfig.from_dict(config.as_dict() | went | {name: value})


def test_settings_are_read_as_they_are_written() -> None:
    texts = ["lam=0.9", "architecture.width=64", "architecture.blocks=3", "opponents=rules", "rules=rlcard"]
    config = SelfPlayConfig().changed(SelfPlayConfig.read(texts))
    assert (config.lam, config.opponents, config.rules) == (0.9, ("rules",), "rlcard")
    assert config.architecture == dataclasses.replace(SelfPlayConfig().architecture, width=64, blocks=3)
    assert SelfPlayConfig.from_dict(json.loads(json.dumps(config.as_dict()))) == config
    small = SelfPlayConfig(architecture=SMALL).changed({"architecture.width": 8})
    assert small.architecture == dataclasses.replace(SMALL, width=8)
    for text, message in (
        ("lam", "is not name=value"),
        ("lamb=1", "did you mean 'lam'"),
        ("architecture.with=1", "did you mean 'architecture.width'"),
        ("architecture=1", "there is no option 'architecture'"),
        ("epochs=1.5", "must be a whole number"),
        ("lam=much", "must be a number"),
    ):
        with pytest.raises(InvalidTrainingError, match=message):
            SelfPlayConfig.read([text])
    with pytest.raises(InvalidRulesError):
        SelfPlayConfig().changed({"rules": "texas"})
    saved = config.as_dict()
    saved["dropout"] = saved.pop("lam")
    with pytest.raises(InvalidTrainingError, match="options differ in dropout, lam"):
        SelfPlayConfig.from_dict(saved)
