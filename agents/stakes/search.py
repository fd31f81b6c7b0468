"""Information-set UCT over the auction, whose simulations bid by expected payoff.

The paper puts its policy in the place of random moves in the simulations of UCT, and asks how the opponent's win rate
is to be known there: from hands dealt at random (its algorithm 1), or from the own win rate and what the opponent has
staked (equation 3; its algorithm 2).  Here the tree is that of the bids still to come.  An iteration takes one of the
dealt worlds, goes down by UCB over the bids that are legal, adds a bid, lets the rest of the auction be bid by the
simulation's policy, and brings up what the auction's end is worth:

* ``random``: the rest is bid at random, the end is worth what the cards of that world came to;
* ``dealt`` (algorithm 1): every seat bids by expected payoff on the hand that it was dealt in that world, whose win
  rate follows from its price (:data:`RATE_AT_ZERO`); the end is worth what the cards of that world came to;
* ``stake`` (algorithm 2): the others' win rates are those of equation 3, and so is the worth of the end, by equation 4.

After the auction nothing is left to search: doubling is answered by the policy itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from agents.rule_agent.decomposition import decompose
from agents.rule_agent.mind import A_HAND, Mind, look_around, new_mind
from agents.rule_agent.prices import set_prices
from agents.rule_agent.scratch import PRICE_ONLY
from agents.rule_agent.weights import WEIGHTS
from agents.stakes.policy import HIGHEST_BID, PayoffAgent, PayoffOptions, check_stage, most_staked
from agents.stakes.worlds import Outcomes, answer
from ddz_env import Move, View
from ddz_env.actions import BID_BASE
from ddz_env.agent import Decision
from ddz_env.engine.compiling import inline_kernel, kernel
from ddz_env.engine.layout import BIDS, KNOWN, LANDLORD, MOVES, NO_SEAT, OWNER, ROW_WORDS, SEAT, STAGE, STAGE_BID
from ddz_env.engine.random import advance, below, mix
from ddz_env.engine.tables import BID_ID
from ddz_env.engine.words import U0, U12, U15
from ddz_env.errors import IllegalMoveError
from ddz_env.options import Range, takes

RATE_AT_ZERO, RATE_SLOPE = 1.052, 0.003091
"""A landlord's win rate by the rule agent's price of its 17 cards is
``1 / (1 + exp(RATE_SLOPE * price - RATE_AT_ZERO))``, a logistic fit (``training.experiments.bidders.fit_rate`` on
2,000 deals)."""
PEASANT_RATE = 0.56
"""A peasant's win rate before anything is known of the hands: the landlord wins the other games."""

Simulation = Literal["random", "dealt", "stake"]
_RANDOM, _DEALT, _STAKE = range(3)
_NO_SEAT = np.uint64(NO_SEAT)
_BIDS = HIGHEST_BID + 1
_MOST_NODES = 4096
_SCALE = 6.0
"""Payoffs are divided by the highest bid times two peasants before UCB sees them."""


class Auction(NamedTuple):
    """What the search knows of its worlds.

    Attributes:
        returns: As in :class:`~agents.stakes.worlds.Outcomes`, shape ``[worlds, 3, 3]``.
        rates: Each seat's win rate as the landlord by its dealt hand, the observer's counted, shape ``[worlds, 3]``.
        own: The observer's win rate by landlord, shape ``[3]``.
        seat: The observer.
        most: The highest base stake that bids and doubling can name.
    """

    returns: npt.NDArray[np.float64]
    rates: npt.NDArray[np.float64]
    own: npt.NDArray[np.float64]
    seat: int
    most: float


@kernel
def hand_prices(rows: np.ndarray, rules: np.ndarray, mind: Mind, prices: np.ndarray) -> None:
    """Write the rule agent's price of each seat's cards before the auction.

    Args:
        rows: Worlds by landlord, shape ``[worlds, 3, 32]``, uint64.
        rules: The rules array.
        mind: The rule agent's memory.
        prices: Output, shape ``[worlds, 3]``, float64.
    """
    row = np.empty(ROW_WORDS, np.uint64)
    for world in range(rows.shape[0]):
        for seat in range(3):
            row[:] = rows[world, (seat + 1) % 3]  # a world in which the seat has not taken up the landlord cards
            row[SEAT], row[LANDLORD], row[KNOWN], row[STAGE] = np.uint64(seat), _NO_SEAT, U0, np.uint64(STAGE_BID)
            look_around(row, rules, mind)
            set_prices(mind, WEIGHTS)
            price, _ = decompose(mind.about[A_HAND], rules, mind.value, PRICE_ONLY)
            prices[world, seat] = price


@inline_kernel
def _policy_bid(auction: Auction, world: int, seat: int, owner: int, highest: int, stake: bool) -> int:
    """The bid of the expected-payoff policy, without a loss rate: the highest if it is worth more than declining."""
    share = highest / auction.most
    if seat == auction.seat:
        rate = auction.own[seat]
        peasant = auction.own[owner] if highest > 0 else 0.5
    elif stake:  # equation 3, from what it has bid itself so far
        rate = min(1.0, (1.0 - auction.own[seat]) * (1.0 + (share if owner == seat else 0.0)))
        peasant = PEASANT_RATE
    else:
        rate = auction.rates[world, seat]
        peasant = PEASANT_RATE
    rate = 1.0 - min(1.0, (1.0 - rate) * (1.0 + share))
    peasant = 1.0 - min(1.0, (1.0 - peasant) * (1.0 + share))
    declined = (2.0 * peasant - 1.0) * highest
    return HIGHEST_BID if (2.0 * rate - 1.0) * 2.0 * HIGHEST_BID > declined else 0


@inline_kernel
def _end(auction: Auction, world: int, row: np.ndarray, stake: bool, worth: np.ndarray) -> None:
    """Write what an auction's end is worth to each seat; nothing if nobody bid."""
    worth[:] = 0.0
    landlord = np.int64(row[LANDLORD])
    if landlord == 3:
        return
    base = float(max((row[BIDS] >> U12) & U15, np.uint64(1)))
    if not stake:
        for seat in range(3):
            worth[seat] = base * auction.returns[world, landlord, seat]
        return
    own, mine = auction.own[landlord], landlord == auction.seat
    opponent = min(1.0, (1.0 - own) * (1.0 + (0.0 if mine else base / auction.most)))
    payoff = (own - opponent) * base * (2.0 if mine else 1.0)
    for seat in range(3):
        if mine:
            worth[seat] = payoff if seat == auction.seat else -payoff / 2.0
        else:
            worth[seat] = -2.0 * payoff if seat == landlord else payoff


@inline_kernel
def _bid(row: np.ndarray, bid: int, rules: np.ndarray) -> bool:
    """Bid; whether the auction goes on.  Where all decline and the cards would be dealt again, nobody is landlord."""
    answer(row, BID_ID + np.uint64(bid), rules)
    if row[MOVES] == U0:
        row[LANDLORD] = _NO_SEAT
        return False
    return row[STAGE] == STAGE_BID and row[LANDLORD] == _NO_SEAT


@kernel
def search_auction(
    view: np.ndarray,
    rules: np.ndarray,
    auction: Auction,
    simulation: int,
    iterations: int,
    exploration: float,
    state: np.uint64,
) -> tuple[np.ndarray, np.ndarray]:
    """Run iterations from an auction's position.

    Args:
        view: The row of the seat to act, in the auction, shape ``[32]``, uint64.
        rules: The rules array.
        auction: The worlds.
        simulation: Index of the simulation.
        iterations: How many.
        exploration: The constant of UCB, on payoffs divided by six base stakes.
        state: The generator's state.

    Returns:
        Visits of each bid and its mean payoff for the seat to act, both of shape ``[4]``.
    """
    child = np.zeros((_MOST_NODES, _BIDS), np.int64)
    visits, value = np.zeros(_MOST_NODES), np.zeros(_MOST_NODES)
    path, movers = np.zeros(64, np.int64), np.zeros(64, np.int64)
    row, worth, used = np.empty(ROW_WORDS, np.uint64), np.zeros(3), 1
    for iteration in range(iterations):
        world = iteration % auction.returns.shape[0]
        row[:] = view
        node, depth, running, expanded = 0, 0, True, False
        while running:
            seat, highest = np.int64(row[SEAT]), np.int64((row[BIDS] >> U12) & U15)
            if expanded:
                state = advance(state)
                if simulation == _RANDOM:
                    pick = np.int64(below(mix(state), np.uint64(_BIDS - highest)))
                    bid = 0 if pick == 0 else highest + pick
                else:
                    bid = _policy_bid(auction, world, seat, np.int64(row[OWNER]), highest, simulation == _STAKE)
            else:
                bid, best, ties = 0, -1e9, U0
                for option in range(_BIDS):
                    if 0 < option <= highest:
                        continue
                    found = child[node, option]
                    score = 1e8
                    if found:
                        score = value[found] / visits[found] / _SCALE
                        score += exploration * math.sqrt(math.log(max(visits[node], 1.0)) / visits[found])
                    if score == best:
                        state = advance(state)
                        ties += np.uint64(1)
                        if below(mix(state), ties + np.uint64(1)) == U0:
                            bid = option
                    elif score > best:
                        bid, best, ties = option, score, U0
                if not child[node, bid]:
                    if used == _MOST_NODES:
                        expanded = True
                        continue
                    child[node, bid] = used
                    used += 1
                    expanded = True
                node = child[node, bid]
                path[depth], movers[depth] = node, seat
                depth += 1
            running = _bid(row, bid, rules)
        _end(auction, world, row, simulation == _STAKE, worth)
        visits[0] += 1.0
        for level in range(depth):
            visits[path[level]] += 1.0
            value[path[level]] += worth[movers[level]]
    counts, means = np.zeros(_BIDS), np.zeros(_BIDS)
    for option in range(_BIDS):
        found = child[0, option]
        if found:
            counts[option], means[option] = visits[found], value[found] / visits[found]
    return counts, means


@dataclass(frozen=True)
class PayoffSearchOptions(PayoffOptions):
    """How the auction is searched, and how payoffs are expected at doubling.

    Attributes:
        simulation: How the rest of an auction is bid in a simulation: at `random`, or by expected payoff, with the
            others' win rates from the hands `dealt` to them (the paper's algorithm 1) or from their `stake` (its
            algorithm 2).
        iterations: Iterations of the search.
        exploration: The constant of UCB, on payoffs divided by six base stakes.
    """

    simulation: Simulation = "stake"
    iterations: Annotated[int, Range(1, 10**7)] = 10_000
    exploration: Annotated[float, Range(0)] = 0.7


@takes(PayoffSearchOptions)
class PayoffSearchAgent(PayoffAgent):
    """Bids by information-set UCT over the auction, doubles by expected payoff; plays the cards by another agent.

    Raises:
        InvalidAgentOptionError: If there is no such option, or its value is not allowed.
        UnknownAgentError: If `player` or `play` is no agent.
    """

    options: PayoffSearchOptions

    def __init__(self, *values: Any, **named: Any) -> None:
        self.options = PayoffSearchOptions.of(*values, **named)
        self._take_agents()
        self._mind = new_mind()

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Search in the auction; see :class:`~agents.stakes.policy.PayoffAgent` for the rest."""
        return self.decide(view, rng).move if view.stage == "bid" else super().act(view, rng)

    def decide(self, view: View, rng: np.random.Generator) -> Decision:
        """The move, and in the auction the visits and mean payoffs of the bids.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
        """
        if view.stage != "bid":
            move = super().act(view, rng)
            return Decision(move, line=move.actions)
        check_stage(view)
        if view.acting_seat != view.seat:
            raise IllegalMoveError(f"seat {view.seat} is asked to bid, but it is seat {view.acting_seat}'s turn")
        found = self.dealt(view, rng)
        visits, values = self._search(view, found, np.uint64(rng.integers(0, 2**64, dtype=np.uint64)))
        seen = {BID_BASE + bid: int(visits[bid]) for bid in range(_BIDS) if visits[bid]}
        chosen = max(seen, key=lambda action: seen[action])
        means = {action: float(values[action - BID_BASE]) for action in seen}
        return Decision(Move(chosen), seen, means, (chosen,), "score")

    def _search(self, view: View, found: Outcomes, state: np.uint64) -> tuple[Any, Any]:
        prices = np.empty((len(found.rows), 3))
        hand_prices(found.rows, view.rule_words, self._mind, prices)
        rates = 1.0 / (1.0 + np.exp(RATE_SLOPE * prices - RATE_AT_ZERO))
        own = np.array([found.win_rate(landlord) for landlord in range(3)])
        auction = Auction(found.returns, rates, own, view.seat, float(most_staked(view.rules)))
        number = get_args(Simulation).index(self.options.simulation)
        options = self.options
        return search_auction(
            view.row, view.rule_words, auction, number, options.iterations, options.exploration, state
        )
