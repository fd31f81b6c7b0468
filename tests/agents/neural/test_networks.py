"""The networks: what they read, what never reaches the policy, and that compiled code answers as they do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.architecture import critic_layers, policy_layers
from ddz_agents.neural.compiled_policy import CompiledPolicy
from ddz_agents.neural.decisions import describe_afterstates, describe_observations
from ddz_agents.neural.errors import InvalidArchitectureError, InvalidPolicyInputError
from ddz_agents.neural.feature_table import observation_columns, policy_inputs
from ddz_agents.neural.features import (
    MOST_LOSERS,
    MOST_MOVES,
    PLANES,
    price_against_pool,
    read_hand_values,
    value_hand,
)
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.model import Bytes, Floats, GameCritic, PolicyModel
from ddz_agents.neural.network import Architecture, Critic, PolicyNetwork, encode_policy_input
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.weights import Weights, load_weights, save_weights
from ddz_agents.rules.workspace import new_rule_workspace
from ddz_env import Rules, State
from ddz_env.core.actions import BID_BASE
from ddz_env.core.cards import counts_to_word
from ddz_env.core.notation import Hand
from ddz_env.core.observation import CONCEALED_WORDS, HISTORY, action_mask, observe, write_concealed
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.playing.game import make_seat_generators, play_game
from tests.hidden import permuted
from tests.oracles import columns_reference as reference
from tests.oracles.network_policy import NetworkPolicy
from tests.packages import pythonpath

SMALL = Architecture(width=32, blocks=1, rest_width=16, rest_features=8, critic_width=32, critic_blocks=1, history=6)


def small_networks(seed: int = 0) -> tuple[PolicyNetwork, Critic]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        policy, critic = PolicyNetwork(SMALL), Critic(SMALL)
        for weight in (*policy.parameters(), *critic.parameters()):
            torch.nn.init.normal_(weight, std=0.3)  # not near zero: every input shows in the output
    return policy, critic


def concealed_of(state: State) -> np.ndarray:
    words = np.empty(CONCEALED_WORDS, np.uint64)
    write_concealed(state.row, state.rule_words, np.uint64(state.seat), words)
    return words.view(np.int8)


def positions(rules: str | Rules, games: int, seed: int = 0) -> list[State]:
    rng, found = np.random.default_rng(seed), []
    for game in range(games):
        state = State.new(seed, rules, game)
        while not state.is_over:
            found.append(state.copy())
            state.step_action(int(rng.choice(state.legal_actions())))
    return found


def shown(states: list[State]) -> tuple[Bytes, Bytes]:
    return np.stack([observe(state) for state in states]), np.stack([action_mask(state) for state in states])


@pytest.mark.parametrize("rules", ["standard", "mini", "half-deck"])
def test_concealed_cards_never_reach_the_policy_but_they_do_reach_the_critic(rules: str) -> None:
    policy, critic = small_networks()
    model, rng = NetworkPolicy(policy, critic), np.random.default_rng(3)
    states = positions(rules, 4)
    twins = [permuted(state, state.seat, rng) for state in states]
    moved = np.array([(concealed_of(a) != concealed_of(b)).any() for a, b in zip(states, twins, strict=True)])
    assert moved.mean() > 0.8
    inputs = [shown(side) for side in (states, twins)]
    (here, here_values), (there, there_values) = (model.evaluate(*side) for side in inputs)
    assert here.tobytes() == there.tobytes()
    assert here_values.tobytes() == there_values.tobytes()
    games = [
        model.value_of_games(*side, np.stack([concealed_of(s) for s in group]))
        for side, group in zip(inputs, (states, twins), strict=True)
    ]
    assert ((games[0] != games[1]) == moved).all()


@pytest.mark.parametrize(
    ("rules", "history"), [("standard", 6), ("rlcard", 15), ("bidding", 0), ("mini", 2), ("perfect", 15)]
)
def test_compiled_columns_are_those_of_the_reference(rules: str, history: int) -> None:
    batch, kickers, checked = SelfPlayBatch(100, rules, seed=3, threads=1), 0, set[str]()
    for step in range(60):
        batch.step(batch.sample_actions())
        if step % 3:
            continue
        seen = describe_observations(batch.observation, history)
        first = 0
        expected = reference.policy_columns(batch.observation, history)
        for name, _, columns in policy_inputs(history).inputs:
            stop = first + len(columns)
            if name in expected:
                np.testing.assert_allclose(seen[:, first:stop], expected[name], rtol=1e-6, err_msg=name)
                checked.add(name)
            first = stop
        assert seen.shape[1] == first == observation_columns(history)
        rows, actions, rests = describe_afterstates(batch.observation, batch.mask)
        left = [reference.hand_left(batch.observation[row], action) for row, action in zip(rows, actions, strict=True)]
        assert (rests[:, :PLANES] == reference.thresholds(np.array(left))).all()
        kickers += int(((actions >= 379) & (actions < 394)).sum())
    assert checked == {entry.name for entry in policy_inputs(history).inputs} - {"prospects", "signs"}
    assert kickers > 0 or rules == "mini"


def test_probabilities_sum_to_one_over_the_legal_actions_and_are_nearly_uniform_before_training() -> None:
    batch = SelfPlayBatch(50, seed=1, threads=1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        untrained = NetworkPolicy(PolicyNetwork(Architecture()))
    log_probabilities, values = untrained.evaluate(batch.observation, batch.mask)
    assert (np.exp(log_probabilities)[batch.mask == 0] == 0).all()
    np.testing.assert_allclose(np.exp(log_probabilities).sum(1), 1, atol=1e-5)
    assert (np.exp(log_probabilities.max(1)) < 1.5 / batch.mask.sum(1)).all()
    assert (np.abs(values) < 0.1).all()


def test_architectures_are_read_as_they_are_written_and_wrong_sizes_have_a_named_error() -> None:
    assert Architecture.from_dict(SMALL.as_dict()) == SMALL
    for wrong in (None, {}, SMALL.as_dict() | {"depth": 3}):
        with pytest.raises(InvalidArchitectureError, match="options"):
            Architecture.from_dict(wrong)
    for name, size in (("width", 0), ("blocks", -1), ("history", 16), ("width", 2.5), ("width", True)):
        with pytest.raises(InvalidArchitectureError, match=name):
            Architecture.from_dict(SMALL.as_dict() | {name: size})


def assert_close(ours: CompiledPolicy, theirs: Any, games: tuple[Bytes, Bytes, Bytes], size: Floats) -> None:
    """Within 1e-5 of the row's largest logit, and the same choice except for ties of that size; the same values."""
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
def test_the_compiled_policy_answers_as_pytorch_does(rules: str) -> None:
    weights = load_weights(shipped_policy_path())
    ours, theirs = CompiledPolicy(weights), NetworkPolicy(*weights.networks())
    observations, masks, concealed = decisions(rules, 60)
    assert len(masks) > 100
    seen = encode_policy_input(observations, masks, weights.architecture.history)
    with torch.inference_mode():
        logits = theirs.network(*seen)[0].numpy()
    size = np.abs(np.where(masks == 1, logits, 0)).max(axis=1)
    assert_close(ours, theirs, (observations, masks, concealed), size)


@pytest.mark.parametrize("sizes", [{}, {"width": 19, "rest_width": 5, "rest_features": 3, "blocks": 0, "history": 0}])
def test_the_compiled_policy_has_networks_of_every_size(sizes: dict[str, int], tmp_path: Path) -> None:
    architecture = Architecture(**(SMALL.as_dict() | {"critic_width": 21, "critic_blocks": 3} | sizes))
    torch.manual_seed(1)
    policy, critic = PolicyNetwork(architecture), Critic(architecture)
    for weight in (*policy.parameters(), *critic.parameters()):
        torch.nn.init.normal_(weight, std=0.1)
    save_weights(tmp_path / "w", Weights.of(policy, critic, objective="stake", values_trained=False))
    ours, theirs = load_policy(tmp_path / "w"), NetworkPolicy(policy, critic)
    assert isinstance(ours, CompiledPolicy)
    assert (ours.objective, ours.leaf) == ("stake", "playout")
    games = decisions("standard", 30)
    assert_close(ours, theirs, games, np.ones(len(games[0]), np.float32))


def test_the_shapes_of_weights_are_those_of_the_networks() -> None:
    for sizes in (Architecture(), Architecture(24, 3, 7, 5, 11, 1, 4), Architecture(blocks=0, critic_blocks=0)):
        for layers, network in ((policy_layers(sizes), PolicyNetwork(sizes)), (critic_layers(sizes), Critic(sizes))):
            assert layers.shapes() == {name: tuple(weight.shape) for name, weight in network.state_dict().items()}


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
    good, mask, concealed = (part[:2] for part in decisions("standard", 6))
    for observations, masks, message in (
        (good[:, :511], mask, r"observations must be int8 of shape \[2, 512\]"),
        (good.astype(np.float32), mask, "observations must be int8"),
        (good, mask[:1], r"masks must be int8 of shape \[2, 400\]"),
        (good, mask * np.array([[1], [0]], np.int8), "row 1 has no legal action"),
    ):
        with pytest.raises(InvalidPolicyInputError, match=message):
            shipped.evaluate(observations, masks)
    with pytest.raises(InvalidPolicyInputError, match="concealed must be int8"):
        shipped.value_of_games(good, mask, concealed[:, :5])
    with pytest.raises(InvalidPolicyInputError, match="hold no critic"):
        CompiledPolicy(Weights.of(small_networks()[0])).value_of_games(good, mask, concealed)


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
from ddz_env.playing.game import play_game, make_seat_generators
from ddz_env.playing.registry import make_agent
game = play_game(State.new(5), [make_agent('policy')] * 3, make_seat_generators([5, 0], 3))
print(*game.history, sep=';')
search = make_agent('neural-ismcts:iterations=40,particles=16,trees=2')
print(search.model.leaf, search.act(State.new(5).view(), np.random.default_rng(0)) in State.new(5).legal_moves())
from ddz_training.cli.app import app
app(['arena', 'policy', 'random', '--deals', '2', '--processes', '1'])
"""


def test_it_plays_and_searches_where_nothing_but_the_core_is_installed(tmp_path: Path, shipped: CompiledPolicy) -> None:
    """The same game as here, a search, and the arena by its command."""
    extras = ("torch", "safetensors", "onnx", "onnxruntime", "stable_baselines3")
    game, search, *table = said_without(extras, CORE_ALONE, tmp_path)
    here = play_game(State.new(5), [ModelAgent(shipped)] * 3, make_seat_generators([5, 0], 3))
    assert game == ";".join(map(str, here.history))
    assert search == "critic True"
    assert any("policy" in line for line in table)


@pytest.mark.parametrize(
    ("sure", "price", "losers", "moves", "share", "steps"),
    [
        (0, 0, 0, 0, 0.25, 0),
        (3, 1, 0, 3, 0.251, 1),  # three moves that nothing beats
        (502, 250, 5, 7, 0.5, 5),
        (2000, 32_000, MOST_LOSERS, MOST_MOVES, 1.0, 12),
        (100, -32_000, 1, 1, 0.0, 0),
    ],
)
def test_an_appraisal_is_a_hundred_a_loser_and_one_any_other_move_and_a_price(
    sure: int, price: int, losers: int, moves: int, share: float, steps: int
) -> None:
    assert read_hand_values(sure, price) == (losers, moves, pytest.approx(share, abs=1e-6), steps)


def prospects(hand: str, pool: str, most: int = 20) -> tuple[int, int, int]:
    """The moves that can be beaten, all moves, and the price."""
    workspace = new_rule_workspace()
    price_against_pool(np.uint64(counts_to_word(Hand.parse(pool).counts)), np.uint64(most), Rules().words(), workspace)
    sure, price = value_hand(np.uint64(counts_to_word(Hand.parse(hand).counts)), workspace)
    return sure // 100, sure // 100 + sure % 100, price


@pytest.mark.parametrize(
    ("hand", "pool", "most", "losers", "moves"),
    [
        ("2", "AAKK", 20, 0, 1),  # nothing beats a two once both jokers are out
        ("2", "AAKKB", 20, 1, 1),
        ("34567", "456789", 5, 1, 1),
        ("34567", "456789", 4, 0, 1),  # a chain longer than any hand of the others
        ("34567", "33KKAA", 20, 0, 1),  # no chain is left to beat it
        ("333444", "555", 20, 0, 1),  # one trio beats no plane
        ("34579", "KKK", 20, 5, 5),
        ("3335", "KKK", 20, 1, 1),  # the five rides along
    ],
)
def test_moves_and_those_that_can_be_beaten_are_counted(
    hand: str, pool: str, most: int, losers: int, moves: int
) -> None:
    assert prospects(hand, pool, most)[:2] == (losers, moves)


def test_better_hands_cost_less() -> None:
    pool = "44556677889TTJJQQKK22"
    prices = [prospects(hand, pool)[2] for hand in ("2222", "AA", "33", "3468")]
    assert prices == sorted(prices)
    assert len(set(prices)) == 4


SIGNS = 2 * 2 * 15
"""The last columns: of the next and the previous seat, on solos and on pairs, each rank."""


def test_who_passes_on_an_enemys_solo_passed_on_all_higher_ones_and_a_partners_says_nothing() -> None:
    state = State.from_hands(["34678899T", "55778JQ", "669TKKA"], check_sizes=False)
    for move in ("4", "8", "pass", "pass"):  # the 8 of the peasant down: the peasant up and the landlord let it pass
        state.step(move)
    signs = [describe_observations(observe(state, seat)[None], 0)[0, -SIGNS:] for seat in (1, 2)]
    from_8_on = [0] * 5 + [1] * 10
    assert np.split(signs[0], 4)[2].tolist() == np.split(signs[1], 4)[0].tolist() == from_8_on
    assert [row.sum() for row in signs] == [10, 10]


def naive_signs(state: State, observer: int) -> np.ndarray:
    """Read the moves one by one, as a person would."""
    found = np.zeros((2, 2, 15), np.float32)
    players, last = state.rules.players, None
    for seat, move in state.history[-HISTORY:]:
        if move.main >= BID_BASE:
            continue
        cards = {rank: count for rank, count in enumerate(move.cards.counts) if count}
        if cards:
            last = seat, cards
        elif last is not None and seat != observer:
            owner, beaten = last
            enemies = "landlord" in (state.role(owner), state.role(seat))
            ((rank, count),) = beaten.items() if len(beaten) == 1 else ((0, 0),)
            if enemies and count in (1, 2):
                found[(seat - observer) % players - 1, count - 1, rank:] = 1
    return found


def passing_positions(rules: Rules, games: int) -> list[State]:
    """Every stage of games in which everybody likes solos, pairs and passing."""
    rng, found = np.random.default_rng(7), list[State]()
    for game in range(games):
        state = State.new(5, rules, game)
        while not state.is_over:
            found.append(state.copy())
            legal = np.array(state.legal_actions())
            weights = np.where(legal == 0, 6.0, np.where(legal < 29, 3.0, 1.0))  # pass, then solos and pairs
            state.step_action(int(rng.choice(legal, p=weights / weights.sum())))
    return found


@pytest.mark.parametrize("rules", ["standard", "bidding", "mini", "half-deck"])
def test_signs_are_what_a_naive_reading_of_the_history_finds(rules: str) -> None:
    preset = Rules.preset(rules)
    states = passing_positions(preset, 60 if rules == "standard" else 15)
    seats = [(state, seat) for state in states for seat in range(preset.players)]
    observations = np.stack([observe(state, seat) for state, seat in seats])
    expected = np.stack([naive_signs(state, seat) for state, seat in seats])
    for history in (0, 2, 15):  # however few moves are shown
        found = describe_observations(observations, history)[:, -SIGNS:]
        assert (found.reshape(expected.shape) == expected).all()
    assert len(seats) > (9000 if rules == "standard" else 300)
    others = expected[:, : preset.players - 1]
    assert others.any(axis=3).mean(axis=0).min() > 0.02  # of each seat, on each kind
    roles = np.array([str(state.role(seat)) for state, seat in seats])
    for role in ("landlord", "peasant_down"):
        assert expected[roles == role].any()
