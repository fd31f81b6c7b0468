"""Betting in two-player no-limit hold'em, with the payoff paper's policy and its search.

Each player has 20,000 chips unless another stack is given; the blinds are 50 and 100.  A bet is named by what its
player then has in the pot, a multiple of a step of 500 (the paper's action mapping), and raises by at least as much as
the last raise, or all in.  The small blind acts first before the flop, the big blind after it.  What is searched is the
betting alone: the cards enter through the win rates, which stay what they are to the hand's end, as in the paper.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ddz_agents.bidding.payoff import expected_payoff, final_payoff, opponent_win_rate
from ddz_agents.bidding.tree import backpropagate, descend, new_tree, root_statistics, ucb
from ddz_env.support.compiling import inline_kernel, kernel, pure_kernel

STACK, SMALL_BLIND, BIG_BLIND, STEP = 20_000, 50, 100, 500
FOLD, CALL = 0, 1
ACTIONS = 2 + STACK // STEP
"""To fold, to check or call, then to have one, two ... forty steps of chips in the pot, at most the stack."""
ALL_IN = ACTIONS - 1
"""The action that bets the paper's stack."""

# Places in an array of bets; first the chips of both in the pot.
TURN = 2
STILL = 3
"""How many in a row have not raised."""
STREET = 4
"""0 before the flop, 3 at the river."""
BUTTON = 5
"""Who has the small blind."""
RAISE = 6
"""The last raise on this street, at least the big blind: the next must be at least as large."""
OVER = 7
"""0 while the hand goes on, 1 at a showdown, 2 and 3 where the first or the second player has folded."""
STAGE = 8
"""What each had in the pot when this street began."""
CHIPS, UNIT = 9, 10
"""The chips that each player has, and the step of bets."""
PLACES = 11

DEALT, STAKE = 0, 1
"""How the opponent's win rate is known in a simulation: as the mean over dealt hands, or by equation 3."""

_payoff, _opponent, _final = pure_kernel(expected_payoff), pure_kernel(opponent_win_rate), pure_kernel(final_payoff)


def new_bets(button: int, stack: int = STACK, step: int = STEP) -> npt.NDArray[np.int64]:
    """Return the array of bets after the blinds, shape ``[PLACES]``, int64.

    Args:
        button: Who has the small blind.
        stack: The chips of each player, a multiple of the step and at most forty steps.
        step: The step of bets.
    """
    bets = np.zeros(PLACES, np.int64)
    bets[button], bets[1 - button] = SMALL_BLIND, BIG_BLIND
    bets[TURN] = bets[BUTTON] = button
    bets[RAISE], bets[CHIPS], bets[UNIT] = BIG_BLIND, stack, step
    return bets


@inline_kernel
def is_legal(bets: np.ndarray, action: int) -> bool:
    """Check whether the player to act may take an action."""
    if action <= CALL:
        return True
    chips, most, stack = (action - CALL) * bets[UNIT], max(bets[0], bets[1]), bets[CHIPS]
    if bets[1 - bets[TURN]] == stack or chips <= most or chips > stack:
        return False
    return bool(chips == stack or chips - most >= bets[RAISE])


@inline_kernel
def can_check(bets: np.ndarray) -> bool:
    """Return whether the player to act may check, having as many chips in the pot as the other player."""
    return bool(bets[bets[TURN]] == max(bets[0], bets[1]))


@inline_kernel
def chips_after(bets: np.ndarray, action: int) -> int:
    """Return the chips that the player to act has in the pot after an action."""
    if action == FOLD:
        return bets[bets[TURN]]
    return max(bets[0], bets[1]) if action == CALL else np.int64(action - CALL) * bets[UNIT]


@pure_kernel
def take_action(bets: np.ndarray, action: int) -> None:
    """Apply a legal action to the bets in place."""
    turn = bets[TURN]
    if action == FOLD:
        bets[OVER] = 2 + turn
        return
    chips, most = chips_after(bets, action), max(bets[0], bets[1])
    bets[turn] = chips
    bets[TURN] = 1 - turn
    if chips > most:
        bets[RAISE], bets[STILL] = max(bets[RAISE], chips - most), 1
        return
    bets[STILL] += 1
    if chips == bets[CHIPS] or (bets[STILL] >= 2 and bets[STREET] == 3):
        bets[OVER] = 1
    elif bets[STILL] >= 2:
        bets[STREET] += 1
        bets[STILL], bets[RAISE], bets[TURN], bets[STAGE] = 0, BIG_BLIND, 1 - bets[BUTTON], chips


@pure_kernel
def best_action(bets: np.ndarray, win_rate: float, full: bool, by_stage: bool) -> int:
    """Return the action with the highest expected payoff by equation 1, the paper's policy (figure 6).

    To fold loses what is in the pot.  Where a check costs nothing no player folds: the equation would do so with
    the worst hands, because its loss rate counts chips that are lost anyway.
    """
    best, best_payoff = CALL, -1e9
    before = float(bets[STAGE]) if by_stage else 0.0
    for action in range(FOLD, ACTIONS):
        if not is_legal(bets, action) or (action == FOLD and can_check(bets)):
            continue
        chips = float(chips_after(bets, action))
        payoff = -chips if action == FOLD else _payoff(win_rate, chips - before, float(bets[CHIPS]), None, full)
        if payoff > best_payoff:
            best, best_payoff = action, payoff
    return best


@inline_kernel
def _opponent_win_rate(bets: np.ndarray, win_rate: float, how: int) -> float:
    """Return the opponent's win rate that a simulation assumes: as dealt, or derived from the stake."""
    return _opponent(win_rate, bets[1] / float(bets[CHIPS]) if how == STAKE else 0.0)


@pure_kernel
def simulate(bets: np.ndarray, win_rate: float, how: int, full: bool, by_stage: bool) -> float:
    """Bet to the end by the policy for both players; return the searcher's payoff (equation 4, or a fold)."""
    while bets[OVER] == 0:
        rate = win_rate if bets[TURN] == 0 else _opponent_win_rate(bets, win_rate, how)
        take_action(bets, best_action(bets, rate, full, by_stage))
    if bets[OVER] > 1:
        return -float(bets[0]) if bets[OVER] == 2 else float(bets[1])
    return _final(win_rate, _opponent_win_rate(bets, win_rate, how), float(bets[0]))


@kernel
def search_betting(
    bets: np.ndarray, win_rates: np.ndarray, how: int, full: bool, by_stage: bool, exploration: float
) -> tuple[np.ndarray, np.ndarray]:
    """Search the betting by UCT, with one iteration per win rate; return the actions' visits and mean payoffs.

    Args:
        bets: The searcher, who is the first player, is to act, shape ``[PLACES]``, int64.
        win_rates: The searcher's win rate in each iteration, counted from a few dealt hands, shape ``[iterations]``,
            float64.
        how: ``DEALT`` or ``STAKE``.
        full: The reading of equation 1 (:func:`~ddz_agents.bidding.payoff.expected_payoff`).
        by_stage: Whether equation 1 counts the chips of the current street only.
        exploration: The constant of UCB, on payoffs divided by the stack.

    Returns:
        Visits of each action and its mean payoff, both of shape ``[ACTIONS]``.
    """
    tree = new_tree(win_rates.size + 2, ACTIONS, 512)
    position, worth = bets.copy(), np.zeros(2)
    for iteration in range(win_rates.size):
        position[:] = bets
        node, depth, expanded = 0, 0, False
        while position[OVER] == 0 and not expanded:
            turn, free = position[TURN], can_check(position)
            best, best_score = np.int64(CALL), -1e9
            for action in range(ACTIONS):
                if not is_legal(position, action) or (action == FOLD and free):
                    continue
                score = ucb(tree, node, action, float(bets[CHIPS]), exploration)
                if score > best_score:
                    best, best_score = np.int64(action), score
            expanded = tree.child[node, best] == 0
            node = descend(tree, node, best, depth, turn)
            depth += 1
            take_action(position, best)
        worth[0] = simulate(position, win_rates[iteration], how, full, by_stage)
        worth[1] = -worth[0]
        backpropagate(tree, depth, worth)
    return root_statistics(tree)
