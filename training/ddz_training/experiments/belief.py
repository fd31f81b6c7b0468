"""How well the belief network knows the hidden cards, beside weighted particles (scored as in hidden_hands).

Particles, those of ``neural-ismcts``, are compared with as many worlds of the network.  Two of the kinds of players
never played in the network's training.  The network also gives the probability of the whole hidden hand, and so does
plain dealing; particles do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ddz_agents.belief.model import load_belief
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.shipped import shipped_belief_path
from ddz_agents.neural_search.agent import believed_players
from ddz_agents.worlds.determinize import WorldPool
from ddz_agents.worlds.inference import inferred_pool
from ddz_agents.worlds.particles import Particles
from ddz_env import State, View
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.options import Range
from ddz_env.playing.provenance import file_digest
from ddz_training.experiments import hidden_hands as hidden
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, grouped
from ddz_training.experiments.hidden_hands import Counts, FloatArray, Nats
from ddz_training.measure.match.ordered_map import Worker
from ddz_training.measure.match.timing import processor_time
from ddz_training.measure.plotting import new_axes, save_figure

IN_TRAINING: Mapping[str, bool] = {
    "policy": True,
    "rules": True,
    "isuct:iterations=1000": True,
    "random": True,
    "rlcard-rule": False,
    "rollout:iterations=200": False,
}
"""Who plays the games, and whether such a player was in the network's training."""
BINS = 10
TIMED = 64
"""Worlds of a timed call."""
SOURCES = ("particles", "network")
_ROUNDS = 2
"""Of annealing, as in the search."""
_Sums = tuple[Annotated[float, "g"], ...]
"""For each bin of predicted probabilities: predictions, their sum, and how many came true."""


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
        particles_bins: How often what the particles say comes true.
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


class _Believer(Worker[tuple[str, int], list[BeliefResult]]):
    """Plays games, then looks at them from every seat at some of its decisions."""

    def __init__(self, options: BeliefOptions) -> None:
        self._options = options
        self._network = load_belief(options.belief)
        self._players = believed_players(load_policy(None), "mixed")

    def play(self, task: tuple[str, int]) -> list[BeliefResult]:
        (player, game), seed = task, self._options.seed
        rng = np.random.default_rng([seed, game, 3])
        moments = hidden.watched(player, seed, game, rng, lambda state: len(state.legal_moves()) > 1)
        return [self._look(player, game, state, rng) for state, _ in moments]

    def _look(self, player: str, game: int, state: State, rng: np.random.Generator) -> BeliefResult:
        """What the seat to act knows."""
        view, truth = state.view(), hidden.hidden_counts(state.row, state.seat)
        sources: tuple[Callable[[int], WorldPool], ...] = (
            lambda count: inferred_pool(view, rng, count, self._players, _ROUNDS),
            lambda count: self._network.worlds(view, rng, count),
        )
        nats, bins, spent = [hidden.log_probability(truth, hidden.plain_splits(truth))], [], []
        for source in sources:
            known = as_particles(source(self._options.worlds))
            nats.append(hidden.log_probability(truth, hidden.inferred_splits(truth, view, known)))
            bins.append(calibration(truth, view, known))
            began = processor_time()
            source(TIMED)
            spent.append(1000 * (processor_time() - began))
        logs = self._network.log_probabilities(view, truth[(state.seat + 1) % 3][None])
        assert logs is not None, "a game of three seats after the auction"
        bits = [-hand / log(2) for hand in (hidden.plain_hand(truth, state.seat), float(logs[0]))]
        about = player, game, state.seat, len(state.history), hidden.hidden_ranks(truth)
        # Rounded as a file holds them, so that a run and its file say the same.
        numbers: list[Any] = [round(value, 5) for value in (*nats, *bits, *spent)]
        return BeliefResult(*about, *numbers, *bins)


def as_particles(pool: WorldPool) -> Particles:
    """A pool as particles."""
    weights = np.diff(pool.cumulative, prepend=0.0)
    return Particles(pool.hands, weights, float(1 / np.square(weights).sum()), 1.0)


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
    shown = view.known_cards.counts if view.landlord == following else (0,) * NUM_RANKS
    planes = known.hands[:, following, None] >> np.arange(64, dtype=np.uint64)
    counts = (planes & np.uint64(1)).reshape(-1, 4, 16)[:, :, :NUM_RANKS].sum(axis=1).astype(np.int64)
    chances = known.weights @ (counts > np.array(shown))
    asked = truth.sum(axis=0) > 0
    places = np.minimum((chances[asked] * BINS).astype(np.int64), BINS - 1)
    sums = (
        np.bincount(places, weights, BINS) for weights in (None, chances[asked], (truth[following] > 0)[asked] * 1.0)
    )
    return tuple(round(float(value), 3) for part in sums for value in part)


def _mean(results: Sequence[BeliefResult], name: str) -> float:
    return float(np.mean([getattr(result, name) for result in results]))


def _line(results: Sequence[BeliefResult]) -> list[str]:
    gains = [hidden.nats_gained(results, source, "plain").both("+.3f", 1) for source in SOURCES]
    bits = [f"{_mean(results, name):.2f}" for name in ("plain_bits", "network_bits")]
    return [str(len(results)), *gains, *bits, *(f"{_mean(results, f'{source}_ms'):.2f}" for source in SOURCES)]


def _in_training(saved: Saved[BeliefResult], inside: bool) -> list[BeliefResult]:
    return [result for result in saved.results if IN_TRAINING.get(result.player, False) is inside]


def belief_table(saved: Saved[BeliefResult]) -> Table:
    """What particles and network know in games of each kind of player."""
    by_player = grouped(saved.results, "player", order=IN_TRAINING)
    lines = [(f"`{one}`", "yes" if IN_TRAINING[one] else "no", *_line(own)) for one, own in by_player.items()]
    sides = (("inside", _in_training(saved, True)), ("outside", _in_training(saved, False)))
    lines += [(f"all {name}", "", *_line(own)) for name, own in sides if own]
    units = (("particles", "nats"), ("network", "nats"), ("plain", "bits"), ("network", "bits"))
    times = ("particles, ms", "network, ms")
    header = ("games of", "in training", "positions", *(f"{what}, {unit}" for what, unit in units), *times)
    note = (
        "Nats: gain over plain dealing in the log-probability of the true split of a hidden rank, with 95 % intervals "
        f"over games, from {saved.settings['worlds']} particles and as many worlds of the network. Bits: what the "
        f"whole hidden hand costs. Milliseconds of a processor: for {TIMED} worlds. Computed from {saved.name}; the "
        f"network is `{saved.settings['weights']}`."
    )
    return Table("What the belief network knows", header, lines, note)


def calibration_table(saved: Saved[BeliefResult]) -> Table:
    """Predicted and true shares of hidden ranks that the next seat holds."""
    lines = [[f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}"] for place in range(BINS)]
    for source in SOURCES:
        for line, (count, *others) in zip(lines, _bin_sums(saved.results, source).T, strict=True):
            line += [f"{count:,.0f}", *(f"{other / count:.3f}" if count else "–" for other in others)]
    header = ("chance", *(f"{source}: {what}" for source in SOURCES for what in ("n", "said", "true")))
    note = f"The chance that the next seat holds at least one more card of a rank. Computed from {saved.name}."
    return Table("Calibration", header, lines, note)


def _bin_sums(results: Sequence[BeliefResult], source: str) -> FloatArray:
    sums: FloatArray = np.sum([getattr(result, f"{source}_bins") for result in results], axis=0).reshape(3, BINS)
    return sums


def plot_belief(saved: Saved[BeliefResult], path: Path) -> None:
    """Calibration, in games of players in and outside the training."""
    figure, panels = new_axes(7.2, 3.6, 2)
    for panel, inside in zip(panels, (True, False), strict=True):
        own = _in_training(saved, inside)
        panel.plot([0, 1], [0, 1], color="#bbbbbb", linestyle=":")
        for source in SOURCES if own else ():
            count, predicted, true = _bin_sums(own, source)
            full = count >= 10
            panel.plot(predicted[full] / count[full], true[full] / count[full], marker="o", label=source)
        panel.set_title("players in the training" if inside else "players outside it")
        panel.set_xlabel("chance said")
    panels[0].set_ylabel("share that came true")
    panels[0].legend(frameon=False)
    save_figure(figure, path)


BELIEF = Experiment(
    name="belief",
    about="How well the belief network knows the hidden cards, beside weighted particles.",
    unit="games",
    options=BeliefOptions,
    result=BeliefResult,
    tasks=lambda options: [(player, game) for player in IN_TRAINING for game in range(options.games)],
    worker=_Believer,
    settings=("seed", "worlds"),
    more=lambda options: {"weights": file_digest(options.belief or shipped_belief_path())},
    agents=lambda tasks: dict.fromkeys(player for player, _ in tasks),
    tables={"belief": belief_table, "belief-calibration": calibration_table},
    plot=plot_belief,
)
