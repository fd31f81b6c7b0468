"""Compiled functions of the auction search: simulated bids, values of finished auctions, and the search loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.bidding.payoff import opponent_win_rate
from ddz_agents.bidding.tree import StakeTree, backpropagate, descend, new_tree, root_statistics, ucb
from ddz_agents.bidding.worlds import apply_answer
from ddz_agents.rules.decomposition import price_of_hand
from ddz_agents.rules.prices import set_prices
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.rules.workspace import A_ENEMY_CARDS, A_HAND, A_POOL, RuleWorkspace, read_public_state
from ddz_env.core.engine.layout import BIDS, KNOWN, LANDLORD, MOVES, NO_SEAT, OWNER, ROW_WORDS, SEAT, STAGE, STAGE_BID
from ddz_env.core.engine.legal import bid_options
from ddz_env.core.engine.random import advance, mix, scale_below
from ddz_env.core.engine.score import compute_stake
from ddz_env.core.engine.tables import BID_ID
from ddz_env.core.engine.words import U0, U1, U4, U12, U15, popcount, select_bit
from ddz_env.core.rules import BIDDING_ROBBING, R_BIDDING
from ddz_env.support.compiling import inline_kernel, kernel, pure_kernel

PEASANT_RATE = 0.56
"""A peasant's win rate before anything is known of the hands: the landlord wins the other games."""

RANDOM, DEALT, STAKE = range(3)
BIDS_IN_ALL = 4
_NO_SEAT = np.uint64(NO_SEAT)
_ROBBED = np.uint64(3)
"""The bid of a seat that has robbed the landlord's place, or has doubled its own call."""
_opponent_win_rate = pure_kernel(opponent_win_rate)
_MOST_NODES, _MOST_LEVELS = 256, 16
"""No auction has more, under any rules."""


class Auction(NamedTuple):
    """The inputs of an auction search: results of sampled deals, win rates, and the scale of payoffs.

    Attributes:
        returns: As in :class:`~ddz_agents.bidding.worlds.Outcomes`, shape ``[worlds, 3, 3]``.
        rates: Each seat's win rate as the landlord by its dealt hand, the observer's counted, shape ``[worlds, 3]``.
        win_rates: The observer's win rate by landlord, shape ``[3]``.
        seat: The observer.
        most: The highest base stake that bids, showing and doubling can name.
        scale: Payoffs are divided by it before UCB sees them.
    """

    returns: npt.NDArray[np.float64]
    rates: npt.NDArray[np.float64]
    win_rates: npt.NDArray[np.float64]
    seat: int
    most: float
    scale: float


@kernel
def write_hand_prices(rows: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace, prices: np.ndarray) -> None:
    """Write the rule agent's estimated cost of playing out each seat's dealt hand, shape ``[worlds, 3]``.

    Args:
        rows: Worlds by landlord, shape ``[worlds, 3, 32]``, uint64.
        rules: The rules array.
        workspace: The rule agent's memory.
        prices: Output, shape ``[worlds, 3]``, float64.
    """
    row = np.empty(ROW_WORDS, np.uint64)
    for world in range(rows.shape[0]):
        for seat in range(3):
            row[:] = rows[world, (seat + 1) % 3]  # a world in which the seat has not taken up the landlord cards
            row[SEAT], row[LANDLORD], row[KNOWN], row[STAGE] = np.uint64(seat), _NO_SEAT, U0, np.uint64(STAGE_BID)
            read_public_state(row, rules, workspace)
            set_prices(workspace.about[A_POOL], workspace.about[A_ENEMY_CARDS], rules, WEIGHTS, workspace)
            prices[world, seat] = price_of_hand(workspace.about[A_HAND], workspace)


@inline_kernel
def _stake_after_bid(row: np.ndarray, bid: int, rules: np.ndarray) -> int:
    """Return the base stake after a bid or a refusal to bid, or 0 if nobody has bid."""
    if rules[R_BIDDING] != BIDDING_ROBBING:
        return max(np.int64(bid), np.int64((row[BIDS] >> U12) & U15))
    standing = np.int64(compute_stake(row)) if (row[BIDS] >> U12) & U15 > U0 else 0
    return standing if bid == 0 else max(2 * standing, 1)


@inline_kernel
def stake_of_own_bids(row: np.ndarray, seat: int, rules: np.ndarray) -> int:
    """Return the highest base stake that a seat's own bids have set, or 0 if it has not bid."""
    bid = (row[BIDS] >> (U4 * np.uint64(seat))) & U15
    if rules[R_BIDDING] == BIDDING_ROBBING and bid >= _ROBBED:
        if bid > _ROBBED:  # called, and robbed its place back
            return np.int64(compute_stake(row))
        before = (row[BIDS] >> (U4 * np.uint64((seat + 2) % 3))) & U15
        return np.int64(4 if before == _ROBBED else 2)
    return max(np.int64(bid) - np.int64(1), np.int64(0))


@inline_kernel
def policy_bid(auction: Auction, world: int, row: np.ndarray, rules: np.ndarray, from_stake: bool) -> int:
    """Return the expected-payoff policy's bid: the highest legal bid if it pays more than declining, else 0."""
    seat, owner = np.int64(row[SEAT]), np.int64(row[OWNER])
    options = bid_options(row, rules)
    highest = np.int64(select_bit(options, popcount(options) - U1))
    standing, raised = _stake_after_bid(row, 0, rules), _stake_after_bid(row, highest, rules)
    share = standing / auction.most
    if seat == auction.seat:
        rate = auction.win_rates[seat]
        peasant = auction.win_rates[owner] if standing > 0 else 0.5
    elif from_stake:  # equation 3, from what it has bid itself so far
        rate = _opponent_win_rate(auction.win_rates[seat], stake_of_own_bids(row, seat, rules) / auction.most)
        peasant = PEASANT_RATE
    else:
        rate = auction.rates[world, seat]
        peasant = PEASANT_RATE
    rate, peasant = 1.0 - _opponent_win_rate(rate, share), 1.0 - _opponent_win_rate(peasant, share)
    declined = (2.0 * peasant - 1.0) * standing
    return highest if (2.0 * rate - 1.0) * 2.0 * raised > declined else 0


@inline_kernel
def write_end_values(
    auction: Auction, world: int, row: np.ndarray, rules: np.ndarray, from_stake: bool, worth: np.ndarray
) -> None:
    """Write each seat's payoff at the end of a simulated auction, or 0 for all seats if nobody has bid."""
    worth[:] = 0.0
    landlord = np.int64(row[LANDLORD])
    if landlord == 3:
        return
    base = float(compute_stake(row))
    if not from_stake:
        for seat in range(3):
            worth[seat] = base * auction.returns[world, landlord, seat]
        return
    rate, is_observer, bet = auction.win_rates[landlord], landlord == auction.seat, np.int64(0)
    for seat in range(3):
        if (seat == landlord) != is_observer:
            bet = max(bet, stake_of_own_bids(row, seat, rules))
    opponent = _opponent_win_rate(rate, bet / auction.most)
    payoff = (rate - opponent) * base * (2.0 if is_observer else 1.0)
    for seat in range(3):
        if is_observer:
            worth[seat] = payoff if seat == auction.seat else -payoff / 2.0
        else:
            worth[seat] = -2.0 * payoff if seat == landlord else payoff


@inline_kernel
def _play_bid(row: np.ndarray, bid: int, rules: np.ndarray) -> bool:
    """Make a bid and return whether the auction goes on; it ends without a landlord if all seats decline."""
    apply_answer(row, BID_ID + np.uint64(bid), rules)
    if row[MOVES] == U0:
        row[LANDLORD] = _NO_SEAT
        return False
    return row[STAGE] == STAGE_BID and row[LANDLORD] == _NO_SEAT


@inline_kernel
def _select_bid(
    tree: StakeTree, node: int, options: np.uint64, scale: float, exploration: float, state: np.uint64
) -> tuple[int, np.uint64]:
    """Select the bid with the highest UCB value, breaking ties at random."""
    bid, best, ties = np.int64(0), -1e9, U0
    while options != U0:
        option = np.int64(select_bit(options, U0))
        options &= options - U1
        score = ucb(tree, node, option, scale, exploration)
        if score == best:
            state = advance(state)
            ties += U1
            if scale_below(mix(state), ties + U1) == U0:
                bid = option
        elif score > best:
            bid, best, ties = option, score, U0
    return bid, state


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
    """Run a UCB tree search over the bids of an auction; return the visits and mean payoff of each bid.

    Args:
        view: The row of the seat to act, in the auction, shape ``[32]``, uint64.
        rules: The rules array.
        auction: The worlds.
        simulation: ``RANDOM``, ``DEALT`` or ``STAKE``.
        iterations: How many.
        exploration: The constant of UCB.
        state: The generator's state.

    Returns:
        Visits of each bid and its mean payoff for the seat to act, both of shape ``[4]``.
    """
    tree = new_tree(_MOST_NODES, BIDS_IN_ALL, _MOST_LEVELS)
    row, worth = np.empty(ROW_WORDS, np.uint64), np.zeros(3)
    for iteration in range(iterations):
        world = iteration % auction.returns.shape[0]
        row[:] = view
        node, depth, running, expanded = 0, 0, True, False
        while running:
            options = bid_options(row, rules)
            if not expanded:
                bid, state = _select_bid(tree, node, options, auction.scale, exploration, state)
                expanded = tree.child[node, bid] == 0
                node = descend(tree, node, bid, depth, np.int64(row[SEAT]))
                depth += 1
            else:
                state = advance(state)
                if simulation == RANDOM:
                    bid = np.int64(select_bit(options, scale_below(mix(state), popcount(options))))
                else:
                    bid = policy_bid(auction, world, row, rules, simulation == STAKE)
            running = _play_bid(row, bid, rules)
        write_end_values(auction, world, row, rules, simulation == STAKE, worth)
        backpropagate(tree, depth, worth)
    return root_statistics(tree)
