"""Every agent: legal moves under every preset, the same game from the same seed, and eyes for the view only."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.random import RandomAgent, RandomStagedAgent
from ddz_agents.rules.agent import RulesAgent
from ddz_agents.rules.rules import rules_move
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.rules.workspace import new_rule_workspace
from ddz_env import PRESETS, Move, State, View
from ddz_env.core.engine.layout import HISTORY_MOVES
from ddz_env.playing.agent import Agent, StagedAdapter, agent_input, close_agent, is_cheating
from ddz_env.playing.game import make_seat_generators, play_game
from ddz_env.playing.many import WaitingGames, request_moves
from ddz_env.support.errors import DouDizhuError, IllegalMoveError

AGENTS = [RandomAgent, RandomStagedAgent, RulesAgent]


def _game(agents: list[Agent], preset: str, seed: int) -> State:
    state = State.new(seed, preset)
    return play_game(state, agents[: state.rules.players], make_seat_generators([seed, 0], state.rules.players))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("factory", AGENTS)
def test_every_move_is_legal_and_the_same_seed_gives_the_same_game(factory: type, preset: str) -> None:
    for seed in range(12):
        others: list[Agent] = [RandomAgent(), RulesAgent()] if seed % 3 == 0 else [factory(), factory()]
        assert _game([factory(), *others], preset, seed).is_over
    assert _game([factory()] * 3, preset, 5) == _game([factory()] * 3, preset, 5)


def test_random_is_uniform_over_whole_moves_and_staged_over_stages() -> None:
    state = State.from_hands(["33345678", "9", "T"], check_sizes=False)
    moves = state.legal_moves()
    rng = np.random.default_rng(0)
    whole = [RandomAgent().act(state.view(), rng) for _ in range(4000)]
    with_kicker = sum(move.category == "trio+solo" for move in moves) / len(moves)
    assert sum(move.category == "trio+solo" for move in whole) / 4000 == pytest.approx(with_kicker, abs=0.03)
    assert set(whole) == set(moves)
    staged = [RandomStagedAgent().act(state.view(), rng) for _ in range(4000)]
    first = len({move.main for move in moves})
    assert sum(move.category == "trio+solo" for move in staged) / 4000 == pytest.approx(1 / first, abs=0.02)
    assert set(staged) == set(moves)


def test_the_rules_kernel_plays_the_same_on_a_view_and_on_the_full_row() -> None:
    workspace = new_rule_workspace()
    for preset in ("standard", "bidding", "mini", "half-deck"):
        for seed in range(8):
            state = State.new(seed, preset)
            while not state.is_over:
                view = state.view()
                move = rules_move(view.row, state.rule_words, workspace, WEIGHTS)
                assert rules_move(state.row, state.rule_words, workspace, WEIGHTS) == move
                state.step(Move.from_words(int(move[0]), int(move[1])))


class _Spy(RandomAgent):
    def __init__(self, cheating: bool = False) -> None:
        self.cheats = cheating
        self.told: list[object] = []

    def reset(self, seat: int, rules: object) -> None:
        self.told.append(("reset", seat))

    def observe(self, seat: int, move: Move) -> None:
        self.told.append((seat, move))

    def act(self, view: View | State, rng: np.random.Generator) -> Move:
        self.told.append(type(view).__name__)
        return super().act(view if isinstance(view, View) else view.view(), rng)

    def close(self) -> None:
        self.told.append("closed")


def test_optional_methods_are_called_and_only_cheats_see_the_state() -> None:
    honest, cheat = _Spy(), _Spy(cheating=True)
    state = play_game(State.new(3), [honest, cheat, RandomAgent()], make_seat_generators([3, 0], 3))
    assert honest.told[0] == ("reset", 0)
    assert [entry for entry in honest.told if isinstance(entry, tuple)][1:] == list(state.history)
    for spy, kind in ((honest, "View"), (cheat, "State")):
        assert {entry for entry in spy.told if isinstance(entry, str)} == {kind}
    assert [is_cheating(agent) for agent in (cheat, honest, RandomAgent())] == [True, False, False]
    close_agent(honest)
    close_agent(RandomAgent())
    assert honest.told[-1] == "closed"
    with pytest.raises(DouDizhuError, match="3 seats"):
        play_game(State.new(1), [RandomAgent()], make_seat_generators([0, 0], 3))
    fresh = State.new(3)
    seen = agent_input(cheat, fresh)
    assert isinstance(seen, State)
    seen.step(seen.legal_moves()[0])
    assert fresh == State.new(3), "a cheat cannot change the game"


class Alone:
    """Chooses view by view, as the rule agent does."""

    name = "alone"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return RulesAgent().act(view, rng)


@pytest.mark.parametrize("agent", [RulesAgent(), Alone(), RandomAgent()], ids=["many", "one by one", "draws"])
def test_agents_are_asked_in_many_games_as_in_one(agent: Agent) -> None:
    states = [State.new(seed) for seed in range(3)]
    games = WaitingGames(
        np.stack([state.row for state in states]),
        np.zeros((3, HISTORY_MOVES, 2), np.uint64),
        states[0].rules,
        make_seat_generators([0, 0], 3).__getitem__,
    )
    alone = [agent.act(state.view(), rng) for state, rng in zip(states, make_seat_generators([0, 0], 3), strict=True)]
    assert [Move.from_words(*move) for move in request_moves(agent, games).tolist()] == alone


@pytest.mark.parametrize("factory", AGENTS)
def test_a_seat_that_is_not_to_act_has_nothing_to_decide(factory: type) -> None:
    with pytest.raises(IllegalMoveError, match="seat 1 has nothing to decide"):
        factory().act(State.new(1).view(1), np.random.default_rng(0))


def test_the_staged_adapter_refuses_a_move_that_it_did_not_begin() -> None:
    state = State.from_hands(["3334569", "9", "T"], check_sizes=False)
    state.step_action(Move.parse("333+4").main)
    with pytest.raises(IllegalMoveError, match="rules plays whole moves"):
        StagedAdapter(RulesAgent()).next_action(state.view(), np.random.default_rng(0))
