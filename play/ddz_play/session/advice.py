"""An agent's advice to the seat to act: its move, and the ranked alternatives that it compared.

An adviser hears a game only when its advice is needed, so one serves many games.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddz_env import Move, View
from ddz_env.core.actions import KICKER_BASE, MAIN_GROUPS, action_name
from ddz_env.core.move_names import kind_of_decision, move_name
from ddz_env.playing.agent import Agent, Decision, close_agent
from ddz_env.playing.game import call_agent, check_is_move
from ddz_env.playing.registry import make_agent
from ddz_env.playing.search_statistics import Belief
from ddz_env.support.errors import DouDizhuError

EQUAL_WITHIN, CLEARLY_WEAKER_FROM = 0.03, 0.1
"""Differences of chances: below the first moves are as good as each other, from the second on one is clearly better."""


@dataclass(frozen=True)
class RankedMove:
    """A move that an agent has considered, with the agent's evaluation of it.

    Attributes:
        main: The action id of its main group (or of a bid or an answer to doubling).
        move: The whole move; None where the agent does not distinguish kickers.
        chance: The chance of winning that it sees, 0 to 1; None if it gives none.
        score: Another value, of which more is better: points, where the source is ``payoff``; None if it gives a
            chance or nothing.
        visits: How often it tried the move; None if it does not count.
        line: The moves that it expects afterwards; empty if it does not say.
        prior: The probability that a policy plays it, 0 to 1; None without a policy.
        noise: By how much the chance of the best option may exceed this one's by accident; None if that is unknown.
        certain: Whether it wins whatever the others hold, which is proved; ``line`` is then the seat's own moves.
    """

    main: int
    move: Move | None
    chance: float | None = None
    score: float | None = None
    visits: int | None = None
    line: tuple[Move, ...] = ()
    prior: float | None = None
    noise: float | None = None
    certain: bool = False

    @property
    def text(self) -> str:
        """The move in notation, or the name of its main group if the whole move is not known."""
        return action_name(self.main) if self.move is None else str(self.move)


@dataclass(frozen=True)
class Advice:
    """An agent's advice for a position: the move that it would play, and the moves that it compared.

    Attributes:
        agent: Its name.
        seat: The seat that acts.
        move: What it would play.
        options: What it compared, its own move first; at least that move.
        question: What the seat has to decide (:func:`ddz_env.core.move_names.kind_of_decision`).
        source: Where the chances come from: ``search``, the adviser's own; ``critic``, what a network says of inferred
            worlds; ``solver``, open cards that were played out; ``payoff``, deals that were played out for points; None
            where there are none.
        opponents: Against whom chances of the ``critic`` hold: a level, or ``policy`` for strong players; else None.
    """

    agent: str
    seat: int
    move: Move
    options: tuple[RankedMove, ...]
    question: str = "play"
    source: str | None = None
    opponents: str | None = None

    @property
    def chance(self) -> float | None:
        """The winning chance that the agent gives to its own move."""
        return self.options[0].chance

    def compare_with_best(self, option: RankedMove) -> str | None:
        """Describe how far an option's winning chance is below that of the advised move; None if not comparable.

        Differences that are smaller than what the estimate may err by count for nothing.
        """
        own = self.options[0]
        if option is own or own.chance is None or option.chance is None or self.source != "critic":
            return None
        lead = own.chance - option.chance
        if lead < max(EQUAL_WITHIN, option.noise or 0.0):
            return "as good"
        return "clearly weaker" if lead >= CLEARLY_WEAKER_FROM else "slightly weaker"

    def option_name(self, option: RankedMove) -> str:
        """Return an option's text, with bids and other answers named as in the rules."""
        return option.text if option.move is None else move_name(option.move, self.question)


def ask_for_advice(agent: Agent, name: str, sight: Any, seat: int, rng: np.random.Generator) -> Advice:
    """Ask an agent for its move, and for its evaluation of that move and the alternatives.

    Args:
        agent: The agent, which has heard the game.
        name: What it is called.
        sight: What it may see (:func:`ddz_env.playing.agent.agent_input`).
        seat: Its seat.
        rng: Its generator.

    Raises:
        AgentFaultError: If it fails.
    """
    asked = kind_of_decision(sight.history, sight.stage, sight.rules)
    if hasattr(agent, "decide"):
        decision: Decision = call_agent(agent, seat, "act", agent.decide, sight, rng)
    else:
        decision = Decision(call_agent(agent, seat, "act", agent.act, sight, rng))
    move = call_agent(agent, seat, "act", check_is_move, decision.move)
    options = _rank_options(agent, sight, seat, decision)
    own = next((option for option in options if option.move == move), RankedMove(move.main, move))
    source = "search" if any(option.chance is not None for option in options) else None
    return Advice(name, seat, move, (own, *(option for option in options if option is not own)), asked, source)


def _rank_options(agent: Any, sight: Any, seat: int, decision: Decision) -> list[RankedMove]:
    """Rank the options that an agent compared, as whole moves if it gives them, otherwise as main groups."""
    if decision.visits and hasattr(agent, "candidates"):
        candidates = call_agent(agent, seat, "act", agent.candidates, sight)
        options = [
            RankedMove(candidate.move.main, candidate.move, candidate.chance, None, candidate.visits, candidate.line)
            for candidate in candidates
        ]
        if options:
            return options
    options = []
    for main in dict.fromkeys((*decision.visits, *decision.values)):
        value, visits = decision.values.get(main), decision.visits.get(main)
        chance, score = (value, None) if decision.unit == "chance" else (None, value)
        whole = Move(main) if main >= KICKER_BASE or not MAIN_GROUPS[main].kicker_count else None
        options.append(RankedMove(main, decision.move if main == decision.move.main else whole, chance, score, visits))
    return sorted(
        options, key=lambda option: (-(option.chance or option.score or 0.0), -(option.visits or 0), option.main)
    )


def ask_for_belief(agent: Agent, view: View, rng: np.random.Generator) -> Belief:
    """Ask an agent for its belief about the hidden cards, or return a uniform one if it has none.

    Args:
        agent: The agent.
        view: What the seat knows.
        rng: The agent's only source of randomness.

    Raises:
        AgentFaultError: If it fails.
    """
    if not hasattr(agent, "believe"):
        return Belief.uniform(view)
    belief: Belief = call_agent(agent, view.seat, "act", agent.believe, view, rng)
    return belief


class AdviserPool:
    """A pool of named agents, each of which answers one question at a time.

    There are as many of a name as were ever needed at the same time, however many games share them.
    """

    def __init__(self) -> None:
        self._idle: dict[str, list[Agent]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def borrow(self, name: str) -> Iterator[Agent]:
        """Lend an agent for the duration of a ``with`` block, and discard an agent that fails in it.

        Raises:
            UnknownAgentError: If there is no such agent.
            InvalidAgentOptionError: If it has no such option.
        """
        with self._lock:
            idle = self._idle.setdefault(name, [])
            agent = idle.pop() if idle else None
        if agent is None:
            agent = make_agent(name)
        try:
            yield agent
        except BaseException:
            with contextlib.suppress(DouDizhuError):
                call_agent(agent, 0, "close", close_agent, agent)
            raise
        with self._lock:
            self._idle.setdefault(name, []).append(agent)

    def close(self) -> None:
        """Release the resources that the pooled agents hold."""
        with self._lock:
            agents = [agent for idle in self._idle.values() for agent in idle]
            self._idle.clear()
        for agent in agents:
            close_agent(agent)
