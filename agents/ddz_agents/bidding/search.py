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

After the auction nothing is left to search: showing and doubling are answered by the policy itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np

from ddz_agents.bidding.auction import BIDS_IN_ALL, Auction, hand_prices, search_auction
from ddz_agents.bidding.policy import PayoffAgent, PayoffOptions, check_stage, highest_base, most_staked
from ddz_agents.bidding.worlds import Outcomes
from ddz_agents.rules.scratch import new_rule_scratch
from ddz_env import Move, View
from ddz_env.core.actions import BID_BASE
from ddz_env.core.errors import IllegalMoveError
from ddz_env.core.options import Range, takes
from ddz_env.playing.agent import Decision

RATE_AT_ZERO, RATE_SLOPE = 1.052, 0.003091
"""A landlord's win rate by the rule agent's price of its 17 cards is
``1 / (1 + exp(RATE_SLOPE * price - RATE_AT_ZERO))``, a logistic fit (``ddz_training.experiments.bidders.fit_rate`` on
2,000 deals)."""

Simulation = Literal["random", "dealt", "stake"]


@dataclass(frozen=True)
class PayoffSearchOptions(PayoffOptions):
    """How the auction is searched, and how payoffs are expected at doubling.

    Attributes:
        simulation: How the rest of an auction is bid in a simulation: at `random`, or by expected payoff, with the
            others' win rates from the hands `dealt` to them (the paper's algorithm 1) or from their `stake` (its
            algorithm 2).
        iterations: Iterations of the search.
        exploration: The constant of UCB, on payoffs divided by the most that a landlord can win before doubling (six
            base stakes; sixteen when robbing).
    """

    simulation: Simulation = "stake"
    iterations: Annotated[int, Range(1, 10**7)] = 10_000
    exploration: Annotated[float, Range(0)] = 0.7


@takes(PayoffSearchOptions)
class PayoffSearchAgent(PayoffAgent):
    """Bids by information-set UCT over the auction, shows, doubles by expected payoff; another agent plays the cards.

    Raises:
        InvalidAgentOptionError: If there is no such option, or its value is not allowed.
        UnknownAgentError: If `player` or `play` is no agent.
    """

    options: PayoffSearchOptions

    def __init__(self, *values: Any, **named: Any) -> None:
        self.options = PayoffSearchOptions.of(*values, **named)
        self._take_agents()
        self._mind = new_rule_scratch()

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Search in the auction; see :class:`~ddz_agents.bidding.policy.PayoffAgent` for the rest."""
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
        seen = {BID_BASE + bid: int(visits[bid]) for bid in range(BIDS_IN_ALL) if visits[bid]}
        chosen = max(seen, key=lambda action: seen[action])
        means = {action: float(values[action - BID_BASE]) for action in seen}
        return Decision(Move(chosen), seen, means, (chosen,), "score")

    def _search(self, view: View, found: Outcomes, state: np.uint64) -> tuple[Any, Any]:
        prices = np.empty((len(found.rows), 3))
        hand_prices(found.rows, view.rule_words, self._mind, prices)
        rates = 1.0 / (1.0 + np.exp(RATE_SLOPE * prices - RATE_AT_ZERO))
        own = np.array([found.win_rate(landlord) for landlord in range(3)])
        scale = 2.0 * highest_base(view.rules)
        auction = Auction(found.returns, rates, own, view.seat, float(most_staked(view.rules)), scale)
        number = get_args(Simulation).index(self.options.simulation)
        options = self.options
        return search_auction(
            view.row, view.rule_words, auction, number, options.iterations, options.exploration, state
        )
