"""The compiled evaluator: PyTorch's answers without PyTorch, row by row the same in any batch and on any thread."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.compiled_policy import CompiledPolicy
from ddz_agents.neural.errors import InvalidPolicyInputError
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.model import Bytes, Floats, PolicyModel
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.stored_policy import read_policy
from ddz_agents.neural_search.leaves import GameCritic
from ddz_env import State
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.playing.game import play_game, seat_generators
from tests.rooms import pythonpath


def decisions(rules: str, steps: int, seed: int = 0) -> tuple[Bytes, Bytes, Bytes]:
    """Positions of random games with more than one legal action: observations, masks and what is concealed."""
    batch, found = SelfPlayBatch(40, rules, seed=seed, threads=1, concealed=True), []
    for step in range(steps):
        batch.step(batch.sample_actions())
        if step % 5 == 0:
            rows = np.count_nonzero(batch.mask, axis=1) > 1
            found.append((batch.observation[rows].copy(), batch.mask[rows].copy(), batch.concealed[rows].copy()))
    observations, masks, concealed = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return observations, masks, concealed


@pytest.fixture(scope="module")
def shipped() -> CompiledPolicy:
    return CompiledPolicy(read_policy(shipped_policy_path()))


def assert_close(ours: CompiledPolicy, theirs: Any, games: tuple[Bytes, Bytes, Bytes], size: Floats) -> None:
    """Within 1e-5 of the row's largest logit, and the same choice but for ties of that size; the same values."""
    observations, masks, _ = games
    (logs, values), (their_logs, their_values) = (model.evaluate(observations, masks) for model in (ours, theirs))
    np.testing.assert_allclose(values, their_values, rtol=0, atol=1e-5)
    np.testing.assert_allclose(*(model.value_of_games(*games) for model in (ours, theirs)), rtol=0, atol=1e-5)
    assert np.isneginf(logs[masks == 0]).all()
    rows = np.arange(len(masks))
    here, there = (np.where(masks == 1, found, np.float32(-1e9)) for found in (logs, their_logs))
    assert (np.abs(here - there).max(axis=1) <= 1e-5 * np.maximum(size, 1.0)).all()
    behind = there.max(axis=1) - there[rows, here.argmax(axis=1)]
    assert (behind <= 1e-5 * np.maximum(size, 1.0)).all()


@pytest.mark.parametrize("rules", ["standard", "rlcard", "bidding", "mini"])
def test_it_answers_as_pytorch_does(rules: str, shipped: CompiledPolicy) -> None:
    torch = pytest.importorskip("torch")
    from ddz_agents.neural.network import NetworkPolicy, policy_input
    from ddz_agents.neural.weights import load_weights

    weights = load_weights(shipped_policy_path())
    theirs = NetworkPolicy(weights.policy, weights.critic)
    observations, masks, concealed = decisions(rules, 60)
    assert len(masks) > 100
    seen, _ = policy_input(observations, masks, weights.policy.architecture.history)
    with torch.inference_mode():
        logits = weights.policy(*seen)[0].numpy()
    size = np.abs(np.where(masks == 1, logits, 0)).max(axis=1)
    assert_close(shipped, theirs, (observations, masks, concealed), size)


@pytest.mark.parametrize("sizes", [{}, {"width": 19, "rest_width": 5, "rest_features": 3, "blocks": 0, "history": 0}])
def test_networks_of_other_sizes_are_evaluated_too(sizes: dict[str, int], tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from ddz_agents.neural.architecture import Architecture
    from ddz_agents.neural.network import Critic, NetworkPolicy, PolicyNetwork
    from ddz_agents.neural.weights import Weights, save_weights
    from tests.agents.neural.test_neural_network import SMALL

    architecture = Architecture(**(SMALL.as_dict() | {"critic_width": 21, "critic_blocks": 3} | sizes))
    torch.manual_seed(1)
    policy, critic = PolicyNetwork(architecture), Critic(architecture)
    for weight in (*policy.parameters(), *critic.parameters()):
        torch.nn.init.normal_(weight, std=0.1)
    save_weights(tmp_path / "w", Weights(policy, critic, objective="stake", values_trained=False))
    ours, theirs = load_policy(tmp_path / "w"), NetworkPolicy(policy, critic)
    assert isinstance(ours, CompiledPolicy)
    assert (ours.objective, ours.values_trained) == ("stake", False)
    games = decisions("standard", 30)
    assert_close(ours, theirs, games, np.ones(len(games[0]), np.float32))


def test_the_shapes_of_weights_are_those_of_the_networks() -> None:
    pytest.importorskip("torch")
    from ddz_agents.neural.architecture import Architecture, critic_layers, policy_layers
    from ddz_agents.neural.network import Critic, PolicyNetwork
    from ddz_agents.neural.weights import module_shapes

    for sizes in (Architecture(), Architecture(24, 3, 7, 5, 11, 1, 4), Architecture(blocks=0, critic_blocks=0)):
        assert policy_layers(sizes).shapes() == module_shapes(PolicyNetwork(sizes))
        assert critic_layers(sizes).shapes() == module_shapes(Critic(sizes))


def test_a_row_is_answered_alike_whatever_stands_beside_it(shipped: CompiledPolicy) -> None:
    """To the bit: alone, in any place of any batch, and on several threads."""
    observations, masks, concealed = decisions("standard", 60)
    logs, values = shipped.evaluate(observations, masks)
    games = shipped.value_of_games(observations, masks, concealed)
    shared = CompiledPolicy(read_policy(shipped_policy_path()), threads=3)
    turned = shared.evaluate(observations[::-1].copy(), masks[::-1].copy())
    assert turned[0][::-1].tobytes() == logs.tobytes()
    assert turned[1][::-1].tobytes() == values.tobytes()
    assert shared.value_of_games(observations, masks, concealed).tobytes() == games.tobytes()
    for row in range(0, len(masks), 17):
        one = slice(row, row + 1)
        assert shipped.evaluate(observations[one], masks[one])[0].tobytes() == logs[one].tobytes()
        assert shipped.value_of_games(observations[one], masks[one], concealed[one]) == games[row]
    empty = shipped.evaluate(observations[:0], masks[:0])
    assert (empty[0].shape, empty[1].shape) == ((0, 400), (0,))


def test_it_is_a_model_with_a_critic_and_refuses_what_it_cannot_evaluate(shipped: CompiledPolicy) -> None:
    assert isinstance(shipped, PolicyModel)
    assert isinstance(shipped, GameCritic)
    observations, masks, concealed = decisions("standard", 6)
    with pytest.raises(InvalidPolicyInputError, match="row 0 has no legal action"):
        shipped.evaluate(observations, np.zeros_like(masks))
    with pytest.raises(InvalidPolicyInputError, match="concealed must be int8"):
        shipped.value_of_games(observations, masks, concealed[:, :5])
    stored = read_policy(shipped_policy_path())
    alone = CompiledPolicy(type(stored)(**vars(stored) | {"critic": None}))
    with pytest.raises(InvalidPolicyInputError, match="hold no critic"):
        alone.value_of_games(observations, masks, concealed)


def test_it_plays_and_searches_where_nothing_but_the_core_is_installed(tmp_path: Path, shipped: CompiledPolicy) -> None:
    """The same game as here, a search, and the arena by its command."""
    code = (
        "import sys\n"
        "for name in ('torch', 'safetensors', 'onnx', 'onnxruntime', 'stable_baselines3'):\n"
        "    sys.modules[name] = None\n"
        "import numpy as np\n"
        "from ddz_env import State\n"
        "from ddz_env.playing.game import play_game, seat_generators\n"
        "from ddz_env.playing.registry import make_agent\n"
        "game = play_game(State.new(5), [make_agent('policy')] * 3, seat_generators([5, 0], 3))\n"
        "print(*game.history, sep=';')\n"
        "search = make_agent('neural-ismcts:iterations=40,particles=16,trees=2')\n"
        "print(search.leaf, search.act(State.new(5).view(), np.random.default_rng(0)) in State.new(5).legal_moves())\n"
        "from ddz_training.apps.cli import app\n"
        "app(['arena', 'policy', 'random', '--deals', '2', '--processes', '1'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": pythonpath()},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    game, search, *table = done.stdout.splitlines()
    here = play_game(State.new(5), [ModelAgent(shipped)] * 3, seat_generators([5, 0], 3))
    assert game == ";".join(map(str, here.history))
    assert search == "critic True"
    assert any("policy" in line for line in table)
