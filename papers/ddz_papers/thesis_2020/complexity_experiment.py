"""Complexity (Wang Zhengfei's thesis, chapter 4): sizes of state space and game tree, and eleven measures.

*Tree size*: lengths and choices of random and of bots' games (section 4.1).

*Complexity* (algorithm 3): eleven numbers for a deal and for Reversi and Awari.  From every first move random games are
played until the means of their rewards and of their lengths have settled: a further game changes both by less than
0.0001.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from statistics import fmean
from typing import Annotated

import numpy as np

from ddz_env import State
from ddz_env.playing.game import make_seat_generators, play_turn
from ddz_env.playing.registry import make_agent
from ddz_env.support.options import Range
from ddz_papers.determinization_2011.full_branching import count_choices
from ddz_papers.experiments import experiment as ex
from ddz_papers.thesis_2020 import complexity as counting
from ddz_papers.thesis_2020.tendency_experiment import THESIS_2020
from ddz_training.measure.markdown import Table
from ddz_training.measure.plotting import Panel, Series, save_plot

# --- State and game tree ----------------------------------------------------------------------------------------------

BLOCK = 100
"""Games per line of results."""


PLAYS = {"random, by moves": "random", "bots, rules": "rules"}
"""Who plays every seat, by the name in the results; a choice is a move by ranks.

A file may hold others: of other agents and rules, and counted by sets of cards.
"""

RULES = "botzone"
"""The thesis plays by Botzone's rules."""


@dataclass(frozen=True)
class SizeResult:
    """The total numbers of decisions and of choices in a hundred games.

    Attributes:
        play: One of :data:`PLAYS`.
        block: Number of the hundred.
        decisions: Decisions in all of them, passes included.
        choices: Choices summed over all decisions.
    """

    play: str
    block: int
    decisions: int
    choices: int


@dataclass(frozen=True)
class SizeOptions(ex.ChosenOptions):
    """Options of ``tree-size``: which games are played.

    Attributes:
        only: Only these; may be repeated.
        blocks: Hundreds of random games.
        bot_blocks: Hundreds of games of agents.
    """

    blocks: ex.Count = 100
    bot_blocks: ex.Count = 10


def count_games(options: SizeOptions, name: str, block: int) -> list[SizeResult]:
    """Play a hundred games, and count their decisions and choices."""
    first = block * BLOCK
    states = [State.new(options.seed, RULES, deal) for deal in range(first, first + BLOCK)]
    if PLAYS[name] == "random":
        played = counting.play_random_games(states, BLOCK, options.seed, first)
        return [SizeResult(name, block, int(played.lengths.sum()), int(played.choices.sum()))]
    agents, counts = [make_agent(PLAYS[name])] * 3, list[int]()
    for number, state in enumerate(states, first):
        rngs = make_seat_generators([options.seed, number], len(agents))
        while not state.is_over:
            counts.append(count_choices(state).whole_moves)
            play_turn(state, agents, rngs)
    return [SizeResult(name, block, len(counts), sum(counts))]


def _list_blocks(options: SizeOptions) -> list[tuple[str, int]]:
    blocks = {name: options.blocks if agent == "random" else options.bot_blocks for name, agent in PLAYS.items()}
    return [(name, block) for name in ex.check_names("games", options.only, PLAYS) for block in range(blocks[name])]


def size_table(saved: ex.SavedResults[SizeResult]) -> Table:
    """Make a table that compares the thesis's sizes of state space and game tree with ours."""
    title = "State and game-tree complexity"
    return ex.make_comparison_table(title, _compare_sizes(saved.results), ex.source_note(saved))


def _compare_sizes(results: Sequence[SizeResult]) -> Iterable[ex.Comparison]:
    suits = "suits distinguished"
    yield ex.Comparison("deals", "8 × 10^26", _power_text(counting.count_deals()), f"exact, {suits}")
    yield ex.Comparison("states", "10^43", _power_text(counting.bound_states()), f"deals × 2^54, {suits}")
    groups = ex.group_by(results, "play")
    for name, length_printed, branching_printed in (("random, by moves", "71.6", "14.6"), ("bots, rules", "36.8", "")):
        if blocks := groups.get(name):
            lengths = np.array([block.decisions / BLOCK for block in blocks])
            error = 1.96 * lengths.std(ddof=1) / math.sqrt(len(lengths)) if len(lengths) > 1 else math.nan
            note = f"±{error:.2f}; {BLOCK * len(blocks):,} games"
            yield ex.Comparison(f"{name}: mean length", length_printed, f"{lengths.mean():.2f}", note)
            if branching_printed:
                branching = sum(block.choices for block in blocks) / sum(block.decisions for block in blocks)
                figures = f"{name}: branching", branching_printed, f"{branching:.2f}"
                yield ex.Comparison(*figures, "choices over decisions")
    size, note = f"10^{counting.tree_exponent(15, 72):.1f}", "deals × C(34,17) × 15^72, worked out again"
    yield ex.Comparison("game tree, the thesis's own figures", "10^125", size, note)


def _power_text(number: int) -> str:
    """Format a large number as a decimal times a power of ten, for example ``1.2 × 10^34``."""
    exponent = int(math.log10(number))
    return f"{number / 10**exponent:.1f} × 10^{exponent}"


TREE_SIZE = ex.Experiment(
    name="tree-size",
    source=f"{THESIS_2020}, section 4.1",
    about="State and game-tree complexity: lengths and choices of random games and of games between bots.\n\nSome two "
    "CPU minutes; the counts of deals and states are exact.",
    options=SizeOptions,
    result=SizeResult,
    key=("play", "block"),
    tasks=_list_blocks,
    work=count_games,
    changeable=("blocks", "bot_blocks"),
    unit="hundreds of games",
    tables={"tree-size": size_table},
)


# --- Monte Carlo complexity -------------------------------------------------------------------------------------------

DEALS: Mapping[str, tuple[str, str, str]] = {
    "deal 1": ("33334589999TJJQA22BR", "66777788TJJQQQKAA", "444555668TTKKKA22"),
    "deal 2": ("33445566677889TTKA2B", "44579TTJJJJQQKA22", "335678899QQKKAA2R"),
    "deal 3": ("344555577888JJQKA22R", "336678999TTJKKK2B", "3446679TTJQQQAAA2"),
}
"""Table 4.4: landlord, peasant down, peasant up.  Our copy of it prints deal 3's landlord in the row of deal 2."""

GAMES = (*DEALS, *counting.BOARD_GAMES)

_PARTS = ("iterations", "value", "depth")
NUMBERS = ("m", "n", *(f"{part}, {which}" for part in _PARTS for which in ("mean", "least", "most")))
"""Table 4.2."""

THESIS: Mapping[str, str] = {
    "deal 1": "450 19,869,066 44,153 37,171 49,985 0.0487 -0.0498 0.150 71.0 54.8 88.6",
    "deal 2": "43 1,739,158 40,445 38,132 43,334 -0.0189 -0.1713 0.0987 74.5 63.2 88.1",
    "deal 3": "229 7,610,373 33,233 28,662 38,768 0.0015 -0.0999 0.0998 61.2 36.7 87.4",
    "othello": "4 225,924 56,481 56,237 56,711 -0.0808 -0.0827 -0.0792 60.0 59.9 60.1",
    "oware": "6 247,926 41,321 40,935 422,82 -0.0013 -0.073 0.006 50.0 49.8 50.1",
}
"""Table 4.5 as it is printed; 4.3 has the same for the deals, with depths cut to whole numbers."""

LENGTH_BIN = 5
"""Lengths of games are counted in steps of this many decisions."""

_BATCH = 5_000


@dataclass(frozen=True)
class FirstMoveResult:
    """The results of random games after one first move, sampled until their means converged.

    Attributes:
        game: One of :data:`GAMES`.
        child: Number of the move among the legal ones.
        move: The move.
        iterations: Games until both means have settled.
        value: Their mean reward, of the landlord or of the player who moves first.
        depth: Their mean length in decisions, the first included.
        lengths: How many of ``iterations`` games took 0 to 4 decisions, 5 to 9, and so on.
    """

    game: str
    child: int
    move: str
    iterations: int
    value: float
    depth: float
    lengths: tuple[int, ...]


@dataclass(frozen=True)
class ComplexityOptions(ex.ChosenOptions):
    """Options of ``complexity``: which games are sampled, and when their means count as converged.

    Attributes:
        only: Only this game; may be repeated.
        difference: Means have settled when one more game changes both by less than this.
    """

    difference: Annotated[float, Range(1e-6, 1)] = 1e-4


def deal_state(deal: str) -> State:
    """Return the state of a deal of the thesis's table 4.4, before the landlord's first move."""
    return State.from_hands(list(DEALS[deal]), rules=RULES, check_sizes=False)


@functools.cache
def first_moves(game: str) -> tuple[str, ...]:
    """List the legal first moves of a game as strings, in the game's own order."""
    if game in DEALS:
        return tuple(str(move) for move in deal_state(game).legal_moves())
    start = counting.load_board_game(game).new_initial_state()
    return tuple(start.action_to_string(start.current_player(), action) for action in start.legal_actions())


def make_sampler(game: str, child: int, seed: int) -> Callable[[int, int], counting.Playouts]:
    """Make a function ``(count, first)`` that plays ``count`` random games after a given first move."""
    if game in DEALS:
        state = deal_state(game)
        state.step(state.legal_moves()[child])
        return lambda games, first: counting.play_random_games([state], games, seed, first)
    board = counting.load_board_game(game).new_initial_state()
    board.apply_action(board.legal_actions()[child])
    return lambda games, first: counting.play_random_board_games(board, games, seed, first)


def sample_first_move(options: ComplexityOptions, game: str, number: int) -> list[FirstMoveResult]:
    """Play random games after a first move until the means of their rewards and lengths converge."""
    key = np.random.SeedSequence([options.seed, GAMES.index(game), number]).generate_state(1, np.uint64)
    sample = make_sampler(game, number, int(key[0]))
    values, depths = np.empty(0), np.empty(0)
    stop = None
    while stop is None:
        playouts = sample(_BATCH, len(values))
        values, depths = np.append(values, playouts.rewards), np.append(depths, playouts.lengths + 1.0)
        stop = counting.first_stop(
            *(counting.adjacent_means_settled(means, options.difference) for means in (values, depths))
        )
    means = round(float(values[:stop].mean()), 5), round(float(depths[:stop].mean()), 3)
    lengths = np.bincount(depths[:stop].astype(np.int64) // LENGTH_BIN)
    return [FirstMoveResult(game, number, first_moves(game)[number], stop, *means, tuple(lengths.tolist()))]


def _list_first_moves(options: ComplexityOptions) -> list[tuple[str, int]]:
    games = ex.check_names("game", options.only, GAMES)
    return [(game, number) for game in games for number in range(len(first_moves(game)))]


def compute_eleven_numbers(children: Sequence[tuple[int, float, float]]) -> tuple[str, ...]:
    """Compute the eleven measures of table 4.2 from the iterations, value and depth of each first move.

    Example:
        >>> compute_eleven_numbers([(10, 0.5, 3.0), (20, -0.5, 4.0)])[:5]
        ('2', '30', '15', '10', '20')
    """
    columns = list(zip(*children, strict=True))
    parts = zip(columns, (",.0f", ".4f", ".1f"), strict=True)
    ends = [format(end(column), form) for column, form in parts for end in (fmean, min, max)]
    return (str(len(children)), f"{sum(columns[0]):,}", *ends)


def complexity_table(saved: ex.SavedResults[FirstMoveResult]) -> Table:
    """Make a table that compares the thesis's tables 4.3 and 4.5 with our figures."""
    columns: dict[str, Sequence[str]] = {}
    for game, children in ex.group_by(saved.results, "game", order=GAMES).items():
        ours = compute_eleven_numbers([(child.iterations, child.value, child.depth) for child in children])
        columns |= {f"{game}, thesis": THESIS[game].split(), f"{game}, ours": ours}
    difference = f"{saved.settings['difference']:g}"
    note = f"Sampling stops where a game changes both means by less than {difference}. Computed from {saved.name}."
    lines = [*zip(NUMBERS, *columns.values(), strict=True)]
    return Table("Monte Carlo complexity by the thesis's rule", ("number", *columns), lines, note)


def spread_table(saved: ex.SavedResults[FirstMoveResult]) -> Table:
    """Make a table of how far apart the values of the first moves lie, by which the thesis compares games."""
    lines = []
    for game, children in ex.group_by(saved.results, "game", order=GAMES).items():
        printed = dict(zip(NUMBERS, THESIS[game].split(), strict=True))
        values = [child.value for child in children]
        thesis = float(printed["value, most"]) - float(printed["value, least"])
        lines.append((game, f"{thesis:.3f}", f"{max(values) - min(values):.3f}"))
    note = f"The spread is the highest mean value of a first move less the lowest. Computed from {saved.name}."
    return Table("Spread of the values of first moves", ("game", "thesis", "ours"), lines, note)


def plot_complexity(saved: ex.SavedResults[FirstMoveResult], path: Path) -> None:
    """Plot figures 4.2 to 4.5, with one row per figure and one column per game."""
    games = ex.group_by(saved.results, "game", order=GAMES)
    figures = {"iterations": "4.2: games", "value": "4.3: value", "lengths": "4.4: length", "depth": "4.5: mean length"}
    panels = []
    for name, label in figures.items():
        for game, children in games.items():
            if name == "lengths":
                counts = [sum(column) for column in zip_longest(*(child.lengths for child in children), fillvalue=0)]
                centres = [LENGTH_BIN * (bin_number + 0.5) for bin_number in range(len(counts))]
                style = {"weights": [100 * count / sum(counts) for count in counts]}
                bins = range(0, LENGTH_BIN * len(counts) + 1, LENGTH_BIN)
                series = Series("", bins, centres, "histogram", style=style)
            else:
                numbers = [getattr(child, name) for child in children]
                series = Series("", np.histogram_bin_edges(numbers, 20).tolist(), numbers, "histogram")
            panels.append(Panel([series], label, "%", game))
    save_plot(path, *panels, columns=len(games), size=(2.8 * len(games), 8.0))


COMPLEXITY = ex.Experiment(
    name="complexity",
    source=f"{THESIS_2020}, algorithm 3, tables 4.2 to 4.5",
    about="Monte Carlo complexity of table 4.4's three deals, Reversi and Awari: eleven numbers each.\n\nRandom games "
    "from every first move until their means settle: some six CPU minutes. Reversi and Awari are OpenSpiel's (extra "
    "peers).",
    options=ComplexityOptions,
    result=FirstMoveResult,
    key=("game", "child"),
    tasks=_list_first_moves,
    work=sample_first_move,
    more=lambda options: {"rules": RULES, "least": counting.MIN_SAMPLES},
    unit="first moves",
    tables={"complexity": complexity_table, "complexity-spread": spread_table},
    plot=plot_complexity,
)
