"""Bidders (Wang et al., expected payoff) against each other, and how the win rate of a hand before an auction settles.

The rule agent, which plays all cards of the bidders' deals, draws nothing at random, so a deal with a given landlord
always ends in the same way, and a bidder that counts from dealt worlds sees the same ones against every opponent.  Both
are computed once a deal, and every pairing's six auctions (and doublings) are played over them: the bidders are the
agents themselves, and only their worlds and the card play come from the deal's table.  Where all decline, the deal ends
with zero for all.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ddz_agents.bidding.policy import PayoffAgent
from ddz_agents.bidding.worlds import Outcomes, answer, outcomes, play_out
from ddz_env import Rules, State, View
from ddz_env.core.engine.layout import BIDS, DOUBLES, LANDLORD, NO_SEAT, ROW_WORDS, STAGE, STAGE_DOUBLE, STAGE_SHOW
from ddz_env.core.engine.step import make_landlord
from ddz_env.core.engine.tables import DOUBLE_ID
from ddz_env.core.options import Range
from ddz_env.core.view import AUCTION
from ddz_env.playing.agent import Agent
from ddz_env.playing.generators import agent_generator
from ddz_env.playing.registry import make_agent
from ddz_training.experiments import experiment as ex
from ddz_training.experiments.matches import AUCTION_HEADER, Pair, auction_cells, deals_note
from ddz_training.measure.duplicate import seatings
from ddz_training.measure.keeper import check_agents
from ddz_training.measure.settling import settling
from ddz_training.measure.store import Key

PLAYER = "rules"
_bidder = functools.cache(make_agent)

_SEARCH = "payoff-search:iterations=500,simulation="

PAIRINGS = (
    ("payoff", "rules"),
    ("payoff", "rlcard-rule"),
    ("payoff", "random"),
    (f"{_SEARCH}dealt", f"{_SEARCH}random"),
    (f"{_SEARCH}stake", f"{_SEARCH}random"),
    (f"{_SEARCH}stake", f"{_SEARCH}dealt"),
    (f"{_SEARCH}dealt", "payoff"),
    (f"{_SEARCH}stake", "payoff"),
)
"""Who bids against whom by default: expected payoff against fixed rules, simulations against each other."""


class BidderResult(ex.Result):
    """A pairing's six games of a deal.

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


class DealTable:
    """What a deal comes to by landlord, and what each seat's dealt worlds come to.

    Args:
        seed: The seed of deals and worlds.
        deal: Number of the deal.
        worlds: Worlds of each seat.
        rules: Rules with an auction.
        player: Plays the cards, without drawing.

    Attributes:
        key: The seed and the deal.
        rules: As given.
    """

    def __init__(self, seed: int, deal: int, worlds: int, rules: Rules, player: Agent) -> None:
        self.key, self._worlds, self.rules, self._player = (seed, deal), worlds, rules, player
        self._found: dict[tuple[int, int | None], Outcomes] = {}
        self._ended = self._play_cards()

    def start(self) -> State:
        """The deal before the auction."""
        return State.new(self.key[0], self.rules, self.key[1])

    def dealt(self, view: View, rng: np.random.Generator) -> Outcomes:
        """A seat's worlds, in place of those that a bidder would deal."""
        place = view.seat, view.landlord
        if place not in self._found:
            rng = agent_generator([*self.key, place[0], 3 if place[1] is None else place[1]])
            self._found[place] = outcomes(view, rng, self._worlds, self._player)
        return self._found[place]

    def ended(self, state: State) -> State:
        """The game over, the cards played by the rule agent."""
        landlord = int(state.row[LANDLORD])
        if landlord == NO_SEAT:
            return state
        row = self._ended[landlord].copy()
        row[BIDS], row[DOUBLES] = state.row[BIDS], state.row[DOUBLES]
        return State(row, self.rules)

    def _play_cards(self) -> npt.NDArray[np.uint64]:
        rows, words = np.empty((3, ROW_WORDS), np.uint64), self.rules.words()
        for landlord, row in enumerate(rows):
            row[:] = self.start().row
            make_landlord(row, np.uint64(landlord), words)
            while row[STAGE] in (STAGE_SHOW, STAGE_DOUBLE):
                answer(row, np.uint64(DOUBLE_ID), words)
        play_out(rows, self.rules, self._player, np.random.default_rng(0))
        return rows


def play_pairing(table: DealTable, a: str, b: str) -> BidderResult:
    """The six games of a deal: A alone in each seat against two Bs, and the reverse."""
    agents = {"a": _bidder(a), "b": _bidder(b)}
    for agent in agents.values():
        if isinstance(agent, PayoffAgent):
            agent.dealt = table.dealt  # type: ignore[method-assign]
    scores, stakes, landlord, won, declined = [], [], 0, 0, 0
    for game, seats in enumerate(seatings(table.rules)):
        rngs = [agent_generator([*table.key, game, seat]) for seat in range(3)]
        state = table.start()
        while state.stage in AUCTION:
            seat = state.seat
            state.step(agents[seats[seat]].act(state.view(), rngs[seat]))
        over = table.ended(state)
        returns = over.returns("stake")
        scores.append(sum(value for value, letter in zip(returns, seats, strict=True) if letter == "a"))
        if state.is_over:
            declined += 1
            continue
        seat = int(over.row[LANDLORD])
        stakes.append(state.view(seat).stake * (2 if int(over.row[DOUBLES]) >> 2 * seat & 3 == 2 else 1))
        if seats[seat] == "a":
            landlord += 1
            won += returns[seat] > 0
    return BidderResult(a, b, table.key[1], fmean(scores), landlord, won, declined, fmean(stakes) if stakes else 0.0)


class BidderOptions(ex.ParallelOptions):
    """What is played.

    Attributes:
        deals: Duplicate deals of every pairing.
        first_deal: Number of the first deal under the seed.
        worlds: Dealt worlds from which the payoff bidders count.
        against: Other pairings instead, as `A v B`; may be repeated.
        rules: Rules with an auction, to which doubling is added; where all decline the deal ends.
    """

    deals: ex.Count = 2000
    first_deal: ex.Natural = 6_000_000
    worlds: ex.Count = 60
    against: tuple[str, ...] | None = None
    rules: str = "bidding"


def play_auctions(options: BidderOptions, deal: int, pairings: Sequence[Pair]) -> list[BidderResult]:
    """Bidders against each other on duplicate deals: expected payoff, fixed rules, and searches of the auction."""
    table = DealTable(options.seed, deal, options.worlds, Rules.preset(_rules(options)), _bidder(PLAYER))
    return [play_pairing(table, *pair) for pair in pairings]


def _rules(options: BidderOptions) -> str:
    return f"{options.rules},doubling=true,all_decline=end"


def _pairings(options: BidderOptions) -> list[Pair]:
    pairs = []
    for text in options.against or ():
        pair = tuple(side.strip() for side in text.split(" v "))
        if len(pair) != 2:
            raise options.error(f"against={pair} must be two bidders, as 'payoff v rules'")
        pairs.append((pair[0], pair[1]))
    return pairs if options.against is not None else list(PAIRINGS)


def _bidders(tasks: Mapping[Key, tuple[int, Sequence[Pair]]]) -> Iterable[str]:
    return dict.fromkeys(spec for _, pairings in tasks.values() for pair in pairings for spec in pair)


def _auctions(options: BidderOptions) -> list[tuple[int, Sequence[Pair]]]:
    pairings = _pairings(options)
    check_agents(spec for pair in pairings for spec in pair)
    if Rules.preset(_rules(options)).bidding == "fixed":
        raise options.error(f"rules={options.rules!r} have no auction")
    return [(options.first_deal + deal, pairings) for deal in range(options.deals)]


def bidder_table(saved: ex.Saved[BidderResult]) -> ex.Table:
    """A line a pairing."""
    lines = []
    for (a, b), own in ex.grouped(saved.results, "a", "b").items():
        stakes = [result.stake for result in own if result.stake]
        lines.append((f"`{a}`", f"`{b}`", *auction_cells(own), f"{fmean(stakes):.2f}" if stakes else "–"))
    settings = saved.settings
    note = (
        f"{deals_note(saved)}, six games each, rules `{settings['rules']}`, cards played by `{settings['player']}`, "
        f"{settings['worlds']} dealt worlds; scores with 95 % intervals over deals. Computed from {saved.name}."
    )
    return ex.Table("Bidders against each other", ("bidder", "against", *AUCTION_HEADER, "mean stake"), lines, note)


BIDDERS = ex.Experiment(
    "bidders",
    play_auctions,
    "duplicate deals",
    _auctions,
    {"bidders": bidder_table},
    key=("deal",),
    settings=("seed", "worlds"),
    more=lambda options: {
        "rules": _rules(options),
        "player": PLAYER,
        "pairings": [" v ".join(pair) for pair in _pairings(options)],
    },
    agents=_bidders,
)


# --- Win rates of hands: table 1 of the expected-payoff paper ---------------------------------------------------------

WORLDS_RULES = "bidding"
PLAYERS = ("rules", "policy")


class SettlingResult(ex.Result):
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


class WinRateOptions(ex.SeedOptions):
    """What is counted.

    Attributes:
        hands: Hands of the seed's first deals, the opener's.
        worlds: Worlds dealt for each.
    """

    hands: ex.Count = 20
    worlds: Annotated[int, Range(100)] = 1000


def count_wins(options: WinRateOptions, player: str, hand: int) -> list[SettlingResult]:
    """How the win rate of a hand before bidding settles as worlds are dealt, by the rule agent and the policy."""
    view = State.new(options.seed, WORLDS_RULES, hand).view()
    found = outcomes(view, agent_generator([options.seed, hand]), options.worlds, make_agent(player))
    return [SettlingResult(player, hand, *line) for line in settling(found.wins(view.seat))]


def settling_table(saved: ex.Saved[SettlingResult]) -> ex.Table:
    """Table 1: the first hand's lines, and the mean difference over all hands."""
    lines = []
    for player, results in ex.grouped(saved.results, "player").items():
        for first, own in ex.grouped(results, "first").items():
            one, spread = own[0], fmean(result.highest - result.lowest for result in own)
            numbers = one.highest, one.lowest, one.mean, one.highest - one.lowest, spread
            lines.append((f"`{player}`", f"{first}–{one.last}", *(f"{number:.3f}" for number in numbers)))
    hands = len({result.hand for result in saved.results})
    header = ("played out by", "worlds", "highest", "lowest", "mean", "difference", f"mean difference, {hands} hands")
    return ex.Table("The win rate as landlord as worlds are added", header, lines, f"Computed from {saved.name}.")


def compare_settling(results: Sequence[SettlingResult]) -> Iterable[ex.Comparison]:
    """What the paper's prose says of its table 1, beside ours: mean differences over the hands."""
    for player, own in ex.grouped(results, "player").items():
        by_first = {first: {one.hand: one for one in lines} for first, lines in ex.grouped(own, "first").items()}
        for first, paper in ((410, "nearly 0.05"), (910, "below 0.05")):
            if spreads := [one.highest - one.lowest for one in by_first.get(first, {}).values()]:
                yield _mean_and_most(f"difference, {first}–{first + 90} worlds, `{player}`", paper, spreads)
        early, late = by_first.get(110, {}), by_first.get(910, {})
        if gaps := [abs(early[hand].mean - late[hand].mean) for hand in early if hand in late]:
            yield _mean_and_most(f"means of 110–200 and 910–1,000 worlds differ by, `{player}`", "little", gaps)


def _mean_and_most(what: str, paper: str, values: Sequence[float]) -> ex.Comparison:
    return ex.Comparison(what, paper, f"{fmean(values):.3f}", f"largest of {len(values)} {max(values):.3f}")


WIN_RATE = ex.Experiment(
    "win-rate",
    count_wins,
    "hands",
    lambda options: [(player, hand) for player in PLAYERS for hand in range(options.hands)],
    {"win-rate": settling_table, "win-rate-paper": ex.compared("Table 1", compare_settling)},
    settings=("seed", "worlds"),
    agents=PLAYERS,
    source="Wang et al., expected payoff with UCT, table 1",
)
