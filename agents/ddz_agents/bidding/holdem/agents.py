"""Agents for two-player no-limit hold'em, and a hand between them: the policy, and UCT with either simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from ddz_agents.bidding.holdem import betting as at
from ddz_agents.bidding.holdem.cards import showdowns, strength
from ddz_env.core.errors import DouDizhuError, unknown
from ddz_env.core.options import Options, Range

_BOARD = (0, 3, 4, 5)
"""Cards on the table by street."""

Cards = npt.NDArray[np.int64]
AGENTS = ("payoff", "uct-dealt", "uct-stake", "random")


class HoldemError(DouDizhuError):
    """An agent or an option that does not exist."""


@dataclass(frozen=True)
class HoldemOptions(Options):
    """How the win rate is counted, and how the betting is searched.

    Attributes:
        hands: Dealt hands from which the policy counts its win rate.
        iterations: Iterations of UCT.
        hands_each: Dealt hands of each iteration.
        exploration: The constant of UCB, on payoffs divided by the stack.
        full: Whether equation 1 subtracts the loss rate in full (:func:`ddz_agents.bidding.payoff.expected_payoff`).
        by_stage: Whether its stake is what was bet in the current stage, not in the whole hand.
    """

    error = HoldemError

    hands: Annotated[int, Range(1)] = 500
    iterations: Annotated[int, Range(1, 10**6)] = 100
    hands_each: Annotated[int, Range(1)] = 128
    exploration: Annotated[float, Range(0)] = 0.7
    full: bool = False
    by_stage: bool = False


class HoldemAgent:
    """Plays hold'em: by the paper's policy, by UCT over the betting whose simulations bet by that policy, or at random.

    Args:
        name: ``payoff``, the action of the highest expected payoff (the paper's program THPZZ); ``uct-dealt``
            (algorithm 1), where simulations know the opponent's win rate as the mean over dealt hands; ``uct-stake``
            (algorithm 2), where they take it from its stake by equation 3; or ``random``, a yardstick.
        **options: See :class:`HoldemOptions`.

    Raises:
        HoldemError: If there is no such agent or option.
    """

    def __init__(self, name: str, **options: Any) -> None:
        if name not in AGENTS:
            raise HoldemError(unknown("hold'em agent", name, AGENTS))
        self.name, self.options = name, HoldemOptions.of(**options)

    def act(self, hole: Cards, board: Cards, bets: npt.NDArray[np.int64], rng: np.random.Generator) -> int:
        """Choose an action.

        Args:
            hole: Its own two cards (:mod:`ddz_agents.bidding.holdem.cards`).
            board: The cards on the table.
            bets: The bets with itself as the first player (:mod:`ddz_agents.bidding.holdem.betting`).
            rng: Its only source of randomness.
        """
        options = self.options
        if self.name == "random":
            return int(rng.choice(legal_actions(bets)))
        if self.name == "payoff":
            rate = float(showdowns(hole, board, options.hands, rng).mean())
            return int(at.best_action(bets, rate, options.full, options.by_stage))
        rates = showdowns(hole, board, options.iterations * options.hands_each, rng)
        means = rates.reshape(options.iterations, -1).mean(axis=1)
        how = at.STAKE if self.name == "uct-stake" else at.DEALT
        visits, _ = at.search_bets(bets, means, how, options.full, options.by_stage, options.exploration)
        return int(visits.argmax())


def legal_actions(bets: npt.NDArray[np.int64]) -> list[int]:
    """The legal actions of the player to act, ascending."""
    return [action for action in range(at.ACTIONS) if at.is_legal(bets, action)]


def seen_by(bets: npt.NDArray[np.int64], player: int) -> npt.NDArray[np.int64]:
    """The bets with a player as the first, shape ``[PLACES]``, int64."""
    seen = bets.copy()
    if player:
        seen[0], seen[1] = bets[1], bets[0]
        seen[at.TURN], seen[at.BUTTON] = 1 - bets[at.TURN], 1 - bets[at.BUTTON]
    return seen


def play_hand(
    players: Sequence[HoldemAgent], deck: Cards, button: int, rngs: Sequence[np.random.Generator]
) -> tuple[int, int]:
    """Play a hand.

    Args:
        players: The two agents.
        deck: The cards in order: two for the button, two for the other, five for the table.
        button: Who has the small blind.
        rngs: A generator a player.

    Returns:
        What the first player won, and what it had in the pot at the end.
    """
    bets, holes = at.new_bets(button), {button: deck[0:2], 1 - button: deck[2:4]}
    while not bets[at.OVER]:
        player = int(bets[at.TURN])
        board = deck[4 : 4 + _BOARD[bets[at.STREET]]]
        at.bet(bets, players[player].act(holes[player], board, seen_by(bets, player), rngs[player]))
    if bets[at.OVER] > 1:
        won = -bets[0] if bets[at.OVER] == 2 else bets[1]
    else:
        ours, theirs = (strength(np.concatenate([holes[player], deck[4:9]])) for player in (0, 1))
        won = bets[0] * (int(ours > theirs) - int(ours < theirs))
    return int(won), int(bets[0])
