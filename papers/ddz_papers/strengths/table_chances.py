"""A check of the winning chances shown to people, in games of the policy against two agents of one level.

At one decision of every game :mod:`ddz_agents.neural_search.win_probability` values the move that the policy
plays. The game says who won, and the maps from the critic's means to chances are fitted on the games with even
numbers.

Among levels that are the rule agent the move is also played out in the sampled worlds, as for a hint, and the share of
worlds that are won has maps of its own, fitted in the same way.

At some decisions the policy's two likeliest moves are played out besides, in worlds that are inferred from many more
particles than a hint has, by those who sit at the table.  Such a share of worlds is too high itself, because inference
makes the others' hands weaker than they are: the table says by how much.  So its error is counted behind a map of its
own, fitted to who won in the same way, and is what remains when the variance of the sampled worlds is taken off.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural_search.leaf_games import LeafGames, play_actions, play_forced
from ddz_agents.neural_search.values import evaluate_games
from ddz_agents.neural_search.win_probability import (
    CALIBRATIONS,
    RULE_AGENTS,
    STRONG,
    WORLDS,
    Calibration,
    WinProbability,
    likely_moves,
    play_moves_in_worlds,
    role_number,
)
from ddz_agents.worlds.determinize import Reals
from ddz_env import Move, State, View
from ddz_env.core.engine.layout import LANDLORD, SEAT, WINNER
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.view import list_legal_actions
from ddz_env.playing.agent import Agent
from ddz_env.playing.generators import make_published_generator
from ddz_env.playing.registry import make_agent
from ddz_papers.experiments import experiment as ex
from ddz_papers.strengths.chances import ROLES, fit_calibration, fit_curve, shown_chance
from ddz_training.measure.markdown import Table
from ddz_training.measure.provenance import digest_file

LEVELS = ("easy", "medium", "hard")
FIRST_DEAL, PARTICLES = 7_500_000, 1500
_UNKNOWN, _MIN_DECISIONS = -1.0, 100
"""In place of a figure where nothing was played out, and the fewest decisions at a level whose errors are told."""
_GAME, _CHOICE, _WORLDS, _PARTICLES, _PLAYOUTS = range(5)
"""Keys of the generators: playing, choosing a decision, the hint's worlds, those that are played out, playing those."""


@dataclass(frozen=True)
class TableChanceOptions(ex.ChosenOptions):
    """Options of ``table-chances``: which games are played, and how many decisions are played out.

    Attributes:
        games: How many games at a table of each level.
        played_out: In how many of them, those with odd numbers first to last, moves are played out.
        worlds: In how many worlds.
    """

    games: ex.Count = 8000
    played_out: ex.Count = 600
    worlds: ex.Count = 60


@dataclass(frozen=True)
class TableChanceResult:
    """The policy's decision in a game against two agents of a level: estimated winning chances and the outcome.

    Attributes:
        opponents: The level.
        deal: Number of the deal.
        number: How many moves came before; -1 where the policy had nothing to decide.
        role: The policy's: 0 for the landlord, 1 for the peasant after it, 2 for the peasant before it.
        mean: The critic's mean after the policy's move, 0 to 1; -1 where there is none.
        won: Whether its side won, 0 or 1.
        rival_mean: The critic's mean after its second likeliest move; -1 where nothing was played out.
        wins: The share of worlds won after its move; -1 likewise.
        rival_wins: The share of the same worlds won after the second move; -1 likewise.
        share: The share of the sampled worlds won after the policy's move among rule agents; -1 where there is none.
    """

    opponents: str
    deal: int
    number: int
    role: int
    mean: float
    won: int
    rival_mean: float
    wins: float
    rival_wins: float
    share: float


@functools.cache
def _load_players(level: str) -> tuple[ModelAgent, Agent, WinProbability, WinProbability]:
    """Load the policy, an agent of a level, the chance estimator of hints, and one with more sampled deals."""
    model = load_policy()
    return ModelAgent(model), make_agent(level), WinProbability(model), WinProbability(model, worlds=PARTICLES)


def estimate_chances_in_game(options: TableChanceOptions, level: str, deal: int) -> list[TableChanceResult]:
    """Play a game of the policy against two agents of a level, and estimate the chances of one of its moves."""
    (policy, other, estimator, _), rng = _load_players(level), make_published_generator
    state, seat, decisions = State.new(options.seed, game=deal), deal % 3, list[tuple[View, Move]]()
    generator = rng([options.seed, deal, _GAME])
    while not state.is_over:
        view = state.view()
        move = (policy if view.seat == seat else other).act(view, generator)
        if view.seat == seat and len(list_legal_actions(state.row, state.rule_words)) > 1:
            decisions.append((view, move))
        state.step(move)
    won = int(state.returns()[seat] > 0)
    if not decisions:
        return [TableChanceResult(level, deal, -1, seat, _UNKNOWN, won, _UNKNOWN, _UNKNOWN, _UNKNOWN, _UNKNOWN)]
    view, move = decisions[int(rng([options.seed, deal, _CHOICE]).integers(len(decisions)))]
    moves, place = [move], deal - FIRST_DEAL
    if place % 2 and place < 2 * options.played_out:
        moves += [line.move for line in likely_moves(policy.model, view, 2) if line.move != move][:1]
    means = estimator.critic_means(view, moves, rng([options.seed, deal, _WORLDS])).round(4).tolist()
    shares = [_UNKNOWN, _UNKNOWN] if len(moves) == 1 else _win_shares(options, level, deal, view, moves)
    share = _UNKNOWN
    if level in RULE_AGENTS:
        share = estimator.playout_win_rate(view, move, rng([options.seed, deal, _WORLDS]), RULE_AGENTS[level])
    rival, (wins, rival_wins) = means[1] if len(moves) > 1 else _UNKNOWN, shares
    number, role = len(view.history), role_number(view)
    return [TableChanceResult(level, deal, number, role, means[0], won, rival, wins, rival_wins, round(share, 4))]


def _win_shares(options: TableChanceOptions, level: str, deal: int, view: View, moves: Sequence[Move]) -> list[float]:
    """Estimate the shares of sampled deals that the policy wins after each of two moves."""
    policy, other, _, many = _load_players(level)
    rows, weights = many.sample_worlds(view, make_published_generator([options.seed, deal, _PARTICLES]))
    rng = make_published_generator([options.seed, deal, _PLAYOUTS])
    drawn = rng.choice(len(rows), options.worlds, p=weights / weights.sum())
    games = play_moves_in_worlds(view, moves, rows[drawn])
    play_out(games, view, policy, other, rng)
    landlords = games.rows[:, LANDLORD].astype(np.int64)
    landlord_won = games.rows[:, WINNER].astype(np.int64) - 1 == landlords
    won = (landlord_won == (landlords == view.seat)).reshape(options.worlds, len(moves)).astype(float)
    shares: list[float] = won.mean(axis=0).round(4).tolist()
    return shares


def play_out(games: LeafGames, view: View, policy: ModelAgent, other: Agent, rng: np.random.Generator) -> None:
    """Play games to the end in place, with the policy in the view's seat and an agent in the other seats.

    Args:
        games: Games at the start of a decision or over; changed.
        view: The view that they follow from.
        policy: Who plays its seat.
        other: Who plays the other seats; it has nothing to remember between its moves.
        rng: The other's generator.
    """
    rules, playing = view.rule_words, np.arange(len(games.waits))
    while len(playing):
        play_forced(games, playing, rules)
        playing = playing[games.waits[playing] != 0]
        own = games.rows[playing, SEAT] == view.seat
        asked = playing[own]
        if len(asked):
            play_actions(games, asked, evaluate_games(policy.model, games, asked)[0].argmax(axis=1), rules)
        for index in playing[~own]:
            row, ring = games.rows[index], games.rings[index]
            move = other.act(State(row.copy(), view.rules).view(), rng)
            for action in move.actions:
                apply_and_record(row, ring, np.uint64(action), rules)


def fit_calibrations(results: Sequence[TableChanceResult]) -> dict[str, Calibration]:
    """Fit the calibration of each level to the level's even-numbered games."""
    judged = [one for one in results if one.number >= 0]
    return {level: fit_calibration(part) for level, part in ex.group_by(judged, "opponents").items()}


def with_shares_as_means(results: Sequence[TableChanceResult]) -> list[TableChanceResult]:
    """Return the played-out decisions with the share of sampled deals won in place of the critic's mean."""
    return [replace(one, mean=one.share) for one in results if one.share >= 0]


@dataclass(frozen=True)
class ChanceErrors:
    """The errors of the winning chances that people see, in percentage points, in games not used for fitting.

    Attributes:
        positions: How many of these games.
        played_out: In how many of them moves were played out.
        bias: What is shown less what is won, for each role.
        kindness: The share of worlds won less the share of games won, for each role.
        sampled: The mean absolute difference between what is shown and the played-out chance behind its map.
        error: The same without the variance of the sampled worlds.
        brier: The Brier score of the games' results.
    """

    positions: int
    played_out: int
    bias: tuple[float, ...]
    share_bias: tuple[float, ...]
    sampled: float
    error: float
    brier: float


def measure_errors(results: Sequence[TableChanceResult], calibration: Calibration, worlds: int) -> ChanceErrors:
    """Measure the errors of the winning chances that a calibration gives for one level's odd-numbered games.

    Args:
        results: Those of one level.
        calibration: Of their means.
        worlds: In how many worlds moves were played out.
    """
    odd = _odd_numbered_games(results)
    out = [one for one in odd if one.wins >= 0]
    shown, won = _shown_chances(odd, calibration), _outcomes(odd)
    wins, truth = np.array([one.wins for one in out]), _calibrated_shares(out)
    differences, sampling = _shown_chances(out, calibration) - truth, (wins * (1 - wins)).mean() / worlds
    sampled = float(np.abs(differences).mean())
    return ChanceErrors(
        len(odd),
        len(out),
        tuple(100 * float((shown - won)[_role_numbers(odd) == role].mean()) for role in range(len(ROLES))),
        tuple(100 * float((wins - _outcomes(out))[_role_numbers(out) == role].mean()) for role in range(len(ROLES))),
        100 * sampled,
        100 * sampled * math.sqrt(max(0.0, 1 - sampling / float((differences**2).mean()))),
        100 * float(((shown - won) ** 2).mean()),
    )


def correlate_gaps(results: Sequence[TableChanceResult], calibration: Calibration) -> float:
    """Return the correlation of shown and played-out differences between two moves' chances, for peasants' moves."""
    peasants = [one for one in _odd_numbered_games(results) if one.role and one.rival_wins >= 0]
    rivals = [replace(one, mean=one.rival_mean) for one in peasants]
    shown = _shown_chances(peasants, calibration) - _shown_chances(rivals, calibration)
    return float(np.corrcoef(shown, [one.wins - one.rival_wins for one in peasants])[0, 1])


def _odd_numbered_games(results: Sequence[TableChanceResult]) -> list[TableChanceResult]:
    """Select the policy's decisions in odd-numbered games."""
    return [one for one in results if one.deal % 2 and one.number >= 0]


def _calibrated_shares(out: Sequence[TableChanceResult]) -> Reals:
    """Convert shares of sampled deals won to winning chances, by curves fitted role by role."""
    wins, won, roles, mapped = (
        np.array([one.wins for one in out]),
        _outcomes(out) > 0,
        _role_numbers(out),
        np.zeros(len(out)),
    )
    for role in range(len(ROLES)):
        chosen = roles == role
        mapped[chosen] = fit_curve(wins[chosen], won[chosen]).chances(wins[chosen])
    return mapped


def _shown_chances(results: Sequence[TableChanceResult], calibration: Calibration) -> Reals:
    return np.array([shown_chance(one, calibration) for one in results])


def _outcomes(results: Sequence[TableChanceResult]) -> Reals:
    return np.array([one.won for one in results], np.float64)


def _role_numbers(results: Sequence[TableChanceResult]) -> npt.NDArray[np.int64]:
    return np.array([one.role for one in results])


def errors_table(saved: ex.SavedResults[TableChanceResult]) -> Table:
    """Make the table of the errors of the winning chances that people see, by level of the other agents."""
    lines, judged = [], [one for one in saved.results if one.number >= 0]
    for level, part in ex.group_by(judged, "opponents", order=LEVELS).items():
        if sum(one.wins >= 0 for one in part) < _MIN_DECISIONS:  # too few for a map of what is played out
            lines.append((level, f"{len(part):,} / too few", *[""] * 5))
            continue
        told = {level: (with_shares_as_means(part), RULE_AGENTS[level].calibration)} if level in RULE_AGENTS else {}
        told[f"{level}, critic alone" if told else level] = part, CALIBRATIONS[level]
        strong = measure_errors(part, CALIBRATIONS[STRONG], int(saved.settings["worlds"])).brier
        for name, (decisions, calibration) in told.items():
            found = measure_errors(decisions, calibration, int(saved.settings["worlds"]))
            lines.append(
                (
                    name,
                    f"{found.positions:,} / {found.played_out}",
                    " / ".join(f"{bias:+.1f}" for bias in found.bias),
                    " / ".join(f"{share_bias:+.1f}" for share_bias in found.share_bias),
                    f"{found.error:.1f} ({found.sampled:.1f})",
                    f"{correlate_gaps(part, CALIBRATIONS[level]):.2f}",
                    f"{found.brier:.1f} ({strong:.1f})",
                )
            )
    header = (
        "opponents",
        "positions / played out",
        "shown less won, by role",
        "worlds won less games won, by role",
        "mean error (with sampling)",
        "correlation of gaps, peasants",
        "Brier score (strong players' map)",
    )
    note = (
        "Points of 100; roles are the landlord, the peasant after it, the peasant before it. Games with odd numbers; "
        f"the maps were fitted on those with even ones. Computed from {saved.name}."
    )
    return Table("Chances of winning at a table of a level", header, lines, note)


TABLE_CHANCES = ex.Experiment(
    name="table-chances",
    about="Whether the chances of winning that ddz web shows hold against the levels easy, medium and hard.",
    options=TableChanceOptions,
    result=TableChanceResult,
    key=("opponents", "deal"),
    tasks=lambda options: [
        (level, deal)
        for level in ex.check_names("level", options.only, LEVELS)
        for deal in range(FIRST_DEAL, FIRST_DEAL + options.games)
    ],
    work=estimate_chances_in_game,
    changeable=("games",),
    more=lambda options: {"particles": WORLDS, "weights": digest_file(shipped_policy_path())},
    agents=lambda options: ["policy"],
    unit="games",
    tables={"table-chances": errors_table},
)
