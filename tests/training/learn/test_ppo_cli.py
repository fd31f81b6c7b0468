"""``ddz train``: a run from the command line, resumed, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ddz_agents.neural.weights import load_weights
from ddz_env.core.errors import command_line
from ddz_training.apps.cli import app

SMALL = [
    part
    for setting in (
        "num_games=16",
        "steps=32",
        "evaluate_every=2",
        "evaluate_deals=1",
        "opponents=random",
        "architecture.width=8",
        "architecture.critic_width=8",
    )
    for part in ("--set", setting)
]


def ddz(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_run_is_begun_resumed_and_started_from(tmp_path: Path) -> None:
    out = tmp_path / "run"
    begun = ddz("train", "selfplay", "--out", out, "--updates", "2", "--threads", "1", "--seed", "3", *SMALL)
    assert begun.exit_code == 0, begun.output
    assert "after 2 updates" in begun.output
    assert command_line("ddz", "arena", f"policy:path={out / 'policy.safetensors'}", "rules") in begun.stderr
    assert load_weights(out / "policy.safetensors").notes["updates"] == 2
    again = ddz("train", "selfplay", "--out", out, "--updates", "2", *SMALL)
    assert (again.exit_code, "add --resume" in again.output) == (2, True)
    resumed = ddz("train", "selfplay", "--out", out, "--updates", "3", "--resume")
    assert resumed.exit_code == 0, resumed.output
    assert len((out / "curves.csv").read_text().splitlines()) == 1 + 3
    started = ddz(
        *("train", "selfplay", "--out", tmp_path / "next", "--updates", "1", "--init", out / "policy.safetensors"),
        *("--set", "num_games=16", "--set", "steps=16", "--set", "evaluate_every=0", "--objective", "stake"),
    )
    assert started.exit_code == 0, started.output
    weights = load_weights(tmp_path / "next" / "policy.safetensors")
    assert (weights.policy.architecture.width, weights.objective) == (8, "stake")
    other = ddz("train", "selfplay", "--out", out, "--updates", "4", "--resume", "--seed", "4")
    assert (other.exit_code, "seed: the checkpoint has 3, this run 4" in other.output) == (2, True)
    both = ddz("train", "selfplay", "--out", out, "--updates", "4", "--resume", "--init", out / "policy.safetensors")
    assert (both.exit_code, "leave out --init" in both.output) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "say how long to train"),
        (("--minutes", "1", "--set", "learning=1"), "there is no option 'learning'"),
        (("--minutes", "1", "--resume"), "there is no such file"),
        (("--minutes", "1", "--init", "nothing.safetensors"), "there is no such file"),
        (("--minutes", "1", "--threads", "0"), "threads=0"),
    ],
)
def test_bad_input_is_one_named_line(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = ddz("train", "selfplay", "--out", tmp_path, *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert not list(tmp_path.iterdir())
