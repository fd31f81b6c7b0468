"""Playing leaves on by the policy before they are valued."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.neural.model import Floats, PolicyModel
from ddz_agents.neural.network import NetworkPolicy
from ddz_agents.neural_search.agent import ModelSearchAgent
from ddz_agents.neural_search.descent import Descents, new_descents
from ddz_agents.neural_search.leaves import Evaluator, play_on
from ddz_env import State
from ddz_env.core.observation import action_mask, observe
from tests.agents.neural.test_neural_network import concealed_of, small_networks


def waiting(states: list[State]) -> Descents:
    """Games that wait for a decision, as a search leaves them."""
    games = new_descents(len(states))
    for place, state in enumerate(states):
        games.rows[place], games.rings[place], games.waits[place] = state.row, state.ring, 1
        games.observations[place].view(np.int8)[:] = observe(state)
        games.masks[place].view(np.int8)[:] = action_mask(state)
        games.concealed[place].view(np.int8)[:] = concealed_of(state)
    return games


def valued(model: NetworkPolicy, games: Descents) -> Floats:
    """The critic's values of the games for the seats to act."""
    return model.value_of_games(*(array.view(np.int8) for array in (games.observations, games.masks, games.concealed)))


def undecided(count: int, rules: str = "standard") -> list[State]:
    """Games in which somebody has a choice, from the first move to the last ones."""
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


def side(state: State, seat: int) -> int:
    return 1 if seat == state.view(seat).landlord else -1


def played_on(state: State, model: NetworkPolicy, decisions: int) -> float:
    """The value, move by move: what is forced is played, what is not is decided by the policy."""
    state, first = state.copy(), state.seat
    while not state.is_over:
        legal = state.legal_actions()
        if len(legal) == 1:
            state.step_action(legal[0])
            continue
        if decisions == 0:
            break
        decisions -= 1
        logs, _ = model.evaluate(observe(state)[None], action_mask(state)[None])
        state.step_action(int(logs[0].argmax()))
    if state.is_over:
        return float(np.sign(state.returns("win")[first]))
    seen = observe(state)[None], action_mask(state)[None], concealed_of(state)[None]
    return float(model.value_of_games(*seen)[0]) * side(state, first) * side(state, state.seat)


@pytest.mark.parametrize("rules", ["standard", "mini", "bidding"])
@pytest.mark.parametrize("decisions", [1, 4, 1000])
def test_the_policy_plays_on_as_it_would_at_the_table(decisions: int, rules: str) -> None:
    model, states = NetworkPolicy(*small_networks()), undecided(40, rules)
    games = waiting(states)
    logs, _ = model.evaluate(games.observations.view(np.int8), games.masks.view(np.int8))
    played = play_on(model, games, logs, decisions, states[0].rule_words)
    found = played.values
    assert (len(played.places) > 0) == (decisions < 1000)
    if len(played.places):
        found[played.places] = np.where(played.same_side, 1, -1) * valued(model, played.descents)
    expected = [played_on(state, model, decisions) for state in states]
    assert found == pytest.approx(expected, abs=1e-4)
    assert (decisions == 1000) == bool((np.abs(found) == 1).all())


def test_a_search_plays_its_leaves_on() -> None:
    """To the end, leaves are won or lost; the prior is the same, and so is the search with nothing played on."""
    model, states = NetworkPolicy(*small_networks()), undecided(20)
    rules = states[0].rule_words
    now, later = (Evaluator(model, "critic", 1.0, ahead).leaves(waiting(states), rules) for ahead in (0, 1000))
    assert now[0].tobytes() == later[0].tobytes()
    assert now[1].tobytes() == valued(model, waiting(states)).tobytes()
    assert (np.abs(later[1]) == 1).all()
    assert (np.abs(now[1]) < 1).all()


def test_the_root_is_not_played_on() -> None:
    """It is a view: nobody knows what others would play.  The first wave is of two candidates."""

    class Watched(NetworkPolicy):
        def evaluate(self, observations: np.ndarray, masks: np.ndarray) -> tuple[Floats, Floats]:
            asked.append(len(masks))
            return super().evaluate(observations, masks)

    asked = list[int]()
    model: PolicyModel = Watched(*small_networks())
    agent = ModelSearchAgent(model, 1, trees=1, candidates=2, ahead=3, particles=0, settled=1.0)
    agent.act(State.new(3).view(), np.random.default_rng(0))
    assert asked[:2] == [1, 2]
    assert len(asked) > 3  # the leaves are played on
