"""State and game-tree complexity (thesis, section 4.1): lengths and choices of random and of bots' games."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from ddz_env import Rules, State
from ddz_env.core.options import Range
from ddz_env.playing.game import play_one, seat_generators
from ddz_training.experiments.experiment import (
    Comparison,
    Experiment,
    ParallelOptions,
    Saved,
    check_known,
    compared,
    kept,
)
from ddz_training.experiments.full_branching import count_choices
from ddz_training.measure.complexity import counting
from ddz_training.measure.complexity.playouts import Playouts, playouts
from ddz_training.measure.match.duplicate import AgentKeeper, check_agents
from ddz_training.measure.match.ordered_map import Worker
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress

BLOCK = 100
"""Games of a line."""


class Play(NamedTuple):
    """How games are played and their choices counted.

    Attributes:
        agent: Who plays every seat.
        counting: What is one choice (:data:`ddz_training.measure.complexity.playouts.COUNTINGS`).
        rules: The rules.
        chains: Whether chains, planes and shuttles are left in.
    """

    agent: str = "random"
    counting: str = "moves"
    rules: str = "botzone"
    chains: bool = True

    def make_rules(self) -> Rules:
        """The rules, without the chains if they are left out."""
        rules = Rules.preset(self.rules)
        if self.chains:
            return rules
        kept_categories = (one for one in rules.categories if not one.endswith("chain"))
        return rules.replace(
            categories=tuple(one for one in kept_categories if not one.startswith(("plane", "shuttle")))
        )


PLAYS: Mapping[str, Play] = {
    "random, by moves": Play(),
    "random, by cards": Play(counting="cards"),
    "random, by cards, no chains": Play(counting="cards", chains=False),
    "half-deck, random, by moves": Play(rules="half-deck"),
    "bots, rules": Play(agent="rules"),
    "bots, policy": Play(agent="policy"),
}


@dataclass(frozen=True)
class SizeResult:
    """A hundred games.

    Attributes:
        play: One of :data:`PLAYS`.
        block: Number of the hundred.
        decisions: Of all games, passes included.
        choices: Of all decisions.
        log_product: The common logarithm of a game's product of choices, their mean.
        log_products: The common logarithm of the mean product: Knuth's estimate of a tree's leaves.
        landlord: Games that the landlord won.
    """

    play: str
    block: int
    decisions: int
    choices: int
    log_product: Annotated[float, ".4f"]
    log_products: Annotated[float, ".4f"]
    landlord: int


@dataclass(frozen=True)
class SizeOptions(ParallelOptions):
    """Which games are played.

    Attributes:
        only: Only these; may be repeated.
        blocks: Hundreds of random games each.
        bot_blocks: Hundreds of games of agents each.
    """

    only: tuple[str, ...] | None = None
    blocks: Annotated[int, Range(1)] = 100
    bot_blocks: Annotated[int, Range(1)] = 10


class _Counter(Worker[tuple[str, int], list[SizeResult]]):
    """Plays hundreds of games."""

    def __init__(self, seed: int) -> None:
        self._seed, self._keeper = seed, AgentKeeper()

    def play(self, task: tuple[str, int]) -> list[SizeResult]:
        name, block = task
        play, first = PLAYS[name], block * BLOCK
        states = [State.new(self._seed, play.make_rules(), deal) for deal in range(first, first + BLOCK)]
        if play.agent == "random":
            found = playouts(states, BLOCK, self._seed, first, play.counting)
        else:
            found = self._played(states, play.agent, first)
        logs = found.products / math.log(10)
        top = float(logs.max())
        mean = top + math.log10(float(np.mean(10 ** (logs - top))))
        won = int((found.rewards > 0).sum())
        return [
            SizeResult(name, block, int(found.lengths.sum()), int(found.choices.sum()), float(logs.mean()), mean, won)
        ]

    def close(self) -> None:
        self._keeper.close()

    def _played(self, states: Sequence[State], name: str, first: int) -> Playouts:
        """Games between copies of an agent."""
        games = []
        for number, state in enumerate(states, first):
            agents = [self._keeper.agent(name, seat) for seat in range(state.rules.players)]
            rngs = seat_generators([self._seed, number], len(agents))
            counts = []
            while not state.is_over:
                counts.append(count_choices(state).whole_moves)
                play_one(state, agents, rngs)
            games.append((state.returns("win")[0], len(counts), sum(counts), float(np.log(counts).sum())))
        return Playouts(*(np.array(column) for column in zip(*games, strict=True)))


def run_tree_size(
    options: SizeOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[SizeResult]:
    """Play games and count.

    Args:
        options: Which, and how many.
        path: Where to save, one line a hundred games; a file of an earlier run is resumed.
        on_progress: Told how many hundreds are done.

    Raises:
        InvalidExperimentError: If there are no such games.
    """
    names = options.only or tuple(PLAYS)
    check_known("games", names, PLAYS)
    agents = sorted({play.agent for play in PLAYS.values()})
    check_agents(agents)
    settings = {"experiment": "tree-size", "seed": options.seed}
    store = ResultStore(SizeResult, path, settings, ("play", "block"), agents=agents)
    tasks = {
        (name, block): (name, block)
        for name in names
        for block in range(options.blocks if PLAYS[name].agent == "random" else options.bot_blocks)
    }
    start = functools.partial(_Counter, options.seed)
    return kept(store, store.fill(tasks, start, options.processes, on_progress))


def compare_sizes(results: Sequence[SizeResult]) -> Iterable[Comparison]:
    """The thesis's figures beside ours."""
    cards, ranks = "cards told apart", "ranks only"
    yield Comparison("deals", "8 × 10^26", _power(counting.deals_by_cards()), f"exact, {cards}")
    yield Comparison("deals", "", _power(counting.deals_by_ranks()), f"exact, {ranks}")
    yield Comparison("states", "10^43", _power(counting.states_by_cards()), f"deals × 2^54, {cards}")
    yield Comparison("states", "", _power(counting.states_by_ranks()), f"the same, {ranks}")
    yield Comparison(
        "positions", "", _power(counting.positions_by_cards()), f"who holds what, without the trick, {cards}"
    )
    yield Comparison("positions", "", _power(counting.positions_by_ranks()), f"the same, {ranks}")
    for name in PLAYS:
        blocks = [result for result in results if result.play == name]
        if blocks:
            yield from _compare_play(name, blocks)
    printed = f"10^{counting.tree_exponent(15, 72):.1f}"
    yield Comparison(
        "game tree, the thesis's own figures", "10^125", printed, "deals × C(34,17) × 15^72, worked out again"
    )


_PRINTED = {"random, by moves": ("71.6", "14.6"), "bots, rules": ("36.8", "")}


def _compare_play(name: str, blocks: Sequence[SizeResult]) -> Iterable[Comparison]:
    games = BLOCK * len(blocks)
    lengths = np.array([block.decisions / BLOCK for block in blocks])
    error = 1.96 * lengths.std(ddof=1) / math.sqrt(len(lengths)) if len(lengths) > 1 else math.nan
    branching = sum(block.choices for block in blocks) / sum(block.decisions for block in blocks)
    length_printed, branching_printed = _PRINTED.get(name, ("", ""))
    yield Comparison(f"{name}: mean length", length_printed, f"{lengths.mean():.2f}", f"±{error:.2f}; {games:,} games")
    yield Comparison(f"{name}: branching", branching_printed, f"{branching:.2f}", "choices over decisions")
    typical = float(np.mean([block.log_product for block in blocks]))
    tops = np.array([block.log_products for block in blocks])
    knuth = tops.max() + math.log10(float(np.mean(10 ** (tops - tops.max()))))
    if PLAYS[name].agent == "random":
        yield Comparison(
            f"{name}: leaves of a deal's tree", "", f"10^{knuth:.1f}", f"Knuth; a typical game 10^{typical:.1f}"
        )
    if PLAYS[name].rules == "botzone" and PLAYS[name].chains:
        exponent = counting.tree_exponent(branching, float(lengths.mean()))
        yield Comparison(f"{name}: game tree by the thesis's formula", "", f"10^{exponent:.1f}")


def _power(number: int) -> str:
    """A large number as a figure and a power of ten."""
    exponent = int(math.log10(number))
    return f"{number / 10**exponent:.1f} × 10^{exponent}"


TREE_SIZE = Experiment(
    name="tree-size",
    source="Wang Zhengfei, thesis, Peking University 2020, section 4.1",
    about="""State and game-tree complexity: lengths and choices of random games and of games between bots.

    Some two CPU minutes; the counts of deals and states are exact.
    """,
    unit="hundreds of games",
    options=SizeOptions,
    result=SizeResult,
    run=run_tree_size,
    tables={"tree-size": compared("State and game-tree complexity", compare_sizes)},
    file="tree_size",
)
