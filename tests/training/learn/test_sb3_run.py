"""``ddz train sb3``: what a run writes, how it goes on, and that it learns."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import torch
from sb3_contrib import MaskablePPO

from ddz_agents.neural.sb3_policy import SB3Policy
from ddz_env.core.errors import command_line
from ddz_env.core.rules import Rules
from ddz_training.learn.errors import CheckpointError, InvalidTrainingError
from ddz_training.learn.sb3.train import MODEL, SETTINGS, Sb3Config, load_config, new_model, train
from ddz_training.learn.sb3.vec_env import MaskedVecEnv, make_games
from ddz_training.learn.strength import Evaluation, measure_strength
from tests.training.apps.terminal import ddz, refused

UPDATE = 4 * 16


def small(**changes: Any) -> Sb3Config:
    sizes = {"num_envs": 4, "n_steps": 16, "batch_size": 32, "n_epochs": 1, "width": 8, "evaluate_every": 0}
    return Sb3Config(**sizes | changes)


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def weights(model: MaskablePPO) -> dict[str, Any]:
    return {name: weight.clone() for name, weight in model.policy.state_dict().items()}


def test_a_run_writes_its_tables_its_evaluations_and_its_model(tmp_path: Path) -> None:
    config = small(evaluate_every=2 * UPDATE, evaluate_deals=1)
    seen, found = list[int](), list[Evaluation]()
    model = train(
        config,
        tmp_path,
        5 * UPDATE - 1,
        threads=1,
        on_update=lambda model: seen.append(model.num_timesteps),
        on_evaluation=found.extend,
    )
    assert model.gamma == 1.0  # the halves of a move are not discounted
    assert seen == [n * UPDATE for n in range(1, 6)]  # whole updates
    table = lines(tmp_path / "progress-0.csv")
    assert [int(float(line["time/total_timesteps"])) for line in table] == seen
    assert all(float(line["train/entropy_loss"]) < 0 for line in table[1:])
    evaluations = [(int(line["update"]), line["opponent"]) for line in lines(tmp_path / "evaluations.csv")]
    assert evaluations == [(update, name) for update in (2, 4, 5) for name in ("random", "rules")]
    assert [(line.update, line.opponent) for line in found] == evaluations
    saved = MaskablePPO.load(tmp_path / MODEL)
    assert all(torch.equal(weight, weights(saved)[name]) for name, weight in weights(model).items())
    assert load_config(tmp_path) == config


def test_updates_one_by_one_learn_what_one_call_of_sb3_learns(tmp_path: Path) -> None:
    one = train(small(seed=2), tmp_path, 3 * UPDATE, threads=1)
    games = make_games(4, rules=Rules.preset("standard", peasant_reward=1.0), scoring="win", threads=1)
    whole = new_model(small(seed=2), MaskedVecEnv(games))
    whole.learn(3 * UPDATE)
    assert one.num_timesteps == whole.num_timesteps == 3 * UPDATE
    assert all(torch.equal(weight, weights(whole)[name]) for name, weight in weights(one).items())


def test_a_fixed_seed_reproduces_a_run(tmp_path: Path) -> None:
    found = []
    for number, seed in enumerate((3, 3, 4)):
        model = train(small(seed=seed), tmp_path / str(number), 3 * UPDATE, threads=1)
        found.append(torch.cat([weight.ravel() for weight in weights(model).values()]))
    one, same, other = found
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_a_stopped_run_goes_on_where_it_was_with_other_games(tmp_path: Path) -> None:
    asked = list[int]()

    def stop() -> bool:
        asked.append(1)
        return len(asked) == 3

    model = train(small(), tmp_path, 50 * UPDATE, threads=1, stop=stop)
    assert model.num_timesteps == 3 * UPDATE
    before = model.policy.optimizer.state_dict()["state"]
    saved = MaskablePPO.load(tmp_path / MODEL)
    ours = saved.policy.optimizer.state_dict()["state"]
    assert all(torch.equal(state["exp_avg"], before[key]["exp_avg"]) for key, state in ours.items())
    resumed = train(load_config(tmp_path), tmp_path, 5 * UPDATE, resume=True, threads=1)
    assert resumed.num_timesteps == 5 * UPDATE
    assert len(lines(tmp_path / f"progress-{3 * UPDATE}.csv")) == 2
    again = train(load_config(tmp_path), tmp_path, 5 * UPDATE, resume=True, threads=1)  # nothing is left to do
    assert all(torch.equal(weight, weights(again)[name]) for name, weight in weights(resumed).items())


def test_a_run_that_is_asked_to_stop_is_saved_and_not_measured(tmp_path: Path) -> None:
    found: list[Evaluation] = []
    config = small(evaluate_every=1, evaluate_deals=1000, baselines=("random",))
    train(config, tmp_path, 50 * UPDATE, on_evaluation=found.extend, stop=lambda: True)
    assert MaskablePPO.load(tmp_path / MODEL).num_timesteps == UPDATE
    assert not found


def test_settings_that_cannot_be_read_have_a_named_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidTrainingError, match="seed=4294967296 must be a whole number from 0 to"):
        Sb3Config(seed=2**32)
    for text, message in ((None, "holds no settings"), ("{", "holds no settings"), ('{"width": 3}', "options differ")):
        if text is not None:
            (tmp_path / SETTINGS).write_text(text)
        with pytest.raises(CheckpointError, match=message):
            load_config(tmp_path)


def test_the_command_begins_a_run_and_goes_on_with_it(tmp_path: Path) -> None:
    out = tmp_path / "run"
    train_sb3 = ("train", "sb3", "--out", out)
    small = [
        "--set",
        "num_envs=4",
        "--set",
        "evaluate_every=0",
        "--threads",
        "1",
        "--set",
        "n_steps=16",
        "--set",
        "width=8",
    ]
    begun = ddz(*train_sb3, "--timesteps", UPDATE, "--opponents", "rules", *small)
    assert begun.exit_code == 0, begun.output
    assert f"after {UPDATE} steps" in begun.output
    assert "Judge by evaluations" in begun.output
    assert command_line("ddz", "arena", f"policy:path={out / 'model.zip'},trust_file=true", "rules") in begun.stderr
    assert "add --resume" in refused(*train_sb3)
    resumed = ddz(*train_sb3, "--timesteps", 2 * UPDATE, "--resume", "--trust")
    assert resumed.exit_code == 0, resumed.output
    assert len(lines(out / f"progress-{UPDATE}.csv")) == 1
    assert "opponents: the checkpoint has 'rules'" in refused(
        *train_sb3, "--resume", "--trust", "--opponents", "random"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--opponents nobody", "no agent is called 'nobody'"),
        ("--set role=king", "unknown role 'king'"),
        ("--set learning=1", "there is no option 'learning'"),
        ("--threads 0", "threads=0"),
        ("--resume", "holds no settings of a run"),
    ],
)
def test_bad_input_is_one_named_line(arguments: str, message: str, tmp_path: Path) -> None:
    assert message in refused("train", "sb3", "--out", tmp_path, *arguments.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_twenty_seconds_of_maskable_ppo_beat_random_by_a_wide_margin(tmp_path: Path) -> None:
    model = train(Sb3Config(evaluate_every=0), tmp_path, 57_344)
    (result,) = measure_strength(SB3Policy(model.policy), ["random"], 100)
    assert result.wins.low > 0.8
