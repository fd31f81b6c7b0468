"""The textbook family: depth-limited minimax and alpha-beta, and expectiminimax over sampled deals."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from ddz_agents.rules.decomposition import price_of_hand
from ddz_agents.rules.position import POSITION_WEIGHTS, evaluate_position, new_evaluation_workspace, set_position_prices
from ddz_agents.rules.prices import set_prices
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.rules.workspace import A_ENEMY_CARDS, A_POOL, new_rule_workspace, read_public_state
from ddz_agents.search_agent import Position
from ddz_env import Hand, Move, Rules, State
from ddz_env.core.engine.layout import OWNER, SEAT
from ddz_env.core.engine.legal import write_legal_mask
from ddz_env.playing.agent import agent_input
from ddz_env.playing.registry import make_agent
from ddz_env.support.compiling import pure_kernel
from ddz_papers.textbook_search import search
from ddz_papers.textbook_search.agent import CheatingAlphaBetaAgent, ExpectiminimaxAgent
from ddz_papers.textbook_search.candidates import SearchMemory, push_moves
from tests.agents.rules.test_rule_agent import position
from tests.packages import ROOT
from tests.papers.determinization_2011.test_exact import after

RNG = np.random.default_rng(0)
PAGE = ROOT / "docs" / "explanations" / "textbook.md"


def endgames(count: int, sizes: Sequence[int], seed: int = 1, preset: str = "standard") -> Iterator[State]:
    """Random endgames of few ranks, so that trios and bombs are common; every other card has been played."""
    rng, rules = np.random.default_rng(seed), Rules.preset(preset)
    for _ in range(count):
        ranks = rng.choice(np.flatnonzero(rules.deck), 6, replace=False)
        cards = rng.permutation([rank for rank in ranks for _ in range(rules.deck[rank])])
        ends = np.cumsum(sizes)
        hands = [np.bincount(cards[end - size : end], minlength=15) for end, size in zip(ends, sizes, strict=True)]
        yield position([Hand(tuple(map(int, hand))) for hand in hands], preset)


def decide(state: State, **options: Any) -> tuple[CheatingAlphaBetaAgent, dict[int, float]]:
    agent = CheatingAlphaBetaAgent(**options)
    return agent, dict(agent.decide(state, RNG).values)


@pure_kernel
def push(space: SearchMemory, row: np.ndarray) -> None:
    for word in range(row.size):
        space.stack.rows[0, word] = row[word]
    space.stack.frames[0].first = 0
    write_legal_mask(row, space.stack.rules, space.mask)
    push_moves(space, 0)


def looked_at(space: SearchMemory, state: State) -> list[Move]:
    """The moves that the search tries, the prices being those of the decision."""
    push(space, state.row)
    stop = int(space.stack.frames[0]["stop"])
    pairs = zip(space.stack.mains[:stop].tolist(), space.stack.kickers[:stop].tolist(), strict=True)
    return [Move.from_words(main, kickers) for main, kickers in pairs]


def landlord_wins(space: SearchMemory, state: State) -> bool:
    """Best play of both sides among these moves; a move that ends the game is never left out."""
    if state.is_over:
        return state.winner == 0
    landlord, hand = state.role() == "landlord", state.hand()
    if any(move.cards == hand for move in state.legal_moves()):
        return landlord
    results = (landlord_wins(space, after(state, move)) for move in looked_at(space, state))
    return any(results) if landlord else all(results)


@pytest.mark.parametrize(("preset", "sizes"), [("standard", (4, 4, 3)), ("rlcard", (4, 4, 3)), ("mini", (5, 4))])
def test_with_depth_enough_every_move_is_valued_exactly(preset: str, sizes: Sequence[int]) -> None:
    space = search.new_search_memory(Rules.preset(preset).words(), POSITION_WEIGHTS)
    roles, worth = set[str | None](), set[float]()
    for state in endgames(16, sizes, 2, preset):
        for _ in range(3):  # the landlord's decision, and then the peasants'
            if state.is_over or len(state.legal_moves()) == 1:
                break
            agent, values = decide(state, depth=40)
            if values:  # no move ends the game at once
                set_position_prices(state.row, state.rule_words, space.appraiser, WEIGHTS)
                landlord, expected = state.role() == "landlord", dict.fromkeys(values, 0.0)
                for main, kickers in zip(*agent._list_moves(Position.of(state)), strict=True):
                    move = Move.from_words(int(main), int(kickers))
                    wins = landlord_wins(space, after(state, move)) == landlord
                    expected[move.main] = max(expected[move.main], float(wins))
                assert values == expected
                roles.add(state.role())
                worth.update(values.values())
            state.step(state.legal_moves()[-1])
    assert "landlord" in roles
    assert worth == {0.0, 1.0}


def test_replies_are_all_main_groups_and_leads_those_of_a_split() -> None:
    space, leads = search.new_search_memory(Rules.preset("standard").words(), POSITION_WEIGHTS), 0
    for state in endgames(40, (9, 8, 8), 7):
        for _ in range(4):
            if state.is_over:
                break
            set_position_prices(state.row, state.rule_words, space.appraiser, WEIGHTS)
            moves, legal = looked_at(space, state), state.legal_moves()
            assert len(moves) == len(set(moves))
            assert set(moves) <= set(legal)
            if state.view().on_lead:
                leads += len({move.main for move in moves}) < len({move.main for move in legal})
                counts = np.sum([move.cards.counts for move in moves], axis=0)
                assert (counts >= np.array(state.hand().counts)).all(), "every card is in a move of the split"
            else:
                assert {move.main for move in moves} == {move.main for move in legal}
            state.step(legal[-1])
    assert leads > 10


@pytest.mark.parametrize("depth", [1, 2, 6])
def test_pruning_and_the_table_change_no_value(depth: int) -> None:
    nodes = np.zeros(3, int)
    for state in endgames(10, (9, 8, 8), 3):
        switched: list[dict[str, Any]] = [{}, {"table": False}, {"pruning": False, "table": False}]
        searches = [decide(state, depth=depth, **options) for options in switched]
        assert searches[0][1] == searches[1][1] == searches[2][1]
        nodes += [agent.nodes for agent, _ in searches]
    assert depth < 6 or nodes[0] < nodes[1] < nodes[2]


def drawn(agent: ExpectiminimaxAgent, sizes: Sequence[int]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Deals of decisions, and the moves and the depth."""
    for state in endgames(8, sizes, 9):
        decision = Position.of(state.view())
        agent._get_memory(decision)
        deals = agent._draw_worlds(state.view(), decision, np.random.default_rng(0))
        yield deals, (*agent._list_moves(decision), agent.options.depth)


def test_the_next_move_is_one_for_all_deals_in_which_the_others_answer_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, less = ExpectiminimaxAgent(depth=4, worlds=8), 0
    answers, number = agent._play_to_next_turn, itertools.count()
    for deals, given in drawn(agent, (9, 8, 8)):
        values = agent._average_moves(deals, *given)
        with monkeypatch.context() as patch:  # no answers come twice, as if the seat saw the deal at its next move
            patch.setattr(agent, "_play_to_next_turn", lambda *played: (answers(*played), next(number)))
            seeing = agent._average_moves(deals, *given)
        assert (values <= seeing + 1e-9).all()
        less += (values < seeing - 1e-9).any()
    assert less > 4


def test_the_clock_keeps_the_deepest_search_that_was_completed_and_stops_at_the_end_of_a_game() -> None:
    timed, values = decide(State.new(6), milliseconds=20.0)
    assert timed.depth >= 1
    assert values == decide(State.new(6), depth=timed.depth)[1]
    timed, values = decide(position(["3346", "559", "778A"]), milliseconds=60_000.0)
    assert timed.depth < 40
    assert set(values.values()) <= {0.0, 1.0}


def test_the_evaluation_likes_controls_bombs_few_tricks_and_the_lead_and_is_the_rule_agents() -> None:
    def worth(landlord: str, seat: int = 0) -> float:
        state = position([landlord, "88999TTB", "55667JJJ"])
        state.row[SEAT] = state.row[OWNER] = seat
        set_position_prices(state.row, state.rule_words, appraiser, WEIGHTS)
        return float(evaluate_position(state.row, state.rule_words, appraiser, POSITION_WEIGHTS))

    state, workspace, appraiser = State.new(3), new_rule_workspace(), new_evaluation_workspace()
    assert worth("334467QA") < worth("334467QR")  # a control
    assert worth("33344678") < worth("33334678")  # a bomb
    assert worth("3457889J") < worth("3456789J")  # a chain
    assert worth("334467QA", seat=1) < worth("334467QA")  # the lead
    read_public_state(state.row, state.rule_words, workspace)
    set_prices(workspace.about[A_POOL], workspace.about[A_ENEMY_CARDS], state.rule_words, WEIGHTS, workspace)
    # What the landlord cannot see the peasants hold.
    set_position_prices(state.row, state.rule_words, appraiser, WEIGHTS)
    hand = state.row[0]
    assert price_of_hand(hand, workspace) == price_of_hand(hand, appraiser.landlord)


def test_the_position_of_the_page_is_decided_as_it_says() -> None:
    rows = re.findall(r"^\| .* \| `([\w-]+:[^`]*)` \| (\w+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 9
    for spec, move in rows:
        agent, state = make_agent(spec), position(["566JJ", "45JQ", "699Q"])
        assert str(agent.act(agent_input(agent, state), np.random.default_rng(1))) == move
