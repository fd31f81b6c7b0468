"""What bidders win from each other on duplicate deals, all cards played by the rule agent.

The rule agent draws nothing, so a deal with a given landlord always ends alike, and a bidder that counts from dealt
worlds sees the same ones whoever bids against it.  Both are computed once a deal, and every pairing's six auctions (and
doublings) are played over them: the bidders are the agents themselves, and only their worlds and the card play come
from the deal's table.  Where all decline, the deal ends with zero for all.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

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
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, kept
from ddz_training.measure.match.duplicate import seatings
from ddz_training.measure.match.ordered_map import Worker
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.match.statistics import normal_interval

FIRST_DEAL = 6_000_000
PLAYER = "rules"

_SEARCH = "payoff-search:iterations=500,simulation="

PAIRINGS = (
    ("payoff", "rules"),
    ("payoff", "rlcard-rule"),
    ("payoff", "random"),
    (f"{_SEARCH}dealt", f"{_SEARCH}random"),
    (f"{_SEARCH}stake", f"{_SEARCH}random"),
    (f"{_SEARCH}dealt", "payoff"),
)
"""Who bids against whom unless told otherwise: expected payoff against fixed rules, simulations against each other."""


@dataclass(frozen=True)
class BidderResult:
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


class Bidders:
    """Bidders by specification, made once, that see the worlds of the table at hand."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def seated(self, spec: str, table: DealTable) -> Agent:
        """A bidder at a table."""
        if spec not in self._made:
            self._made[spec] = make_agent(spec)
        agent = self._made[spec]
        if isinstance(agent, PayoffAgent):
            agent.dealt = table.dealt  # type: ignore[method-assign]
        bidder: Agent = agent
        return bidder


def play_pairing(bidders: Bidders, table: DealTable, a: str, b: str) -> BidderResult:
    """The six games of a deal: A alone in each seat against two Bs, and the reverse."""
    agents = {"a": bidders.seated(a, table), "b": bidders.seated(b, table)}
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


@dataclass(frozen=True)
class BidderOptions(ParallelOptions):
    """What is played.

    Attributes:
        deals: Duplicate deals of every pairing.
        first_deal: Number of the first deal under the seed.
        worlds: Dealt worlds from which the payoff bidders count.
        against: Other pairings instead, as `A v B`; may be repeated.
        rules: Rules with an auction, to which doubling is added; where all decline the deal ends.
    """

    deals: Annotated[int, Range(1)] = 1000
    first_deal: Annotated[int, Range(0)] = FIRST_DEAL
    worlds: Annotated[int, Range(1)] = 60
    against: tuple[str, ...] | None = None
    rules: str = "bidding"


def _rules(options: BidderOptions) -> str:
    return f"{options.rules},doubling=true,all_decline=end"


class _BidWorker(Worker[int, list[BidderResult]]):
    """Plays every pairing on a deal."""

    def __init__(self, options: BidderOptions, pairings: Sequence[tuple[str, str]]) -> None:
        self._options, self._pairings = options, pairings
        self._rules, self._player, self._bidders = Rules.preset(_rules(options)), make_agent(PLAYER), Bidders()

    def play(self, deal: int) -> list[BidderResult]:
        table = DealTable(self._options.seed, deal, self._options.worlds, self._rules, self._player)
        return [play_pairing(self._bidders, table, *pair) for pair in self._pairings]


def _pairings(options: BidderOptions) -> tuple[tuple[str, str], ...]:
    if options.against is None:
        return PAIRINGS
    pairs = [tuple(side.strip() for side in text.split(" v ")) for text in options.against]
    for pair in pairs:
        if len(pair) != 2:
            raise options.error(f"against={pair} must be two bidders, as 'payoff v rules'")
    return tuple((pair[0], pair[1]) for pair in pairs)


def run_bidders(
    options: BidderOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[BidderResult]:
    """Play every pairing on the same deals.

    Args:
        options: Who plays how many deals.
        path: Where to save, one line a pairing and deal; a file of an earlier run is resumed.
        on_progress: Told how many deals are done.

    Raises:
        InvalidExperimentError: If a pairing cannot be read, or the rules have no auction.
        InvalidRulesError: If there are no such rules.
        UnknownAgentError: If a bidder does not exist.
    """
    pairings = _pairings(options)
    agents = tuple(dict.fromkeys(spec for pair in pairings for spec in pair))
    for spec in agents:
        make_agent(spec)
    if Rules.preset(_rules(options)).bidding == "fixed":
        raise options.error(f"rules={options.rules!r} have no auction")
    settings = {
        "experiment": "bidders", "seed": options.seed, "rules": _rules(options), "worlds": options.worlds,
        "player": PLAYER, "pairings": [" v ".join(pair) for pair in pairings],
    }  # fmt: skip
    store = ResultStore(BidderResult, path, settings, ("deal",), agents=agents, per_key=len(pairings))
    tasks = {(deal,): deal for deal in range(options.first_deal, options.first_deal + options.deals)}
    start = functools.partial(_BidWorker, options, pairings)
    return kept(store, store.fill(tasks, start, options.processes, on_progress))


def bidder_table(saved: Saved[BidderResult]) -> Table:
    """A line a pairing."""
    groups: dict[tuple[str, str], list[BidderResult]] = {}
    for result in saved.results:
        groups.setdefault((result.a, result.b), []).append(result)
    lines = [(f"`{a}`", f"`{b}`", *_line(own)) for (a, b), own in groups.items()]
    header = ("bidder", "against", "deals", "score a game", "landlord %", "of these won %", "declined %", "mean stake")
    first, settings = min(result.deal for result in saved.results), saved.settings
    note = (
        f"Duplicate deals from number {first:,} on under seed {settings['seed']}, six games each, rules "
        f"`{settings['rules']}`, cards played by `{settings['player']}`, {settings['worlds']} dealt worlds; scores "
        f"with 95 % intervals over deals. Computed from {saved.name}."
    )
    return Table("Bidders against each other", header, lines, note)


def _line(own: Sequence[BidderResult]) -> Iterable[str]:
    games, landlord = 6 * len(own), sum(result.landlord for result in own)
    stakes = [result.stake for result in own if result.stake]
    return (
        f"{len(own):,}",
        normal_interval([result.score for result in own]).plus_minus(),
        f"{100 * landlord / games:.1f}",
        f"{100 * sum(result.won for result in own) / max(landlord, 1):.1f}",
        f"{100 * sum(result.declined for result in own) / games:.1f}",
        f"{fmean(stakes):.2f}" if stakes else "–",
    )


def fit_rate(deals: int, worlds: int = 6, seed: int = 77) -> tuple[float, float]:
    """The logistic fit of a landlord's win rate by the price of its 17 cards: ``RATE_AT_ZERO`` and ``RATE_SLOPE``.

    Args:
        deals: Deals from which hands are taken.
        worlds: Worlds dealt from the view of each deal's first seat.
        seed: Seed of the deals.
    """
    from ddz_agents.bidding.auction import hand_prices
    from ddz_agents.rules.scratch import new_rule_scratch

    prices, won, agent = np.empty((deals, worlds, 3)), np.empty((deals, worlds, 3)), make_agent(PLAYER)
    for deal in range(deals):
        view = State.new(seed, "bidding", deal).view(0)
        found = outcomes(view, np.random.default_rng(deal), worlds, agent)
        hand_prices(found.rows, view.rule_words, new_rule_scratch(), prices[deal])
        won[deal] = found.landlord_won
    inputs = np.stack([np.ones(prices.size), -prices.ravel() / 100], axis=1)
    weights = np.zeros(2)
    for _ in range(20):  # Newton's method
        rates = 1.0 / (1.0 + np.exp(-inputs @ weights))
        hessian = (inputs * (rates * (1.0 - rates))[:, None]).T @ inputs
        weights += np.linalg.solve(hessian, inputs.T @ (won.ravel() - rates))
    return float(weights[0]), float(weights[1] / 100)


BIDDERS = Experiment(
    name="bidders",
    source="own",
    about="Bidders against each other on duplicate deals: expected payoff, fixed rules, and searches of the auction.",
    unit="duplicate deals",
    options=BidderOptions,
    result=BidderResult,
    run=run_bidders,
    tables={"bidders": bidder_table},
    file="bidders",
)
