"""The betting of PettingZoo's two-player no-limit hold'em, and the paper's policy and search over it.

The rules are RLCard's, which PettingZoo wraps: a stack of 100, blinds of 1 and 2, and five actions: fold, check or
call, raise by half the pot, raise by the pot, all in.  The small blind acts first on every street.  What is searched is
the betting alone: the cards enter through the win rates, which stay what they are to the hand's end, as in the paper.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.bidding.payoff import expected_payoff, final_payoff, opponent_win_rate
from ddz_agents.bidding.tree import at_root, bring_up, go_down, new_tree, ucb
from ddz_env.core.engine.compiling import inline_kernel, kernel, pure_kernel

STACK = 100
FOLD, CALL, HALF_POT, POT, ALL_IN = range(5)
ACTIONS = 5

# Places in an array of bets: chips in the pot and raised on this street, the searcher's first.
IN, RAISED = 0, 2
TURN = 4
"""Who acts: 0 the searcher, 1 the opponent."""
STILL = 5
"""How many in a row have not raised."""
STREET = 6
"""0 before the flop, 3 at the river."""
FIRST = 7
"""Who acts first on a street: the small blind."""
OVER = 8
"""0 while the hand goes on, 1 at a showdown, 2 and 3 where the searcher or the opponent has folded."""
PLACES = 9

DEALT, STAKE = 0, 1
"""How the opponent's win rate is known in a simulation: as the mean over dealt hands, or by equation 3."""

_payoff, _opponent, _final = pure_kernel(expected_payoff), pure_kernel(opponent_win_rate), pure_kernel(final_payoff)


@inline_kernel
def is_legal(bets: np.ndarray, action: int) -> bool:
    """Whether the player to act may take an action."""
    turn = bets[TURN]
    owed = max(bets[RAISED], bets[RAISED + 1]) - bets[RAISED + turn]
    left = STACK - bets[IN + turn]
    pot = bets[IN] + bets[IN + 1]
    if action <= CALL:
        return True
    if owed > 0 and owed >= left:
        return False
    if action == HALF_POT:
        return pot // 2 <= left and pot // 2 > owed
    return action == ALL_IN or pot <= left


@inline_kernel
def chips_after(bets: np.ndarray, action: int) -> int:
    """What the player to act has in the pot after an action."""
    turn = bets[TURN]
    mine, pot = bets[IN + turn], bets[IN] + bets[IN + 1]
    if action == FOLD:
        return mine
    if action == CALL:
        owed = max(bets[RAISED], bets[RAISED + 1]) - bets[RAISED + turn]
        return min(np.int64(STACK), mine + owed)
    if action == HALF_POT:
        return mine + pot // 2
    return mine + pot if action == POT else np.int64(STACK)


@pure_kernel
def bet(bets: np.ndarray, action: int) -> None:
    """Take a legal action, in place."""
    turn = bets[TURN]
    if action == FOLD:
        bets[OVER] = 2 + turn
        return
    chips = chips_after(bets, action)
    bets[RAISED + turn] += chips - bets[IN + turn]
    bets[IN + turn] = chips
    bets[STILL] = bets[STILL] + 1 if action == CALL else 1
    stacks_in = (bets[IN] == STACK) + (bets[IN + 1] == STACK)
    bets[TURN] = 1 - turn
    matched = bets[RAISED] == bets[RAISED + 1]
    if bets[STILL] >= 2 or (stacks_in and matched and action == CALL):
        if stacks_in or bets[STREET] == 3:
            bets[OVER] = 1
            return
        bets[STREET] += 1
        bets[RAISED] = bets[RAISED + 1] = bets[STILL] = 0
        bets[TURN] = bets[FIRST]


@pure_kernel
def best_action(bets: np.ndarray, win_rate: float) -> int:
    """The paper's policy (figure 6): the action of the highest expected payoff, by equation 1.

    To fold loses what is in the pot.  Where a check costs nothing no player folds: the equation would do so with
    the worst hands, because its loss rate counts chips that are lost anyway.
    """
    turn = bets[TURN]
    free = bets[RAISED + turn] == max(bets[RAISED], bets[RAISED + 1])
    best, best_payoff = CALL, -1e9
    for action in range(FOLD, ACTIONS):
        if not is_legal(bets, action) or (action == FOLD and free):
            continue
        chips = float(chips_after(bets, action))
        payoff = -chips if action == FOLD else _payoff(win_rate, chips, float(STACK), None)
        if payoff > best_payoff:
            best, best_payoff = action, payoff
    return best


@inline_kernel
def _theirs(bets: np.ndarray, win_rate: float, how: int) -> float:
    """The opponent's win rate."""
    return _opponent(win_rate, bets[IN + 1] / float(STACK) if how == STAKE else 0.0)


@pure_kernel
def simulate(bets: np.ndarray, win_rate: float, how: int) -> float:
    """Bet to the end, both sides by the policy; the searcher's payoff by equation 4, or what a fold loses."""
    while bets[OVER] == 0:
        rate = win_rate if bets[TURN] == 0 else _theirs(bets, win_rate, how)
        bet(bets, best_action(bets, rate))
    if bets[OVER] > 1:
        return -float(bets[IN]) if bets[OVER] == 2 else float(bets[IN + 1])
    return _final(win_rate, _theirs(bets, win_rate, how), float(bets[IN]))


@kernel
def search_bets(bets: np.ndarray, win_rates: np.ndarray, how: int, exploration: float) -> tuple[np.ndarray, np.ndarray]:
    """UCT over the betting: an iteration a win rate.

    Args:
        bets: The searcher's turn, shape ``[PLACES]``, int64.
        win_rates: The searcher's, each counted from a few dealt hands, shape ``[iterations]``, float64.
        how: ``DEALT`` or ``STAKE``.
        exploration: The constant of UCB, on payoffs divided by the stack.

    Returns:
        Visits of each action and its mean payoff, both of shape ``[5]``.
    """
    tree = new_tree(win_rates.size + 2, ACTIONS, 512)
    here, worth = bets.copy(), np.zeros(2)
    for iteration in range(win_rates.size):
        here[:] = bets
        node, depth, expanded = 0, 0, False
        while here[OVER] == 0 and not expanded:
            turn = here[TURN]
            free = here[RAISED + turn] == max(here[RAISED], here[RAISED + 1])
            best, best_score = np.int64(CALL), -1e9
            for action in range(ACTIONS):
                if not is_legal(here, action) or (action == FOLD and free):
                    continue
                score = ucb(tree, node, action, float(STACK), exploration)
                if score > best_score:
                    best, best_score = np.int64(action), score
            expanded = tree.child[node, best] == 0
            node = go_down(tree, node, best, depth, turn)
            depth += 1
            bet(here, best)
        worth[0] = simulate(here, win_rates[iteration], how)
        worth[1] = -worth[0]
        bring_up(tree, depth, worth)
    return at_root(tree)
