"""State and game-tree complexity (thesis, section 4.1): lengths and choices of random and of bots' games."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env import Rules, State
from ddz_env.core.options import Range
from ddz_env.playing.game import play_one, seat_generators
from ddz_training.experiments.experiment import Comparison, Experiment, ParallelOptions, chosen, compared, grouped
from ddz_training.experiments.full_branching import count_choices
from ddz_training.measure.complexity import counting
from ddz_training.measure.complexity.playouts import Playouts, playouts
from ddz_training.measure.match.duplicate import AgentKeeper, check_agents

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
        left = (one for one in rules.categories if not one.endswith("chain"))
        return rules.replace(categories=tuple(one for one in left if not one.startswith(("plane", "shuttle"))))


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


class _Counter(AgentKeeper):
    """Plays hundreds of games."""

    def __init__(self, options: SizeOptions) -> None:
        super().__init__()
        self._seed = options.seed

    def play(self, task: tuple[str, int]) -> list[SizeResult]:
        """Play a hundred games and count."""
        name, block = task
        play, first = PLAYS[name], block * BLOCK
        states = [State.new(self._seed, play.make_rules(), deal) for deal in range(first, first + BLOCK)]
        if play.agent == "random":
            found = playouts(states, BLOCK, self._seed, first, play.counting)
        else:
            found = self._played(states, play.agent, first)
        logs = found.products / math.log(10)
        counts = int(found.lengths.sum()), int(found.choices.sum())
        return [SizeResult(name, block, *counts, float(logs.mean()), _log_mean(logs), int((found.rewards > 0).sum()))]

    def _played(self, states: Sequence[State], name: str, first: int) -> Playouts:
        """Games between copies of an agent."""
        games = []
        for number, state in enumerate(states, first):
            agents = [self.agent(name, seat) for seat in range(state.rules.players)]
            rngs = seat_generators([self._seed, number], len(agents))
            counts = []
            while not state.is_over:
                counts.append(count_choices(state).whole_moves)
                play_one(state, agents, rngs)
            games.append((state.returns("win")[0], len(counts), sum(counts), float(np.log(counts).sum())))
        return Playouts(*(np.array(column) for column in zip(*games, strict=True)))


def _log_mean(logs: npt.NDArray[np.float64]) -> float:
    """The common logarithm of the mean of numbers, from theirs."""
    top = float(logs.max())
    return top + math.log10(float(np.mean(10 ** (logs - top))))


_AGENTS = sorted({play.agent for play in PLAYS.values()})


def _blocks(options: SizeOptions) -> list[tuple[str, int]]:
    names = chosen("games", options.only, PLAYS)
    check_agents(_AGENTS)
    blocks = {name: options.blocks if PLAYS[name].agent == "random" else options.bot_blocks for name in names}
    return [(name, block) for name in names for block in range(blocks[name])]


def compare_sizes(results: Sequence[SizeResult]) -> Iterable[Comparison]:
    """The thesis's figures beside ours."""
    cards, ranks = "cards told apart", "ranks only"
    for what, paper, number, note in (
        ("deals", "8 × 10^26", counting.deals_by_cards(), f"exact, {cards}"),
        ("deals", "", counting.deals_by_ranks(), f"exact, {ranks}"),
        ("states", "10^43", counting.states_by_cards(), f"deals × 2^54, {cards}"),
        ("states", "", counting.states_by_ranks(), f"the same, {ranks}"),
        ("positions", "", counting.positions_by_cards(), f"who holds what, without the trick, {cards}"),
        ("positions", "", counting.positions_by_ranks(), f"the same, {ranks}"),
    ):
        yield Comparison(what, paper, _power(number), note)
    groups = grouped(results, "play")
    for name in PLAYS:
        if name in groups:
            yield from _compare_play(name, groups[name])
    printed, again = f"10^{counting.tree_exponent(15, 72):.1f}", "deals × C(34,17) × 15^72, worked out again"
    yield Comparison("game tree, the thesis's own figures", "10^125", printed, again)


_PRINTED = {"random, by moves": ("71.6", "14.6"), "bots, rules": ("36.8", "")}


def _compare_play(name: str, blocks: Sequence[SizeResult]) -> Iterable[Comparison]:
    games, play = BLOCK * len(blocks), PLAYS[name]
    lengths = np.array([block.decisions / BLOCK for block in blocks])
    error = 1.96 * lengths.std(ddof=1) / math.sqrt(len(lengths)) if len(lengths) > 1 else math.nan
    branching = sum(block.choices for block in blocks) / sum(block.decisions for block in blocks)
    length_printed, branching_printed = _PRINTED.get(name, ("", ""))
    yield Comparison(f"{name}: mean length", length_printed, f"{lengths.mean():.2f}", f"±{error:.2f}; {games:,} games")
    yield Comparison(f"{name}: branching", branching_printed, f"{branching:.2f}", "choices over decisions")
    if play.agent == "random":
        knuth = f"10^{_log_mean(np.array([block.log_products for block in blocks])):.1f}"
        typical = float(np.mean([block.log_product for block in blocks]))
        yield Comparison(f"{name}: leaves of a deal's tree", "", knuth, f"Knuth; a typical game 10^{typical:.1f}")
    if play.rules == "botzone" and play.chains:
        exponent = counting.tree_exponent(branching, float(lengths.mean()))
        yield Comparison(f"{name}: game tree by the thesis's formula", "", f"10^{exponent:.1f}")


def _power(number: int) -> str:
    """A large number as a figure and a power of ten."""
    exponent = int(math.log10(number))
    return f"{number / 10**exponent:.1f} × 10^{exponent}"


TREE_SIZE = Experiment(
    name="tree-size",
    about="""State and game-tree complexity: lengths and choices of random games and of games between bots.

    Some two CPU minutes; the counts of deals and states are exact.
    """,
    unit="hundreds of games",
    options=SizeOptions,
    result=SizeResult,
    key=("play", "block"),
    tasks=_blocks,
    worker=_Counter,
    agents=_AGENTS,
    tables={"tree-size": compared("State and game-tree complexity", compare_sizes)},
    source="Wang Zhengfei, thesis, Peking University 2020, section 4.1",
)
