"""The settings of a self-play run: read as they are written, refused by name, annealed in a straight line."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

from ddz_env.errors import InvalidRulesError
from tests.test_ppo_rollout import SMALL
from training.ppo.config import SelfPlayConfig
from training.ppo.errors import InvalidTrainingError
from training.ppo.settings import configure, parse_settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "elo"}, "unknown objective 'elo'; choose from win, stake"),
        ({"num_games": 0}, "num_games=0 must be an integer of at least 1"),
        ({"groups": 0}, "groups=0 must be an integer of at least 1"),
        ({"groups": 5, "num_games": 24}, "groups=5 must divide num_games=24"),
        ({"candidates": 0}, "candidates=0 must be an integer of at least 1"),
        ({"least": 0.0}, "least=0.0 must be a number"),
        ({"floor": 1.5}, r"floor=1.5 must be a number in 0\.\.1"),
        ({"settled_share": 0.0}, "settled_share=0.0 must be a number"),
        ({"critic_average": -0.1}, r"critic_average=-0.1 must be a number in 0\.\.1"),
        ({"lookahead": 1.5}, r"lookahead=1.5 must be a number in 0\.\.1"),
        ({"epochs": 1.5}, "epochs=1.5 must be an integer"),
        ({"lam": 1.1}, r"lam=1.1 must be a number in 0\.\.1"),
        ({"learning_rate": 0}, "learning_rate=0 must be a number above 0"),
        ({"entropy": float("nan")}, "entropy=nan must be a number at least 0"),
        ({"clip": "wide"}, "clip='wide' must be a number above 0"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 2**63}, "seed=9223372036854775808 must be at most"),
        ({"evaluate_every": True}, "evaluate_every=True"),
    ],
)
def test_settings_out_of_range_have_a_named_error(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidTrainingError, match=message):
        SelfPlayConfig(**settings)


def test_step_size_entropy_and_floor_go_down_in_a_straight_line_and_stay_there() -> None:
    settings = {
        "learning_rate": 1e-3,
        "final_learning_rate": 0.1,
        "entropy": 0.02,
        "final_entropy": 0.01,
        "floor": 0.04,
    }
    config = SelfPlayConfig(anneal_updates=100, **settings)  # type: ignore[arg-type]
    assert config.annealed(0) == (1e-3, 0.02, 0.04)
    assert config.annealed(50) == pytest.approx((5.5e-4, 0.015, 0.02))
    assert config.annealed(100) == config.annealed(10_000) == pytest.approx((1e-4, 0.01, 0.0))
    assert SelfPlayConfig(**settings).annealed(10_000) == (1e-3, 0.02, 0.04)  # type: ignore[arg-type]


def test_settings_are_read_as_they_are_written() -> None:
    config = configure(parse_settings(["lam=0.9", "architecture.width=64", "opponents=rules", "rules=rlcard"]))
    assert (config.lam, config.architecture.width, config.opponents, config.rules) == (0.9, 64, ("rules",), "rlcard")
    assert SelfPlayConfig.from_dict(config.as_dict()) == config
    assert configure({"architecture.width": 8}, SMALL).architecture.rest_width == SMALL.rest_width
    for text, message in (
        ("lam", "is not name=value"),
        ("lamb=1", "did you mean 'lam'"),
        ("epochs=1.5", "must be an integer"),
        ("lam=much", "must be a number"),
    ):
        with pytest.raises(InvalidTrainingError, match=message):
            parse_settings([text])
    with pytest.raises(InvalidRulesError):
        configure(parse_settings(["rules=texas"]))
