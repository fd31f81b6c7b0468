"""The payoff paper's policies in Dou Dizhu's auction: bidders against each other, and how a hand's win rate settles.

The rule agent, which plays all cards of these deals, draws nothing at random: a deal with a given landlord always ends
in the same way, and bidders may share the worlds that a seat deals.  Both are computed once a deal; each pairing's six
auctions are then played over them.  Where all decline, the deal ends with zero for all.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ddz_agents.bidding.policy import Reading, StakingAgent
from ddz_agents.bidding.worlds import Outcomes, apply_answer, play_out, simulate_outcomes
from ddz_env import Rules, State, View
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.step import make_landlord
from ddz_env.core.engine.tables import DOUBLE_ID
from ddz_env.core.view import AUCTION_STAGES
from ddz_env.playing.generators import make_agent_generator
from ddz_env.playing.registry import make_agent
from ddz_env.support.options import Range
from ddz_papers.experiments import experiment as ex
from ddz_papers.experiments.matches import AUCTION_HEADER, auction_cells, deals_note
from ddz_training.measure.agent_pool import check_agents
from ddz_training.measure.duplicate import list_seatings
from ddz_training.measure.markdown import Table
from ddz_training.measure.statistics import summarize_convergence

PAPER = "Wang et al., expected payoff with UCT"
PLAYER = "rules"
"""Who plays the cards."""
RULES = "bidding,doubling=true,all_decline=end"
FIRST_DEAL = 6_000_000
_PAYOFF = "payoff"
_SEARCHES = {how: f"payoff-search:iterations=500,simulation={how}" for how in ("random", "dealt", "stake")}
_PAIRINGS = (
    *((_PAYOFF, other) for other in ("rules", "rlcard-rule", "random")),
    (_SEARCHES["dealt"], _SEARCHES["random"]),
    (_SEARCHES["stake"], _SEARCHES["random"]),
    (_SEARCHES["stake"], _SEARCHES["dealt"]),
    (_SEARCHES["dealt"], _PAYOFF),
    (_SEARCHES["stake"], _PAYOFF),
)
"""Expected payoff against fixed rules; then the paper's algorithms 1 and 2 and random simulations."""


@dataclass(frozen=True)
class BidderResult:
    """The result of a pairing's six games of a deal.

    Attributes:
        a: Specification of the first bidder.
        b: Specification of the second.
        deal: Number of the deal.
        score: Mean of the stakes that A's seats won together.
        landlord: Games in which an A was the landlord.
        won: How many of these it won.
        declined: Games in which all declined.
        stake: Mean of the stake before the play, with the landlord's doubling.
    """

    a: str
    b: str
    deal: int
    score: Annotated[float, ".4f"]
    landlord: int
    won: int
    declined: int
    stake: Annotated[float, ".3f"]


@dataclass(frozen=True)
class BidderOptions(ex.ParallelOptions):
    """Options of ``bidders``: how many deals are played, from how many worlds.

    Attributes:
        deals: Duplicate deals of every pairing, six games each.
        worlds: Dealt worlds from which the payoff bidders count.
        bankroll: All that a bidder could lose, in base stakes, for the loss rate of equation 1; none for no loss rate.
        reading: How equation 1 counts the loss rate (an option of `payoff`).
    """

    deals: ex.Count = 2000
    worlds: ex.Count = 60
    bankroll: Annotated[float, Range(0, above=True)] | None = 24.0
    reading: Reading = "full"

    @property
    def pairings(self) -> list[tuple[str, str]]:
        """The specifications of the bidders that meet."""
        return [(self._with_loss_rate(a), self._with_loss_rate(b)) for a, b in _PAIRINGS]

    def _with_loss_rate(self, bidder: str) -> str:
        if self.bankroll is None or not bidder.startswith(_PAYOFF):
            return bidder
        return f"{bidder}{',' if ':' in bidder else ':'}bankroll={self.bankroll:g},reading={self.reading}"


class DealTable:
    """The results of a deal by landlord, and of the worlds that its seats deal.

    Args:
        options: The experiment's.
        deal: Number of the deal.
    """

    def __init__(self, options: BidderOptions, deal: int) -> None:
        self.key, self.rules = (options.seed, deal), Rules.preset(RULES)
        self._worlds, self._player = options.worlds, make_agent(PLAYER)
        self._outcomes: dict[tuple[int, int | None, bool], Outcomes] = {}
        self._played = self._play_cards()

    def start(self) -> State:
        """Return the deal before the auction."""
        return State.new(self.key[0], self.rules, self.key[1])

    def simulate_worlds(self, view: View) -> Outcomes:
        """Return a seat's worlds, the same for every bidder."""
        place = view.seat, view.landlord, view.is_shown
        if place not in self._outcomes:
            rng = make_agent_generator([*self.key, place[0], 3 if place[1] is None else place[1]])
            self._outcomes[place] = simulate_outcomes(view, rng, self._worlds, self._player)
        return self._outcomes[place]

    def finish(self, state: State) -> State:
        """Return the finished game of an auction."""
        if state.is_over:
            return state
        row = self._played[int(state.row[at.LANDLORD])].copy()
        row[at.BIDS], row[at.DOUBLES] = state.row[at.BIDS], state.row[at.DOUBLES]
        return State(row, self.rules)

    def _play_cards(self) -> npt.NDArray[np.uint64]:
        rows, words = np.empty((3, at.ROW_WORDS), np.uint64), self.rules.words()
        for landlord, row in enumerate(rows):
            row[:] = self.start().row
            make_landlord(row, np.uint64(landlord), words)
            while row[at.STAGE] in (at.STAGE_SHOW, at.STAGE_DOUBLE):
                apply_answer(row, np.uint64(DOUBLE_ID), words)
        play_out(rows, self.rules, self._player, np.random.default_rng(0))
        return rows


_make_bidder = functools.cache(make_agent)


def play_pairing(table: DealTable, a: str, b: str) -> BidderResult:
    """Play the six games of a deal: A alone in each seat against two Bs, and the reverse."""
    agents = {"a": _make_bidder(a), "b": _make_bidder(b)}
    for agent in agents.values():
        if isinstance(agent, StakingAgent):
            agent.shared_worlds = table.simulate_worlds
    scores, stakes, landlord, won, declined = [], [], 0, 0, 0
    for game, seats in enumerate(list_seatings(table.rules)):
        rngs = [make_agent_generator([*table.key, game, seat]) for seat in range(3)]
        state = table.start()
        while state.stage in AUCTION_STAGES:
            state.step(agents[seats[state.seat]].act(state.view(), rngs[state.seat]))
        returns = table.finish(state).returns("stake")
        scores.append(sum(value for value, letter in zip(returns, seats, strict=True) if letter == "a"))
        if state.is_over:
            declined += 1
            continue
        seat = int(state.row[at.LANDLORD])
        stakes.append(state.view(seat).stake * (2 if int(state.row[at.DOUBLES]) >> 2 * seat & 3 == 2 else 1))
        landlord += seats[seat] == "a"
        won += seats[seat] == "a" and returns[seat] > 0
    score, stake = round(fmean(scores), 4), round(fmean(stakes), 3) if stakes else 0.0  # as exact as the file
    return BidderResult(a, b, table.key[1], score, landlord, won, declined, stake)


def play_auctions(options: BidderOptions, deal: int) -> list[BidderResult]:
    """Play a deal with every pairing."""
    table = DealTable(options, deal)
    return [play_pairing(table, *pair) for pair in options.pairings]


def _list_deals(options: BidderOptions) -> list[ex.Task]:
    check_agents(bidder for pair in options.pairings for bidder in pair)
    return [(FIRST_DEAL + deal,) for deal in range(options.deals)]


def bidder_table(saved: ex.SavedResults[BidderResult]) -> Table:
    """Make the table of the bidders, with one line per pairing."""
    lines = []
    for (a, b), results in ex.group_by(saved.results, "a", "b").items():
        stakes = [result.stake for result in results if result.stake]
        lines.append((f"`{a}`", f"`{b}`", *auction_cells(results), f"{fmean(stakes):.2f}" if stakes else "–"))
    settings = saved.settings
    note = (
        f"{deals_note(saved)}, six games each, rules `{settings['rules']}`, cards played by `{settings['player']}`, "
        f"{settings['worlds']} dealt worlds; scores with 95 % intervals over deals. Computed from {saved.name}."
    )
    return Table("Bidders against each other", ("bidder", "against", *AUCTION_HEADER, "mean stake"), lines, note)


BIDDERS = ex.Experiment(
    name="bidders",
    source=f"{PAPER}, equations 1 and 3, algorithms 1 and 2",
    about="Bidders of Dou Dizhu's auction against each other: expected payoff, fixed rules, and searches.\n\nWithout "
    "a loss rate (`bankroll` none) it is the agents' default.",
    options=BidderOptions,
    result=BidderResult,
    key=("deal",),
    tasks=_list_deals,
    work=play_auctions,
    changeable=("deals", "bankroll", "reading"),  # `pairings` has the last two
    more=lambda options: {
        "rules": RULES,
        "player": PLAYER,
        "pairings": [" v ".join(pair) for pair in options.pairings],
    },
    unit="duplicate deals",
    tables={"bidders": bidder_table},
    file="bidders_loss_rate",
)


# --- The win rate of a hand before the auction: table 1 ---------------------------------------------------------------

PLAYERS = ("rules", "policy")


@dataclass(frozen=True)
class WinRateResult:
    """The win rates of an opener's hand as landlord over ten more and more worlds.

    Attributes:
        player: Who played the worlds out.
        hand: The hand's deal under the seed.
        first: The fewest worlds of the line.
        last: The most.
        highest: The highest of its ten win rates.
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
class WinRateOptions(ex.SeedOptions):
    """Options of ``win-rate``: how many hands, and how many worlds of each.

    Attributes:
        hands: Hands of the seed's first deals.
        worlds: Worlds dealt for each.
    """

    hands: ex.Count = 10
    worlds: Annotated[int, Range(100)] = 1000


def estimate_win_rates(options: WinRateOptions, player: str, hand: int) -> list[WinRateResult]:
    """Estimate the win rate of a hand before the auction from more and more worlds."""
    view = State.new(options.seed, "bidding", hand).view()
    rng = make_agent_generator([options.seed, hand])
    wins = simulate_outcomes(view, rng, options.worlds, make_agent(player)).wins(view.seat)
    counts = np.arange(10, options.worlds + 1, 10)
    lines = summarize_convergence((np.cumsum(wins)[counts - 1] / counts).tolist())
    return [
        WinRateResult(player, hand, line.first, line.last, *(round(rate, 4) for rate in line[2:])) for line in lines
    ]


def win_rate_table(saved: ex.SavedResults[WinRateResult]) -> Table:
    """Make table 1 of the paper: the first hand's lines, and the mean difference over all hands."""
    lines = []
    for (player, first), results in ex.group_by(saved.results, "player", "first").items():
        one, spread = results[0], fmean(result.highest - result.lowest for result in results)
        numbers = one.highest, one.lowest, one.mean, one.highest - one.lowest, spread
        lines.append((f"`{player}`", f"{first}–{one.last}", *(f"{number:.3f}" for number in numbers)))
    hands = len({result.hand for result in saved.results})
    header = ("played out by", "worlds", "highest", "lowest", "mean", "difference", f"mean difference, {hands} hands")
    return Table("The win rate as landlord as worlds are added", header, lines, f"Computed from {saved.name}.")


def printed_table(saved: ex.SavedResults[WinRateResult]) -> Table:
    """Make a table that compares what the paper's prose says of its table 1 with mean differences over the hands."""
    lines = list[ex.Comparison]()
    for player, results in ex.group_by(saved.results, "player").items():
        by_first = ex.group_by(results, "first")
        for first, paper in ((410, "nearly 0.05"), (910, "below 0.05")):
            spreads = [result.highest - result.lowest for result in by_first.get(first, ())]
            lines += _compare_mean(f"highest less lowest, {first}–{first + 90} worlds, `{player}`", paper, spreads)
        late = {result.hand: result.mean for result in by_first.get(910, ())}
        gaps = [abs(result.mean - late[result.hand]) for result in by_first.get(110, ()) if result.hand in late]
        lines += _compare_mean(f"means of 110–200 and 910–1,000 worlds differ by, `{player}`", "little", gaps)
    return ex.make_comparison_table("Table 1", lines, ex.source_note(saved))


def _compare_mean(what: str, paper: str, values: list[float]) -> list[ex.Comparison]:
    if not values:
        return []
    return [ex.Comparison(what, paper, f"{fmean(values):.3f}", f"largest of {len(values)} {max(values):.3f}")]


WIN_RATE = ex.Experiment(
    name="win-rate",
    source=f"{PAPER}, table 1",
    about="How the win rate of a hand before the auction settles as worlds are dealt.",
    options=WinRateOptions,
    result=WinRateResult,
    key=("player", "hand"),
    tasks=lambda options: [(player, hand) for player in PLAYERS for hand in range(options.hands)],
    work=estimate_win_rates,
    changeable=("hands",),
    agents=lambda options: PLAYERS,
    unit="hands",
    tables={"win-rate": win_rate_table, "win-rate-paper": printed_table},
)
