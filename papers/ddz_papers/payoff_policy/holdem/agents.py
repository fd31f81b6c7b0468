"""Agents for two-player no-limit hold'em (the paper's policy, UCT and random), and a hand between two agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ddz_env.support.errors import DouDizhuError
from ddz_env.support.options import Options, Range, takes_options
from ddz_papers.payoff_policy.holdem import betting as at
from ddz_papers.payoff_policy.holdem.cards import hand_strength, sample_showdowns

_BOARD = (0, 3, 4, 5)
"""Cards on the table by street."""

Rngs = Sequence[np.random.Generator]
Cards = npt.NDArray[np.int64]
Player = Literal["payoff", "uct-dealt", "uct-stake", "random"]


class HoldemError(DouDizhuError):
    """Raised when a hold'em agent or one of its options does not exist."""


@dataclass(frozen=True)
class HoldemOptions(Options):
    """Options of a hold'em agent: who plays, how the win rate is counted, and how the betting is searched.

    Attributes:
        name: ``payoff``, the action of the highest expected payoff (the paper's program THPZZ); ``uct-dealt``
            (algorithm 1), where simulations know the opponent's win rate as the mean over dealt hands; ``uct-stake``
            (algorithm 2), where they take it from its stake by equation 3; or ``random``, a yardstick.
        hands: Dealt hands from which the policy counts its win rate.
        iterations: Iterations of UCT.
        hands_each: Dealt hands of each iteration.
        exploration: The constant of UCB, on payoffs divided by the stack.
        full: Whether equation 1 subtracts the loss rate in full (:func:`ddz_agents.bidding.payoff.expected_payoff`).
        by_stage: Whether its stake is what was bet in the current stage, not in the whole hand.
    """

    error = HoldemError

    name: Player
    hands: Annotated[int, Range(1)] = 500
    iterations: Annotated[int, Range(1, 10**6)] = 100
    hands_each: Annotated[int, Range(1)] = 128
    exploration: Annotated[float, Range(0)] = 0.7
    full: bool = False
    by_stage: bool = False


class BettingAgent(Protocol):
    """What a player of :func:`play_hand` has: one function."""

    def act(self, hole: Cards, board: Cards, bets: npt.NDArray[np.int64], rng: np.random.Generator) -> int:
        """Choose a legal action; the player is the first one of the bets."""
        ...


class HoldemAgent:
    """A hold'em agent that plays by the paper's policy, by UCT with this policy in simulations, or at random.

    Raises:
        HoldemError: If there is no such agent or option.
    """

    @takes_options(HoldemOptions)
    def __init__(self, options: HoldemOptions) -> None:
        self.options = options

    def act(self, hole: Cards, board: Cards, bets: npt.NDArray[np.int64], rng: np.random.Generator) -> int:
        """Choose a betting action from the agent's two cards, the board and the bets.

        Args:
            hole: Its own two cards (:mod:`ddz_papers.payoff_policy.holdem.cards`).
            board: The cards on the table.
            bets: The bets with itself as the first player (:mod:`ddz_papers.payoff_policy.holdem.betting`).
            rng: Its only source of randomness.
        """
        options = self.options
        if options.name == "random":
            return int(rng.choice(legal_actions(bets)))
        if options.name == "payoff":
            rate = float(sample_showdowns(hole, board, options.hands, rng).mean())
            return int(at.best_action(bets, rate, options.full, options.by_stage))
        rates = sample_showdowns(hole, board, options.iterations * options.hands_each, rng)
        means = rates.reshape(options.iterations, -1).mean(axis=1)
        simulation = at.STAKE if options.name == "uct-stake" else at.DEALT
        visits, _ = at.search_betting(bets, means, simulation, options.full, options.by_stage, options.exploration)
        return int(visits.argmax())


def legal_actions(bets: npt.NDArray[np.int64]) -> list[int]:
    """Return the legal actions of the player to act, in ascending order."""
    return [action for action in range(at.ACTIONS) if at.is_legal(bets, action)]


def bets_seen_by(bets: npt.NDArray[np.int64], player: int) -> npt.NDArray[np.int64]:
    """Return the bets with a given player as the first player, shape ``[PLACES]``, int64."""
    view = bets.copy()
    if player:
        view[0], view[1] = bets[1], bets[0]
        view[at.TURN], view[at.BUTTON] = 1 - bets[at.TURN], 1 - bets[at.BUTTON]
    return view


def play_hand(
    players: Sequence[BettingAgent], deck: Cards, button: int, rngs: Rngs, stack: int = at.STACK, step: int = at.STEP
) -> tuple[int, int]:
    """Play a hand of hold'em; return the chips that the first player won, and those it had in the pot.

    Args:
        players: The two agents.
        deck: The cards in order: two for the button, two for the other, five for the table.
        button: Who has the small blind.
        rngs: One generator per player.
        stack: The chips of each player, a multiple of the step and at most forty steps.
        step: The step of bets.

    Returns:
        What the first player won, and what it had in the pot at the end.

    Raises:
        HoldemError: If the stack is no multiple of the step, or has too many.
    """
    if not step <= stack <= (at.ALL_IN - at.CALL) * step or stack % step:
        raise HoldemError(f"stack={stack} must be a multiple of step={step}, and at most {at.ALL_IN - at.CALL} steps")
    bets, holes = at.new_bets(button, stack, step), {button: deck[0:2], 1 - button: deck[2:4]}
    while not bets[at.OVER]:
        player = int(bets[at.TURN])
        board = deck[4 : 4 + _BOARD[bets[at.STREET]]]
        at.take_action(bets, players[player].act(holes[player], board, bets_seen_by(bets, player), rngs[player]))
    if bets[at.OVER] > 1:
        won = -bets[0] if bets[at.OVER] == 2 else bets[1]
    else:
        ours, theirs = (hand_strength(np.concatenate([holes[player], deck[4:9]])) for player in (0, 1))
        won = bets[0] * (int(ours > theirs) - int(ours < theirs))
    return int(won), int(bets[0])
