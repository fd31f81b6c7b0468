"""Agents in PettingZoo's loop play what they play in ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ddz_env import Move, State, dou_dizhu_v0
from ddz_env.peers import flat_action
from ddz_env.playing.game import AgentFaultError, IllegalAgentMoveError, make_seat_generators, play_game
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import GameOverError, InvalidOptionError
from tests.listener import Listener

AGENTS = [
    *[
        (name, "standard")
        for name in ("random", "rules", "policy", "isuct:iterations=30", "cheating-uct:iterations=30")
    ],
    ("payoff:worlds=10", "bidding"),
    ("neural-ismcts:iterations=4", "botzone"),
    ("determinized-minimax", "mini"),
]


def _play(env: Any, players: dict[str, dou_dizhu_v0.AECPlayer]) -> State:
    """PettingZoo's loop; the final position and each agent's sum of rewards, which must be its return."""
    earned = dict.fromkeys(env.possible_agents, 0.0)
    for name in env.agent_iter():
        _, reward, termination, truncation, _ = env.last()
        earned[name] += reward
        if termination or truncation:
            state = env.unwrapped.game_state()
        env.step(None if termination or truncation else players[name].next_action(env))
    assert [*earned.values()] == list(state.returns())
    return state


@pytest.mark.parametrize(("agent", "rules"), AGENTS)
def test_a_game_in_the_loop_is_the_game_of_play_game(agent: str, rules: str) -> None:
    env = dou_dizhu_v0.env(rules=rules)
    players = {name: dou_dizhu_v0.AECPlayer(agent, seed=9) for name in env.possible_agents}
    env.reset(seed=5)
    for game in range(3):
        played = _play(env, players)
        agents = [make_agent(agent) for _ in players]
        generators = make_seat_generators([9, game + 1], len(agents))  # no seat's draws are another's
        assert played.history == play_game(State.new(5, rules, game), agents, generators).history
        env.reset()


def test_an_agent_hears_every_move_once_also_after_a_game_that_was_cut_short() -> None:
    env = dou_dizhu_v0.raw_env()
    players = {name: dou_dizhu_v0.AECPlayer(Listener()) for name in env.possible_agents}
    for seed in range(8):
        env.reset(seed=seed)
        for _ in range(10 + seed):
            env.step(players[env.agent_selection].next_action(env))


class Stubborn(Listener):
    def act(self, view: Any, rng: np.random.Generator) -> Move:
        return Move.parse("RB")


class Broken(Listener):
    def act(self, view: Any, rng: np.random.Generator) -> Move:
        raise RuntimeError("no idea")


@pytest.mark.parametrize(("agent", "error"), [(Stubborn(), IllegalAgentMoveError), (Broken(), AgentFaultError)])
def test_what_an_agent_does_wrong_is_said_with_its_name(agent: Any, error: type[Exception]) -> None:
    env = dou_dizhu_v0.env()
    env.reset(seed=1)
    before = env.unwrapped.game_state()
    with pytest.raises(error, match="listener"):
        dou_dizhu_v0.AECPlayer(agent).next_action(env)
    assert env.unwrapped.game_state() == before


def test_only_a_running_game_of_this_package_is_played() -> None:
    player, env = dou_dizhu_v0.AECPlayer("random"), dou_dizhu_v0.raw_env()
    with pytest.raises(GameOverError, match=r"env\.reset"):
        player.next_action(env)
    env.reset(seed=2)
    while env.agents:
        over = env.terminations[env.agent_selection]
        if over:
            with pytest.raises(GameOverError, match=r"env\.reset"):
                player.next_action(env)
        env.step(None if over else int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])[0]))
    with pytest.raises(GameOverError, match=r"env\.reset"):
        player.next_action(env)
    flat = flat_action.env()  # where an id in two stages would be another move
    flat.reset(seed=1)
    for other in ("chess", flat):
        with pytest.raises(InvalidOptionError):
            dou_dizhu_v0.AECPlayer("random").next_action(other)


def test_a_game_that_an_illegal_action_has_ended_is_not_played_on() -> None:
    player, env = dou_dizhu_v0.AECPlayer("random"), dou_dizhu_v0.env()
    env.reset(seed=2)
    env.step(0)  # a pass, which is illegal as a lead
    with pytest.raises(GameOverError, match=r"env\.reset"):
        player.next_action(env)
