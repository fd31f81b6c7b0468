"""The interface of agents, which choose whole moves from the view of one seat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ddz_env import Move, State, View
from ddz_env.core.actions import KICKER_BASE
from ddz_env.core.engine.layout import CHOSEN, LEFT, PENDING, STAGE, STAGE_KICKER
from ddz_env.core.rules import Rules
from ddz_env.support.errors import IllegalMoveError, InvalidMoveError, short_repr


@runtime_checkable
class Agent(Protocol):
    """The interface of agents; only the method ``act`` is required.

    ``act`` gets a :class:`ddz_env.View`, at the start of a decision of its seat (a bid, an answer to doubling or a
    whole move), and a generator, which is its only source of randomness.  An agent with a class attribute
    ``cheats = True`` gets the :class:`ddz_env.State` instead; :func:`is_cheating` reads it, and no attribute means no.
    An agent without an attribute ``name`` is named by its specification or its class.

    ``same_in_batches = True`` says that an answer of ``act_many`` is that of ``act`` to the bit, beside any others: the
    arena then plays many games of the agent at once, unless it has ``reset`` or ``observe``.  With ``parallel = True``
    several threads call ``act_many`` at the same time, each for a part of the games.

    Optional methods, called where they exist:

    ==============================  ====================================================================
    ``reset(seat, rules)``          before the first decision of every game
    ``observe(seat, move)``         after every completed move, the agent's own included
    ``act_many(waiting)``           whole moves for many independent games at once
                                    (:class:`ddz_env.playing.many.WaitingGames`): main ids and kickers as
                                    hands, shape ``[k, 2]``, uint64; a subclass that overrides ``act`` alone
                                    is not asked for it
    ``decide(view, rng)``           like ``act``, with the statistics of the search (:class:`Decision`)
    ``candidates(view)``            the whole moves that the last ``decide`` compared, where it has visits
                                    (:class:`ddz_env.playing.search_statistics.Candidate`)
    ``believe(view, rng)``          the estimated distribution of the hidden cards
                                    (:class:`ddz_env.playing.search_statistics.Belief`)
    ``close()``                     when the agent is needed no more
    ``max_cards``                   an attribute: matches with a larger deck are refused
    ==============================  ====================================================================
    """

    @property
    def name(self) -> str:
        """The agent's short name for error messages."""
        ...

    def act(self, view: Any, rng: np.random.Generator) -> Move:
        """Choose a legal move from the acting seat's view, with ``rng`` as the only source of randomness."""
        ...


def check_to_act(view: View, *refused: str) -> None:
    """Raise an error if a view's seat is not to act, or has nothing to decide at the current stage.

    Args:
        view: The view.
        *refused: Stages in which the agent has nothing to decide, besides the end of the game.

    Raises:
        IllegalMoveError: If another seat is to act, or the stage is one of those.
    """
    if view.stage == "over":
        raise IllegalMoveError(f"seat {view.seat} has nothing to decide: the game is over")
    if view.acting_seat != view.seat:
        raise IllegalMoveError(f"seat {view.seat} has nothing to decide: it is seat {view.acting_seat}'s turn")
    if view.stage in refused:
        raise IllegalMoveError(f"this agent decides nothing in the stage {view.stage}")


def is_cheating(agent: Agent) -> bool:
    """Return whether an agent cheats, that is, declares that it reads the full state with all hands."""
    return bool(getattr(agent, "cheats", False))


def agent_input(agent: Agent, state: State) -> View | State:
    """Return the acting seat's view of a game or, for an agent that cheats, a copy of the full state."""
    return state.copy() if is_cheating(agent) else state.view()


def reset_agent(agent: Agent, seat: int, rules: Rules) -> None:
    """Call an agent's ``reset`` method at the beginning of a game, if the agent has one."""
    if hasattr(agent, "reset"):
        agent.reset(seat, rules)


def notify_agent(agent: Agent, seat: int, move: Move) -> None:
    """Call an agent's ``observe`` method with a played move, if the agent has one."""
    if hasattr(agent, "observe"):
        agent.observe(seat, move)


def close_agent(agent: Agent) -> None:
    """Call an agent's ``close`` method to release resources, if the agent has one."""
    if hasattr(agent, "close"):
        agent.close()


@dataclass(frozen=True)
class Decision:
    """A search agent's decision and its statistics: visits, values and the principal variation.

    Attributes:
        move: The move chosen.
        visits: Visits of each legal first stage (action id → count).  Where nothing was searched it is empty, or holds
            the move that a policy was all but sure of, once.
        values: Mean reward of each visited first stage for the acting seat (action id → reward).
        line: The principal line as action ids, the move's own stages first.
        unit: What the values are: ``chance`` of winning, from 0 to 1, or ``score``, of which more is better.
    """

    move: Move
    visits: Mapping[int, int] = field(default_factory=dict)
    values: Mapping[int, float] = field(default_factory=dict)
    line: tuple[int, ...] = ()
    unit: Literal["chance", "score"] = "chance"

    @classmethod
    def from_moves(
        cls, moves: Sequence[Move], values: npt.NDArray[np.float64], best: int, unit: Literal["chance", "score"]
    ) -> Decision:
        """Make a decision from the values of moves, recording the best value for each main-group action.

        Args:
            moves: The moves.
            values: What each is worth, shape ``[moves]``.
            best: Which of them is chosen.
            unit: What the values are.
        """
        groups: dict[int, float] = {}
        for move, value in zip(moves, values.tolist(), strict=True):
            groups[move.main] = max(value, groups.get(move.main, value))
        return cls(moves[best], {}, groups, moves[best].actions, unit)


class StagedAdapter:
    """An adapter that turns an agent's whole moves into single actions: the main group, then each kicker.

    The agent thinks once per move, at its first stage; the kickers that it chose are handed out one by one.  The
    position says which stage comes next, so a game that was cut short leaves nothing behind.

    Args:
        agent: The agent.

    Attributes:
        move: The move that it plays or has played last; None before the first.

    Example:
        >>> from ddz_env.playing.registry import make_agent
        >>> staged, state, rng = StagedAdapter(make_agent("random")), State.new(seed=3), np.random.default_rng(0)
        >>> state.step_action(staged.next_action(state.view(), rng))
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.move: Move | None = None

    def next_action(self, view: View | State, rng: np.random.Generator) -> int:
        """Return the agent's next action id: a main group for a new move, or the next kicker of the current move.

        Args:
            view: What the agent may see (a :class:`State` for an agent that cheats), at any stage of its turn.
            rng: The agent's generator.

        Raises:
            IllegalMoveError: If the half-built move in the position is not the one that the agent began.
        """
        row = view.row
        if int(row[STAGE]) != STAGE_KICKER:
            move = self.agent.act(view, rng)
            if not isinstance(move, Move):
                raise InvalidMoveError(f"act must return a Move, not {short_repr(move)}")
            self.move = move
            return self.move.main
        return KICKER_BASE + self._next_kicker(row)

    def _next_kicker(self, row: np.ndarray[Any, np.dtype[np.uint64]]) -> int:
        move = self.move
        if move is None or move.main != int(row[PENDING]):
            raise IllegalMoveError(f"{self.agent.name} plays whole moves: it cannot finish action {int(row[PENDING])}")
        index = len(move.kickers) - int(row[LEFT])
        size = move.group.kicker_size if move.group else 1
        if not 0 <= index < len(move.kickers) or int(row[CHOSEN]).bit_count() != index * size:
            raise IllegalMoveError(f"the kickers chosen so far are not those of {move}, which {self.agent.name} began")
        return move.kickers[index]
