"""How well the belief network knows the hidden cards, beside weighted particles (scored as in :mod:`.hidden_hands`)."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ddz_agents.belief.model import BeliefModel, load_belief, log_ways
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.shipped import shipped_belief_path
from ddz_agents.worlds.inference import infer
from ddz_agents.worlds.learned_player import LearnedPlayer
from ddz_agents.worlds.particles import Particles
from ddz_agents.worlds.rules_player import RESPONSES, RulesPlayer
from ddz_agents.worlds.story import PlayerModel
from ddz_env import View
from ddz_env.core.options import Range
from ddz_env.playing.provenance import file_digest
from ddz_env.playing.thoughts import Belief
from ddz_training.experiments import hidden_hands as hidden
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, grouped
from ddz_training.experiments.hidden_hands import Counts, Nats
from ddz_training.measure.plotting import Panel, Series, save_plot

INSIDE = ("policy", "rules", "isuct:iterations=1000", "random")
"""Who plays games: players like those of the network's training ..."""
OUTSIDE = ("rlcard-rule", "rollout:iterations=200")
"""... and players that were not in it."""
SIDES = {"inside": INSIDE, "outside": OUTSIDE}
BINS = 10
TIMED = 64
"""Worlds of a timed call."""
SOURCES = ("particles", "network")
_ROUNDS = 2
"""Of annealing, as in the search."""
_Sums = tuple[Annotated[float, "g"], ...]


@dataclass(frozen=True)
class BeliefResult:
    """What one seat knew at one of its decisions.

    Attributes:
        player: Who played the game.
        game: The game's number.
        seat: The observer.
        moves: Moves made in the game.
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

    player: str
    game: int
    seat: int
    moves: int
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


@dataclass(frozen=True)
class BeliefOptions(ParallelOptions):
    """How much is watched.

    Attributes:
        seed: Seed of the games.
        games: Games for each kind of player.
        worlds: Particles, and worlds of the network.
        belief: The belief network's file; none for the shipped one.
    """

    seed: Annotated[int, Range(0, 2**64 - 1)] = 2027
    games: Annotated[int, Range(1)] = 40
    worlds: Annotated[int, Range(1)] = 256
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

    for state, seat in hidden.watched(player, options.seed, game, rng, choices_only=True):
        view, truth = state.view(), hidden.hidden_counts(state.row, seat)
        nats, bins, spent = [hidden.log_probability(truth, hidden.plain_splits(truth))], [], []
        for source in (particles, worlds):
            known = source(view, options.worlds)
            nats.append(hidden.log_probability(truth, hidden.inferred_splits(truth, view, known)))
            bins.append(calibration(truth, view, known))
            began = time.process_time()
            source(view, TIMED)
            spent.append(1000 * (time.process_time() - began))
        pool, own = truth.sum(axis=0), truth[(seat + 1) % 3]
        logs = network.log_probabilities(view, own[None])
        assert logs is not None
        bits = [float(nat) / -log(2) for nat in (log_ways(pool, own).sum() - log_ways(pool.sum(), own.sum()), logs[0])]
        # Rounded as a file holds them, so that a run and its file say the same.
        numbers: list[Any] = [round(value, 5) for value in (*nats, *bits, *spent)]
        ranks = int((pool > 0).sum())
        results.append(BeliefResult(player, game, seat, len(state.history), ranks, *numbers, *bins))
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
    gains = [hidden.nats_gained(results, source, "plain").both("+.3f", 1) for source in SOURCES]
    names = ("plain_bits", "network_bits", *(f"{source}_ms" for source in SOURCES))
    return [str(len(results)), *gains, *(f"{np.mean([getattr(one, name) for one in results]):.2f}" for name in names)]


def belief_table(saved: Saved[BeliefResult]) -> Table:
    """What particles and network know in games of each kind of player."""
    by_player = grouped(saved.results, "player", order=(*INSIDE, *OUTSIDE))
    lines = [(f"`{one}`", "yes" if one in INSIDE else "no", *_line(own)) for one, own in by_player.items()]
    for side, players in SIDES.items():
        if own := [result for result in saved.results if result.player in players]:
            lines.append((f"all {side}", "", *_line(own)))
    units = ("particles, nats", "network, nats", "plain, bits", "network, bits", "particles, ms", "network, ms")
    note = (
        "Nats: gain over plain dealing in the log-probability of the true split of a hidden rank, with 95 % intervals "
        f"over games, from {saved.settings['worlds']} particles and as many worlds of the network. Bits: what the "
        f"whole hidden hand costs. Milliseconds of a processor: for {TIMED} worlds. Computed from {saved.name}; the "
        f"network is `{saved.settings['weights']}`."
    )
    return Table("What the belief network knows", ("games of", "in training", "positions", *units), lines, note)


def plot_belief(saved: Saved[BeliefResult], path: Path) -> None:
    """Calibration, in games of players in and outside the training."""
    panels = []
    for side, players in SIDES.items():
        series = [Series("", [0, 1], [0, 1], style={"color": "#bbbbbb", "linestyle": ":"})]
        for source in SOURCES:
            own = [getattr(result, f"{source}_bins") for result in saved.results if result.player in players]
            sums = np.reshape(own, (-1, 3, BINS)).sum(axis=0)
            count, said, true = sums[:, sums[0] >= 10]
            series.append(Series(source, (said / count).tolist(), (true / count).tolist(), style={"marker": "o"}))
        panels.append(Panel(series, "chance said", "share that came true", f"players {side} the training"))
    save_plot(path, *panels, size=(7.2, 3.6))


BELIEF = Experiment(
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
