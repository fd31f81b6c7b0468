"""Matches of 100 hands of two-player no-limit hold'em: UCT with either simulation against the expected-payoff policy.

A match is 50 deals, each played from both seats: PettingZoo deals the same cards and blinds for the same seed.  Both
players begin every hand with 100 chips, as the paper's begin with 20,000.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from ddz_agents.bidding.holdem.agents import HoldemAgent, make_holdem_agent
from ddz_agents.bidding.holdem.betting import STACK
from ddz_env.core.errors import DouDizhuError, install_hint
from ddz_env.core.options import Range
from ddz_env.playing.generators import agent_generator
from ddz_training.experiments.experiment import Comparison, Experiment, ParallelOptions, Saved, Table, compared, grouped
from ddz_training.measure.plotting import Panel, Series, save_plot
from ddz_training.measure.statistics import Interval, normal_interval

HANDS = 100
PAIRINGS = (("uct-stake", "payoff"), ("uct-dealt", "payoff"), ("uct-stake", "uct-dealt"), ("payoff", "random"))
"""The paper's algorithm 2, then its algorithm 1, against its program; both against each other; a yardstick."""
NAMES = {"uct-stake": "UCT, win rate by stake", "uct-dealt": "UCT, win rate by dealt hands"}
_SMALL, _LARGE = STACK // 4, STACK // 2
"""The paper counts hands with less than 5,000 and more than 10,000 of 20,000 chips bet."""


class MissingHoldemError(DouDizhuError, ImportError):
    """PettingZoo's hold'em is not installed."""


@dataclass(frozen=True)
class HoldemResult:
    """A hand.

    Attributes:
        a: The first agent.
        b: The second.
        match: Number of the match.
        hand: Number of the hand in it.
        chips: What A won.
        bet: What A had in the pot at the end.
    """

    a: str
    b: str
    match: int
    hand: int
    chips: Annotated[float, "g"]
    bet: int


def holdem_env() -> Any:
    """PettingZoo's ``texas_holdem_no_limit_v6`` for two.

    Raises:
        MissingHoldemError: If what it needs is not installed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pettingzoo.classic import texas_holdem_no_limit_v6

            return texas_holdem_no_limit_v6.raw_env(num_players=2)
    except (ImportError, AttributeError) as error:
        raise MissingHoldemError(f"hold'em needs PettingZoo's ({error}): {install_hint('holdem')}") from error


def play_hand(
    env: Any, players: Mapping[str, HoldemAgent], deal: int, key: Sequence[int]
) -> tuple[dict[str, float], dict[str, int]]:
    """Play a hand.

    Args:
        env: :func:`holdem_env`.
        players: The agents by PettingZoo's names.
        deal: Seed of the cards and blinds.
        key: Names the hand for the agents' generators.

    Returns:
        What each won, and what each had in the pot at the end.
    """
    env.reset(seed=deal)
    rngs = {name: agent_generator([*key, place]) for place, name in enumerate(players)}
    for player in players.values():
        player.reset()
    while not env.terminations[name := env.agent_selection]:
        env.step(players[name].act(env.observe(name), rngs[name]))
    bets = env.unwrapped.env.get_perfect_information()["chips"]
    return {name: float(env.rewards[name]) for name in players}, dict(zip(players, map(int, bets), strict=True))


@dataclass(frozen=True)
class HoldemMatchOptions(ParallelOptions):
    """How much is played.

    Attributes:
        matches: Matches of 100 hands a pairing.
    """

    matches: Annotated[int, Range(1)] = 10


def play_match(options: HoldemMatchOptions, a: str, b: str, match: int) -> list[HoldemResult]:
    """Matches of 100 hands of no-limit hold'em: UCT with expected-payoff simulations against the policy alone."""
    env, agents = holdem_env(), (make_holdem_agent(a), make_holdem_agent(b))
    results = []
    for hand in range(HANDS):
        mine = f"player_{hand % 2}"
        seats = {f"player_{seat}": agents[(seat + hand) % 2] for seat in range(2)}
        deal = options.seed * 1_000_000 + match * HANDS + hand // 2
        chips, bets = play_hand(env, seats, deal, [options.seed, match, hand])
        results.append(HoldemResult(a, b, match, hand, chips[mine], bets[mine]))
    return results


def _matches(options: HoldemMatchOptions) -> list[tuple[str, str, int]]:
    holdem_env()  # refuses, where it is not installed
    return [(a, b, match) for match in range(options.matches) for a, b in PAIRINGS]


def chips_interval(own: Sequence[HoldemResult]) -> Interval:
    """Chips a hand with the 95 % interval over deals, each played from both seats."""
    deals: dict[tuple[int, int], float] = {}
    for result in own:
        place = result.match, result.hand // 2
        deals[place] = deals.get(place, 0.0) + result.chips / 2
    return normal_interval(list(deals.values()))


def holdem_table(saved: Saved[HoldemResult]) -> Table:
    """A line a pairing."""
    lines = []
    for (a, b), own in grouped(saved.results, "a", "b", order=PAIRINGS).items():
        totals = [sum(result.chips for result in match) for match in grouped(own, "match").values()]
        won = f"{sum(total > 0 for total in totals)} of {len(totals)}"
        lines.append((f"`{a}`", f"`{b}`", f"{len(own):,}", chips_interval(own).plus_minus(), won, *_bets(own)))
    header = ("agent", "against", "hands", "chips a hand", "matches won", "bet < ¼ stack %", "bet > ½ stack %")
    return Table("No-limit hold'em", header, lines, f"95 % intervals over deals. Computed from {saved.name}.")


def _bets(own: Sequence[HoldemResult]) -> tuple[str, str]:
    """How many of the hands had small and large bets, in per cent."""
    small, large = (sum(one.bet < _SMALL for one in own), sum(one.bet > _LARGE for one in own))
    return f"{100 * small / len(own):.1f}", f"{100 * large / len(own):.1f}"


_PRINTED = {
    "uct-stake": ("algorithm 2", "wins", "99", "1", ""),
    "uct-dealt": ("algorithm 1", "loses", "82", "18", "28"),
}
"""What the paper's prose prints of its 100 hands against its program: 5 of algorithm 1's 18 large bets were won."""


def compare_holdem(results: Sequence[HoldemResult]) -> Iterable[Comparison]:
    """What the paper's prose prints of its matches of 100 hands, beside ours."""
    groups = grouped(results, "a", "b")
    for agent, (name, sign, small, large, large_won) in _PRINTED.items():
        own = groups.get((agent, "payoff"))
        if not own:
            continue
        chips, count, bets = chips_interval(own), f"of {len(own):,} hands", f"{name}, % of hands with"
        yield Comparison(f"{name} against the policy, chips a hand", sign, f"{chips.mean:+.2f}", chips.span("+.2f", 1))
        for what, printed, ours in zip(("less than ¼", "more than ½"), (small, large), _bets(own), strict=True):
            yield Comparison(f"{bets} {what} of the stack bet", printed, ours, count)
        if risky := [result for result in own if result.bet > _LARGE]:
            share = f"{100 * sum(result.chips > 0 for result in risky) / len(risky):.0f}"
            yield Comparison(f"{name}, % of these won", large_won, share, f"of {len(risky)} hands")


def plot_holdem(saved: Saved[HoldemResult], path: Path) -> None:
    """Cumulative chips over the hands of each match, and their mean (the paper's figure 7)."""
    hands, series = range(1, HANDS + 1), []
    for agent, color in (("uct-stake", "C0"), ("uct-dealt", "C1")):
        own = [result for result in saved.results if (result.a, result.b) == (agent, "payoff")]
        matches = [list(accumulate(result.chips for result in match)) for match in grouped(own, "match").values()]
        series += [Series("", hands, match, style={"color": color, "alpha": 0.2}) for match in matches]
        means = [fmean(chips) for chips in zip(*matches, strict=True)]
        series.append(Series(f"{NAMES[agent]}: mean", hands[: len(means)], means, style={"color": color}))
    save_plot(path, Panel(series, "hands", "chips won from the policy", across={"": 0}))


HOLDEM = Experiment(
    "holdem",
    play_match,
    "matches",
    _matches,
    {"holdem": holdem_table, "holdem-paper": compared("Tables and figures of the paper", compare_holdem)},
    per_key=lambda options: HANDS,
    source="Wang et al., expected payoff with UCT, table 2, figures 7 and 8",
    plot=plot_holdem,
)
