"""``ddz train``: a run from the command line, resumed, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddz_agents.neural.weights import load_weights
from ddz_env.core.errors import command_line
from tests.training.apps.terminal import ddz, refused

TINY = "num_games=16 steps=32 architecture.width=8 architecture.critic_width=8"
SMALL = [f"--set={setting}" for setting in f"{TINY} evaluate_every=2 evaluate_deals=1 opponents=random".split()]


def test_a_run_is_begun_resumed_and_started_from(tmp_path: Path) -> None:
    out, policy = tmp_path / "run", tmp_path / "run" / "policy.safetensors"
    train = ("train", "selfplay", "--out", out, "--updates")
    begun = ddz(*train, 2, "--threads", 1, "--seed", 3, *SMALL)
    assert begun.exit_code == 0, begun.output
    assert "after 2 updates" in begun.output
    assert command_line("ddz", "arena", f"policy:path={policy}", "rules") in begun.stderr
    assert load_weights(policy).notes["updates"] == 2
    assert "add --resume" in refused(*train, 2, *SMALL)
    resumed = ddz(*train, 3, "--resume")
    assert resumed.exit_code == 0, resumed.output
    assert len((out / "curves.csv").read_text().splitlines()) == 1 + 3
    small = ("--set=num_games=16", "--set=steps=16", "--set=evaluate_every=0", "--objective", "stake")
    started = ddz("train", "selfplay", "--out", tmp_path / "next", "--updates", 1, "--init", policy, *small)
    assert started.exit_code == 0, started.output
    weights = load_weights(tmp_path / "next" / "policy.safetensors")
    assert (weights.architecture.width, weights.objective) == (8, "stake")
    assert "seed: the checkpoint has 3, this run 4" in refused(*train, 4, "--resume", "--seed", 4)
    assert "leave out --init" in refused(*train, 4, "--resume", "--init", policy)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "say how long to train"),
        ("--minutes 1 --set learning=1", "there is no option 'learning'"),
        ("--minutes 1 --init nothing.safetensors", "there is no such file"),
        ("--minutes 1 --threads 0", "threads=0"),
    ],
)
def test_bad_input_is_one_named_line(arguments: str, message: str, tmp_path: Path) -> None:
    assert message in refused("train", "selfplay", "--out", tmp_path, *arguments.split())
    assert not list(tmp_path.iterdir())


def test_values_are_trained_from_the_command_line(tmp_path: Path) -> None:
    train = ("train", "dmc", "--out", tmp_path, "--updates")
    small = [f"--set={setting}" for setting in f"{TINY} evaluate_every=0".split()]
    begun = ddz(*train, 1, "--rules", "mini", "--threads", 1, *small)
    assert begun.exit_code == 0, begun.output
    assert ddz(*train, 2, "--resume").exit_code == 0
    assert len((tmp_path / "curves.csv").read_text().splitlines()) == 3
    assert "epsilon: the checkpoint has 0.01" in refused(*train, 2, "--resume", "--set", "epsilon=0.5")
