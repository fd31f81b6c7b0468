"""Reward attribution on the AEC environment: what the tutorial's pattern credits, and what is true."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.test import api_test
from stable_baselines3.common.env_checker import check_env

from ddz_agents.neural.sb3_policy import Purpose, load_sb3_policy, read_purpose
from ddz_env import dou_dizhu_v0
from ddz_env.core.view import STAGE_NAMES
from ddz_training.learn.sb3.aec_tutorial import LearnerSeat, run_tutorial

BLUNDER, SOUND = 0, 1


class Fuse(AECEnv):  # type: ignore[misc]
    """Three players; the first decides everything, in two stages.

    It moves (``BLUNDER`` or ``SOUND``) and adds a kicker that changes nothing.  After a blunder the second player wins
    at once.  After a sound move the two others pass, and the first player wins.
    """

    metadata = {"name": "fuse", "is_parallelizable": False}  # noqa: RUF012
    render_mode = None

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = ["first", "second", "third"]
        seen = spaces.Dict(
            {"observation": spaces.Box(0, 4, (2,), np.int8), "action_mask": spaces.Box(0, 1, (2,), np.int8)}
        )
        self.observation_spaces = dict.fromkeys(self.possible_agents, seen)
        self.action_spaces = {agent: spaces.Discrete(2) for agent in self.possible_agents}

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._turn, self._sound = 0, False
        self.agent_selection = "first"

    def step(self, action: int | None) -> None:
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        if self._turn == 0:
            self._sound = action == SOUND
        self._turn += 1
        winner = "second" if self._turn == 3 and not self._sound else "first" if self._turn == 5 else None
        if winner is not None:
            self.rewards = {name: 1.0 if name == winner else -1.0 for name in self.agents}
            self.terminations = dict.fromkeys(self.agents, True)
        self.agent_selection = ("first", "first", "second", "third", "first", "second")[self._turn]
        self._accumulate_rewards()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        mask = np.ones(2, np.int8) if agent == self.agent_selection else np.zeros(2, np.int8)
        return {
            "observation": np.array([self._turn if self._turn < 5 else 4, self._sound], np.int8),
            "action_mask": mask,
        }


def tutorial_stream(line: tuple[int, ...], paid: str) -> list[tuple[str, float]]:
    """Who decides, and what the pattern's stream credits the decision with, at γ = 1: all rewards from there on.

    ``paid="next"`` is the tutorial's first version (the reward of ``last()``), ``"actor"`` its present one.
    """
    env = Fuse()
    env.reset()
    actors, rewards = [], []
    for action in line:
        actor = env.agent_selection
        env.step(action)
        actors.append(actor)
        rewards.append(env._cumulative_rewards[env.agent_selection if paid == "next" else actor])
    assert all(env.terminations.values())
    return [(actor, float(sum(rewards[step:]))) for step, actor in enumerate(actors)]


LOST, WON = (BLUNDER, 0, 0), (SOUND, 0, 0, 0, 0)


def test_the_tiny_game_keeps_pettingzoo_s_contract() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(Fuse(), num_cycles=10)


def test_the_tutorials_pattern_credits_a_blunder_with_the_win_that_it_gave_away() -> None:
    assert tutorial_stream(LOST, "actor") == [("first", 1.0), ("first", 1.0), ("second", 1.0)]  # the first two lost
    assert tutorial_stream(WON, "actor")[2:4] == [("second", 1.0), ("third", 1.0)]  # both lost


def test_the_tutorials_first_version_pays_the_winning_move_with_the_next_agents_loss() -> None:
    assert tutorial_stream(WON, "next")[-1] == ("first", -1.0)  # the move that won


@pytest.mark.parametrize(
    ("seat", "line", "decisions", "earned"),
    [
        (0, LOST, 2, -1.0),
        (1, LOST, 1, 1.0),
        (2, LOST, 0, None),  # the third player never decides
        (0, WON, 3, 1.0),
        (1, WON, 1, -1.0),
        (2, WON, 1, -1.0),
    ],
)
def test_the_mended_wrapper_gives_each_seat_its_own_return(
    seat: int, line: tuple[int, ...], decisions: int, earned: float | None
) -> None:
    game = Fuse()

    def script(observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> int:
        return line[game._turn]

    env = LearnerSeat(game, script, first=seat)
    env.reset(seed=0)
    rewards = []
    terminated = game.terminations[env.learner]
    while not terminated:
        assert env.action_masks().any()
        _, reward, terminated, _, _ = env.step(line[game._turn])
        rewards.append(float(reward))
    assert len(rewards) == decisions
    if earned is not None:
        assert rewards == [0.0] * (decisions - 1) + [earned]  # nothing between the two halves of a move


def test_in_dou_dizhu_the_learner_gets_its_seats_return_and_its_seat_rotates() -> None:
    raw = dou_dizhu_v0.raw_env(rules="rlcard")
    env = LearnerSeat(raw)
    rng, twice = np.random.default_rng(0), 0
    for game in range(12):
        env.reset(seed=game)
        assert env.learner == f"player_{game % 3}"
        total, terminated = 0.0, False
        while not terminated:
            assert raw.agent_selection == env.learner
            assert (env.action_masks() == raw.observe(env.learner)["action_mask"]).all()
            observation, reward, terminated, truncated, _ = env.step(rng.choice(np.flatnonzero(env.action_masks())))
            assert observation.shape == (512,)
            assert not truncated
            if raw.infos[env.learner]["stage"] == STAGE_NAMES.index("kicker"):
                twice += 1
                assert reward == 0
            total += float(reward)
        assert total == raw.game_state().returns()[game % 3]
        assert not env.action_masks().any()
    assert twice > 3


def test_an_illegal_action_ends_the_learners_game_with_its_penalty() -> None:
    env = LearnerSeat(dou_dizhu_v0.env())
    env.reset(seed=1)
    _, reward, terminated, _, _ = env.step(399)
    assert (reward, terminated) == (-1.0, True)


def test_the_wrapper_passes_sb3_s_checker() -> None:
    check_env(LearnerSeat(dou_dizhu_v0.env()), warn=False)


def test_the_tutorials_model_is_saved_with_what_it_was_trained_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ddz_training.learn.sb3.aec_tutorial.N_STEPS", 2)
    run_tutorial(16, rules="mini", deals=1, path=tmp_path / "model.zip")
    assert read_purpose(tmp_path / "model.zip") == Purpose("mini", "win")
    assert load_sb3_policy(tmp_path / "model.zip", trust_file=True).rules == "mini"


@pytest.mark.long
def test_the_tutorial_beats_random_by_a_wide_margin() -> None:
    assert run_tutorial(40_000, seed=1, deals=60).wins.low > 0.7
