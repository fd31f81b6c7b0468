"""Choices per decision with and without grouping moves (Whitehouse, Powley and Cowling 2011, section II.C).

With grouping, a decision is first one among the legal main groups (the kickers are a level of their own); without, it
is one among all whole moves.  The paper: 20 to 70 at the first decision with grouping, often more than 300 without;
later usually fewer than 10, and often 1.

The first decision is the landlord's lead, and follows from the deal alone.  Later decisions depend on who plays: the
deals are played through by the rule agent.

Suits never matter, and a whole move is a set of ranks here.  Whether the paper counts so is not said; the first
decision is therefore counted a third way, with suits counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ddz_env import State
from ddz_env.core.engine.moves import list_moves
from ddz_env.playing.game import make_seat_generators, play_turn
from ddz_env.playing.generators import make_published_generator
from ddz_env.playing.registry import make_agent
from ddz_papers.determinization_2011.full_games import PAPER, DealListOptions, game_number, games_note
from ddz_papers.experiments import experiment as ex
from ddz_training.measure.markdown import Table
from ddz_training.measure.plotting import Panel, Series, save_plot
from ddz_training.measure.statistics import clustered_interval, wilson_interval

PLAYER = "rules"
"""Who plays the deals through; a file may hold games of others."""


@dataclass(frozen=True)
class ChoiceCounts:
    """The number of choices at one decision, counted as main groups and as whole moves.

    Attributes:
        main_groups: With grouping: legal main groups, a pass included.
        whole_moves: Without: legal moves, a pass included.
    """

    main_groups: int
    whole_moves: int

    def __str__(self) -> str:
        counts = self.main_groups, self.whole_moves
        return str(counts[0]) if counts[0] == counts[1] else f"{counts[0]}/{counts[1]}"

    @classmethod
    def parse(cls, text: str) -> ChoiceCounts:
        """Parse the output of ``str``: both counts, or one count where they are equal.

        Example:
            >>> ChoiceCounts.parse("31/108"), str(ChoiceCounts.parse("7"))
            (ChoiceCounts(main_groups=31, whole_moves=108), '7')
        """
        main_groups, _, whole_moves = text.partition("/")
        return cls(int(main_groups), int(whole_moves or main_groups))


@dataclass(frozen=True)
class BranchingResult:
    """The number of choices at every decision of one game.

    Attributes:
        player: Who played it through.
        deal: Number of the deal.
        first_by_suit: Whole moves of the first decision, with suits counted.
        leads: Choices wherever a seat had the lead, in order; the first is the landlord's first decision.
        follows: Choices wherever a seat had to beat a move or pass.
    """

    player: str
    deal: int
    first_by_suit: int
    leads: tuple[ChoiceCounts, ...]
    follows: tuple[ChoiceCounts, ...]

    @property
    def first(self) -> ChoiceCounts:
        """The numbers of choices at the landlord's first decision."""
        return self.leads[0]

    @property
    def later(self) -> tuple[ChoiceCounts, ...]:
        """The numbers of choices at all later decisions, those on lead first."""
        return self.leads[1:] + self.follows


def count_choices(state: State) -> ChoiceCounts:
    """Count the main groups and the whole moves among which the seat to act may choose."""
    space = np.empty(1, np.uint64)  # moves that find no room are counted all the same
    return ChoiceCounts(len(state.legal_actions()), int(list_moves(state.row, state.rule_words, space, space.copy())))


def count_moves_by_suit(state: State) -> int:
    """Count the legal moves of the seat to act with the suits of cards distinguished.

    Example:
        >>> state = State.from_hands(["3334", "5", "6"], check_sizes=False)
        >>> [str(move) for move in state.legal_moves()], count_moves_by_suit(state)
        (['3', '4', '33', '333', '333+4'], 9)
    """
    hand = state.hand().counts
    return sum(
        math.prod(math.comb(held, used) for held, used in zip(hand, move.cards.counts, strict=True))
        for move in state.legal_moves()
    )


def play_and_count(options: DealListOptions, player: str, deal: int) -> list[BranchingResult]:
    """Play a deal with one agent in all seats, and count the choices at every decision."""
    state = options.new_game(deal)
    first_by_suit, agents = count_moves_by_suit(state), [make_agent(player)] * state.rules.players
    number = game_number("branching", player, deal, 0)
    rngs = make_seat_generators([options.seed, number], len(agents), make_published_generator)
    choices: tuple[list[ChoiceCounts], list[ChoiceCounts]] = [], []
    while not state.is_over:
        choices[not state.view().on_lead].append(count_choices(state))
        play_turn(state, agents, rngs)
    leads, follows = map(tuple, choices)
    return [BranchingResult(player, deal, first_by_suit, leads, follows)]


def branching_table(saved: ex.SavedResults[BranchingResult]) -> Table:
    """Make a table that compares the paper's statements about choices with our counts."""
    results = [result for result in saved.results if result.player == PLAYER]
    first = [[result.first.main_groups] for result in results]
    later = [[choices.main_groups for choices in result.later] for result in results]
    replies = [[choices.main_groups for choices in result.follows] for result in results]
    lines = [
        _compare_median("first decision, main groups", "20 to 70", first),
        _compare_over_300("whole moves", [[result.first.whole_moves] for result in results]),
        _compare_over_300("whole moves by suit", [[result.first_by_suit] for result in results]),
        _compare_median(f"later, played by {PLAYER}, main groups", "", later),
        _compare_share(
            f"later, played by {PLAYER}, fewer than 10 main groups", "typical", later, lambda count: count < 10
        ),
        _compare_share(f"replies, played by {PLAYER}, only a pass", "often", replies, lambda count: count == 1),
    ]
    return ex.make_comparison_table("Branching with and without grouping", lines, games_note(saved))


def _compare_over_300(what: str, games: Sequence[Sequence[int]]) -> ex.Comparison:
    return _compare_share(f"first decision, more than 300 {what}", "often", games, lambda count: count > 300)


def _compare_median(what: str, paper: str, games: Sequence[Sequence[int]]) -> ex.Comparison:
    """Compare the median of a count over all decisions of the given games with the paper's figure."""
    every = [count for game in games for count in game]
    low, median, high = np.percentile(every, (5, 50, 95), method="inverted_cdf")
    return ex.Comparison(f"{what}, median", paper, f"{median:g}", f"5 to 95 % of {len(every):,}: {low:g} to {high:g}")


def _compare_share(
    what: str, paper: str, games: Sequence[Sequence[int]], belongs: Callable[[int], bool]
) -> ex.Comparison:
    """Compare the share of decisions that satisfy a condition with the paper's figure, with a 95 % interval."""
    belonging = [[float(belongs(count)) for count in game] for game in games]
    single = all(len(game) == 1 for game in games)
    share = wilson_interval(sum(map(sum, belonging)), len(games)) if single else clustered_interval(belonging)
    return ex.Comparison(f"{what}, %", paper, share.text(), share.range_text())


def plot_branching(saved: ex.SavedResults[BranchingResult], path: Path) -> None:
    """Plot the number of choices at the landlord's first decision, counted in three ways."""
    first = {result.deal: result for result in saved.results}.values()
    counted = {
        "main groups": [result.first.main_groups for result in first],
        "whole moves": [result.first.whole_moves for result in first],
        "whole moves, suits distinguished": [result.first_by_suit for result in first],
    }
    bins, style = [10 * 2 ** (step / 4) for step in range(37)], {"alpha": 0.7}
    series = [Series(label, bins, counts, "histogram", style=style) for label, counts in counted.items()]
    printed = {"paper, grouped: from 20": 20.0, "to 70": 70.0, "paper, not grouped: often more": 300.0}
    axes = {"xscale": "log"}
    save_plot(path, Panel(series, "choices at the first decision", "% of deals", vertical_lines=printed, axes=axes))


BRANCHING = ex.Experiment(
    name="branching",
    source=f"{PAPER}, section II.C",
    about="Choices at a decision with and without grouping: 20 to 70 against more than 300.\n\nThe rule agent plays "
    "every deal, half a CPU minute in total; the first decision depends only on the deal.",
    options=DealListOptions,
    result=BranchingResult,
    key=("player", "deal"),
    tasks=lambda options: [(PLAYER, deal) for deal in options.numbers],
    work=play_and_count,
    changeable=("deals", "deal_file"),
    more=lambda options: options.list_settings,
    unit="games",
    tables={"full-branching": branching_table},
    file="full_branching",
    plot=plot_branching,
)
