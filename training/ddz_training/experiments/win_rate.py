"""How many dealt worlds a hand's win rate takes: table 1 of the expected-payoff paper, on hands before the auction."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated

from ddz_agents.bidding.worlds import outcomes, settling
from ddz_env import State
from ddz_env.core.options import Range
from ddz_env.playing.generators import agent_generator
from ddz_env.playing.registry import make_agent
from ddz_training.experiments.experiment import Comparison, Experiment, Saved, SeedOptions, Table, compared, kept
from ddz_training.measure.match.ordered_map import Worker
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress

RULES = "bidding"
PLAYERS = ("rules", "policy")


@dataclass(frozen=True)
class SettlingResult:
    """A line of table 1 for one hand.

    Attributes:
        player: Who played the worlds out.
        hand: The hand's deal under the seed.
        first: The fewest worlds of the line.
        last: The most.
        highest: The highest of its ten win rates as landlord.
        lowest: The lowest.
        mean: Their mean.
    """

    player: str
    hand: int
    first: int
    last: int
    highest: Annotated[float, ".4f"]
    lowest: Annotated[float, ".4f"]
    mean: Annotated[float, ".4f"]


@dataclass(frozen=True)
class WinRateOptions(SeedOptions):
    """What is counted.

    Attributes:
        hands: Hands of the seed's first deals, the opener's.
        worlds: Worlds dealt for each.
    """

    hands: Annotated[int, Range(1)] = 20
    worlds: Annotated[int, Range(100)] = 1000


class _Counter(Worker[tuple[str, int], list[SettlingResult]]):
    def __init__(self, options: WinRateOptions) -> None:
        self._options = options

    def play(self, task: tuple[str, int]) -> list[SettlingResult]:
        player, hand = task
        view = State.new(self._options.seed, RULES, hand).view()
        rng = agent_generator([self._options.seed, hand])
        found = outcomes(view, rng, self._options.worlds, make_agent(player))
        lines = settling(found.wins(view.seat))
        return [SettlingResult(player, hand, *line) for line in lines]


def run_win_rate(
    options: WinRateOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[SettlingResult]:
    """Count the win rates of hands as worlds are added.

    Args:
        options: Which hands, and how many worlds.
        path: Where to save; a file of an earlier run is resumed.
        on_progress: Told how many hands are done.
    """
    settings = {"experiment": "win-rate", "seed": options.seed, "worlds": options.worlds}
    store = ResultStore(SettlingResult, path, settings, ("player", "hand"), agents=PLAYERS)
    tasks = {(player, hand): (player, hand) for player in PLAYERS for hand in range(options.hands)}
    return kept(store, store.fill(tasks, functools.partial(_Counter, options), 1, on_progress))


def settling_table(saved: Saved[SettlingResult]) -> Table:
    """Table 1: the first hand's lines, and the mean difference over all hands."""
    lines = []
    for player in PLAYERS:
        own = [result for result in saved.results if result.player == player]
        for one in (result for result in own if result.hand == own[0].hand):
            spreads = [result.highest - result.lowest for result in own if result.first == one.first]
            numbers = (one.highest, one.lowest, one.mean, one.highest - one.lowest, fmean(spreads))
            lines.append((f"`{player}`", f"{one.first}–{one.last}", *(f"{number:.3f}" for number in numbers)))
    hands = len({result.hand for result in saved.results})
    header = ("played out by", "worlds", "highest", "lowest", "mean", "difference", f"mean difference, {hands} hands")
    return Table("The win rate as landlord as worlds are added", header, lines, f"Computed from {saved.name}.")


def compare_settling(results: Sequence[SettlingResult]) -> Iterable[Comparison]:
    """What the paper's prose says of its table 1, beside ours: mean differences over the hands."""
    for player in PLAYERS:
        for first, paper in ((410, "nearly 0.05"), (910, "below 0.05")):
            spreads = [r.highest - r.lowest for r in results if r.player == player and r.first == first]
            if spreads:
                what = f"difference, {first}–{first + 90} worlds, `{player}`"
                yield Comparison(what, paper, f"{fmean(spreads):.3f}", f"largest of {len(spreads)} {max(spreads):.3f}")
        pairs = [
            abs(one.mean - other.mean)
            for one in results
            for other in results
            if one.player == other.player == player
            and one.hand == other.hand
            and (one.first, other.first) == (110, 910)
        ]
        if pairs:
            what = f"means of 110–200 and 910–1,000 worlds differ by, `{player}`"
            yield Comparison(what, "little", f"{fmean(pairs):.3f}", f"largest of {len(pairs)} {max(pairs):.3f}")


WIN_RATE = Experiment(
    name="win-rate",
    source="Wang et al., expected payoff with UCT, table 1",
    about="How the win rate of a hand before bidding settles as worlds are dealt, by the rule agent and the policy.",
    unit="hands",
    options=WinRateOptions,
    result=SettlingResult,
    run=run_win_rate,
    tables={"win-rate": settling_table, "win-rate-paper": compared("Table 1", compare_settling)},
    file="win_rate",
)
