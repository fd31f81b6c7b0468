"""The agent that plays by a policy: whole legal moves, each stage from the position that it is in."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ddz_agents.neural.agent import ModelAgent, PolicyAgent, choose_actions
from ddz_agents.neural.errors import MissingSb3Error, TensorFileError
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.weights import Weights, load_weights, save_weights
from ddz_env import PRESETS, Move, State, View
from ddz_env.core.observation import action_mask, observe
from ddz_env.playing.game import make_seat_generators, play_game
from ddz_env.playing.many import WaitingGames
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import IllegalMoveError, InvalidAgentOptionError, InvalidOptionError
from tests.agents.neural.test_networks import positions, small_networks
from tests.agents.neural_search.test_neural_search import Uniform
from tests.oracles.network_policy import NetworkPolicy


@pytest.fixture(scope="module")
def model() -> NetworkPolicy:
    return NetworkPolicy(*small_networks())


class Recorder(Uniform):
    """A uniform policy that records what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[bytes, bytes]] = []

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        self.asked += [(o.tobytes(), m.tobytes()) for o, m in zip(observations, masks, strict=True)]
        return super().evaluate(observations, masks)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_move_is_legal(preset: str, temperature: float, model: NetworkPolicy) -> None:
    players = PRESETS[preset].players
    for seed in range(3):
        agents = [ModelAgent(model, temperature)] * players
        assert play_game(State.new(seed, preset), agents, make_seat_generators([seed, 0], players)).is_over


def test_each_stage_is_decided_from_the_position_of_that_stage() -> None:
    """The agent moves a private copy of its view on; what the model sees is what the real game would show."""
    recorder = Recorder()
    agent = ModelAgent(recorder, temperature=1.0)
    rng, stages = np.random.default_rng(0), 0
    for seed in range(8):
        state = State.new(seed, "rlcard")
        while not state.is_over:
            recorder.asked.clear()
            move = agent.act(state.view(), rng)
            asked = []
            for action in move.actions:
                if len(state.legal_actions()) > 1:
                    asked.append((observe(state).tobytes(), action_mask(state).tobytes()))
                state.step_action(action)
            assert recorder.asked == asked  # a single legal action needs no call
            stages += len(asked) > 1
    assert stages > 10


def test_a_batch_of_games_gets_the_moves_of_its_games(model: NetworkPolicy) -> None:
    views = [state.view() for state in positions("rlcard", 2) if state.stage == "play"]
    check_batches(ModelAgent(model, temperature=1.0), views)


@pytest.mark.parametrize(("preset", "temperature", "games"), [("standard", 0.0, 40), ("bidding", 1.0, 20)])
def test_compiled_moves_are_those_of_batches(preset: str, temperature: float, games: int) -> None:
    states = [state for seed in range(games) for state in positions(preset, 1, seed)]
    views = [state.view() for state in states if state.stage not in ("over", "kicker")]
    assert len(views) > 33 * games
    check_batches(make_agent(f"policy:temperature={temperature}"), views)


def check_batches(agent: Any, views: list[View]) -> None:
    """In a batch and alone an agent makes the same moves with the same draws, some of them with kickers."""
    together, alone = ([np.random.default_rng(i) for i in range(len(views))] for _ in range(2))
    moves = [Move.from_words(*move) for move in agent.act_many(WaitingGames.from_views(views, together)).tolist()]
    assert moves == [agent.act(view, rng) for view, rng in zip(views, alone, strict=True)]
    assert [rng.random() for rng in together] == [rng.random() for rng in alone]
    assert any(move.kickers for move in moves)


def test_temperature_zero_is_greedy_one_follows_the_probabilities_and_a_half_sharpens_them() -> None:
    probabilities = np.array([0.0, 0.6, 0.0, 0.3, 0.1])
    with np.errstate(divide="ignore"):
        rows = np.tile(np.log(probabilities), (20000, 1)).astype(np.float32)
    rngs = [np.random.default_rng(0)] * len(rows)
    assert (choose_actions(rows, 0.0, rngs) == 1).all()
    for temperature in (1.0, 0.5):
        expected = probabilities ** (1 / temperature)
        shares = np.bincount(choose_actions(rows, temperature, rngs), minlength=5) / len(rows)
        assert (np.abs(shares - expected / expected.sum()) < 0.015).all()
        assert (shares[probabilities == 0] == 0).all()
    assert (choose_actions(rows, 1e-310, rngs) == 1).all()


def test_agents_are_made_by_name_from_a_file_or_from_the_shipped_one(tmp_path: Path, model: NetworkPolicy) -> None:
    path = tmp_path / "mine.safetensors"
    save_weights(path, Weights.of(model.network))
    agent = make_agent(f"policy:path={path},temperature=0.5")
    assert isinstance(agent, PolicyAgent)
    assert agent.temperature == 0.5
    shipped = NetworkPolicy(*load_weights(shipped_policy_path()).networks())
    named, unnamed, differs = make_agent(f"policy:path={path}"), make_agent("policy"), 0
    for state in positions("standard", 2):
        if state.stage == "play":
            here, there, *given = (
                agent.act(state.view(), np.random.default_rng(0))
                for agent in (named, unnamed, ModelAgent(model), ModelAgent(shipped))
            )
            assert [here, there] == given
            differs += here != there
    assert differs


def test_what_cannot_play_has_a_named_error(
    tmp_path: Path, model: NetworkPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (tmp_path / "nothing", 5):  # which looks like a number
        with pytest.raises(TensorFileError, match=f"{path}: there is no such file"):
            make_agent(f"policy:path={path}")
    huge = {name: np.full_like(array, 3e38) for name, array in Weights.of(model.network).policy.items()}
    save_weights(tmp_path / "huge.safetensors", replace(Weights.of(model.network), policy=huge))
    with pytest.raises(TensorFileError, match=r"huge\.safetensors computes numbers that are not finite"):
        make_agent(f"policy:path={tmp_path / 'huge.safetensors'}")
    with (tmp_path / "sparse.safetensors").open("wb") as file:
        file.truncate(40 * 2**30)
    with pytest.raises(TensorFileError, match=r"holds 40\.0 GiB"):
        make_agent(f"policy:path={tmp_path / 'sparse.safetensors'}")
    with pytest.raises(InvalidOptionError, match="threads="):
        make_agent("policy:threads=0")
    for temperature in (-1, float("nan")):
        with pytest.raises(InvalidAgentOptionError, match="temperature="):
            ModelAgent(Recorder(), temperature)  # type: ignore[arg-type]
    with pytest.raises(IllegalMoveError, match="seat 1 has nothing to decide"):
        ModelAgent(model).act(State.new(1).view(1), np.random.default_rng(0))
    monkeypatch.setitem(sys.modules, "ddz_agents.neural.sb3_policy", None)
    with pytest.raises(MissingSb3Error, match=r"pip install -e '\.\[train\]'"):
        PolicyAgent(tmp_path / "policy.zip", trust_file=True)
