"""What comes out of a pickle can be played on, even if its arrays lie in Ray's memory, which is read-only."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ddz_agents.random import RandomAgent
from ddz_env import State, dou_dizhu_v0
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.envs.gym import DouDizhuEnv, DouDizhuVectorEnv
from ddz_env.peers import flat_action
from ddz_env.playing.many import WaitingGames
from ddz_env.playing.registry import make_agent
from ddz_env.support.arrays import copy_readonly_arrays


def sent(thing: Any) -> Any:
    """A copy whose arrays lie in memory that cannot be written."""
    buffers: list[pickle.PickleBuffer] = []
    content = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(content, buffers=[bytes(buffer.raw()) for buffer in buffers])


def step_state(state: State) -> Any:
    state.step(state.legal_moves()[0])
    return state.copy()


def step_aec(env: Any) -> Any:
    shown = copy.deepcopy(env.last()), env.state()
    env.step(int(np.flatnonzero(shown[0][0]["action_mask"])[-1]))
    return shown


def step_gym(env: Any) -> Any:
    shown = env.step(int(np.flatnonzero(env.action_masks())[-1]))
    return env.reset() if shown[2] else shown


def step_vector(env: DouDizhuVectorEnv) -> Any:
    return [*env.step(env.action_masks().argmax(axis=1))[:4], env.action_masks().copy()]


def step_batch(batch: SelfPlayBatch) -> Any:
    batch.step(batch.sample_actions())
    return [array.copy() for array in (batch.rows, batch.observation, batch.mask, batch.concealed, batch.reward)]


def play(thing: Any, step: Callable[[Any], Any], steps: int) -> list[Any]:
    """What an environment shows of a new game, and of a position that is put back."""
    shown = [step(thing) for _ in range(steps)]
    shown.append(None if isinstance(thing, State) else thing.reset())
    if isinstance(thing, DouDizhuEnv):
        shown.append(thing.set_state(thing.game_state()))
    return [*shown, step(thing)]


def env_of(make: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[[], Any]:
    def begun() -> Any:
        env = make(*arguments, **options)
        env.reset(seed=4)
        return env

    return begun


THINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], int]] = {
    "State": (lambda: State.new(1), step_state, 5),
    "raw_env": (env_of(dou_dizhu_v0.raw_env), step_aec, 8),
    "env": (env_of(dou_dizhu_v0.env, rules="bidding"), step_aec, 8),
    "flat env": (env_of(flat_action.env), step_aec, 8),
    "gym": (env_of(DouDizhuEnv), step_gym, 40),
    "gym against rules": (env_of(DouDizhuEnv, opponents="rules"), step_gym, 3),
    "gym against rollout": (env_of(DouDizhuEnv, opponents="rollout:iterations=8"), step_gym, 3),
    "gym against Python": (env_of(DouDizhuEnv, opponents=RandomAgent()), step_gym, 40),
    "vector": (env_of(DouDizhuVectorEnv, 5), step_vector, 30),
    "vector, same step": (env_of(DouDizhuVectorEnv, 5, autoreset_mode="SameStep"), step_vector, 30),
    "vector against policy": (env_of(DouDizhuVectorEnv, 3, opponents="policy"), step_vector, 30),
    "batch": (lambda: SelfPlayBatch(9, "bidding", seed=3, threads=1, concealed=True), step_batch, 60),
}


@pytest.mark.parametrize("name", THINGS)
def test_a_copy_in_mid_game_goes_on_as_its_original_even_in_memory_that_cannot_be_written(name: str) -> None:
    make, step, steps = THINGS[name]
    thing = make()
    for _ in range(3):
        step(thing)
    first, *others = (play(each, step, steps) for each in [sent(thing), copy.deepcopy(thing), thing])
    for other in others:
        np.testing.assert_equal(first, other)


ACTING = ("rules", "isuct:iterations=8", "rollout:iterations=8", "payoff", "policy", "neural-ismcts:iterations=8")


@pytest.mark.parametrize("name", ACTING)
def test_an_agent_that_is_sent_decides_alike(name: str) -> None:
    agent, view = make_agent(name), State.new(1).view()
    agent.act(view, np.random.default_rng(0))  # some make their arrays then
    received = sent(agent)
    assert received.act(sent(view), np.random.default_rng(5)) == agent.act(view, np.random.default_rng(5))
    if hasattr(received, "act_many"):
        received.act_many(WaitingGames.from_views([sent(view)], [np.random.default_rng(5)]))


def test_what_was_one_array_stays_one_and_what_can_be_written_is_not_copied() -> None:
    locked, free = np.zeros(3), np.zeros(3)
    locked.flags.writeable = False
    copies = copy_readonly_arrays({"a": locked, "b": (locked, free)})
    assert copies["a"] is copies["b"][0]
    assert copies["a"].flags.writeable
    assert copies["b"][1] is free
