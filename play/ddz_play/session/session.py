"""The game session: seats held by people and agents, moves one after another, hints, and undo."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from ddz_env import Move, State, View
from ddz_env.core.move_names import kind_of_decision, legal_moves_by_name, parse_move_name, past_move_name
from ddz_env.playing.agent import Agent, agent_input, close_agent, is_cheating
from ddz_env.playing.game import notify_of_game, play_agent_move
from ddz_env.playing.generators import make_agent_generator
from ddz_env.playing.registry import make_agent
from ddz_env.playing.search_statistics import Belief
from ddz_env.rendering.snapshot import Snapshot, Suits, format_role, shuffle_suits, take_snapshot
from ddz_env.saved_games.deal import Deal
from ddz_env.saved_games.saved_game import PERSON, SavedGame
from ddz_env.support.checks import as_integer, check_integer
from ddz_env.support.errors import InvalidDealError, UnknownAgentError, short_repr
from ddz_play.session.advice import Advice, AdviserPool, ask_for_advice, ask_for_belief
from ddz_play.session.errors import HiddenCardsError, NotYourTurnError, SessionError

_GAME, _HINT, _BELIEF = range(3)
"""What a generator is for."""


class PlayedMove(NamedTuple):
    """A move in a session, with its number and its text.

    Attributes:
        seat: Who made it.
        move: The move.
        number: Its number since the beginning, from 0.
        text: The move in the words of the rules.
        redealt: Whether everybody declined, and new cards have been dealt.
    """

    seat: int
    move: Move
    number: int
    text: str
    redealt: bool


@dataclass(frozen=True)
class SeatView:
    """What a seat or a spectator may see of a session, as strings, numbers and tuples.

    Attributes:
        table: The table: seats, cards that lie open or are the viewer's, the move to beat, stake, result.
        players: Who holds each seat.
        history: ``(seat, move)`` of every move of this deal, in notation, in the words of the rules.
        waits_for: ``person``, ``agent`` or ``over``.
        legal: The viewer's legal moves in notation, in the words of the rules, where it is to move.
        decisions: Numbers of the moves that the viewer has decided: where it may go back to.
    """

    table: Snapshot
    players: tuple[str, ...]
    history: tuple[tuple[int, str], ...]
    waits_for: str
    legal: tuple[str, ...]
    decisions: tuple[int, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the view as JSON values, with each card as its rank and its copy."""
        return asdict(self)


class Session:
    """A game between people and agents, with hints and undo.

    Agents draw from a generator of the deal, their seat and the number of the move, and hear the whole game before
    they move.  So a game that was saved, or taken back and played again, goes on as if nothing had happened (as long
    as its agents keep nothing else in mind).

    Args:
        record: The deal, who holds each seat, and the moves so far.
        agents: Agents that are objects, by seat; the others are made from their names.
        shown: Whether anybody may see every hand, as in a game that was played before; never at an observed table.
        advisers: Agents that give hints, shared with other games; by default the session's own.

    Attributes:
        deal: The cards at the beginning.  It shows every hand: it is for the keeper of the table.
        rules: The rules.
        observer: At a table of which one hand is known, the seat that holds it; None elsewhere.
        players: Who holds each seat: :data:`PERSON` or the name of an agent.

    Raises:
        IllegalMoveError: If the moves cannot be played.
        SessionError: If at a table of which one hand is known an agent has another seat, or looks at hidden cards.
        UnknownAgentError: If one of the agents does not exist.
        InvalidAgentOptionError: If it has no such option.

    Example:
        >>> from ddz_env import Rules
        >>> from ddz_env.saved_games import Deal
        >>> session = Session(SavedGame(Deal(Rules(), seed=1), (PERSON, "random", "random")))
        >>> session.play("6").seat, session.waits_for
        (0, 'agent')
        >>> turns = session.let_agents_play()
        >>> session.undo().move, session.waits_for
        (Move.parse('6'), 'person')
    """

    def __init__(
        self,
        record: SavedGame,
        agents: Mapping[int, Agent] | None = None,
        *,
        shown: bool = False,
        advisers: AdviserPool | None = None,
    ) -> None:
        self.deal, self.rules, self.observer = record.deal, record.deal.rules, record.deal.observer
        self.players, self._shown = record.players, shown
        self._moves: list[tuple[int, Move]] = list(record.moves)
        self._state = self.deal.state(self._moves)
        self._notified_moves: dict[int, int] = {}
        self._advisers, self._shares_advisers = advisers or AdviserPool(), advisers is not None
        self._agents: dict[int, Agent] = {}
        self._seat_agents(agents or {})

    # --- what anybody may know ---

    def role(self, seat: int) -> str:
        """Return a seat's role: ``landlord``, ``peasant down``, ``peasant up``, ``peasant`` or ``bidder``."""
        return format_role(self._state.role(seat) or "bidder", self.rules.players)

    @property
    def moves(self) -> tuple[tuple[int, Move], ...]:
        """Every ``(seat, move)`` since the beginning, including auctions in which nobody bid."""
        return tuple(self._moves)

    @property
    def seat(self) -> int:
        """The seat to act."""
        return self._state.seat

    @property
    def stage(self) -> str:
        """The stage of the game: ``play``, ``bid``, ``double``, ``show`` or ``over``."""
        return self._state.stage

    @property
    def question(self) -> str:
        """The kind of decision to be made now (:func:`ddz_env.core.move_names.kind_of_decision`)."""
        return kind_of_decision(self._moves, self.stage, self.rules)

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self._state.is_over

    @property
    def waits_for(self) -> str:
        """The kind of player to act, ``person`` or ``agent``, or ``over`` once the game has ended."""
        if self.is_over:
            return "over"
        return PERSON if self.players[self.seat] == PERSON else "agent"

    @property
    def cheaters(self) -> tuple[int, ...]:
        """The seats of agents that look at hidden cards; empty where all hands lie open."""
        if self._shown or self.rules.open_hands:
            return ()
        return tuple(seat for seat, agent in self._agents.items() if is_cheating(agent))

    def returns(self) -> tuple[float, ...]:
        """Return each seat's payoff, which is zero until the game ends."""
        return self._state.returns()

    # --- what a viewer may see ---

    def view(self, seat: int) -> View:
        """Return a seat's view of the running game: its own cards and everything public.

        Raises:
            HiddenCardsError: If the table is one that another seat observes.
            InvalidDealError: If there is no such seat.
        """
        seat = check_integer("seat", seat, 0, len(self.players) - 1, InvalidDealError)
        if self.observer not in (None, seat):
            raise HiddenCardsError(f"this table is seen from seat {self.observer}: the hand of seat {seat} is unknown")
        return self._state.view(seat)

    def seat_view(self, viewer: int | None, *, reveal: bool = False, legal: bool = True) -> SeatView:
        """Return what a seat may see of the session, or what a spectator may see if ``viewer`` is None.

        Args:
            viewer: A seat, which sees what it knows; None for a spectator, who sees every hand, where no person plays
                or the game is over.
            reveal: Show a seat every hand, too, once a spectator may see them: how a game ends for a person.
            legal: Whether to list the viewer's legal moves; a table is shown without them.

        Raises:
            HiddenCardsError: If the viewer may not look.
        """
        position, history, rules = self.position(viewer, reveal=reveal), self._state.history, self.rules
        mine = legal and viewer == self.seat and self.waits_for == PERSON
        return SeatView(
            table=take_snapshot(position, viewer, reveal=True, suits=self.suits, later=self._future_moves()),
            players=self.players,
            history=tuple((seat, past_move_name(history, number, rules)) for number, (seat, _) in enumerate(history)),
            waits_for=self.waits_for,
            legal=tuple(legal_moves_by_name(self._state)) if mine else (),
            decisions=tuple(number for number, (seat, _) in enumerate(self._moves) if seat == viewer),
        )

    @functools.cached_property
    def suits(self) -> Suits:
        """The suits in which this deal's cards are shown, shuffled by the deal's seed."""
        return shuffle_suits(self.deal.seed)

    def _future_moves(self) -> Sequence[tuple[int, Move]]:
        """Return the moves after the current position: none in a session, the recorded ones in a replay."""
        return ()

    def position(self, viewer: int | None, *, reveal: bool = False) -> View | State:
        """Return the position that a viewer may see: a seat's view, or a copy of the game with all hands.

        Raises:
            HiddenCardsError: If the viewer may not look.
        """
        if viewer is not None:
            check_integer("viewer", viewer, 0, len(self.players) - 1, HiddenCardsError)
        if self._hands_are_open() and (viewer is None or reveal):
            return self._state.copy()
        if viewer is not None:
            return self.view(viewer)
        if self.observer is not None:
            raise HiddenCardsError(f"this table is seen from seat {self.observer}: the other hands are unknown")
        raise HiddenCardsError("while people play, name the seat that looks: all hands are shown at the end")

    def _hands_are_open(self) -> bool:
        """Check whether everybody may see every hand."""
        return self.observer is None and (self._shown or self.is_over or PERSON not in self.players)

    # --- moves ---

    def play(self, move: Move | str, seat: int | None = None) -> PlayedMove:
        """Apply a person's move to the game, and return it with its number and text.

        Args:
            move: The move, or its notation.
            seat: Who makes it; the seat to act by default.

        Raises:
            NotYourTurnError: If it is another seat's turn, or an agent's.
            InvalidMoveError: If the text is not a move.
            IllegalMoveError: If the position does not allow it.  The game is unchanged.
            GameOverError: If the game has ended.
        """
        if not self.is_over and seat is not None and as_integer(seat) != self.seat:
            raise NotYourTurnError(f"it is seat {self.seat}'s turn, not seat {short_repr(seat)}'s")
        if self.waits_for == "agent":
            raise NotYourTurnError(f"{self.players[self.seat]} plays seat {self.seat}, not a person")
        return self._apply_move(move)

    def let_agent_play(self) -> PlayedMove:
        """Let the agent whose turn it is make its move.

        Raises:
            NotYourTurnError: If it is a person's turn, or the game is over.
            AgentFaultError: If the agent fails; the game is unchanged.
        """
        if self.waits_for != "agent":
            raise NotYourTurnError(
                "the game is over" if self.is_over else f"a person plays seat {self.seat}, not an agent"
            )
        seat = self.seat
        agent = self._agents[seat]
        self._notified_moves[seat] = notify_of_game(
            agent, seat, self.rules, self._moves, self._notified_moves.get(seat)
        )
        thought = ask_for_advice(
            agent, self.players[seat], agent_input(agent, self._state), seat, self._make_generator(seat)
        )
        play_agent_move(self._state.copy(), agent, thought.move)
        return self._apply_move(thought.move)

    def let_agents_play(self) -> list[PlayedMove]:
        """Let agents move until a person is to act or the game is over, and return their moves.

        Raises:
            AgentFaultError: If an agent fails.
        """
        turns = []
        while self.waits_for == "agent":
            turns.append(self.let_agent_play())
        return turns

    def undo(self, number: int | None = None, seat: int | None = None) -> PlayedMove:
        """Take back a person's decision and all later moves, and return the decision.

        Args:
            number: The number of the decision; by default the last one that a person made.
            seat: Whose decision it has to be; any person's by default.

        Returns:
            The decision that was taken back.

        Raises:
            SessionError: If there is no such decision.
        """
        mine = [at for at, (who, _) in enumerate(self._moves) if self.players[who] == PERSON and seat in (None, who)]
        if not mine:
            raise SessionError("there is nothing to take back")
        chosen = mine[-1] if number is None else as_integer(number)
        if chosen is None or chosen not in mine:
            raise SessionError(
                "move {number} is not a decision of yours: choose from {numbers}",
                number=short_repr(number),
                numbers=mine,
            )
        turn = self._to_played_move(chosen, redealt=False)
        self._state = self.deal.state(self._moves[:chosen])
        del self._moves[chosen:]
        self._notified_moves.clear()
        return turn

    # --- advice ---

    def hint(self, agent: str, seat: int | None = None) -> Advice:
        """Ask an agent for advice in the place of the seat to act, without using the game's random numbers.

        Args:
            agent: Its name.
            seat: Who wants it; the seat to act by default.

        Raises:
            NotYourTurnError: If it is another seat's turn, or the game is over.
            HiddenCardsError: If the agent looks at hidden cards, or the seat's are not known.
            UnknownAgentError: If there is no such agent.
            AgentFaultError: If it fails.
        """
        if self.is_over:
            raise NotYourTurnError("the game is over")
        if seat is not None and as_integer(seat) != self.seat:
            raise NotYourTurnError("it is seat {seat}'s turn", seat=self.seat)
        own = self.view(self.seat).seat
        with self._borrow_adviser(agent, own) as adviser:
            return ask_for_advice(
                adviser, agent, agent_input(adviser, self._state), own, self._make_generator(own, _HINT)
            )

    def infer_belief(self, agent: str, seat: int) -> Belief:
        """Ask an agent, in the place of a seat, for its belief about the hidden cards.

        Raises:
            HiddenCardsError: If the agent looks at hidden cards, or the seat's are not known.
            UnknownAgentError: If there is no such agent.
            AgentFaultError: If it fails.
        """
        view = self.view(seat)
        with self._borrow_adviser(agent, seat) as adviser:
            return ask_for_belief(adviser, view, self._make_generator(seat, _BELIEF))

    @contextmanager
    def _borrow_adviser(self, name: str, seat: int) -> Iterator[Agent]:
        """Lend an agent for a ``with`` block, after telling it the game so far as the seat knows it."""
        if not isinstance(name, str):
            raise UnknownAgentError(f"an agent is named by text, as 'rules', not by {short_repr(name)}")
        with self._advisers.borrow(name) as agent:
            self._refuse_cheater(agent)
            if is_cheating(agent) and not self.rules.open_hands:
                raise HiddenCardsError("{agent} looks at hidden cards: ask another", agent=name)
            notify_of_game(agent, seat, self.rules, self._moves)
            yield agent

    # --- keeping ---

    def to_saved_game(self) -> SavedGame:
        """Return the whole game for saving, with all hands that are known."""
        remarks = ("returns: " + " ".join(f"{value:+g}" for value in self.returns()),) if self.is_over else ()
        return SavedGame(self.deal, self.players, tuple(self._moves), remarks)

    def next_deal(self, seed: int) -> Deal:
        """Deal the next game at this table from a seed or, under unshuffled rules, with the cards of this game.

        Raises:
            SessionError: If those cards are not all known, or the game is not over.
        """
        if not self.rules.unshuffled:
            return Deal(self.rules, seed)
        if not self.is_over or self.observer is not None:
            raise SessionError("finish this game first: the next one is dealt from its cards")
        hands, bottom = self._state.next_deal(seed)
        return Deal(self.rules, seed, hands=hands, bottom=bottom)

    def copy(self) -> Session:
        """Copy the session with the same agents, which may think in the copy while this session is shown.

        Only one of the two may use them at a time.
        """
        self._notified_moves.clear()  # from now on they follow the copy
        twin = Session(self.to_saved_game(), self._agents, shown=self._shown, advisers=self._advisers)
        twin._shares_advisers = self._shares_advisers
        return twin

    def close(self) -> None:
        """Close the seated agents, and also the advisers unless other games share them."""
        for agent in self._agents.values():
            close_agent(agent)
        if not self._shares_advisers:
            self._advisers.close()

    # --- inside ---

    def _seat_agents(self, given: Mapping[int, Agent]) -> None:
        """Create and seat the agents; if an agent cannot play, release those already seated.

        At an observed table an agent can only have the seat whose hand is known.
        """
        try:
            for seat, name in enumerate(self.players):
                if name != PERSON:
                    self._agents[seat] = given.get(seat) or make_agent(name)
                    self._refuse_cheater(self._agents[seat])
                    if self.observer not in (None, seat):
                        seen = f"this table is seen from seat {self.observer}: the other hands are unknown"
                        raise HiddenCardsError(f"{name} cannot play seat {seat}: {seen}")
        except BaseException:
            self.close()
            raise

    def _apply_move(self, move: Move | str) -> PlayedMove:
        seat, number = self.seat, len(self._moves)
        if isinstance(move, str):
            move = parse_move_name(move, self._state)
        if self.observer in (None, seat):
            self._state.step(move)
        else:
            self._state = self.deal.state([*self._moves, (seat, move)])
        self._moves.append((seat, move))
        return self._to_played_move(number, redealt=not self._state.history)

    def _to_played_move(self, number: int, redealt: bool) -> PlayedMove:
        return PlayedMove(*self._moves[number], number, past_move_name(self._moves, number, self.rules), redealt)

    def _make_generator(self, seat: int, purpose: int = _GAME) -> np.random.Generator:
        return make_agent_generator([self.deal.seed, self.deal.game, len(self._moves), seat, purpose])

    def _refuse_cheater(self, agent: Agent) -> None:
        if self.observer is not None and is_cheating(agent):
            raise HiddenCardsError("{agent} looks at hidden cards, which are unknown at this table", agent=agent.name)
