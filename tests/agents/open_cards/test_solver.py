"""The open-card solver: against brute force, its texts and limits, its agents and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ddz_agents.open_cards.solver.agents import CheatingSolverAgent, DeterminizedSolverAgent
from ddz_agents.open_cards.solver.position import InvalidPositionError, deal_position, open_position
from ddz_agents.open_cards.solver.solver import TECHNIQUES, OpenSolver, UnsolvablePositionError
from ddz_env import Hand, Rules, State
from ddz_env.core.engine.layout import LANDLORD
from ddz_env.support.errors import DouDizhuError, IllegalMoveError, InvalidHandError, InvalidOptionError
from ddz_papers.determinization_2011.agents import DeterminizedMinimaxAgent
from ddz_papers.determinization_2011.minimax import MinimaxSolver
from ddz_play.puzzles import Puzzle, load_puzzles, make_puzzles
from ddz_training.cli.app import app
from tests.papers.determinization_2011.test_exact import after

PRESETS = ("standard", "botzone", "rlcard", "douzero", "openspiel")
LARGE_ENDGAMES = ((2, 7, 10, 2000), (3, 5, 6, 2000))
"""Players, least and most cards per hand, and how many: twenty thousand with all presets."""


def rules_for(name: str, players: int) -> Rules:
    rules = Rules.preset(name)
    return rules if players == rules.players else rules.replace(players=players, bidding="fixed")


def begun(hands: list[np.ndarray], rules: Rules, rng: np.random.Generator) -> State:
    """Hands, any of which may be the landlord's and lead, after up to two random moves."""
    turn, landlord = (int(number) + 1 for number in rng.integers(0, rules.players, 2))
    text = " / ".join(str(Hand(tuple(hand.tolist()))) for hand in hands)
    state = open_position(text, rules, turn=turn, landlord=landlord)
    for _ in range(int(rng.integers(0, 3))):
        moves = state.legal_moves()
        if moves:
            state.step(moves[int(rng.integers(len(moves)))])
    return state


def endgame(rules: Rules, rng: np.random.Generator, least: int, most: int, narrow: bool) -> State:
    """A random endgame: from the whole deck, or (``narrow``) from neighbouring ranks, where chains and planes are."""
    deck = np.repeat(np.arange(15), rules.deck)
    if narrow:
        low = int(rng.integers(0, 8))
        deck = deck[((deck >= low) & (deck < low + 6)) | (deck >= 12)]
    cards, hands = rng.permutation(deck), []
    for size in rng.integers(least, most + 1, rules.players).tolist():
        hands.append(np.bincount(cards[:size], minlength=15))
        cards = cards[size:]
    return begun(hands, rules, rng)


def landlord_wins(brute: MinimaxSolver, state: State) -> bool:
    if state.is_over:
        return state.winner == int(state.row[LANDLORD])
    return (brute.value(state.row) > 0) == (state.seat == int(state.row[LANDLORD]))


@pytest.mark.parametrize(
    ("players", "least", "most", "count"),
    [(2, 3, 6, 16), (3, 3, 4, 16), *(pytest.param(*how, marks=pytest.mark.long) for how in LARGE_ENDGAMES)],
)
@pytest.mark.parametrize("preset", PRESETS)
def test_verdicts_are_those_of_brute_force(preset: str, players: int, least: int, most: int, count: int) -> None:
    rules, rng = rules_for(preset, players), np.random.default_rng([count, players, PRESETS.index(preset)])
    brute = MinimaxSolver(rules, epsilon=0, table_bits=20)
    solver, small = OpenSolver(rules, megabytes=1), OpenSolver(rules, megabytes=0.01)
    for number in range(count):
        state = endgame(rules, rng, least, most, narrow=number % 2 == 0)
        wanted = landlord_wins(brute, state)
        assert [one.solve(state).landlord_wins for one in (solver, small)] == [wanted, wanted], state


@pytest.mark.parametrize(
    ("text", "turn", "peasants_win"),
    [
        ("A4 / 356 / A7", 2, True),  # the partner's A takes over, which the landlord's A, else a quick win, cannot beat
        ("24 / 356 / A7", 2, False),  # a 2 can
        ("A / 356 / A", 2, True),
        ("A / 356 / K", 2, True),  # the partner goes out before the landlord can
        ("A / 356 / K7", 2, False),
        ("33A4 / 56 / 7", 1, False),
        ("36 / 4 / 5555 7", 1, True),  # a bomb, and then the last card
    ],
)
def test_a_threat_reckons_with_the_partner(text: str, turn: int, peasants_win: bool) -> None:
    state = open_position(text, turn=turn)
    assert landlord_wins(MinimaxSolver(state.rules, epsilon=0), state) != peasants_win
    assert OpenSolver(state.rules, megabytes=1).solve(state).landlord_wins != peasants_win


NODES = {
    "": 4908,
    "table": 22214,
    "both_bounds": 4908,
    "quick_wins": 5287,
    "threats": 8411,
    "ranks": 10267,
    "tighten": 5563,
    "order": 120129,
}
"""What eight positions of ten cards take, by the technique that is left out; a second bound is for other goals."""


@pytest.mark.parametrize("without", NODES)
def test_a_technique_changes_no_verdict_and_saves_nodes(without: str) -> None:
    used = [name for name in TECHNIQUES if name != without]
    nodes = np.zeros(2, int)
    for number in range(8):
        state = deal_position((10, 10), np.random.default_rng(number))
        solver, plain = OpenSolver(state.rules, megabytes=1), OpenSolver(state.rules, 20_000, 1, used)
        found, slow = solver.solve(state), plain.solve(state)
        assert slow.landlord_wins in (found.landlord_wins, None)
        assert not (without == "table" and slow.hits)
        nodes += found.nodes, slow.nodes
    assert nodes.tolist() == [NODES[""], NODES[without]]


def test_buckets_of_a_full_table_lose_entries_and_no_verdict() -> None:
    state = deal_position((10, 10), np.random.default_rng(3))
    solved = [OpenSolver(state.rules, megabytes=0.01, ways=ways).solve(state) for ways in (1, 2, 16)]
    assert len({found.landlord_wins for found in solved}) == 1
    assert solved[0].evictions > 0
    assert OpenSolver(state.rules, megabytes=64).solve(state).evictions == 0
    with pytest.raises(InvalidOptionError, match="unknown ways '3'"):
        OpenSolver(state.rules, ways=3)


def armed_endgame(rules: Rules, rng: np.random.Generator) -> State:
    """A small random endgame in which one hand may hold a bomb, and one the rocket; a move or two may be played."""
    cards, bomb = rng.permutation(np.repeat(np.arange(13), 4)), int(rng.integers(13))
    loose, hands = cards[cards != bomb], []
    for size in rng.integers(1, 3 if rules.players == 3 else 5, rules.players).tolist():
        hands.append(np.bincount(loose[:size], minlength=15))
        loose = loose[size:]
    if rng.random() < 0.7:
        hands[int(rng.integers(rules.players))][bomb] += 4
    if rng.random() < 0.5:
        hands[int(rng.integers(rules.players))][13:] += 1
    return begun(hands, rules, rng)


def best_stake(state: State, landlord: int, known: dict[bytes, float]) -> float:
    """What the landlord wins from each peasant, by trying everything; ``known`` remembers positions."""
    key = state.row.tobytes()
    if key not in known:
        if state.is_over:
            known[key] = state.returns("stake")[landlord] / (state.rules.players - 1)
        else:
            values = [best_stake(after(state, move), landlord, known) for move in state.legal_moves()]
            known[key] = max(values) if state.seat == landlord else min(values)
    return known[key]


@pytest.mark.parametrize("count", [5, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("preset", PRESETS)
def test_stakes_and_every_goal_are_those_of_brute_force(preset: str, players: int, count: int) -> None:
    rules, rng = rules_for(preset, players), np.random.default_rng([11, players, PRESETS.index(preset)])
    solver = OpenSolver(rules, megabytes=1)
    for _ in range(count):
        state = armed_endgame(rules, rng)
        wanted = best_stake(state, int(state.row[LANDLORD]), {})
        assert solver.stake(state) == wanted, state
        assert solver.solve(state).landlord_wins == (wanted > 0), state
        for goal in range(-4, 6):
            least = 2 ** (goal - 1) if goal >= 1 else -(2**-goal)
            assert solver.solve(state, goal=goal).landlord_wins == (wanted >= least), (state, goal)


def test_every_move_has_its_value_and_the_line_keeps_the_verdict() -> None:
    rng = np.random.default_rng(3)
    solver = OpenSolver(rules_for("standard", 3), megabytes=1)
    for _ in range(10):
        state = deal_position([6, 6, 6], rng)
        won = solver.solve(state).landlord_wins
        values = solver.move_values(state)
        assert [move for move, _ in values] == state.legal_moves()
        assert any(value for _, value in values) == won  # the landlord leads
        line = solver.line(state)
        for seat, move in line:
            assert state.seat == seat
            state.step(move)
        assert (state.winner == 0) == won


def test_a_limit_gives_an_honest_unknown_and_a_longer_search_the_verdict() -> None:
    state = deal_position([10, 10, 10], np.random.default_rng(1))
    solver = OpenSolver(state.rules, megabytes=1, nodes=3)
    stopped = solver.solve(state)
    assert (stopped.landlord_wins, stopped.reason, stopped.nodes) == (None, "nodes", 3)
    assert solver.stake(state) is None
    assert solver.solve(state, seconds=1e-9).landlord_wins is None
    assert None in [value for _, value in solver.move_values(state)]


def test_the_example_of_the_manual() -> None:
    state = open_position("KK5543 / 225543", turn=2, to_beat="4")
    assert [str(move) for move in state.legal_moves()] == ["pass", "5", "2"]
    with pytest.raises(InvalidPositionError, match="5 cards of rank 5, 1 of them on the table"):
        open_position("KK5543 / 225543", turn=2, to_beat="5")
    assert open_position("34 / 5 / 67: 3, pass, 6").seat == 0
    assert open_position("34 / 5 / 67: 3, pass, 6", played=1).seat == 1
    three = open_position("34 / 5 / 67: pass", turn=2, to_beat="4", landlord=2)
    assert (three.seat, three.role()) == (2, "peasant_down")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("3333 / 34", {}, "5 cards of rank 3"),
        ("34 / 5", {"turn": 3}, "turn 3 is none of the 2 hands"),
        ("34 / ", {}, "hand 2 has no cards"),
        ("3 / 44455566677788899TJQ", {"to_beat": "K"}, "21 cards, the move to beat included"),
        ("34 / 5: 3, 5, pass", {}, "over before move 3"),
        ("34 / 5: 3", {"played": 2}, "move 2 is none"),
    ],
)
def test_impossible_positions_have_named_errors(text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DouDizhuError, match=message) as caught:
        open_position(text, **options)
    assert isinstance(caught.value, InvalidPositionError | InvalidHandError)


def test_what_is_no_position_has_a_named_error() -> None:
    with pytest.raises(IllegalMoveError):
        open_position("34 / 5: 5")
    solver = OpenSolver(Rules.preset("standard"), megabytes=1)
    for rules in ("mini", "bidding"):
        with pytest.raises(UnsolvablePositionError):
            solver.solve(State.new(rules=rules))


def test_the_cheating_solver_wins_what_can_be_won() -> None:
    rng, agent, solver = np.random.default_rng(2), CheatingSolverAgent(megabytes=1), None
    for _ in range(8):
        state = deal_position([6, 6], rng)
        solver = solver or OpenSolver(state.rules, megabytes=1)
        side = 0 if solver.solve(state).landlord_wins else 1
        while not state.is_over:
            moves = state.legal_moves()
            state.step(agent.act(state.copy(), rng) if state.seat == side else moves[int(rng.integers(len(moves)))])
        assert state.winner == side


DOUBTFUL = State.from_hands(["3 4 4", "5 6"], check_sizes=False, rules="mini")


def test_few_worlds_are_all_solved_and_agree_with_brute_force() -> None:
    ending, view = DeterminizedSolverAgent(cards=54, worlds=10_000, nodes=10_000), DOUBTFUL.view()
    assert ending.applies(view)
    assert not DeterminizedSolverAgent(cards=4).applies(view)
    solved = ending.solve(view, np.random.default_rng(4))
    # Its states are the same, by another route.
    states = DeterminizedMinimaxAgent().states(view.row, (), view.rules)
    brute = MinimaxSolver(view.rules, epsilon=0)
    wins = np.zeros(len(solved.moves))
    for row, deals in zip(states.rows, states.deals.tolist(), strict=True):
        wins += deals * (brute.move_values(row)[1] > 0)
    assert solved.wins.tolist() == wins.tolist()
    assert solved.weight == states.deals.sum()


def test_a_sure_win_is_played_and_in_a_doubtful_position_what_wins_most() -> None:
    rng, agent = np.random.default_rng(6), DeterminizedSolverAgent(cards=54, worlds=10_000, nodes=10_000)
    safe = State.from_hands(["R B 3", "4 4"], check_sizes=False, rules="mini")
    sure = agent.solve(safe.view(), rng)
    assert sure.wins.max() == sure.weight
    for state in (safe, DOUBTFUL):
        moves, wins, weight = agent.solve(state.view(), rng)
        assert wins[moves.index(agent.act(state.view(), rng))] == wins.max() > 0
    assert wins.max() < weight
    few = DeterminizedSolverAgent(worlds=8, nodes=2000)
    assert few.decide(DOUBTFUL.view(), rng).move in DOUBTFUL.legal_moves()


def has_one_winning_move(puzzle: Puzzle) -> bool:
    brute = MinimaxSolver(rules_for("standard", 2), epsilon=0)
    moves, values = brute.move_values(open_position(puzzle.hands).row)
    return [str(move) for move, value in zip(moves, values, strict=True) if value > 0] == [puzzle.move]


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
def test_shipped_puzzles_have_one_winning_move(every: bool) -> None:
    puzzles = load_puzzles() if every else load_puzzles()[::200]
    assert all(map(has_one_winning_move, puzzles))


def ddz(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "160", "NO_COLOR": "1"})
    assert done.exit_code == code, done.output
    return done.output


def test_new_puzzles_have_one_winning_move() -> None:
    puzzle = next(make_puzzles([8, 8], np.random.default_rng(1)))
    assert has_one_winning_move(puzzle)
    assert Puzzle.parse(str(puzzle)) == puzzle
    assert load_puzzles()[0].move in ddz("puzzles", "1", "--answer")


def test_the_command_answers_in_json_and_in_words(tmp_path: Path) -> None:
    found = json.loads(ddz("solve", "KK5543 / 225543", "--json", "--all", "--stake"))
    assert found["winner"] in ("first", "second")
    assert found["line"][0] == found["move"]
    assert any(found["moves"].values()) == (found["winner"] == "first")
    assert (found["stake"] > 0) == (found["winner"] == "first")
    second = ddz("solve", "KK5543 / 225543", "--landlord", "2", "--stake", "--json")
    assert json.loads(second)["stake"] == -found["stake"]
    file = tmp_path / "positions.txt"
    file.write_text("# two of them\n3 / 4\n34 / 5 / 67: 3, pass\n", encoding="utf-8")
    words = ddz("solve", "--file", str(file))
    assert "3 / 4: the first hand wins (" in words
    assert "34 / 5 / 67: 3, pass: the peasants win (" in words
    ddz("solve", "3333 / 34", code=2)
    hard = deal_position([10, 10, 10], np.random.default_rng(1))
    text = " / ".join(str(hard.hand(seat)) for seat in range(3))
    assert json.loads(ddz("solve", text, "--nodes", "1", "--json", code=4))["reason"] == "nodes"
