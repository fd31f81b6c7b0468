"""Experiments on Mini Dou Dizhu (Whitehouse, Powley and Cowling 2011): its 8,832 deals and its exact agents.

All deals are played, or solved, and weighted by their probabilities.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt

from ddz_agents.open_cards.information_set import enumerate_deals
from ddz_env.core.cards import counts_to_word
from ddz_env.core.engine.deal import start_game
from ddz_env.core.engine.layout import HANDS, HIDDEN, ROW_WORDS, SEAT, STAGE, STAGE_OVER, WINNER
from ddz_env.core.engine.step import play_move
from ddz_env.core.engine.words import remove_hand
from ddz_env.core.notation import Hand
from ddz_env.core.rules import PRESETS
from ddz_env.core.view import write_view
from ddz_papers.determinization_2011 import agents as exact
from ddz_papers.determinization_2011.inference import History, Inference
from ddz_papers.determinization_2011.minimax import MinimaxSolver
from ddz_papers.experiments import experiment as ex
from ddz_training.measure.markdown import Table
from ddz_training.measure.plotting import Panel, Series, save_plot

PAPER = "Whitehouse, Powley and Cowling 2011"
MINI = PRESETS["mini"]
TABLE_BITS = 21
"""Enough for the solvers to hold most of Mini (48 MB each)."""


@dataclass(frozen=True, eq=False)
class MiniDeal:
    """One of the 8,832 deals of Mini Dou Dizhu, with its probability.

    Attributes:
        number: Its number, by player 1's hand and then by player 2's.
        row: The game before the first move, shape ``[32]``, uint64, read-only.
        probability: The probability that it is dealt.
    """

    number: int
    row: npt.NDArray[np.uint64]
    probability: float

    @property
    def hand(self) -> str:
        """Player 1's hand, as a string."""
        return str(Hand.from_word(int(self.row[HANDS])))


@functools.cache
def list_mini_deals() -> tuple[MiniDeal, ...]:
    """List all 8,832 deals of Mini Dou Dizhu, with probabilities that add up to one."""
    deck, dealt = np.uint64(counts_to_word(MINI.deck)), enumerate_deals(MINI.deck, (MINI.hand_size, MINI.hand_size))
    total = sum(count for _, count in dealt)
    deals = []
    for number, ((first_hand, second_hand), count) in enumerate(dealt):
        row = np.zeros(ROW_WORDS, np.uint64)
        row[HANDS], row[HANDS + 1] = first_hand, second_hand
        row[HIDDEN] = remove_hand(np.uint64(remove_hand(deck, np.uint64(first_hand))), np.uint64(second_hand))
        start_game(row, MINI.words())
        row.setflags(write=False)
        deals.append(MiniDeal(number, row, count / total))
    return tuple(deals)


def play_exact(deal: MiniDeal, agents: Sequence[exact.ExactAgent]) -> tuple[int, History]:
    """Play a deal with one exact agent per seat, and return the winner and the moves.

    Returns:
        The winning seat and the moves.
    """
    row, words = deal.row.copy(), MINI.words()
    history: History = ()
    while int(row[STAGE]) != STAGE_OVER:
        seat = int(row[SEAT])
        move = agents[seat].choose_in_state(row, history, MINI)
        play_move(row, np.uint64(move.main), np.uint64(0), words)
        history += ((seat, move),)
    return int(row[WINNER]) - 1, history


# --- Sections II.D and III.C: the deals, solved with perfect information ----------------------------------------------


@dataclass(frozen=True)
class HandResult:
    """The numbers of deals, and of wins with perfect play, for one hand of player 1.

    Attributes:
        hand: The hand.
        states: Deals with it: the states of player 1's information set at the first lead.
        wins: Deals that player 1 wins with perfect play on perfect information.
        probability: The probability of the hand.
        win_probability: The probability of the hand and a deal that player 1 wins.
    """

    hand: str
    states: int
    wins: int
    probability: float
    win_probability: float


@functools.cache
def _make_census_solver() -> MinimaxSolver:
    return MinimaxSolver(MINI, epsilon=0.0, table_bits=TABLE_BITS)


def solve_hand(_options: ex.NoOptions, hand: str, deals: Sequence[MiniDeal]) -> list[HandResult]:
    """Count the deals in which player 1 holds a given hand, and those that player 1 wins with perfect play."""
    won = [deal.probability for deal in deals if _make_census_solver().value(deal.row) > 0]
    return [HandResult(hand, len(deals), len(won), sum(deal.probability for deal in deals), sum(won))]


def census_table(saved: ex.SavedResults[HandResult]) -> Table:
    """Make a table that compares the paper's counts for Mini Dou Dizhu with ours."""
    states, wins = [result.states for result in saved.results], sum(result.wins for result in saved.results)
    rate = f"{100 * sum(result.win_probability for result in saved.results):.2f}"
    lines = [
        ex.Comparison("deals", "8832", str(sum(states)), "exact"),
        ex.Comparison("states in the largest information set", "66", str(max(states)), "exact"),
        ex.Comparison("player 1 wins with perfect information, %", "70.7", rate, "exact, weighted by probability"),
        ex.Comparison("deals that player 1 wins", "", str(wins), "exact, not weighted"),
    ]
    return ex.make_comparison_table("Mini Dou Dizhu: census", lines, ex.source_note(saved))


def plot_mini_census(saved: ex.SavedResults[HandResult], path: Path) -> None:
    """Plot a histogram of player 1's hands by the share of deals that they win with perfect play."""
    rates = [result.win_probability / result.probability for result in saved.results]
    weights = [100 * result.probability for result in saved.results]
    mean = sum(result.win_probability for result in saved.results)
    hands = Series("", [tick / 20 for tick in range(21)], rates, "histogram", style={"weights": weights})
    below = "deals with the hand that player 1 wins, by perfect play on perfect information"
    save_plot(
        path,
        Panel([hands], below, "% of hands, by probability", vertical_lines={f"all deals: {100 * mean:.2f} %": mean}),
    )


MINI_CENSUS = ex.Experiment(
    name="mini-census",
    source=f"{PAPER}, sections II.D and III.C",
    about="Count and solve the 8,832 deals of Mini: at most 66 states, 70.7 % for player 1.",
    options=ex.NoOptions,
    result=HandResult,
    key=("hand",),
    tasks=lambda options: ex.group_by(list_mini_deals(), "hand").items(),
    work=solve_hand,
    unit="hands of player 1",
    tables={"mini-census": census_table},
    plot=plot_mini_census,
)


# --- Section IV.B, figure 3: every pair of exact agents ---------------------------------------------------------------

CHEATING, EXPECTIMAX, DETERMINIZED = "cheating", "expectimax", "determinized"
CORRECT, INCORRECT = "determinized+correct", "determinized+incorrect"
EXPECTIMAX_CORRECT = "expectimax+correct"
KINDS = (CHEATING, EXPECTIMAX, CORRECT, INCORRECT, DETERMINIZED)
"""The five agents of figure 3."""

PAIRS = tuple((first, second) for second in KINDS for first in KINDS if (first, second) != (CORRECT, CORRECT)) + tuple(
    (EXPECTIMAX_CORRECT, second) for second in (CHEATING, EXPECTIMAX, INCORRECT, DETERMINIZED)
)
"""Figure 3's games, and expectimax with inference as player 1, which the paper omits from the figure.  Determinized
minimax with the correct model of itself would be a model of a model without end; the paper leaves it out, too."""


@dataclass(frozen=True)
class PairResult:
    """Player 1's win rate against player 2, from one game per deal since the agents are deterministic.

    Attributes:
        player_1: Kind of the agent that leads first.
        player_2: Kind of the other.
        win_rate: The probability that player 1 wins a randomly dealt game.
        deals_won: Deals of the 8,832 that it wins.
    """

    player_1: str
    player_2: str
    win_rate: float
    deals_won: int


@functools.cache
def _make_plain_agents() -> tuple[exact.SharedSolvers, dict[str, exact.ExactAgent]]:
    """Make the three exact agents that have no opponent model, and the solvers that all agents share."""
    solvers = exact.SharedSolvers(TABLE_BITS)
    return solvers, {
        CHEATING: exact.CheatingMinimaxAgent(solvers),
        EXPECTIMAX: exact.InformationSetExpectimaxAgent(solvers=solvers),
        DETERMINIZED: exact.DeterminizedMinimaxAgent(solvers=solvers),
    }


def play_pair(_options: ex.NoOptions, player_1: str, player_2: str) -> list[PairResult]:
    """Play all deals with a pair of exact agents, and return player 1's win rate."""
    agents, deals = make_exact_pair(player_1, player_2), list_mini_deals()
    won = [deal.probability for deal in deals if play_exact(deal, agents)[0] == 0]
    return [PairResult(player_1, player_2, round(sum(won) / sum(deal.probability for deal in deals), 6), len(won))]


def make_exact_pair(player_1: str, player_2: str) -> tuple[exact.ExactAgent, exact.ExactAgent]:
    """Make the two exact agents of a pair, in which a correct opponent model is the other agent itself."""
    if player_1 in (CORRECT, EXPECTIMAX_CORRECT):
        second = _make_exact_agent(player_2, _make_placeholder(player_1))
        return _make_exact_agent(player_1, second), second
    first = _make_exact_agent(player_1, _make_placeholder(player_2))
    return first, _make_exact_agent(player_2, first)


def _make_placeholder(kind: str) -> exact.ExactAgent:
    """Make a stand-in for an exact agent; all that matters is whether the agent cheats."""
    _, plain = _make_plain_agents()
    return plain.get(kind, plain[DETERMINIZED])


def _make_exact_agent(kind: str, opponent: exact.ExactAgent) -> exact.ExactAgent:
    solvers, plain = _make_plain_agents()
    if kind in plain:
        return plain[kind]
    if kind == EXPECTIMAX_CORRECT:
        return exact.InformationSetExpectimaxAgent(solvers, "correct", opponent)
    return exact.DeterminizedMinimaxAgent(solvers, "correct" if kind == CORRECT else "incorrect", opponent)


def _rates_by_pair(results: Iterable[PairResult]) -> dict[tuple[str, str], float]:
    """Return player 1's win rate in per cent for each pair of agents."""
    return {(result.player_1, result.player_2): 100 * result.win_rate for result in results}


def win_rate_differences(results: Sequence[PairResult], better: str, worse: str) -> list[float]:
    """Return by how many points ``better`` exceeds ``worse`` in win rate as player 1, for each common opponent."""
    rates = _rates_by_pair(results)
    return [rates[better, two] - rates[worse, two] for two in KINDS if {(better, two), (worse, two)} <= rates.keys()]


_WORDS = (
    ("cheating over determinized", CHEATING, DETERMINIZED, "about 40 %"),
    ("expectimax over determinized", EXPECTIMAX, DETERMINIZED, "around 30 %"),
    ("cheating over expectimax", CHEATING, EXPECTIMAX, "around 10 %"),
    ("inference, incorrect model, over determinized", INCORRECT, DETERMINIZED, "around 10 %"),
    ("inference, correct model, over determinized", CORRECT, DETERMINIZED, "23 %"),
    ("expectimax over determinized with the correct model", EXPECTIMAX, CORRECT, "above 0"),
    ("expectimax with the correct model over expectimax", EXPECTIMAX_CORRECT, EXPECTIMAX, "less than 0.2 %"),
)
"""Figure 3 is a bar chart without numbers; section IV.B puts the differences into words."""


def advantage_table(saved: ex.SavedResults[PairResult]) -> Table:
    """Make a table that compares the paper's gains in win rate with ours, as means over all opponents."""
    lines = []
    for what, better, worse, paper in _WORDS:
        if gaps := win_rate_differences(saved.results, better, worse):
            note = f"{min(gaps):+.1f} to {max(gaps):+.1f} over {len(gaps)} opponents"
            lines.append(ex.Comparison(f"{what}, points", paper, f"{fmean(gaps):+.1f}", note))
    title = "Figure 3: differences as player 1, means over the opponents"
    return ex.make_comparison_table(title, lines, ex.source_note(saved))


def pair_table(saved: ex.SavedResults[PairResult]) -> Table:
    """Make the table of player 1's win rate for every pair of agents, with one line per agent as player 1."""
    rates = {pair: f"{rate:.1f}" for pair, rate in _rates_by_pair(saved.results).items()}
    lines = [(first, *(rates.get((first, second), "–") for second in KINDS)) for first in (*KINDS, EXPECTIMAX_CORRECT)]
    played = [line for line in lines if set(line[1:]) != {"–"}]
    return Table("Player 1's win rate on all deals, %", ("player 1 ↓, player 2 →", *KINDS), played)


def plot_mini_agents(saved: ex.SavedResults[PairResult], path: Path) -> None:
    """Plot figure 3 of the 2011 paper: player 1's win rates, grouped by the agent of player 2."""
    rates = _rates_by_pair(saved.results)
    names = [kind.replace("+", "\n+ ") for kind in KINDS]
    bars = [Series(first, names, [rates.get((first, second), math.nan) for second in KINDS], "bars") for first in KINDS]
    panel = Panel(bars, "player 2", "player 1 wins, %", axes={"ylim": (0, 130)})
    save_plot(path, panel, size=(9.0, 3.6))


MINI_AGENTS = ex.Experiment(
    name="mini-agents",
    source=f"{PAPER}, section IV.B, figure 3",
    about="Play every pair of exact agents on all deals of Mini (figure 3 of the paper of 2011).",
    options=ex.NoOptions,
    result=PairResult,
    key=("player_1", "player_2"),
    tasks=lambda options: PAIRS,
    work=play_pair,
    more=lambda options: {"deals": len(list_mini_deals())},
    unit="pairs of agents",
    tables={"mini-pairs": pair_table, "mini-agents": advantage_table},
    plot=plot_mini_agents,
)


# --- Section IV.B.3: how often determinized minimax with the correct opponent model comes to know the true state ------
#
# Against expectimax it assigns the true state probability 1 by the fourth turn in 48 % of the deals, and by the end of
# the game in 74 %.  A turn is read as one move of each player, the agent is player 1 (the other seat is measured as
# well), and "by the end" includes what the opponent's last move reveals.

NEVER = -1
FOURTH_TURN = 8
"""Moves of both players in four turns."""


@dataclass(frozen=True)
class InferenceResult:
    """The number of moves after which determinized minimax knew the true state of one game.

    Attributes:
        player: 1 or 2: the seat of determinized minimax.
        deal: Number of the deal.
        moves: Moves of both players, passes included.
        known_after: After how many of them the true state was the only one left; ``NEVER`` if it never was.
    """

    player: int
    deal: int
    moves: int
    known_after: int


@functools.cache
def _make_inference_agents() -> tuple[exact.ExactAgent, exact.ExactAgent, Inference]:
    agent, expectimax = make_exact_pair(CORRECT, EXPECTIMAX)
    return agent, expectimax, Inference(MINI, expectimax)


def record_inference(_options: ex.NoOptions, player: int, number: int) -> list[InferenceResult]:
    """Play a game, and record after how many moves determinized minimax knows the true state."""
    agent, expectimax, inference = _make_inference_agents()
    deal, view = list_mini_deals()[number], np.empty(ROW_WORDS, np.uint64)
    _, history = play_exact(deal, (agent, expectimax) if player == 1 else (expectimax, agent))
    write_view(deal.row, player - 1, MINI.words(), view)
    counts = (len(inference.states(view, player - 1, history[:moves])) for moves in range(len(history) + 1))
    known_after = next((moves for moves, count in enumerate(counts) if count == 1), NEVER)
    return [InferenceResult(player, number, len(history), known_after)]


def share_known(results: Sequence[InferenceResult], player: int, moves: int | None, *, weighted: bool = True) -> float:
    """Return the share of deals whose true state a player knows after ``moves`` moves, or by the end if None."""
    games = [result for result in results if result.player == player]
    weights = [list_mini_deals()[result.deal].probability if weighted else 1.0 for result in games]
    last = math.inf if moves is None else moves
    is_known = [result.known_after != NEVER and result.known_after <= last for result in games]
    return sum(compress(weights, is_known)) / sum(weights)


def inference_table(saved: ex.SavedResults[InferenceResult]) -> Table:
    """Make a table that compares the paper's shares of deals whose true state player 1 comes to know with ours."""
    lines = []
    for label, moves, paper in (("by the fourth turn", FOURTH_TURN, "48"), ("by the end", None, "74")):
        ours, plain = (100 * share_known(saved.results, 1, moves, weighted=weighted) for weighted in (True, False))
        question, note = f"state known {label}, as player 1, %", f"exact; {plain:.1f} if every deal counts alike"
        lines.append(ex.Comparison(question, paper, f"{ours:.1f}", note))
    return ex.make_comparison_table("Inference against expectimax on Mini", lines, ex.source_note(saved))


def plot_mini_inference(saved: ex.SavedResults[InferenceResult], path: Path) -> None:
    """Plot the share of deals whose true state determinized minimax knows against the number of moves."""
    moves = range(max(result.moves for result in saved.results) + 1)
    lines = [
        Series(f"as player {player}", moves, [100 * share_known(games, player, count) for count in moves])
        for player, games in sorted(ex.group_by(saved.results, "player").items())
    ]
    printed = Series("paper, fourth turn", [FOURTH_TURN], [48], "points")
    below, beside = "moves played (both players, passes included)", "deals with the true state known, %"
    ends = {"paper, end of the game": 74.0}
    save_plot(path, Panel([*lines, printed], below, beside, horizontal_lines=ends, axes={"ylim": (0, 100)}))


MINI_INFERENCE = ex.Experiment(
    name="mini-inference",
    source=f"{PAPER}, section IV.B.3",
    about="How often determinized minimax with the correct model knows the true state: 48 % and 74 %.",
    options=ex.NoOptions,
    result=InferenceResult,
    key=("player", "deal"),
    tasks=lambda options: [(player, deal.number) for player in (1, 2) for deal in list_mini_deals()],
    work=record_inference,
    unit="games",
    tables={"mini-inference": inference_table},
    plot=plot_mini_inference,
)
