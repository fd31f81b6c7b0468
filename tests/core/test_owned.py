"""What comes out of a pickle can be played on, wherever its arrays lie: in Ray's memory nobody may write."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ddz_env import Rules, State, dou_dizhu_v0
from ddz_env.core.owned import own
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.envs.gym import DouDizhuEnv, DouDizhuVectorEnv
from ddz_env.peers import flat_action
from ddz_env.playing.agent import Agent
from ddz_env.playing.registry import agent_names, make_agent


def sent(thing: Any) -> Any:
    """A copy whose arrays lie in memory that cannot be written."""
    buffers: list[pickle.PickleBuffer] = []
    content = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(content, buffers=[bytes(buffer.raw()) for buffer in buffers])


def play_state(state: State) -> Any:
    for _ in range(5):
        state.step(state.legal_moves()[0])
    return state


def play_aec(env: Any) -> Any:
    shown = []
    for _ in range(8):
        observation, *_ = env.last()
        shown.append(observation["observation"])
        env.step(int(observation["action_mask"].argmax()))
    env.reset()
    return [*shown, env.last()[0]["observation"]]


def play_gym(env: DouDizhuEnv) -> Any:
    shown = [env.step(int(env.action_masks().argmax()))[0] for _ in range(3)]
    return [*shown, env.reset()[0], env.set_state(env.game_state())[0]]


def play_vector(env: DouDizhuVectorEnv) -> Any:
    shown = [env.step(env.action_masks().argmax(axis=1))[0] for _ in range(30)]
    return [*shown, env.reset()[0]]


def play_batch(batch: SelfPlayBatch) -> Any:
    for _ in range(5):
        batch.step(batch.sample_actions())
    return [batch.rows.copy()]


def begun(env: Any) -> Any:
    env.reset(seed=4)
    return env


THINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "State": (lambda: play_state(State.new(1)), play_state),
    "raw_env": (lambda: begun(dou_dizhu_v0.raw_env()), play_aec),
    "env": (lambda: begun(dou_dizhu_v0.env(rules="bidding")), play_aec),
    "flat env": (lambda: begun(flat_action.env()), play_aec),
    "gym": (lambda: begun(DouDizhuEnv()), play_gym),
    "gym against rules": (lambda: begun(DouDizhuEnv(opponents="rules")), play_gym),
    "gym against rollout": (lambda: begun(DouDizhuEnv(opponents="rollout:iterations=8")), play_gym),
    "vector": (lambda: begun(DouDizhuVectorEnv(5)), play_vector),
    "vector, same step": (lambda: begun(DouDizhuVectorEnv(5, autoreset_mode="SameStep")), play_vector),
    "vector against policy": (lambda: begun(DouDizhuVectorEnv(3, opponents="policy")), play_vector),
    "batch": (lambda: SelfPlayBatch(9, seed=3, threads=1, concealed=True), play_batch),
}


@pytest.mark.parametrize("name", THINGS)
def test_games_in_memory_that_cannot_be_written_go_on(name: str) -> None:
    make, play = THINGS[name]
    thing = make()
    assert all(array.flags.writeable for array in arrays(sent(thing)))
    np.testing.assert_equal(play(sent(thing)), play(copy.deepcopy(thing)))


def arrays(thing: Any, seen: set[int] | None = None) -> Iterator[np.ndarray]:
    """All arrays in a thing, through tuples, dicts and our own objects."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    parts: list[Any] = []
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, (tuple, list, set, frozenset)):
        parts = list(thing)
    elif isinstance(thing, dict):
        parts = list(thing.values())
    elif type(thing).__module__.split(".")[0] in ("ddz_env", "ddz_agents"):
        names = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
        parts = [*getattr(thing, "__dict__", {}).values(), *(getattr(thing, name, None) for name in names)]
    for part in parts:
        yield from arrays(part, seen)


SMALL = dict.fromkeys(
    ["isuct", "isuct-redetermined", "isuct-moves", "duct", "cheating-uct", "rollout", "payoff-search"], ":iterations=8"
)
SMALL |= {"neural-ismcts": ":iterations=8", "solver": ":megabytes=1", "determinized-solver": ":worlds=2"}
WITHOUT_ARRAYS = {"botzone": "it is a program", "douzero": "its weights, which do not ship, are PyTorch's tensors"}
ACTING = ("rules", "isuct", "rollout", "payoff", "policy", "neural-ismcts")


@pytest.mark.parametrize("name", agent_names())
def test_agents_own_their_arrays_and_decide_alike(name: str) -> None:
    if name in WITHOUT_ARRAYS:
        pytest.skip(WITHOUT_ARRAYS[name])
    if name == "rlcard-rule":
        pytest.importorskip("rlcard")
    agent = make_agent(name + SMALL.get(name, ""))
    assert isinstance(agent, Agent)
    assert agent.name
    view = State.new(1).view()
    if name in ACTING:
        agent.act(view, np.random.default_rng(0))  # some make their arrays then
    received = sent(agent)
    players = [received, received.batched(2, Rules.preset("standard"))] if hasattr(agent, "batched") else [received]
    locked = [array.shape for player in players for array in arrays(player) if not array.flags.writeable]
    assert not locked
    if name in ACTING:
        assert received.act(sent(view), np.random.default_rng(5)) == agent.act(view, np.random.default_rng(5))


def test_what_was_one_array_stays_one_and_what_can_be_written_is_not_copied() -> None:
    locked, free = np.zeros(3), np.zeros(3)
    locked.flags.writeable = False
    found = own({"a": locked, "b": (locked, free), "c": [1]})
    assert found["a"] is found["b"][0]
    assert found["a"].flags.writeable
    assert found["b"][1] is free
    same = {"a": (free, [free])}
    assert own(same) is same
