"""Agents for PettingZoo's ``texas_holdem_no_limit_v6`` with two players: the policy, and UCT with either simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ddz_agents.bidding.holdem import betting as at
from ddz_agents.bidding.holdem.cards import showdowns
from ddz_env.core.errors import DouDizhuError, unknown
from ddz_env.core.options import Options, Range

_CARDS = 52
_STREETS = {2: 0, 5: 1, 6: 2, 7: 3}


class HoldemError(DouDizhuError):
    """An observation that is none of two-player no-limit hold'em, an agent or an option that does not exist."""


class HoldemAgent(Protocol):
    """Plays hold'em by PettingZoo's observations."""

    def reset(self) -> None:
        """Forget the last hand."""
        ...

    def act(self, observation: Mapping[str, Any], rng: np.random.Generator) -> int:
        """Choose an action: 0 fold, 1 check or call, 2 raise by half the pot, 3 by the pot, 4 all in."""
        ...


@dataclass(frozen=True)
class HoldemOptions(Options):
    """How the win rate is counted, and how the betting is searched.

    Attributes:
        hands: Dealt hands from which the policy counts its win rate.
        iterations: Iterations of UCT.
        hands_each: Dealt hands of each iteration.
        exploration: The constant of UCB, on payoffs divided by the stack.
    """

    error = HoldemError

    hands: Annotated[int, Range(1)] = 500
    iterations: Annotated[int, Range(1, 10**6)] = 100
    hands_each: Annotated[int, Range(1)] = 128
    exploration: Annotated[float, Range(0)] = 0.7


class HoldemSeat:
    """What a player knows of a hand.

    An observation does not say which cards are the player's own; the first one, of two cards, does.

    Raises:
        HoldemError: From :meth:`look`, if the observation is another game's, or the first two cards were not seen.
    """

    def __init__(self) -> None:
        self._hole: npt.NDArray[np.int64] | None = None
        self._first = 0

    def look(self, observation: Mapping[str, Any]) -> tuple[npt.NDArray[np.int64], ...]:
        """Hole cards, board and bets (:mod:`ddz_agents.bidding.holdem.betting`).

        Args:
            observation: As PettingZoo hands it to the player to act.
        """
        seen = np.asarray(observation["observation"])
        if seen.shape != (_CARDS + 2,):
            raise HoldemError(f"an observation of no-limit hold'em has shape [54], not {list(seen.shape)}")
        cards = np.flatnonzero(seen[:_CARDS]).astype(np.int64)
        mine, most = round(float(seen[_CARDS])), round(float(seen[_CARDS + 1]))
        if len(cards) == 2 and (self._hole is None or set(cards) != set(self._hole)):
            self._hole, self._first = cards, 0 if mine == 1 else 1
        if self._hole is None or len(cards) not in _STREETS or not set(self._hole) <= set(cards):
            raise HoldemError(f"{len(cards)} cards are seen, the first two were not: call reset between hands")
        board = np.setdiff1d(cards, self._hole)
        return self._hole, board, self._bets(len(cards), mine, most)

    def _bets(self, cards: int, mine: int, most: int) -> npt.NDArray[np.int64]:
        bets = np.zeros(at.PLACES, np.int64)
        bets[at.IN], bets[at.IN + 1] = bets[at.RAISED], bets[at.RAISED + 1] = mine, most
        bets[at.STREET], bets[at.FIRST], bets[at.TURN] = _STREETS[cards], self._first, 0
        blinds = cards == 2 and (mine, most) == (1, 2)
        bets[at.STILL] = 0 if blinds else int(most > mine or self._first == 1)
        return bets


class PayoffHoldem:
    """The paper's policy: the action of the highest expected payoff (its program THPZZ)."""

    def __init__(self, **options: Any) -> None:
        self.options = HoldemOptions.of(**options)
        self._seat = HoldemSeat()

    def reset(self) -> None:
        """Forget the last hand."""
        self._seat = HoldemSeat()

    def act(self, observation: Mapping[str, Any], rng: np.random.Generator) -> int:
        """Choose an action.

        Raises:
            HoldemError: If the observation cannot be read.
        """
        hole, board, bets = self._seat.look(observation)
        return int(at.best_action(bets, float(showdowns(hole, board, self.options.hands, rng).mean())))


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

    def act(self, observation: Mapping[str, Any], rng: np.random.Generator) -> int:
        """Search and choose the action with the most visits.

        Raises:
            HoldemError: If the observation cannot be read.
        """
        hole, board, bets = self._seat.look(observation)
        chosen = self.options
        rates = showdowns(hole, board, chosen.iterations * chosen.hands_each, rng)
        visits, _ = at.search_bets(
            bets, rates.reshape(chosen.iterations, -1).mean(axis=1), self._how, chosen.exploration
        )
        return int(visits.argmax())


class RandomHoldem:
    """Uniform over the legal actions."""

    def reset(self) -> None:
        """Nothing is kept from hand to hand."""

    def act(self, observation: Mapping[str, Any], rng: np.random.Generator) -> int:
        """Draw a legal action."""
        return int(rng.choice(np.flatnonzero(observation["action_mask"])))


AGENTS: Mapping[str, Callable[[], HoldemAgent]] = {
    "payoff": PayoffHoldem,
    "uct-dealt": lambda: UctHoldem("dealt"),
    "uct-stake": UctHoldem,
    "random": RandomHoldem,
}
"""The agents by name: the baseline, algorithm 1, algorithm 2, and a yardstick."""


def make_holdem_agent(name: str) -> HoldemAgent:
    """An agent by its name.

    Raises:
        HoldemError: If there is none.
    """
    if name not in AGENTS:
        raise HoldemError(unknown("hold'em agent", name, AGENTS))
    return AGENTS[name]()


def legal_actions(bets: npt.NDArray[np.int64]) -> list[int]:
    """The legal actions of the player to act, ascending."""
    return [action for action in range(at.FOLD, at.ACTIONS) if at.is_legal(bets, action)]
