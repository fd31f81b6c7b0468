"""Leaves that the policy plays on, answers kept, likely whole moves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from ddz_agents.neural.model import Bytes, Floats, PolicyModel
from ddz_agents.neural_search.leaf_games import LeafBatch, LeafGames, new_games
from ddz_agents.neural_search.model_cache import CachedModel
from ddz_agents.neural_search.priors import PolicyPrior
from ddz_agents.neural_search.values import PolicyValue
from ddz_agents.neural_search.win_probability import likely_moves
from ddz_env import State
from ddz_env.core.observation import action_mask, observe
from tests.agents.neural.test_networks import concealed_of, small_networks
from tests.agents.neural_search.test_neural_search import Prefers, Uniform, after
from tests.oracles.network_policy import NetworkPolicy


def waiting(states: list[State]) -> LeafGames:
    games = new_games(len(states))
    for index, state in enumerate(states):
        games.rows[index], games.rings[index], games.waits[index] = state.row, state.ring, 1
        games.observations[index].view(np.int8)[:] = observe(state)
        games.masks[index].view(np.int8)[:] = action_mask(state)
        games.concealed[index].view(np.int8)[:] = concealed_of(state)
    return games


def valued(model: NetworkPolicy, games: LeafGames) -> Floats:
    return model.value_of_games(*(array.view(np.int8) for array in (games.observations, games.masks, games.concealed)))


def undecided(count: int, rules: str = "standard") -> list[State]:
    """SearchGames in which somebody has a choice, from the first move to the last ones."""
    rng, found = np.random.default_rng(2), list[State]()
    for game in range(count):
        state, moves = State.new(game, rules), int(rng.integers(0, 40))
        best = state.copy()
        for _ in range(moves):
            if state.is_over:
                break
            if len(state.legal_actions()) > 1:
                best = state.copy()
            state.step_action(int(rng.choice(state.legal_actions())))
        found.append(best)
    return found


def played_on(state: State, model: PolicyModel, decisions: int) -> State:
    """The game played on, move by move: what is forced, and by the policy."""
    game = state.copy()
    while not game.is_over:
        actions: Sequence[int] = game.legal_actions()
        if len(actions) > 1:
            if decisions == 0:
                break
            decisions -= 1
            logs, _ = model.evaluate(observe(game)[None], action_mask(game)[None])
            actions = [int(logs[0].argmax())]
        for action in actions:
            game.step_action(action)
    return game


def value(game: State, model: NetworkPolicy, first: int) -> float:
    """What a game that was played on is worth to a seat: its outcome, or the critic's value of the seat to act."""
    if game.is_over:
        return float(np.sign(game.returns("win")[first]))
    same_side = (first == game.view().landlord) == (game.seat == game.view().landlord)
    return float(valued(model, waiting([game]))[0]) * (1 if same_side else -1)


@pytest.mark.parametrize("rules", ["standard", "mini", "bidding"])
@pytest.mark.parametrize("decisions", [1, 4, 1000])
def test_the_policy_plays_leaves_on_as_it_would_at_the_table(decisions: int, rules: str) -> None:
    """And then the critic values them; to the end, leaves are won or lost."""
    model, states = NetworkPolicy(*small_networks()), undecided(40, rules)
    games = waiting(states)
    leaves = LeafBatch(games, states[0].rules)
    seen = np.stack([observe(state) for state in states]), np.stack([action_mask(state) for state in states])
    assert PolicyPrior(model)(leaves).tobytes() == model.evaluate(*seen)[0].tobytes()
    values = PolicyValue(model, "critic", decisions)(leaves, np.random.default_rng(0))
    assert games.waits.any() == (decisions < 1000)
    expected = [value(played_on(state, model, decisions), model, state.seat) for state in states]
    assert values == pytest.approx(expected, abs=1e-4)
    assert (decisions == 1000) == bool((np.abs(values) == 1).all())


class Counted(Uniform):
    """A policy and a critic that record every row they evaluate, and answer by its content."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[bytes] = []

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        self.rows += [row.tobytes() for row in observations]
        logs, _ = super().evaluate(observations, masks)
        return logs, observations.sum(axis=1, dtype=np.float32)

    def value_of_games(self, observations: Bytes, masks: Bytes, concealed: Bytes) -> Floats:
        self.rows += [row.tobytes() for row in np.concatenate([observations, concealed], axis=1)]
        return observations.sum(axis=1, dtype=np.float32) + 100 * concealed.sum(axis=1, dtype=np.float32)


def positions(count: int) -> tuple[Bytes, Bytes, Bytes]:
    rng, states = np.random.default_rng(0), [after(State.new(game), 3 * game) for game in range(count)]
    drawn = [states[int(rng.integers(count))] for _ in range(3 * count)]
    concealed = rng.integers(0, 2, (len(drawn), 80)).astype(np.int8)
    return np.stack([observe(one) for one in drawn]), np.stack([action_mask(one) for one in drawn]), concealed


def test_a_position_is_asked_about_once_until_all_is_forgotten() -> None:
    plain, model = Counted(), Counted()
    cached, (observations, masks, concealed) = CachedModel(model), positions(12)
    for _ in range(2):
        for part in (slice(0, 20), slice(10, 36)):
            given = observations[part], masks[part]
            for found, expected in zip(cached.evaluate(*given), plain.evaluate(*given), strict=True):
                assert found.tobytes() == expected.tobytes()
    assert len(model.rows) == len(set(model.rows)) == len(set(plain.rows)) < len(plain.rows) / 2
    cached.forget()
    cached.evaluate(observations, masks)
    assert len(model.rows) == 2 * len(set(model.rows))
    games = observations, masks, concealed
    assert cached.value_of_games(*games).tobytes() == plain.value_of_games(*games).tobytes()
    asked = len(model.rows)
    cached.value_of_games(*games)
    assert len(model.rows) == asked


def test_the_likeliest_whole_moves_are_found() -> None:
    """Where the beam holds every move, the probabilities are those of all stages and add up to one."""
    state = State.from_hands(["33345689", "44556677", "8899TTJJ"], check_sizes=False)
    model = Prefers({7, 20, 100, 365}, 5.0)
    lines = likely_moves(model, state.view(), 400)
    assert {line.move for line in lines} == set(state.legal_moves())
    assert sum(math.exp(line.log_prior) for line in lines) == pytest.approx(1.0, abs=1e-4)
    assert all(one.log_prior >= other.log_prior for one, other in itertools.pairwise(lines))
    line = next(line for line in lines if line.move.kickers)
    total, game = 0.0, state.copy()
    for action in line.actions:
        logs, _ = model.evaluate(observe(game)[None], action_mask(game)[None])
        total += float(logs[0, action])
        game.step_action(action)
    assert line.log_prior == pytest.approx(total, abs=1e-5)
    assert [line.move for line in likely_moves(model, state.view(), 3)] == [line.move for line in lines[:3]]
