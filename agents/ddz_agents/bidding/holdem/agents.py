"""Agents for two-player no-limit hold'em, and a hand between them: the policy, and UCT with either simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ddz_agents.bidding.holdem import betting as at
from ddz_agents.bidding.holdem.cards import showdowns, strength
from ddz_env.core.errors import DouDizhuError, unknown
from ddz_env.core.options import Options, Range

_BOARD = (0, 3, 4, 5)
"""Cards on the table by street."""

Cards = npt.NDArray[np.int64]


class HoldemError(DouDizhuError):
    """An agent or an option that does not exist."""


class HoldemAgent(Protocol):
    """Plays hold'em."""

    def act(self, hole: Cards, board: Cards, bets: npt.NDArray[np.int64], rng: np.random.Generator) -> int:
        """Choose an action.

        Args:
            hole: Its own two cards (:mod:`ddz_agents.bidding.holdem.cards`).
            board: The cards on the table.
            bets: The bets with itself as the first player (:mod:`ddz_agents.bidding.holdem.betting`).
            rng: Its only source of randomness.
        """
        ...


@dataclass(frozen=True)
class HoldemOptions(Options):
    """How the win rate is counted, and how the betting is searched.

    Attributes:
        hands: Dealt hands from which the policy counts its win rate.
        iterations: Iterations of UCT.
        hands_each: Dealt hands of each iteration.
        exploration: The constant of UCB, on payoffs divided by the stack.
        full: Whether equation 1 subtracts the loss rate in full (:func:`ddz_agents.bidding.payoff.expected_payoff`).
    """

    error = HoldemError

    hands: Annotated[int, Range(1)] = 500
    iterations: Annotated[int, Range(1, 10**6)] = 100
    hands_each: Annotated[int, Range(1)] = 128
    exploration: Annotated[float, Range(0)] = 0.7
    full: bool = False


class PayoffHoldem:
    """The paper's policy: the action of the highest expected payoff (its program THPZZ)."""

    def __init__(self, **options: Any) -> None:
        self.options = HoldemOptions.of(**options)

    def act(self, hole: Cards, board: Cards, bets: npt.NDArray[np.int64], rng: np.random.Generator) -> int:
        """Choose the best action at the win rate against random hands."""
        win_rate = float(showdowns(hole, board, self.options.hands, rng).mean())
        return int(at.best_action(bets, win_rate, self.options.full))


class UctHoldem(PayoffHoldem):
    """UCT over the betting, whose simulations bet by that policy.

    Args:
        simulation: How the opponent's win rate is known there: the mean over ``dealt`` hands (the paper's algorithm 1),
            or from its ``stake`` (equation 3, algorithm 2).
        **options: See :class:`HoldemOptions`.
    """

    def __init__(self, simulation: Literal["dealt", "stake"] = "stake", **options: Any) -> None:
        super().__init__(**options)
        if simulation not in ("dealt", "stake"):
            raise HoldemError(unknown("simulation", simulation, ("dealt", "stake")))
        self._how = at.STAKE if simulation == "stake" else at.DEALT

    def act(self, hole: Cards, board: Cards, bets: npt.NDArray[np.int64], rng: np.random.Generator) -> int:
        """Search and choose the action with the most visits."""
        chosen = self.options
        rates = showdowns(hole, board, chosen.iterations * chosen.hands_each, rng)
        means = rates.reshape(chosen.iterations, -1).mean(axis=1)
        visits, _ = at.search_bets(bets, means, self._how, chosen.full, chosen.exploration)
        return int(visits.argmax())


class RandomHoldem:
    """Uniform over the legal actions."""

    def __init__(self, **options: Any) -> None:
        HoldemOptions.of(**options)

    def act(self, hole: Cards, board: Cards, bets: npt.NDArray[np.int64], rng: np.random.Generator) -> int:
        """Draw a legal action."""
        return int(rng.choice(legal_actions(bets)))


AGENTS: Mapping[str, Callable[..., HoldemAgent]] = {
    "payoff": PayoffHoldem,
    "uct-dealt": lambda **options: UctHoldem("dealt", **options),
    "uct-stake": UctHoldem,
    "random": RandomHoldem,
}
"""The agents by name: the baseline, algorithm 1, algorithm 2, and a yardstick."""


def make_holdem_agent(name: str, **options: Any) -> HoldemAgent:
    """An agent by its name.

    Args:
        name: A key of :data:`AGENTS`.
        **options: See :class:`HoldemOptions`.

    Raises:
        HoldemError: If there is no such agent or option.
    """
    if name not in AGENTS:
        raise HoldemError(unknown("hold'em agent", name, AGENTS))
    return AGENTS[name](**options)


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
