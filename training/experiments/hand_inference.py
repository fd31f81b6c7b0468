"""How much hand inference knows: the probability that weighted particles put on how the hidden cards truly lie.

Games of three kinds of players (the rule agent, information-set UCT, uniformly random play; all three seats alike) are
watched by every seat at some of its own decisions.  For each rank of which the seat cannot place every card, the
particles give the probability of its true split among the other holders; the mean of its logarithm over ranks is
compared with that of plain determinization, which is known exactly (a hypergeometric probability).  The same game is
scored under the default belief (each seat may be any of three kinds of players) and under the belief that the seats
are the rule agent, which is right for the first kind of game and wrong for the last.  The paper (Whitehouse, Powley
and Cowling 2011) leaves inference for the full game open, so there is no figure of theirs beside ours.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, prod
from pathlib import Path

import numpy as np
import numpy.typing as npt

from agents.worlds.inference import DEFAULT_PARTICLES, infer
from agents.worlds.particles import Particles
from agents.worlds.rules_player import FAITHFUL, RulesPlayer
from ddz_env import State, View
from ddz_env.cards import NUM_RANKS
from ddz_env.engine.layout import HANDS, HIDDEN, KNOWN, LANDLORD
from ddz_env.notation import word_to_counts
from ddz_env.playing import play_one, seat_generators
from ddz_env.registry import make_agent
from training.arena.statistics import Interval, normal_interval
from training.experiments.comparison import Comparison, OnProgress, no_progress
from training.experiments.result_table import ResultTable

COLUMNS = ("player", "game", "seat", "moves", "decisions", "ranks", "uniform", "default", "rules", "ess")
PLAYERS: Mapping[str, str] = {"rules": "rules", "isuct": "isuct:iterations=2000", "random": "random"}
"""Who plays the games, by name."""
DEFAULT_GAMES = 80
WATCH_SEED = 2011
"""Seed of the games; responses and defaults were chosen on others."""
STAGES = ((1, 4), (5, 9), (10, 19), (20, 99))
"""Decisions of hidden seats so far, from and to, by which results are grouped."""
_WATCHES = 2
"""Decisions a seat and game at which it looks at the others' hands."""
_DOUBT = 1e-3
"""Share of plain determinization in the scored probabilities: a split that no particle has costs about seven nats
more, not infinitely many."""

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class WatchResult:
    """What one seat knew at one of its decisions.

    Attributes:
        player: Who played the game, a key of ``PLAYERS``.
        game: The game's number.
        seat: The observer; seat 0 is the landlord.
        moves: Moves made in the game.
        decisions: Play decisions of hidden seats among them.
        ranks: Ranks of which the observer cannot place every card.
        uniform: Sum over them of the log-probability of their true splits under plain determinization.
        default: The same under inference with the default models.
        rules: The same where every seat is believed to be the rule agent.
        ess: The effective sample size of the default inference.
    """

    player: str
    game: int
    seat: int
    moves: int
    decisions: int
    ranks: int
    uniform: float
    default: float
    rules: float
    ess: float


def hidden_counts(row: npt.NDArray[np.uint64], seat: int) -> npt.NDArray[np.int64]:
    """Who holds the cards that a seat cannot place.

    Args:
        row: The whole game, shape ``[32]``, after the auction.
        seat: The observer.

    Returns:
        Cards by holder (three seats, then nobody) and rank, shape ``[4, 15]``; none of the observer's own and none of
        the face-up landlord cards.
    """
    counts = np.array([word_to_counts(int(row[word])) for word in (HANDS, HANDS + 1, HANDS + 2, HIDDEN)])
    if int(row[LANDLORD]) != seat:
        counts[int(row[LANDLORD])] -= word_to_counts(int(row[KNOWN]))
    counts[seat] = 0
    return counts


def plain_splits(truth: npt.NDArray[np.int64]) -> FloatArray:
    """The probability of the true split of each rank when nothing is inferred, shape ``[15]``.

    The hidden cards of a rank lie in a random set of the hidden places, so it is multivariate hypergeometric.

    Args:
        truth: Cards by holder and rank (:func:`hidden_counts`), shape ``[4, 15]``.
    """
    places, ranks = truth.sum(axis=1).tolist(), truth.T.tolist()
    ways = [prod(comb(place, count) for place, count in zip(places, counts, strict=True)) for counts in ranks]
    return np.array([way / comb(sum(places), sum(counts)) for way, counts in zip(ways, ranks, strict=True)])


def inferred_splits(truth: npt.NDArray[np.int64], view: View, known: Particles) -> FloatArray:
    """The weight of the particles that split each rank as it truly is, shape ``[15]``.

    Args:
        truth: Cards by holder and rank (:func:`hidden_counts`), shape ``[4, 15]``.
        view: The observer's view.
        known: What it has inferred.
    """
    true = truth.copy()
    true[view.seat] = view.hand.counts
    if view.landlord not in (None, view.seat):
        true[view.landlord] += view.known_cards.counts
    bits = 16 * np.arange(4)[:, None] + np.arange(NUM_RANKS)
    held = (known.hands[:, :, None, None] >> bits.astype(np.uint64)) & np.uint64(1)
    same = (held.sum(axis=2) == true.astype(np.uint64)).all(axis=1)
    return np.asarray(known.weights @ same)


def log_probability(truth: npt.NDArray[np.int64], splits: FloatArray) -> float:
    """The summed log-probability of the true splits of the hidden ranks, in nats.

    Args:
        truth: Cards by holder and rank (:func:`hidden_counts`), shape ``[4, 15]``.
        splits: The probability of each rank's true split, shape ``[15]``.
    """
    hidden = truth.sum(axis=0) > 0
    doubted = (1 - _DOUBT) * splits + _DOUBT * plain_splits(truth)
    return float(np.log(doubted[hidden]).sum())


def run_hand_inference(
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    games: int = DEFAULT_GAMES,
    particles: int = DEFAULT_PARTICLES,
    players: Sequence[str] = tuple(PLAYERS),
    seed: int = WATCH_SEED,
) -> list[WatchResult]:
    """Watch games.

    Args:
        path: Where to save, a few lines a game; a file of an earlier run is gone on with.
        on_progress: Told how many games are done.
        games: Games a kind of player.
        particles: Particles a look.
        players: Keys of ``PLAYERS``.
        seed: Seed of the games.
    """
    settings = {"experiment": "hand-inference", "particles": particles, "seed": seed}
    table = ResultTable(path, settings, COLUMNS)
    done = table.keys("player", "game")
    todo = [(player, game) for player in players for game in range(games)]
    for number, (player, game) in enumerate(todo):
        on_progress(number, len(todo))
        if (player, str(game)) not in done:
            table.extend([_as_line(result) for result in _watch_game(player, game, particles, seed)])
    on_progress(len(todo), len(todo))
    kept = {(player, str(game)) for player, game in todo}
    return [_from_line(row) for row in table.rows if (row["player"], row["game"]) in kept]


def _watch_game(player: str, game: int, particles: int, seed: int) -> list[WatchResult]:
    """Play a game, then look at it from every seat at some of its decisions."""
    state = State.new(seed=seed, game=game)
    seats = state.rules.players
    agents, rngs = [make_agent(PLAYERS[player])] * seats, seat_generators([seed, game], seats)
    moments: list[list[State]] = [[] for _ in range(seats)]
    while not state.is_over:
        if any(mover != state.seat for mover, _ in state.history):
            moments[state.seat].append(state.copy())
        play_one(state, agents, rngs)
    rng = np.random.default_rng([seed, game, seats])
    results = []
    for seat, states in enumerate(moments):
        for index in sorted(rng.permutation(len(states))[:_WATCHES].tolist()):
            results.append(_watch(player, game, states[index], seat, particles, rng))
    return results


def _watch(player: str, game: int, state: State, seat: int, particles: int, rng: np.random.Generator) -> WatchResult:
    view, truth = state.view(seat), hidden_counts(state.row, seat)
    default = infer(view, rng, particles)
    rules = infer(view, rng, particles, RulesPlayer(FAITHFUL))
    decisions = sum(mover != seat for mover, _ in view.history)
    scored = [log_probability(truth, inferred_splits(truth, view, known)) for known in (default, rules)]
    plain = log_probability(truth, plain_splits(truth))
    moves, ranks = len(view.history), int((truth.sum(axis=0) > 0).sum())
    return WatchResult(player, game, seat, moves, decisions, ranks, plain, scored[0], scored[1], default.ess)


def _as_line(result: WatchResult) -> tuple[object, ...]:
    values = (getattr(result, column) for column in COLUMNS)
    return tuple(f"{value:.5f}" if isinstance(value, float) else value for value in values)


def _from_line(row: Mapping[str, str]) -> WatchResult:
    game, seat, moves, decisions, ranks = (int(row[column]) for column in COLUMNS[1:6])
    uniform, default, rules, ess = (float(row[column]) for column in COLUMNS[6:])
    return WatchResult(row["player"], game, seat, moves, decisions, ranks, uniform, default, rules, ess)


def gain(results: Sequence[WatchResult], belief: str) -> Interval:
    """By how many nats a hidden rank a belief beats plain determinization.

    The mean is over ranks; its interval is that of a ratio of two sums over games, which are independent.

    Args:
        results: What was seen.
        belief: ``default`` or ``rules``.
    """
    by_game: dict[tuple[str, int], FloatArray] = {}
    for result in results:
        more = np.array([getattr(result, belief) - result.uniform, result.ranks], np.float64)
        key = (result.player, result.game)
        by_game[key] = by_game.get(key, np.zeros(2)) + more
    nats, ranks = np.array(list(by_game.values())).T
    mean = nats.sum() / max(1.0, ranks.sum())
    return normal_interval((mean + (nats - mean * ranks) / max(ranks.mean(), 1e-9)).tolist())


def compare_hand_inference(results: Sequence[WatchResult]) -> list[Comparison]:
    """Our gains over plain determinization; the paper has none to compare with."""
    lines = []
    for player in dict.fromkeys(result.player for result in results):
        of_player = [result for result in results if result.player == player]
        for belief, label in (("default", "three kinds of players"), ("rules", "the rule agent")):
            lines.append(_line(f"{player} believed to be {label}", of_player, belief))
        for first, last in STAGES:
            here = [result for result in of_player if first <= result.decisions <= last]
            if here:
                lines.append(_line(f"{player}, after {first} to {last} decisions", here, "default"))
    return lines


def _line(what: str, results: Sequence[WatchResult], belief: str) -> Comparison:
    ranks = max(1, sum(result.ranks for result in results))
    plain = np.exp(sum(result.uniform for result in results) / ranks)
    ours = np.exp(sum(getattr(result, belief) for result in results) / ranks)
    interval = gain(results, belief)
    note = f"{interval.low:+.3f} to {interval.high:+.3f}; probability {plain:.3f} without, {ours:.3f} with"
    return Comparison(f"{what}: nats a hidden rank", "", f"{interval.mean:+.3f}", note)


@dataclass(frozen=True)
class Cost:
    """Processor time of inference.

    Attributes:
        decision_us: Microseconds a deal and decision of a hidden seat, drawing the deal included.
        look_ms: Milliseconds a call of :func:`agents.worlds.inference.infer` as it is by default.
    """

    decision_us: float
    look_ms: float


def measure_cost(moments: int = 20, moves: int = 12) -> Cost:
    """Time inference in games of the rule agent.

    Args:
        moments: Positions to look at, one a game.
        moves: Moves into the game; until about 12 hardly any deal is drawn twice.
    """
    agent, rng = make_agent("rules"), np.random.default_rng(WATCH_SEED)
    plain, look, asked = 0.0, 0.0, 0
    for game in range(moments + 1):
        state = State.new(seed=WATCH_SEED, game=game)
        while not state.is_over and len(state.history) < moves:
            state.step(agent.act(state.view(), rng))
        view = state.view((state.seat + 1) % 3)
        times = [time.process_time()]
        known = infer(view, rng, rounds=0)
        times.append(time.process_time())
        infer(view, rng)
        times.append(time.process_time())
        if game:  # the first look compiles
            plain, look = plain + times[1] - times[0], look + times[2] - times[1]
            asked += len(np.unique(known.hands, axis=0)) * sum(seat != view.seat for seat, _ in view.history)
    return Cost(1e6 * plain / asked, 1e3 * look / moments)
