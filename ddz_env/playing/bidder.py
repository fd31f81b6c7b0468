"""An agent that combines two others: one plays the cards, and the other bids and doubles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env import Move
from ddz_env.core.engine.layout import STAGE, STAGE_BID, STAGE_DOUBLE, STAGE_SHOW
from ddz_env.core.rules import Rules
from ddz_env.core.view import AUCTION_STAGES
from ddz_env.playing.agent import Agent, Decision, close_agent, is_cheating, notify_agent, reset_agent
from ddz_env.playing.many import WaitingGames, has_act_many
from ddz_env.playing.search_statistics import Candidate


class AgentWithBidder:
    """An agent that combines one agent's card play with another agent's bids and answers to doubling.

    It is what the option ``bidder=`` of :func:`ddz_env.playing.registry.make_agent` makes.  It offers what both offer:
    ``act_many`` if both do, statistics and beliefs as the player does.

    Args:
        player: Plays the cards.
        bidder: Bids and doubles.

    Example:
        >>> from ddz_env.playing.registry import make_agent
        >>> AgentWithBidder(make_agent("random"), make_agent("rules")).name
        'random+rules'
    """

    def __init__(self, player: Agent, bidder: Agent) -> None:
        self.player, self.bidder = player, bidder
        self.name = f"{player.name}+{bidder.name}"
        self.cheats = is_cheating(player) or is_cheating(bidder)
        if has_act_many(player) and has_act_many(bidder) and not self.cheats:
            self.act_many = self._act_many
        if hasattr(player, "decide"):
            self.decide = self._decide
        if hasattr(player, "candidates"):
            self.candidates = self._candidates
        if hasattr(player, "believe"):
            self.believe = player.believe

    def act(self, view: Any, rng: np.random.Generator) -> Move:
        """Choose the bidder's move in the auction and at doubling, and the card player's move otherwise."""
        agent = self._choose_agent(view)
        return agent.act(self._input_for(agent, view), rng)

    def reset(self, seat: int, rules: Rules) -> None:
        """Notify both agents that a game is beginning."""
        for agent in (self.player, self.bidder):
            reset_agent(agent, seat, rules)

    def observe(self, seat: int, move: Move) -> None:
        """Notify both agents of a move."""
        for agent in (self.player, self.bidder):
            notify_agent(agent, seat, move)

    def close(self) -> None:
        """Close both agents."""
        for agent in (self.player, self.bidder):
            close_agent(agent)

    def _act_many(self, waiting: WaitingGames) -> npt.NDArray[np.uint64]:
        moves = np.empty((len(waiting.rows), 2), np.uint64)
        bids = np.isin(waiting.rows[:, STAGE], (STAGE_BID, STAGE_DOUBLE, STAGE_SHOW))
        for agent, asked in ((self.player, ~bids), (self.bidder, bids)):
            games = np.flatnonzero(asked)
            if len(games):
                moves[games] = agent.act_many(waiting.select(games))  # type: ignore[attr-defined]
        return moves

    def _decide(self, view: Any, rng: np.random.Generator) -> Decision:
        agent: Any = self._choose_agent(view)
        if hasattr(agent, "decide"):
            decided: Decision = agent.decide(self._input_for(agent, view), rng)
            return decided
        move = self.act(view, rng)
        return Decision(move, line=move.actions)

    def _candidates(self, view: Any) -> Sequence[Candidate]:
        if self._choose_agent(view) is self.bidder:
            return ()
        player: Any = self.player
        candidates: Sequence[Candidate] = player.candidates(self._input_for(player, view))
        return candidates

    def _choose_agent(self, view: Any) -> Agent:
        return self.bidder if view.stage in AUCTION_STAGES else self.player

    def _input_for(self, agent: Agent, view: Any) -> Any:
        """Return what one of the two agents may see: the state if that agent cheats, otherwise a view."""
        return view.view() if self.cheats and not is_cheating(agent) else view
