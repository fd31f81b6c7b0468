"""What the searching agents decide: against exact search on generated endgames, and at the borders."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from ddz_agents.open_cards.information_set import information_set
from ddz_agents.search_agent import check_view
from ddz_agents.tree_search.agent import CheatingUctAgent
from ddz_env import PRESETS, Move, State, View
from ddz_env.core.engine.layout import HANDS, HIDDEN, KNOWN, PLAYED, SIZES
from ddz_env.core.engine.words import add_hand
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import InconsistentViewError
from ddz_papers.determinization_2011.agents import DeterminizedMinimaxAgent, SharedSolvers
from ddz_papers.determinization_2011.minimax import EPSILON, MinimaxSolver
from tests.papers.determinization_2011.test_exact import after, brute_values, endgame

MINI = PRESETS["mini"]


Family = tuple[str, tuple[int, ...], tuple[int, ...], int]
"""Preset, hand sizes, ranks and how many endgames."""


def endgames(family: Family) -> Iterator[State]:
    """Endgames after none, one or two moves at random, so that all seats lead and follow."""
    preset, sizes, ranks, number = family
    rules, rng = PRESETS[preset].replace(bidding="fixed"), np.random.default_rng(number)
    for index in range(number):
        state = endgame(rng, rules, sizes, ranks)
        for _ in range(index % 3):
            moves = state.legal_moves()
            twin = after(state, moves[int(rng.integers(len(moves)))])
            state = state if twin.is_over else twin
        yield state


OPEN: list[Family] = [
    ("mini", (3, 3), (0, 1, 2, 3, 13, 14), 800),
    ("mini", (4, 3), (0, 1, 2, 3), 600),
    ("standard", (3, 2, 2), (0, 1, 2, 3), 800),
    ("standard", (5, 2, 2), (5, 6, 7, 8), 600),
    ("douzero", (3, 2, 2), (3, 12, 13, 14), 600),
    ("rlcard", (6, 2, 1), (0, 1, 2), 600),
]


@pytest.mark.parametrize("family", OPEN, ids=str)
def test_cheating_uct_plays_a_winning_move_wherever_minimax_has_one(family: Family) -> None:
    agent, solver = CheatingUctAgent(250, trees=4), MinimaxSolver(PRESETS[family[0]], 0.0, table_bits=16)
    with_traps = 0
    for number, state in enumerate(endgames(family)):
        moves, values = solver.move_values(state.row)
        if values.max() == 1:
            with_traps += int(values.min() < 1)
            chosen = agent.act(state, np.random.default_rng(number))
            assert values[moves.index(chosen)] == 1, f"{state}: {chosen} loses"
    assert with_traps > family[3] / 6


def nothing_undealt(state: State) -> State:
    state.row[PLAYED] = add_hand(state.row[PLAYED], state.row[HIDDEN])
    state.row[HIDDEN] = 0
    return state


def tricks_to_win(state: State, move: Move) -> int | None:
    """1 if the move goes out; 2 if no opponent can beat it and the rest goes out at once; else None."""
    if move.is_pass:
        return None
    state_after = after(state, move)
    if state_after.is_over:
        return 1
    while state_after.seat != state.seat:
        partner = (state_after.role() == "landlord") == (state.role() == "landlord")
        if not partner and any(not reply.is_pass for reply in state_after.legal_moves()):
            return None
        state_after.step("pass")
    return 2 if any(after(state_after, last).is_over for last in state_after.legal_moves()) else None


class Problem:
    """A decision of a seat that can win in one or two tricks against any hands of the others."""

    def __init__(self, state: State, states: list[State], tricks: int, solver: MinimaxSolver) -> None:
        self.state = state
        self.tricks = tricks
        self.moves = state.legal_moves()
        values = np.array([solver.move_values(possible.row)[1] for possible in states])
        self.wins_always = values.min(axis=0) == 1
        self.loses_always = values.max(axis=0) < 1

    def allows(self, move: Move) -> bool:
        return bool(self.wins_always[self.moves.index(move)])


HIDDEN_HANDS: list[Family] = [
    ("mini", (3, 2), (0, 1, 2, 3, 13, 14), 250),
    ("standard", (4, 2, 2), (0, 1, 2, 3, 13, 14), 250),
    ("standard", (5, 3, 2), (5, 6, 7, 12, 13, 14), 250),
    ("standard", (6, 3, 3), (5, 6, 7, 12, 13), 150),
    ("standard", (3, 4, 4), (0, 1, 2, 12, 13, 14), 250),
    ("rlcard", (7, 3, 3), (0, 1, 2, 12), 150),
]


@pytest.fixture(scope="module")
def problems() -> list[Problem]:
    """Sure wins in generated endgames: the oracle looks at every state of the information set."""
    found = []
    for family in HIDDEN_HANDS:
        rules = PRESETS[family[0]].replace(bidding="fixed")
        solver = MinimaxSolver(rules, 0.0, table_bits=16)
        for state in endgames(family):
            position = state if rules.players == 2 else nothing_undealt(state)
            moves = position.legal_moves()
            view = position.view()
            states = [State(row.copy(), rules) for row in information_set(view.row, view.seat).rows]
            tricks = {number for move in moves if (number := sure_tricks(states, move))}
            if len(moves) > 1 and tricks:
                found.append(Problem(position, states, min(tricks), solver))
    assert sum(problem.tricks == 1 for problem in found) > 30
    two = [problem for problem in found if problem.tricks == 2]
    assert len(two) > 100
    assert sum(not problem.wins_always.all() for problem in two) > 80, "most have a move that can lose"
    assert {problem.state.role() for problem in two} == {"landlord", "peasant_down", "peasant_up"}
    return found


def sure_tricks(states: list[State], move: Move) -> int | None:
    """In how many tricks a move wins in all of the states; None if it does not in some."""
    most = 0
    for state in states:
        tricks = tricks_to_win(state, move)
        if tricks is None:
            return None
        most = max(most, tricks)
    return most


def every_determinization_shows(problem: Problem) -> bool:
    """Where another move wins in most determinizations, trees of one each tie there, and chance decides."""
    return problem.tricks == 1 or bool((problem.wins_always | problem.loses_always).all())


FINDERS: dict[str, Callable[[Problem], bool]] = {
    "rules": lambda problem: problem.tricks == 1,
    "duct:iterations=100,trees=10": every_determinization_shows,
    "isuct:iterations=1000": lambda problem: True,
    "rollout:iterations=240": lambda problem: True,
}
"""Agents, and the sure wins that each has to find."""


@pytest.mark.parametrize("spec", FINDERS)
def test_wins_in_one_and_in_two_tricks_are_found(spec: str, problems: list[Problem]) -> None:
    agent, found = make_agent(spec), 0
    for number, problem in enumerate(problems):
        if FINDERS[spec](problem):
            found += 1
            chosen = agent.act(problem.state.view(), np.random.default_rng(number))
            assert problem.allows(chosen), f"{problem.state}: {chosen} need not win"
    assert found > 30


def first_best(values: list[float]) -> int:
    return next(index for index, value in enumerate(values) if value > max(values) - 1e-12)


def test_determinized_minimax_votes_for_the_win_that_equation_1_prefers() -> None:
    agent = DeterminizedMinimaxAgent(solvers=SharedSolvers(table_bits=16))
    contested = 0
    for state in endgames(("mini", (2, 2), (0, 1, 2, 3, 13, 14), 20)):
        states = information_set(state.view().row, state.seat)
        moves, votes = state.legal_moves(), np.zeros(len(state.legal_moves()))
        for row, probability in zip(states.rows, states.probabilities, strict=True):
            votes[first_best(brute_values(State(row.copy(), MINI), EPSILON))] += float(probability)
        contested += int((votes > 0).sum() > 1)
        assert agent.act(state.view()) == moves[int(np.argmax(votes > votes.max() - 1e-9))]
        if len(moves) > 1:
            decided = agent.decide(state.view()).values
            assert [decided[move.main] for move in moves] == pytest.approx(votes.tolist())
    assert contested > 3


def test_the_views_of_a_game_are_consistent() -> None:
    """Of every seat in random games of all presets, auctions and half-built moves of others included."""
    seen = 0
    for preset, seed in itertools.product(PRESETS, range(6)):
        state, rng = State.new(seed, preset), np.random.default_rng(seed)
        while not state.is_over:
            for seat in range(state.rules.players):
                if seat != state.seat or state.stage != "kicker":
                    view = state.view(seat)
                    check_view(view.row, seat, view.rule_words)
                    seen += 1
            state.step_action(int(rng.choice(state.legal_actions())))
    assert seen > 1000


def view_with(state: State, **changes: int) -> View:
    view = state.view()
    words = {"hidden": HIDDEN, "sizes": SIZES, "known": KNOWN, "own": HANDS, "next": HANDS + 1, "played": PLAYED + 1}
    for name, value in changes.items():
        view.row[words[name]] = value
    return view


@pytest.mark.parametrize(
    ("state", "changes", "message"),
    [
        (State.new(1), {"hidden": 0}, "no deal agrees"),
        (State.new(1), {"own": 0}, "has 0 cards, but its size is given as 20"),
        (State.new(1), {"next": 1}, "the deck is"),
        (State.new(1, "perfect"), {"next": 0}, "seat 1's hand has 0 cards"),
    ],
)
def test_a_view_that_no_deal_agrees_with_is_a_named_error(state: State, changes: dict[str, int], message: str) -> None:
    view = view_with(state, **changes)
    with pytest.raises(InconsistentViewError, match=message):
        check_view(view.row, state.seat, view.rule_words)
