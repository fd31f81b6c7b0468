"""How well the belief network knows the hidden cards, beside weighted particles and plain dealing.

Games of several kinds of players are watched by every seat at some of its own decisions, as for hand inference
(:mod:`ddz_training.experiments.hand_inference`).  Two of the kinds never played in the network's training.  Particles
are those of ``neural-ismcts``: weighed by the policy and by the kinds around the rule agent.  Network and particles
give as many worlds each; from these comes the probability of the true split of each hidden rank.  The network also
gives the probability of the whole hidden hand, and so does plain dealing; particles do not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import lgamma, log
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ddz_agents.belief.model import BeliefModel, load_belief
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.shipped import shipped_belief_path
from ddz_agents.neural_search.agent import believed_players
from ddz_agents.worlds.determinize import WorldPool
from ddz_agents.worlds.inference import inferred_pool
from ddz_agents.worlds.particles import Particles
from ddz_agents.worlds.player_model import PlayerModel
from ddz_env import State, View
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.options import Range
from ddz_env.playing.game import play_one, seat_generators
from ddz_env.playing.generators import published_generator
from ddz_env.playing.provenance import file_digest
from ddz_env.playing.registry import make_agent
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, kept
from ddz_training.experiments.hand_inference import hidden_counts, inferred_splits, log_probability, plain_splits
from ddz_training.measure.match.ordered_map import Worker
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.match.statistics import Interval, normal_interval
from ddz_training.measure.match.timing import processor_time
from ddz_training.measure.plotting import new_axes, save_figure

PLAYERS: Mapping[str, bool] = {
    "policy": True,
    "rules": True,
    "isuct:iterations=1000": True,
    "random": True,
    "rlcard-rule": False,
    "rollout:iterations=200": False,
}
"""Who plays the games, and whether such a player was in the network's training."""
WATCH_SEED = 2027
"""Seed of the games; training deals have other seeds."""
BINS = 10
TIMED = 64
"""Worlds of a timed call."""
SOURCES = ("particles", "network")
_WATCHES = 2
"""Decisions a seat and game at which it looks at the others' hands."""
_ROUNDS = 2
"""Of annealing, as in the search."""

FloatArray = npt.NDArray[np.float64]
_Nats = Annotated[float, ".5f"]
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
    plain: _Nats
    particles: _Nats
    network: _Nats
    plain_bits: _Nats
    network_bits: _Nats
    particles_ms: _Nats
    network_ms: _Nats
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

    seed: Annotated[int, Range(0, 2**64 - 1)] = WATCH_SEED
    games: Annotated[int, Range(1)] = 40
    worlds: Annotated[int, Range(1)] = 256
    belief: Path | None = None


def run_belief(
    options: BeliefOptions,
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    players: Sequence[str] = tuple(PLAYERS),
) -> Saved[BeliefResult]:
    """Watch games.

    Args:
        options: How many games and worlds.
        path: Where to save, a few lines a game; a file of an earlier run is resumed.
        on_progress: Told how many games are done.
        players: Who plays.

    Raises:
        TensorFileError: If the belief network cannot be read.
    """
    weights = file_digest(shipped_belief_path() if options.belief is None else options.belief)
    settings = {"experiment": "belief", "weights": weights, "worlds": options.worlds, "seed": options.seed}
    store = ResultStore(BeliefResult, path, settings, ("player", "game"), agents=players)
    tasks = {(player, game): (player, game) for player in players for game in range(options.games)}
    start = functools.partial(_Watcher, options)
    return kept(store, store.fill(tasks, start, options.processes, on_progress))


class _Watcher(Worker[tuple[str, int], list[BeliefResult]]):
    """Plays games, then looks at them from every seat at some of its decisions."""

    def __init__(self, options: BeliefOptions) -> None:
        self._options = options
        self._network = load_belief(options.belief)
        self._players = believed_players(load_policy(None), "mixed")

    def play(self, task: tuple[str, int]) -> list[BeliefResult]:
        player, game = task
        seed = self._options.seed
        state = State.new(seed=seed, game=game)
        agents, rngs = [make_agent(player)] * 3, seat_generators([seed, game], 3, published_generator)
        moments: list[list[State]] = [[] for _ in range(3)]
        while not state.is_over:
            if any(mover != state.seat for mover, _ in state.history) and len(state.legal_moves()) > 1:
                moments[state.seat].append(state.copy())
            play_one(state, agents, rngs)
        rng = np.random.default_rng([seed, game, 3])
        return [
            watch(player, game, states[index], self._network, self._players, self._options.worlds, rng)
            for states in moments
            for index in sorted(rng.permutation(len(states))[:_WATCHES].tolist())
        ]


def watch(
    player: str,
    game: int,
    state: State,
    network: BeliefModel,
    players: Sequence[PlayerModel],
    worlds: int,
    rng: np.random.Generator,
) -> BeliefResult:
    """What the seat to act knows.

    Args:
        player: Who plays the game.
        game: Its number.
        state: The game.
        network: The belief network.
        players: What particles are weighed by.
        worlds: Particles, and worlds of the network.
        rng: The generator.
    """
    view, truth = state.view(), hidden_counts(state.row, state.seat)
    sources: tuple[Callable[[int], WorldPool], ...] = (
        lambda count: inferred_pool(view, rng, count, players, _ROUNDS),
        lambda count: network.worlds(view, rng, count),
    )
    plain, found, bins, spent = plain_splits(truth), [], [], []
    for source in sources:
        known = as_particles(source(worlds))
        found.append(log_probability(truth, inferred_splits(truth, view, known)))
        bins.append(calibration(truth, view, known))
        began = processor_time()
        source(TIMED)
        spent.append(1000 * (processor_time() - began))
    following = truth[(state.seat + 1) % 3]
    logs = network.log_probabilities(view, following[None])
    assert logs is not None, "a game of three seats after the auction"
    bits = [-hand / log(2) for hand in (plain_hand(truth, state.seat), float(logs[0]))]
    ranks = int((truth.sum(axis=0) > 0).sum())
    about = player, game, state.seat, len(state.history), ranks
    nats = log_probability(truth, plain), *found
    # As a file holds them, so that a run and its file say the same.
    plain_nats, particles, drawn, *others = (round(value, 5) for value in (*nats, *bits, *spent))
    plain_bits, network_bits, particles_ms, network_ms = others
    return BeliefResult(*about, plain_nats, particles, drawn, plain_bits, network_bits, particles_ms, network_ms, *bins)


def as_particles(pool: WorldPool) -> Particles:
    """A pool as particles."""
    weights = np.diff(pool.cumulative, prepend=0.0)
    return Particles(pool.hands, weights, float(1 / np.square(weights).sum()), 1.0)


def plain_hand(truth: npt.NDArray[np.int64], seat: int) -> float:
    """The log-probability of the whole hidden hand under plain dealing, in nats.

    Args:
        truth: Cards by holder and rank (:func:`~ddz_training.experiments.hand_inference.hidden_counts`), shape
            ``[4, 15]``.
        seat: The observer.
    """

    def log_ways(cards: int, chosen: int) -> float:
        return lgamma(cards + 1) - lgamma(chosen + 1) - lgamma(cards - chosen + 1)

    following, pool = truth[(seat + 1) % 3].tolist(), truth.sum(axis=0).tolist()
    return sum(map(log_ways, pool, following)) - log_ways(sum(pool), sum(following))


def calibration(truth: npt.NDArray[np.int64], view: View, known: Particles) -> tuple[float, ...]:
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


def gained(results: Sequence[BeliefResult], more: str, less: str = "plain") -> Interval:
    """By how many nats a hidden rank one source beats another; the interval is over games."""
    by_game: dict[tuple[str, int], FloatArray] = {}
    for result in results:
        pair = np.array([getattr(result, more) - getattr(result, less), result.ranks], np.float64)
        by_game[result.player, result.game] = by_game.get((result.player, result.game), np.zeros(2)) + pair
    nats, ranks = np.array(list(by_game.values())).T
    mean = nats.sum() / max(1.0, ranks.sum())
    return normal_interval((mean + (nats - mean * ranks) / max(ranks.mean(), 1e-9)).tolist())


def _mean(results: Sequence[BeliefResult], name: str) -> float:
    return float(np.mean([getattr(result, name) for result in results]))


def _line(results: Sequence[BeliefResult]) -> list[str]:
    gains = [gained(results, source).both("+.3f", 1) for source in SOURCES]
    bits = [f"{_mean(results, name):.2f}" for name in ("plain_bits", "network_bits")]
    return [str(len(results)), *gains, *bits, *(f"{_mean(results, f'{source}_ms'):.2f}" for source in SOURCES)]


def belief_table(saved: Saved[BeliefResult]) -> Table:
    """What particles and network know in games of each kind of player."""
    by_player = {player: [one for one in saved.results if one.player == player] for player in PLAYERS}
    lines = [
        (f"`{player}`", "yes" if PLAYERS[player] else "no", *_line(own)) for player, own in by_player.items() if own
    ]
    inside = [one for one in saved.results if PLAYERS.get(one.player, False)]
    outside = [one for one in saved.results if not PLAYERS.get(one.player, False)]
    lines += [(f"all {name}", "", *_line(own)) for name, own in (("inside", inside), ("outside", outside)) if own]
    header = (
        "games of", "in training", "positions", "particles, nats", "network, nats", "plain, bits", "network, bits",
        "particles, ms", "network, ms",
    )  # fmt: skip
    note = (
        "Nats: gain over plain dealing in the log-probability of the true split of a hidden rank, with 95 % intervals "
        f"over games, from {saved.settings['worlds']} particles and as many worlds of the network. Bits: what the "
        f"whole hidden hand costs. Milliseconds of a processor: for {TIMED} worlds. Computed from {saved.name}; the "
        f"network is `{saved.settings['weights']}`."
    )
    return Table("What the belief network knows", header, lines, note)


def calibration_table(saved: Saved[BeliefResult]) -> Table:
    """Predicted and true shares of hidden ranks that the next seat holds."""
    lines = []
    sums = {source: _bin_sums(saved.results, source) for source in SOURCES}
    for place in range(BINS):
        cells = []
        for source in SOURCES:
            count, predicted, true = sums[source][:, place]
            cells += [
                f"{count:,.0f}",
                f"{predicted / count:.3f}" if count else "–",
                f"{true / count:.3f}" if count else "–",
            ]
        lines.append((f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}", *cells))
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
        own = [result for result in saved.results if PLAYERS.get(result.player, False) is inside]
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
    source="own",
    about="How well the belief network knows the hidden cards, beside weighted particles.",
    unit="games",
    options=BeliefOptions,
    result=BeliefResult,
    run=run_belief,
    tables={"belief": belief_table, "belief-calibration": calibration_table},
    file="belief",
    plot=plot_belief,
)
