"""An agent of ours as a bot: requests of the platform in, answers out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ddz_env.core.actions import BID_BASE
from ddz_env.core.errors import InvalidAgentOptionError
from ddz_env.peers.botzone.games import BotzoneGame
from ddz_env.peers.botzone.position import Requests, Told, pick, read_requests
from ddz_env.playing.agent import Agent, cheats, observe, reset
from ddz_env.playing.game import AgentFaultError, ask, call, play_answer
from ddz_env.playing.generators import agent_generator


class BotzonePlayer:
    """Answers for an agent.

    An answer is always one that the judge allows: where the agent fails, or a move on the table is none of our rules (a
    shuttle with one kicker a quad), it passes, bids nothing, or leads its smallest card, and ``debug`` says why.

    Args:
        agent: The agent.
        game: The game.
        seed: Of the agent's draws.

    Raises:
        InvalidAgentOptionError: If the agent looks at hidden cards, which the platform does not show.
    """

    def __init__(self, agent: Agent, game: BotzoneGame, seed: int = 0) -> None:
        if cheats(agent):
            raise InvalidAgentOptionError(f"{agent.name} looks at hidden cards, which Botzone does not show")
        self._agent, self._game, self._seed = agent, game, seed
        self._requests: list[Mapping[str, Any]] = []
        self._responses: list[Any] = []
        self._told = 0

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a message.

        Args:
            message: ``{"requests": [...], "responses": [...]}``, or, for a bot that keeps running, the bare next
                request.

        Returns:
            ``{"response": ids}`` or ``{"response": bid}``, with ``debug`` where something went wrong.
        """
        if "requests" in message:
            self._requests, self._responses, self._told = list(message["requests"]), list(message["responses"]), 0
        else:
            self._requests.append(message)
        said: dict[str, Any]
        try:
            said = {"response": self._choose(read_requests(self._game, self._requests, self._responses))}
        except Exception as error:  # a bot that falls silent loses
            said = {"response": _harmless(self._requests, self._responses), "debug": str(error)}
        self._responses.append(said["response"])
        return said

    def _choose(self, told: Told) -> int | list[int]:
        state, seat, agent = told.state, told.seat, self._agent
        history = state.history
        if not self._told:
            call(agent, seat, "reset", reset, agent, seat, state.rules)
        for mover, move in history[self._told :]:
            call(agent, seat, "observe", observe, agent, mover, move)
        self._told = len(history)
        if state.seat != seat:
            raise AgentFaultError(agent.name, seat, "act", "the requests ask another seat")
        rng = agent_generator([self._seed, seat, len(history)])
        move = play_answer(state.copy(), agent, call(agent, seat, "act", ask, agent, state, rng))
        return move.main - BID_BASE if state.stage == "bid" else pick(move, told.held)


def _harmless(requests: Requests, responses: list[Any]) -> int | list[int]:
    """A pass, no bid, or on lead the smallest card."""
    last = requests[-1]
    if "history" not in last:
        return 0
    if any(last["history"]):
        return []
    first = next(request for request in requests if "history" in request)
    held = {*first["own"], *(first["publiccard"] if first.get("landlord", -1) == first.get("pos") else [])}
    gone = {card for response in responses if isinstance(response, list) for card in response}
    return sorted(held - gone)[:1]
