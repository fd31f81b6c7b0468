"""How well the cards that a seat does not see are known: by weighted particles, and by the belief network.

Games of several kinds of players (all three seats alike) are watched by every seat at some of its own decisions.  For
each rank of which the seat cannot place every card, its belief gives the probability of the true split among the other
holders; the mean of its logarithm over ranks is compared with that of plain determinization, which is known exactly (a
hypergeometric probability).

*Hand inference* scores the same games under the default belief (each seat may be any of three kinds of players) and
under the belief that the seats are the rule agent, which is right for the first kind of game and wrong for the last.
The paper (Whitehouse, Powley and Cowling 2011) leaves inference for the full game open, so there is no figure of theirs
beside ours.

*Belief* scores the network beside weighted particles, in games of players like those of its training and of others.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import comb, log, prod
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from ddz_agents.belief.model import BeliefModel, load_belief, log_ways
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.shipped import shipped_belief_path
from ddz_agents.worlds.inference import DEFAULT_PARTICLES, infer
from ddz_agents.worlds.learned_player import LearnedPlayer
from ddz_agents.worlds.particles import Particles
from ddz_agents.worlds.rules_player import FAITHFUL, RESPONSES, RulesPlayer
from ddz_agents.worlds.story import PlayerModel
from ddz_env import State, View
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.layout import HANDS, HIDDEN, KNOWN, LANDLORD
from ddz_env.core.notation import word_to_counts
from ddz_env.playing.game import play_one, seat_generators
from ddz_env.playing.generators import published_generator
from ddz_env.playing.provenance import file_digest
from ddz_env.playing.registry import make_agent
from ddz_env.playing.thoughts import Belief
from ddz_training.experiments import experiment as ex
from ddz_training.measure.plotting import Panel, Series, save_plot
from ddz_training.measure.statistics import Interval, normal_interval

_WATCHES = 2
"""Decisions a seat and game at which it looks at the others' hands."""
_DOUBT = 1e-3
"""Share of plain determinization in the scored probabilities: a split that no particle has costs about seven nats
more, not infinitely many."""

FloatArray = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Nats = Annotated[float, ".5f"]


def hidden_counts(row: npt.NDArray[np.uint64], seat: int) -> Counts:
    """Who holds the cards that a seat cannot place.

    Args:
        row: The whole game, shape ``[32]``, after the auction.
        seat: The observer.

    Returns:
        Cards by holder (three seats, then undealt) and rank, shape ``[4, 15]``; none of the observer's own and none of
        the face-up landlord cards.
    """
    counts = np.array([word_to_counts(int(row[word])) for word in (HANDS, HANDS + 1, HANDS + 2, HIDDEN)])
    if int(row[LANDLORD]) != seat:
        counts[int(row[LANDLORD])] -= word_to_counts(int(row[KNOWN]))
    counts[seat] = 0
    return counts


def plain_splits(truth: Counts) -> FloatArray:
    """The probability of the true split of each rank when nothing is inferred, shape ``[15]``.

    The hidden cards of a rank lie in a random set of the hidden places, so it is multivariate hypergeometric.

    Args:
        truth: Cards by holder and rank (:func:`hidden_counts`), shape ``[4, 15]``.
    """
    places, ranks = truth.sum(axis=1).tolist(), truth.T.tolist()
    ways = [prod(comb(place, count) for place, count in zip(places, counts, strict=True)) for counts in ranks]
    return np.array([way / comb(sum(places), sum(counts)) for way, counts in zip(ways, ranks, strict=True)])


def inferred_splits(truth: Counts, view: View, known: Particles) -> FloatArray:
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


def log_probability(truth: Counts, splits: FloatArray) -> float:
    """The summed log-probability of the true splits of the hidden ranks, in nats.

    Args:
        truth: Cards by holder and rank (:func:`hidden_counts`), shape ``[4, 15]``.
        splits: The probability of each rank's true split, shape ``[15]``.
    """
    hidden = truth.sum(axis=0) > 0
    doubted = (1 - _DOUBT) * splits + _DOUBT * plain_splits(truth)
    return float(np.log(doubted[hidden]).sum())


def believed(truth: Counts, view: View, *sources: Particles) -> list[float]:
    """The log-probabilities of the true splits under plain determinization and under some beliefs."""
    splits = (inferred_splits(truth, view, known) for known in sources)
    return [log_probability(truth, one) for one in (plain_splits(truth), *splits)]


def hidden_ranks(truth: Counts) -> int:
    """Ranks of which the observer cannot place every card."""
    return int((truth.sum(axis=0) > 0).sum())


def watched(
    spec: str, seed: int, game: int, rng: np.random.Generator, *, choices_only: bool = False
) -> Iterator[tuple[View, Counts]]:
    """Some decisions of a game between copies of an agent: what the seat to act sees, and who holds the hidden cards.

    Args:
        spec: The agent.
        seed: Seed of the games.
        game: The game's number.
        rng: Draws the decisions, of a seat only after those of the last have been looked at.
        choices_only: Whether decisions with one legal move are left out.
    """
    state = State.new(seed=seed, game=game)
    seats = state.rules.players
    agents, rngs = [make_agent(spec)] * seats, seat_generators([seed, game], seats, published_generator)
    moments: list[list[State]] = [[] for _ in range(seats)]
    while not state.is_over:
        chooses = not choices_only or len(state.legal_moves()) > 1
        if chooses and any(mover != state.seat for mover, _ in state.history):
            moments[state.seat].append(state.copy())
        play_one(state, agents, rngs)
    for seat, states in enumerate(moments):
        for index in sorted(rng.permutation(len(states))[:_WATCHES].tolist()):
            yield states[index].view(), hidden_counts(states[index].row, seat)


def nats_gained(results: Iterable[Any], more: str, less: str) -> Interval:
    """By how many nats a hidden rank one belief beats another.

    The mean is over ranks; its interval is that of a ratio of two sums over games, which are independent.

    Args:
        results: What was seen.
        more: The field of the one.
        less: The field of the other.
    """
    sums = [
        (sum(getattr(one, more) - getattr(one, less) for one in own), sum(one.ranks for one in own))
        for own in ex.grouped(results, "player", "game").values()
    ]
    nats, ranks = np.array(sums, np.float64).T
    mean = nats.sum() / max(1.0, ranks.sum())
    return normal_interval((mean + (nats - mean * ranks) / max(ranks.mean(), 1e-9)).tolist())


class Watched(ex.Result):
    """Where one seat made a decision.

    Attributes:
        player: Who played the game.
        game: The game's number.
        seat: The observer; seat 0 is the landlord.
        moves: Moves made in the game.
    """

    player: str
    game: int
    seat: int
    moves: int


# --- Hand inference ---------------------------------------------------------------------------------------------------

PLAYERS: Mapping[str, str] = {"rules": "rules", "isuct": "isuct:iterations=2000", "random": "random"}
"""Who plays the games, by name."""
WATCH_SEED = 2011
"""Seed of the games; responses and defaults were chosen on others."""
STAGES = ((1, 4), (5, 9), (10, 19), (20, 99))
"""Decisions of hidden seats so far, from and to, by which results are grouped."""
BELIEFS = {"default": "three kinds of players", "rules": "the rule agent"}
"""What the seats may be believed to be."""


class WatchResult(Watched):
    """What one seat knew at one of its decisions.

    Attributes:
        player: Who played the game, a key of ``PLAYERS``.
        decisions: Play decisions of hidden seats among the moves.
        ranks: Ranks of which the observer cannot place every card.
        uniform: Sum over them of the log-probability of their true splits under plain determinization.
        default: The same under inference with the default models.
        rules: The same where every seat is believed to be the rule agent.
        ess: The effective sample size of the default inference.
    """

    decisions: int
    ranks: int
    uniform: Nats
    default: Nats
    rules: Nats
    ess: Nats


class WatchOptions(ex.SeedOptions):
    """How much is watched.

    Attributes:
        seed: Seed of the games.
        games: Games for each kind of player.
        particles: Particles per inference.
    """

    seed: ex.Seed = WATCH_SEED
    games: ex.Count = 80
    particles: ex.Count = DEFAULT_PARTICLES


def watch(options: WatchOptions, player: str, game: int) -> list[WatchResult]:
    """How much the moves reveal about the hidden hands of the full game (left open by the paper)."""
    rng, results = np.random.default_rng([options.seed, game, 3]), []
    for view, truth in watched(PLAYERS[player], options.seed, game, rng):
        default = infer(view, rng, options.particles)
        rules = infer(view, rng, options.particles, RulesPlayer(FAITHFUL))
        nats = *believed(truth, view, default, rules), default.ess
        decisions = sum(mover != view.seat for mover, _ in view.history)
        counts = view.seat, len(view.history), decisions, hidden_ranks(truth)
        results.append(WatchResult(player, game, *counts, *nats))
    return results


def probability(results: Sequence[WatchResult], belief: str) -> float:
    """The probability of a hidden rank's true split, the geometric mean over ranks; NaN where nothing was seen."""
    ranks = sum(result.ranks for result in results)
    return float(np.exp(sum(getattr(result, belief) for result in results) / ranks)) if ranks else float("nan")


def _in_stage(results: Sequence[WatchResult], stage: tuple[int, int]) -> list[WatchResult]:
    return [result for result in results if stage[0] <= result.decisions <= stage[1]]


def _cell(results: Sequence[WatchResult], belief: str) -> str:
    interval = nats_gained(results, belief, "uniform")
    nats = f"{interval.text('+.3f', 1)}, {interval.span('+.3f', 1)}"
    return f"{probability(results, belief):.3f} ({nats})" if results else "–"


def player_table(saved: ex.Saved[WatchResult]) -> ex.Table:
    """What the beliefs know in games of each kind of player."""
    lines = [
        (PLAYERS[player], f"{probability(own, 'uniform'):.3f}", *(_cell(own, belief) for belief in BELIEFS))
        for player, own in ex.grouped(saved.results, "player").items()
    ]
    header = ("games of", "plain determinization", *(f"believed to be {label}" for label in BELIEFS.values()))
    note = (
        "Probability of the true split of a hidden rank; in brackets the gain over plain determinization in nats a "
        f"hidden rank, with its 95 % interval over games. Computed from {saved.name}."
    )
    return ex.Table("What hand inference knows", header, lines, note)


def stage_table(saved: ex.Saved[WatchResult]) -> ex.Table:
    """What the default belief knows the longer a game lasts."""
    by_player = ex.grouped(saved.results, "player")
    lines = []
    for first, last in STAGES:
        here = [_in_stage(own, (first, last)) for own in by_player.values()]
        cells = (f"{probability(own, 'uniform'):.3f} → {_cell(own, 'default')}" if own else "–" for own in here)
        lines.append((f"{first} to {last}", *cells))
    header = ("decisions of hidden seats", *(PLAYERS[player] for player in by_player))
    note = "Without inference → with the belief in three kinds of players (gain in nats, 95 % interval)."
    return ex.Table("What it knows the longer a game lasts", header, lines, note)


def plot_hand_inference(saved: ex.Saved[WatchResult], path: Path) -> None:
    """The mean probability (geometric) of a rank's true split by decisions so far, a panel for each kind of player."""
    stages, panels = [f"{first}–{last}" for first, last in STAGES], []
    for player, own in ex.grouped(saved.results, "player").items():
        series = [
            Series(
                label, stages, [probability(_in_stage(own, stage), belief) for stage in STAGES], style={"marker": "o"}
            )
            for belief, label in (("uniform", "plain determinization"), *BELIEFS.items())
        ]
        panels.append(
            Panel(series, "decisions of hidden seats", "probability of a rank's true split", f"games of {player}")
        )
    save_plot(path, *panels, size=(3.2 * len(panels), 3.4))


HAND_INFERENCE = ex.Experiment(
    "hand-inference",
    watch,
    "games",
    lambda options: [(player, game) for player in PLAYERS for game in range(options.games)],
    {"hand-inference": player_table, "hand-inference-stages": stage_table},
    settings=("seed", "particles"),
    plot=plot_hand_inference,
)


# --- The belief network -----------------------------------------------------------------------------------------------

INSIDE = ("policy", "rules", "isuct:iterations=1000", "random")
"""Who plays games: players like those of the network's training ..."""
OUTSIDE = ("rlcard-rule", "rollout:iterations=200")
"""... and players that were not in it."""
KINDS = {"inside": INSIDE, "outside": OUTSIDE}
BINS = 10
TIMED = 64
"""Worlds of a timed call."""
SOURCES = ("particles", "network")
_ROUNDS = 2
"""Of annealing, as in the search."""
_Sums = tuple[Annotated[float, "g"], ...]


class BeliefResult(Watched):
    """What one seat knew at one of its decisions.

    Attributes:
        ranks: Ranks of which the observer cannot place every card.
        plain: Sum over them of the log-probability of their true splits under plain dealing, in nats.
        particles: The same under the particles.
        network: The same under as many worlds of the network.
        plain_bits: The whole hidden hand under plain dealing, in bits.
        network_bits: The same under the network.
        particles_ms: Milliseconds of a processor to weigh 64 particles.
        network_ms: Milliseconds to draw 64 worlds.
        particles_bins: For each tenth of chances that the particles say: how many, their sum, how many came true.
        network_bins: The same of the network.
    """

    ranks: int
    plain: Nats
    particles: Nats
    network: Nats
    plain_bits: Nats
    network_bits: Nats
    particles_ms: Nats
    network_ms: Nats
    particles_bins: _Sums
    network_bins: _Sums


class BeliefOptions(ex.ParallelOptions):
    """How much is watched.

    Attributes:
        seed: Seed of the games.
        games: Games for each kind of player.
        worlds: Particles, and worlds of the network.
        belief: The belief network's file; none for the shipped one.
    """

    seed: ex.Seed = 2027
    games: ex.Count = 40
    worlds: ex.Count = 256
    belief: Path | None = None


@functools.cache
def _believers(path: Path | None) -> tuple[BeliefModel, list[PlayerModel]]:
    """The network, and the kinds of players that the search believes in."""
    return load_belief(path), [LearnedPlayer(load_policy(None)), *map(RulesPlayer, RESPONSES)]


def look(options: BeliefOptions, player: str, game: int) -> list[BeliefResult]:
    """How well the belief network knows the hidden cards, beside weighted particles."""
    network, kinds = _believers(options.belief)
    rng, results = np.random.default_rng([options.seed, game, 3]), []

    def particles(view: View, count: int) -> Particles:
        return infer(view, rng, count, kinds, rounds=_ROUNDS)

    def worlds(view: View, count: int) -> Particles:
        proposal = network.proposal(view, rng, count)
        assert proposal is not None, "a game of three seats after the auction"
        return Particles(proposal.hands, np.full(count, 1 / count), float(count), 1.0)

    for view, truth in watched(player, options.seed, game, rng, choices_only=True):
        known, spent = [], []
        for source in (particles, worlds):
            known.append(source(view, options.worlds))
            began = time.process_time()
            source(view, TIMED)
            spent.append(1000 * (time.process_time() - began))
        pool, own = truth.sum(axis=0), truth[(view.seat + 1) % 3]
        logs = network.log_probabilities(view, own[None])
        assert logs is not None
        bits = [float(nat) / -log(2) for nat in (log_ways(pool, own).sum() - log_ways(pool.sum(), own.sum()), logs[0])]
        counts = view.seat, len(view.history), hidden_ranks(truth)
        bins = (calibration(truth, view, one) for one in known)
        numbers: list[Any] = [*believed(truth, view, *known), *bits, *spent, *bins]
        results.append(BeliefResult(player, game, *counts, *numbers))
    return results


def calibration(truth: Counts, view: View, known: Particles) -> tuple[float, ...]:
    """How often the predicted chance that the next seat holds a hidden rank came true, by tenths of the chance.

    Args:
        truth: Cards by holder and rank, shape ``[4, 15]``.
        view: The observer's view.
        known: What it believes.

    Returns:
        The number of predictions in each bin, their sums, and how many came true, one behind the other.
    """
    following = (view.seat + 1) % 3
    ranks = np.flatnonzero(truth.sum(axis=0))
    shown = np.array(view.known_cards.counts)[ranks] if view.landlord == following else 0
    chances = Belief.of_worlds(known.hands, known.weights).chances[following, ranks, shown + 1]
    places = np.minimum((chances * BINS).astype(np.int64), BINS - 1)
    true = (truth[following, ranks] > 0).astype(np.float64)
    sums = [np.bincount(places, weights, BINS) for weights in (None, chances, true)]
    return tuple(round(float(value), 3) for part in sums for value in part)


def _line(results: Sequence[BeliefResult]) -> list[str]:
    gains = [nats_gained(results, source, "plain").both("+.3f", 1) for source in SOURCES]
    names = ("plain_bits", "network_bits", *(f"{source}_ms" for source in SOURCES))
    return [str(len(results)), *gains, *(f"{np.mean([getattr(one, name) for one in results]):.2f}" for name in names)]


def belief_table(saved: ex.Saved[BeliefResult]) -> ex.Table:
    """What particles and network know in games of each kind of player."""
    by_player = ex.grouped(saved.results, "player", order=(*INSIDE, *OUTSIDE))
    lines = [(f"`{one}`", "yes" if one in INSIDE else "no", *_line(own)) for one, own in by_player.items()]
    for side, players in KINDS.items():
        if own := [result for result in saved.results if result.player in players]:
            lines.append((f"all {side}", "", *_line(own)))
    units = ("particles, nats", "network, nats", "plain, bits", "network, bits", "particles, ms", "network, ms")
    note = (
        "Nats: gain over plain dealing in the log-probability of the true split of a hidden rank, with 95 % intervals "
        f"over games, from {saved.settings['worlds']} particles and as many worlds of the network. Bits: what the "
        f"whole hidden hand costs. Milliseconds of a processor: for {TIMED} worlds. Computed from {saved.name}; the "
        f"network is `{saved.settings['weights']}`."
    )
    return ex.Table("What the belief network knows", ("games of", "in training", "positions", *units), lines, note)


def plot_belief(saved: ex.Saved[BeliefResult], path: Path) -> None:
    """Calibration, in games of players in and outside the training."""
    panels = []
    for side, players in KINDS.items():
        series = [Series("", [0, 1], [0, 1], style={"color": "#bbbbbb", "linestyle": ":"})]
        for source in SOURCES:
            own = [getattr(result, f"{source}_bins") for result in saved.results if result.player in players]
            sums = np.reshape(own, (-1, 3, BINS)).sum(axis=0)
            count, said, true = sums[:, sums[0] >= 10]
            series.append(Series(source, (said / count).tolist(), (true / count).tolist(), style={"marker": "o"}))
        panels.append(Panel(series, "chance said", "share that came true", f"players {side} the training"))
    save_plot(path, *panels, size=(7.2, 3.6))


BELIEF = ex.Experiment(
    "belief",
    look,
    "games",
    lambda options: [(player, game) for player in (*INSIDE, *OUTSIDE) for game in range(options.games)],
    {"belief": belief_table},
    settings=("seed", "worlds"),
    more=lambda options: {"weights": file_digest(options.belief or shipped_belief_path())},
    agents=lambda tasks: dict.fromkeys(player for player, _ in tasks),
    plot=plot_belief,
)
