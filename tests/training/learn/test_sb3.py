"""``ddz train sb3``: the games as SB3 wants them, what a run writes, how it goes on, and that it learns."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import Wrapper
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor

from ddz_agents.neural.sb3_policy import Sb3Module
from ddz_agents.neural.torch_model import TorchModel
from ddz_env.core.observation import OBSERVATION
from ddz_env.core.rules import Rules
from ddz_env.envs.gym import DouDizhuEnv
from ddz_env.support.errors import format_command
from ddz_training.learn.errors import CheckpointError, InvalidTrainingError
from ddz_training.learn.loop import Budget, train
from ddz_training.learn.sb3.train import MODEL, SETTINGS, Sb3Config, Sb3Line, Sb3Training, load_config, new_model
from ddz_training.learn.sb3.vec_env import MaskedVecEnv, make_games
from ddz_training.learn.strength import Evaluation, measure_strength
from tests.training.cli.terminal import as_options, done, refused

N = 6


def choose(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.array([int(rng.choice(np.flatnonzero(mask))) for mask in masks])


def made(opponents: Any = "random", count: int = N, seed: int = 3, threads: int = 1, **options: Any) -> MaskedVecEnv:
    env = MaskedVecEnv(make_games(count, opponents, threads=threads, **options))
    env.seed(seed)
    return env


@pytest.mark.parametrize("opponents", ["random", "rules", "ddz_agents.random:RandomAgent"])
def test_infos_of_finished_games_and_of_no_others_say_what_sb3_wants(opponents: str) -> None:
    env = made(opponents, scoring="stake")
    env.reset()
    rng = np.random.default_rng(0)
    returns, lengths = np.zeros(N), np.zeros(N, int)
    ended = 0
    while ended < 12:
        observations, rewards, dones, infos = env.step(choose(env.env_method("action_masks"), rng))
        assert (observations.shape, observations.dtype) == ((N, 512), np.dtype(np.int8))
        assert (rewards.dtype, dones.dtype, len(infos)) == (np.dtype(np.float32), np.dtype(bool), N)
        returns += rewards
        lengths += 1
        assert not any(rewards[~dones])
        for index, info in enumerate(infos):
            if not dones[index]:
                assert info == {}
                continue
            time, last = info["episode"].pop("t"), info.pop("terminal_observation")
            assert time > 0
            assert info == {
                "TimeLimit.truncated": False,
                "is_success": bool(returns[index] > 0),
                "episode": {"r": returns[index], "l": lengths[index]},
            }
            cards = [last[OBSERVATION.offsets[f"cards_left_{seat}"]] for seat in ("self", "next", "previous")]
            assert cards.count(0) == 1
            assert cards[0] > 0 or info["is_success"]
            assert (last != observations[index]).any()
            ended += 1
            returns[index], lengths[index] = 0, 0
    env.close()


def test_masks_come_in_one_array_as_sb3_contrib_takes_them() -> None:
    env = made()
    assert is_masking_supported(env)
    observations = env.reset()
    masks = env.env_method("action_masks")
    assert (masks.shape, masks.dtype) == ((N, 400), np.dtype(bool))
    assert (get_action_masks(env) == masks).all()
    assert (env.env_method("action_masks", indices=[4, 1]) == masks[[4, 1]]).all()
    assert (env.env_method("action_masks", indices=2) == masks[[2]]).all()
    assert observations.shape == (N, 512)
    before = masks.copy()
    env.step(choose(masks, np.random.default_rng(0)))
    assert (masks == before).all()  # SB3 keeps masks and observations while it steps


def test_seeds_repeat_the_games_and_a_second_reset_goes_on() -> None:
    one, other = made(seed=9), made(seed=9)
    assert (one.reset() == other.reset()).all()
    first = made(seed=9).reset()
    assert (one.reset() == other.reset()).all()
    assert (one.reset() != first).any()


def test_attributes_are_those_of_the_one_environment_that_all_games_share() -> None:
    env = made()
    assert env.get_attr("num_envs") == [N] * N
    assert env.get_attr("render_mode", [0, 2]) == [None, None]
    assert env.has_attr("action_masks")
    assert not env.has_attr("nothing")
    env.set_attr("label", 7)
    assert env.get_attr("label", 1) == [7]
    assert env.env_is_wrapped(Monitor) == [True] * N
    assert env.env_is_wrapped(Wrapper, [0]) == [False]


def test_the_single_environment_passes_sb3_s_checker() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(DouDizhuEnv(), warn=True)


def test_sb3_s_own_evaluation_reads_the_episodes() -> None:
    env = made(rules="mini")
    model = MaskablePPO("MlpPolicy", env, policy_kwargs={"net_arch": [8]}, n_steps=8, seed=0, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rewards, lengths = evaluate_policy(model, env, n_eval_episodes=10, return_episode_rewards=True)
    assert set(rewards) <= {-1.0, 1.0}
    assert min(lengths) >= 1


UPDATE = 4 * 16


def small(**changes: Any) -> Sb3Config:
    sizes = {"num_envs": 4, "n_steps": 16, "batch_size": 32, "n_epochs": 1, "width": 8, "eval_freq": 0}
    return Sb3Config(**sizes | changes)


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def weights(model: MaskablePPO) -> dict[str, Any]:
    return {name: weight.clone() for name, weight in model.policy.state_dict().items()}


def trained(config: Sb3Config, folder: Path, steps: int, *, resume: bool = False, **calls: Any) -> MaskablePPO:
    """The model of a run that was trained in a folder, or trained on."""
    run = Sb3Training(config, folder, resume=resume, threads=1)
    train(run, Budget(decisions=steps), folder, **calls)
    run.close()
    return run.model


def test_a_run_writes_its_tables_its_evaluations_and_its_model(tmp_path: Path) -> None:
    config = small(eval_freq=2 * UPDATE, eval_deals=1)
    seen, found = list[int](), list[Evaluation]()

    def see(line: Sb3Line) -> None:
        seen.append(line.decisions)

    model = trained(config, tmp_path, 5 * UPDATE - 1, on_update=see, on_evaluation=found.extend)
    assert model.gamma == 1.0  # the halves of a move are not discounted
    assert seen == [n * UPDATE for n in range(1, 6)]  # whole updates
    table = lines(tmp_path / "progress-0.csv")
    assert [int(float(line["time/total_timesteps"])) for line in table] == seen
    assert all(float(line["train/entropy_loss"]) < 0 for line in table[1:])
    evaluations = [(int(line["update"]), line["opponent"]) for line in lines(tmp_path / "evaluations.csv")]
    assert evaluations == [(update, name) for update in (0, 2, 4, 5) for name in ("random", "rules")]
    assert [(line.update, line.opponent) for line in found] == evaluations
    saved = MaskablePPO.load(tmp_path / MODEL)
    assert all(torch.equal(weight, weights(saved)[name]) for name, weight in weights(model).items())
    assert load_config(tmp_path) == config


def test_updates_one_by_one_learn_what_one_call_of_sb3_learns(tmp_path: Path) -> None:
    one = trained(small(seed=2), tmp_path, 3 * UPDATE)
    games = make_games(4, rules=Rules.preset("standard", peasant_reward=1.0), scoring="win", threads=1)
    whole = new_model(small(seed=2), MaskedVecEnv(games))
    whole.learn(3 * UPDATE)
    assert one.num_timesteps == whole.num_timesteps == 3 * UPDATE
    assert all(torch.equal(weight, weights(whole)[name]) for name, weight in weights(one).items())


def test_a_stopped_run_goes_on_where_it_was_with_other_games(tmp_path: Path) -> None:
    asked = list[int]()

    def stop() -> bool:
        asked.append(1)
        return len(asked) == 3

    model = trained(small(), tmp_path, 50 * UPDATE, stop=stop)
    assert model.num_timesteps == 3 * UPDATE
    before = model.policy.optimizer.state_dict()["state"]
    saved = MaskablePPO.load(tmp_path / MODEL)
    ours = saved.policy.optimizer.state_dict()["state"]
    assert all(torch.equal(state["exp_avg"], before[key]["exp_avg"]) for key, state in ours.items())
    resumed = trained(load_config(tmp_path), tmp_path, 5 * UPDATE, resume=True)
    assert resumed.num_timesteps == 5 * UPDATE
    assert len(lines(tmp_path / f"progress-{3 * UPDATE}.csv")) == 2
    again = trained(load_config(tmp_path), tmp_path, 5 * UPDATE, resume=True)  # nothing is left to do
    assert all(torch.equal(weight, weights(again)[name]) for name, weight in weights(resumed).items())


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
    small = ["--threads", "1", *as_options(["num_envs=4", "eval_freq=0", "n_steps=16", "width=8"])]
    begun = done(*train_sb3, "--timesteps", UPDATE, "--opponents", "rules", *small)
    assert f"{UPDATE} decisions" in begun.output
    assert "Judge by evaluations" in begun.output
    assert format_command("ddz", "arena", f"policy:path={out / 'model.zip'},trust_file=true", "rules") in begun.stderr
    assert "add --resume" in refused(*train_sb3)
    done(*train_sb3, "--timesteps", 2 * UPDATE, "--resume", "--trust")
    assert len(lines(out / f"progress-{UPDATE}.csv")) == 1
    assert "opponents: the checkpoint has 'rules'" in refused(
        *train_sb3, "--resume", "--trust", "--opponents", "random"
    )


@pytest.mark.long
def test_twenty_seconds_of_maskable_ppo_beat_random_by_a_wide_margin(tmp_path: Path) -> None:
    model = trained(Sb3Config(eval_freq=0), tmp_path, 57_344)
    (result,) = measure_strength(TorchModel(Sb3Module(model.policy), "int8"), ["random"], 100)
    assert result.wins.low > 0.8
