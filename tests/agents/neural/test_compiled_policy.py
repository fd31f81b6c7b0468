"""The compiled evaluator: without PyTorch, and row by row the same in any batch and on any thread."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.compiled_policy import CompiledPolicy
from ddz_agents.neural.errors import InvalidPolicyInputError
from ddz_agents.neural.model import Bytes, PolicyModel
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.weights import load_weights
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
    return CompiledPolicy(load_weights(shipped_policy_path()))


def test_a_row_is_answered_alike_whatever_stands_beside_it(shipped: CompiledPolicy) -> None:
    """To the bit: alone, in any place of any batch, and on several threads."""
    observations, masks, concealed = decisions("standard", 60)
    logs, values = shipped.evaluate(observations, masks)
    games = shipped.value_of_games(observations, masks, concealed)
    shared = CompiledPolicy(load_weights(shipped_policy_path()), threads=3)
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
    stored = load_weights(shipped_policy_path())
    alone = CompiledPolicy(type(stored)(**vars(stored) | {"critic": None}))
    with pytest.raises(InvalidPolicyInputError, match="hold no critic"):
        alone.value_of_games(observations, masks, concealed)


def said_without(packages: tuple[str, ...], program: str, folder: Path) -> list[str]:
    """What a program prints where these packages are not installed."""
    hidden = f"import sys\nsys.modules.update(dict.fromkeys({packages}))\n"
    done = subprocess.run(
        [sys.executable, "-c", hidden + program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": pythonpath()},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


CORE_ALONE = """
import numpy as np
from ddz_env import State
from ddz_env.playing.game import play_game, seat_generators
from ddz_env.playing.registry import make_agent
game = play_game(State.new(5), [make_agent('policy')] * 3, seat_generators([5, 0], 3))
print(*game.history, sep=';')
from ddz_agents.neural_search.leaves import leaf_kind
search = make_agent('neural-ismcts:iterations=40,particles=16,trees=2')
print(leaf_kind(search.model), search.act(State.new(5).view(), np.random.default_rng(0)) in State.new(5).legal_moves())
from ddz_training.apps.cli import app
app(['arena', 'policy', 'random', '--deals', '2', '--processes', '1'])
"""


def test_it_plays_and_searches_where_nothing_but_the_core_is_installed(tmp_path: Path, shipped: CompiledPolicy) -> None:
    """The same game as here, a search, and the arena by its command."""
    extras = ("torch", "safetensors", "onnx", "onnxruntime", "stable_baselines3")
    game, search, *table = said_without(extras, CORE_ALONE, tmp_path)
    here = play_game(State.new(5), [ModelAgent(shipped)] * 3, seat_generators([5, 0], 3))
    assert game == ";".join(map(str, here.history))
    assert search == "critic True"
    assert any("policy" in line for line in table)
