"""Experiments in two-player no-limit hold'em: the payoff paper's matches, and the convergence of win rates.

A match is 100 hands: 50 deals, each played from both sides.  Both players begin every hand with 20,000 chips.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from pathlib import Path
from statistics import fmean

import numpy as np

from ddz_env.playing.generators import make_agent_generator
from ddz_papers.experiments import experiment as ex
from ddz_papers.payoff_policy.holdem.agents import HoldemAgent, Player, play_hand
from ddz_papers.payoff_policy.holdem.betting import STACK
from ddz_papers.payoff_policy.holdem.cards import sample_showdowns
from ddz_training.measure.markdown import Table
from ddz_training.measure.plotting import Panel, Series, save_plot
from ddz_training.measure.statistics import Interval, normal_interval, summarize_convergence

HANDS = 100
PAIRINGS = (("uct-stake", "payoff"), ("uct-dealt", "payoff"), ("uct-stake", "uct-dealt"), ("payoff", "random"))
"""The paper's algorithm 2, then its algorithm 1, against its program; both against each other; a yardstick."""
READINGS: Mapping[str, Mapping[str, bool]] = {
    "weighted": {},
    "full": {"full": True},
    "full, by stage": {"full": True, "by_stage": True},
}
"""How equation 1 subtracts the loss rate: by the chance of losing, or in full; and there of what stake."""
NAMES = {"uct-stake": "algorithm 2", "uct-dealt": "algorithm 1"}
_SMALL, _LARGE = STACK // 4, STACK // 2
"""The paper counts hands with less than 5,000 and more than 10,000 of 20,000 chips bet."""


@dataclass(frozen=True)
class HoldemResult:
    """The chips won and the chips bet in one hand of hold'em.

    Attributes:
        reading: How both agents read equation 1, one of :data:`READINGS`.
        a: The first agent.
        b: The second.
        match: Number of the match.
        hand: Number of the hand in it.
        chips: What A won.
        bet: What A had in the pot at the end.
    """

    reading: str
    a: str
    b: str
    match: int
    hand: int
    chips: int
    bet: int


@dataclass(frozen=True)
class HoldemMatchOptions(ex.ParallelOptions):
    """Options of the hold'em matches: the seed, and the number of matches for each pair of agents.

    Attributes:
        matches: Matches of 100 hands for each pairing and reading.
    """

    matches: ex.Count = 50


def play_holdem_match(
    options: HoldemMatchOptions, reading: str, a: Player, b: Player, match: int
) -> list[HoldemResult]:
    """Play a match of 100 hands between two hold'em agents, and return the result of each hand."""
    agents = [HoldemAgent(name, **READINGS[reading]) for name in (a, b)]
    results = []
    for hand in range(HANDS):
        deck = np.random.default_rng([options.seed, match, hand // 2]).permutation(52).astype(np.int64)
        rngs = [make_agent_generator([options.seed, match, hand, player]) for player in (0, 1)]
        chips, bet = play_hand(agents, deck, hand % 2, rngs)
        results.append(HoldemResult(reading, a, b, match, hand, chips, bet))
    return results


def chips_interval(results: Sequence[HoldemResult]) -> Interval:
    """Compute the mean chips won per hand, with its 95 % interval over deals played from both seats."""
    deals: dict[tuple[int, int], float] = {}
    for result in results:
        deal = result.match, result.hand // 2
        deals[deal] = deals.get(deal, 0.0) + result.chips / 2
    return normal_interval(list(deals.values()))


def holdem_table(saved: ex.SavedResults[HoldemResult]) -> Table:
    """Make the table of the matches, with one line per interpretation of equation 1 and pair of agents."""
    lines = []
    for (reading, a, b), results in ex.group_by(saved.results, "reading", "a", "b").items():
        totals = [sum(result.chips for result in match) for match in ex.group_by(results, "match").values()]
        won = f"{sum(total > 0 for total in totals)} of {len(totals)}"
        chips = chips_interval(results).plus_minus("+.0f")
        lines.append((reading, f"`{a}`", f"`{b}`", f"{len(results):,}", chips, won, *_bet_shares(results)))
    note = f"Chips have 95 % intervals over deals. Computed from {saved.name}."
    header, bets = ("loss rate", "agent", "against", "hands", "chips per hand"), ("bet < 5,000 %", "bet > 10,000 %")
    return Table("No-limit hold'em", (*header, "matches won", *bets), lines, note)


def _bet_shares(results: Sequence[HoldemResult]) -> tuple[str, str]:
    """Format the shares of hands with small bets and with large bets, in per cent."""
    small, large = (sum(result.bet < _SMALL for result in results), sum(result.bet > _LARGE for result in results))
    return f"{100 * small / len(results):.1f}", f"{100 * large / len(results):.1f}"


_PRINTED = {"uct-stake": ("wins", "99", "1", ""), "uct-dealt": ("loses", "82", "18", "28")}
"""What the paper's prose prints of its 100 hands against its program: 5 of algorithm 1's 18 large bets were won."""


def printed_table(saved: ex.SavedResults[HoldemResult]) -> Table:
    """Make a table that compares the figures in the paper's text about its 100-hand matches with ours."""
    groups, lines = ex.group_by(saved.results, "reading", "a", "b"), list[ex.Comparison]()
    for agent, reading in product(_PRINTED, READINGS):
        if results := groups.get((reading, agent, "payoff")):
            lines += _compare_with_paper(f"{NAMES[agent]}, {reading}", results, *_PRINTED[agent])
    return ex.make_comparison_table("Tables and figures of the paper", lines, ex.source_note(saved))


def _compare_with_paper(
    name: str, results: Sequence[HoldemResult], sign: str, small: str, large: str, large_won: str
) -> Iterator[ex.Comparison]:
    count, (ours_small, ours_large) = f"of {len(results):,} hands", _bet_shares(results)
    chips = chips_interval(results).plus_minus("+.0f")
    yield ex.Comparison(f"{name}, against the policy, chips per hand", sign, chips, count)
    yield ex.Comparison(f"{name}, % of hands with less than 5,000 bet", small, ours_small, count)
    yield ex.Comparison(f"{name}, % of hands with more than 10,000 bet", large, ours_large, count)
    if risky := [result for result in results if result.bet > _LARGE]:
        share = f"{100 * sum(result.chips > 0 for result in risky) / len(risky):.0f}"
        yield ex.Comparison(f"{name}, % of these won", large_won, share, f"of {len(risky)} hands")


def plot_holdem(saved: ex.SavedResults[HoldemResult], path: Path) -> None:
    """Plot the cumulative chips of both UCT algorithms (figure 7), and the sizes of bets (figure 8)."""
    shown = [result for result in saved.results if result.reading == "weighted"]
    hands, series, bets = range(1, HANDS + 1), [], []
    for (agent, name), color in zip(NAMES.items(), ("C0", "C1"), strict=True):
        played = [result for result in shown if (result.a, result.b) == (agent, "payoff")]
        matches = [
            list(accumulate(result.chips for result in match)) for match in ex.group_by(played, "match").values()
        ]
        series += [Series("", hands, match, style={"color": color, "alpha": 0.1}) for match in matches]
        means = [fmean(chips) for chips in zip(*matches, strict=True)]
        series.append(Series(f"{name}: mean", hands[: len(means)], means, style={"color": color}))
        edges = range(0, STACK + 1, 2_500)
        bets.append(Series(name, edges, [result.bet for result in played], "histogram", style={"alpha": 0.6}))
    winnings = Panel(series, "hands", "chips won from the policy", "figure 7", horizontal_lines={"": 0})
    save_plot(path, winnings, Panel(bets, "chips bet", "% of hands", "figure 8"))


HOLDEM = ex.Experiment(
    name="holdem",
    source="Wang et al., expected payoff with UCT, equation 1, table 2, figures 7 and 8",
    about="Matches of 100 hands of no-limit hold'em: UCT with expected-payoff simulations against the policy alone.",
    options=HoldemMatchOptions,
    result=HoldemResult,
    key=("reading", "a", "b", "match"),
    tasks=lambda options: [
        (reading, *pair, match) for match in range(options.matches) for reading in READINGS for pair in PAIRINGS
    ],
    work=play_holdem_match,
    changeable=("matches",),
    unit="matches",
    tables={"holdem": holdem_table, "holdem-paper": printed_table},
    plot=plot_holdem,
)


@dataclass(frozen=True)
class StreetResult:
    """A hold'em hand's win rate on one street, estimated from a given number of dealt hands.

    Attributes:
        street: Cards on the table: 0, 3, 4 or 5.
        showdowns: Dealt hands from which it is counted.
        rate: The win rate.
    """

    street: int
    showdowns: int
    rate: float


STREET_NAMES = {0: "before the flop", 3: "flop", 4: "turn", 5: "river"}
_STEPS, _MOST = 10, 1_000


@dataclass(frozen=True)
class StreetOptions(ex.ParallelOptions):
    """Options of ``streets``: the seed of the hand whose win rate is estimated."""


def estimate_win_rates(options: StreetOptions, street: int) -> list[StreetResult]:
    """Estimate a hand's win rate on one street from growing numbers of dealt hands."""
    deck = np.random.default_rng(options.seed).permutation(52).astype(np.int64)
    rng = make_agent_generator([options.seed, street])
    return [
        StreetResult(street, count, float(f"{sample_showdowns(deck[:2], deck[4 : 4 + street], count, rng).mean():g}"))
        for count in range(_STEPS, _MOST + 1, _STEPS)
    ]


def street_table(saved: ex.SavedResults[StreetResult]) -> Table:
    """Make table 1 of the paper: ten pre-flop win rates per line, each from more showdowns than the one before."""
    lines = [
        (f"{ten.first} to {ten.last}", *(f"{rate:.3f}" for rate in (ten.highest, ten.lowest, ten.mean, ten.spread)))
        for ten in summarize_convergence([result.rate for result in saved.results if not result.street])
    ]
    header = ("dealt hands", "highest", "lowest", "mean", "difference")
    return Table("Table 1", header, lines, f"Computed from {saved.name}.")


def plot_streets(saved: ex.SavedResults[StreetResult], path: Path) -> None:
    """Plot figures 2 to 5: the win rate over the number of dealt hands, with one panel per street."""
    panels = []
    for street, results in ex.group_by(saved.results, "street").items():
        line = Series("", [result.showdowns for result in results], [result.rate for result in results])
        panels.append(Panel([line], "dealt hands", "win rate", STREET_NAMES[street], axes={"ylim": (0, 1)}))
    save_plot(path, *panels, columns=2)


STREETS = ex.Experiment(
    name="streets",
    source="Wang et al., expected payoff with UCT, table 1, figures 2 to 5",
    about="How the win rate of a hold'em hand settles on each street as hands are dealt.",
    options=StreetOptions,
    result=StreetResult,
    key=("street",),
    tasks=lambda options: [(street,) for street in STREET_NAMES],
    work=estimate_win_rates,
    unit="streets",
    tables={"streets": street_table},
    plot=plot_streets,
)
