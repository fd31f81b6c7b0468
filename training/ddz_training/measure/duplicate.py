"""Duplicate deals, which are played once from each side so that the luck of the cards cancels out.

With a fixed landlord a deal is two games on identical cards: A is the landlord against two B peasants, then B
is the landlord against two A peasants.  With an auction the landlord is not known beforehand, so a deal is six
games on identical cards and the same opener: A alone in seat 0, 1 and 2 against two B, and the same with A and B
exchanged.  (Then A and B may be peasants together.)

With a partner, a third agent C that is always a peasant, a deal is four games: A is the landlord against B and C, who
play both peasants in turn, and the same with A and B exchanged.

Each seat's generator follows from (seed, deal, game, seat), so a result depends on nothing but the agents, the rules,
the seed and the number of the deal.

An agent that fails loses that game (:func:`forfeit`), or stops the match: :class:`DealPlayer` says which.
"""

from __future__ import annotations

import functools
import hashlib
import math
import string
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env import Rules, State
from ddz_env.core.engine.layout import LANDLORD, MOVES, PLAYS, WINNER
from ddz_env.core.state import game_key
from ddz_env.envs.deals import parse_deal
from ddz_env.envs.side_by_side import play_games_together
from ddz_env.playing.agent import Agent, agent_input
from ddz_env.playing.game import (
    AgentFaultError,
    MakeGenerator,
    call_agent,
    make_seat_generators,
    notify_of_game,
    play_and_notify,
)
from ddz_env.playing.generators import make_agent_generator
from ddz_env.playing.many import WaitingGames, Words, request_moves
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import IllegalMoveError, InvalidAgentOptionError, InvalidMoveError, UnknownAgentError
from ddz_training.measure.agent_pool import AgentPool, can_play_many_games
from ddz_training.measure.agent_process import AgentProcesses
from ddz_training.measure.clocks import cpu_time, wall_time
from ddz_training.measure.errors import AgentFailedError
from ddz_training.measure.store import UNSAVED

SIDES = ("landlord", "peasants")
KEY = ("deal", "a", "b")
"""The key of a unit of work in a file of games: a deal of a pair."""

LETTERS = string.ascii_lowercase
"""The letter of each agent of a match, by which ``GameResult.seats`` says who sat where."""
PAIR, PARTNER = ("a", "b"), "c"

_TWO_PLAYS_EACH = 0x020202  # no spring
_MAX_FAULT_LENGTH = 300

BLOCK = 256
"""Deals of a block: a larger one would hardly be faster, and a kill loses the block that is under way."""

AskAgent = Callable[[Any, Any, np.random.Generator], object]
"""Asks an agent for its move, given what it may see and its generator."""

Scores = tuple[Annotated[float, "g"], ...]
"""A return for each seat; files write them without trailing zeros."""


@dataclass(frozen=True)
class GameResult:
    """The record of one game on a duplicate deal: seats, winner, scores, decisions and times.

    Attributes:
        deal: Number of the deal.
        a: Label of the pair's first agent.
        b: Label of the pair's second agent.
        game: Number of the game within the deal (0, 1; 0..5 with an auction).
        seats: Who sat where, one letter per seat: ``abb`` is A in seat 0 and B in the others, ``abc`` is A against B
            and the partner of both.
        landlord: The landlord's seat, -1 without a bid.
        landlord_agent: Label of the landlord's agent, empty without a bid; the partner is never the landlord.
        winner: ``landlord``, ``peasants``, or empty without a bid.
        win: Each seat's return under win scoring.
        stake: Each seat's return under stake scoring.
        botzone: Each seat's return under Botzone's scoring.
        moves: Completed moves, passes and bids included.
        decisions_a: Moves that A chose, forced ones included.
        decisions_b: Moves that B chose.
        ms_a: Milliseconds per decision of A, compilation not counted (0 where times are not recorded); of games side
            by side (:meth:`DealPlayer.play_block`) the mean of the block.
        ms_b: Milliseconds per decision of B.
        fault_by: ``a``, ``b`` or ``c`` if that agent failed and lost the game by it; empty in a game played to its end.
        fault: Where and how it failed.
        cpu_ms_a: Milliseconds of this process's processor per decision of A; NaN where times are not recorded, where
            the agent lives in another process, and in a game that was read from a file, which does not hold it.
        cpu_ms_b: The same of B.
    """

    deal: int
    a: str
    b: str
    game: int
    seats: str
    landlord: int
    landlord_agent: str
    winner: str
    win: Scores
    stake: Scores
    botzone: Scores
    moves: int
    decisions_a: int
    decisions_b: int
    ms_a: float
    ms_b: float
    fault_by: str = ""
    fault: str = ""
    cpu_ms_a: float = field(default=math.nan, compare=False, metadata=UNSAVED)
    cpu_ms_b: float = field(default=math.nan, compare=False, metadata=UNSAVED)

    def agent_of(self, letter: str) -> str:
        """Return an agent's label for its letter in ``seats``, or ``the partner`` for the partner's letter."""
        return {"a": self.a, "b": self.b}.get(letter, "the partner")

    def side(self, seat: int) -> str:
        """Return the side of a seat, ``landlord`` or ``peasants``, or an empty string if nobody bid."""
        if self.landlord < 0:
            return ""
        return SIDES[0] if seat == self.landlord else SIDES[1]


def new_deal(rules: Rules, seed: int, deal: int, hands: Sequence[str] = ()) -> State:
    """Return the initial state of a numbered deal, dealt from the seed or with given hands.

    Args:
        rules: The rules.
        seed: The seed of the deals.
        deal: Its number.
        hands: The hands of each deal (:mod:`ddz_training.measure.deal_file`); without any they are dealt from the seed,
            of which otherwise only the opener of an auction depends.

    Example:
        >>> new_deal(Rules(), 0, 0, ["4456789TTTJJKKKKR / 333677789TJJQQAA2 / 4455668899QQAA22B / 352"]).hand()
        Hand.parse('344556789TTTJJKKKK2R')
    """
    if not hands:
        return State.new(seed, rules, deal)
    return parse_deal(hands[deal], rules, seed=int(game_key(seed, deal)))


def describe_given_hands(hands: Sequence[str]) -> dict[str, str]:
    """Return the hash of given hands as settings for a results file; an empty dict if there are none."""
    return {"hands": hashlib.sha256("\n".join(hands).encode()).hexdigest()[:16]} if hands else {}


def list_seatings(rules: Rules, *, partner: bool = False) -> tuple[str, ...]:
    """List who sits where in each game of a duplicate deal, as one letter per seat.

    Args:
        rules: The rules.
        partner: Whether a third agent plays the second peasant, which needs three players and a fixed landlord.

    Example:
        >>> list_seatings(Rules())
        ('abb', 'baa')
        >>> len(list_seatings(Rules.preset("bidding")))
        6
        >>> list_seatings(Rules(), partner=True)
        ('abc', 'acb', 'bac', 'bca')
    """
    if partner:
        return "abc", "acb", "bac", "bca"
    others = rules.players - 1
    if rules.bidding == "fixed":
        return "a" + "b" * others, "b" + "a" * others
    seats = range(rules.players)
    return tuple(
        "".join(lone if seat == lone_seat else other for seat in seats)
        for lone, other in (("a", "b"), ("b", "a"))
        for lone_seat in seats
    )


class Match(NamedTuple):
    """A deal and the agents that play it: two from both sides, perhaps with a common partner, or one per seat.

    Attributes:
        deal: Number of the deal.
        specs: The agents' specifications, a partner's last.
        labels: Their names in records and messages; without any the specifications.
    """

    deal: int
    specs: tuple[str, ...]
    labels: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The agents' names in records and messages: their labels or, by default, their specifications."""
        return self.labels or self.specs

    @property
    def key(self) -> tuple[Any, ...]:
        """The match's key in a results file: the deal number and both agents' names (:data:`KEY`)."""
        return (self.deal, *self.names[: len(PAIR)])

    def seatings(self, rules: Rules) -> tuple[str, ...]:
        """List who sits where in each game of the match (:func:`list_seatings`)."""
        return list_seatings(rules, partner=len(self.specs) > len(PAIR))


class FinishedGame(NamedTuple):
    """A game played to its end or to an agent's fault, with each seat's decisions and times.

    Attributes:
        state: The game as it was left.
        decisions: How often each seat chose a move.
        seconds: How long each seat took for all of them.
        cpu_seconds: How long it kept the processor busy; these three grow while the game is played.
        fault: The fault, if one ended it early.
    """

    state: State
    decisions: list[int]
    seconds: list[float]
    cpu_seconds: list[float]
    fault: AgentFaultError | None = None


def forfeit(state: State, seats: str, letter: str) -> State:
    """Return the final state of a game that an agent lost by a fault, at the stake reached so far.

    All seats of that agent lose and all others win, at the stake of the moment (bids, bombs, rockets and doublings so
    far; no spring): the agent that sits alone counts as the landlord, which it is under a fixed landlord.

    Args:
        state: The game where it broke off; it stays as it is.
        seats: Who sat where, as in :class:`GameResult`.
        letter: The agent at fault.

    Example:
        >>> forfeit(State.new(1), "abb", "b").returns("stake"), forfeit(State.new(1), "abb", "a").returns("stake")
        ((2.0, -1.0, -1.0), (-2.0, 1.0, 1.0))
    """
    over = state.copy()
    lone_seat = seats.index(min(seats, key=seats.count))
    over.row[LANDLORD] = lone_seat
    over.row[WINNER] = 1 + next(seat for seat, occupant in enumerate(seats) if occupant != letter)
    over.row[PLAYS] = _TWO_PLAYS_EACH
    return over


class DealPlayer:
    """A :class:`~ddz_training.measure.workers.Worker` that plays duplicate deals.

    With a time limit every agent lives in a process of its own (:mod:`ddz_training.measure.agent_process`).

    Args:
        rules: The rules.
        seed: The seed of deals and agents.
        timing: Whether records hold milliseconds (without them equal runs give equal records).
        maker: Makes an agent from a specification; by default :func:`~ddz_env.playing.registry.make_agent`, which
            compiles it first where decisions are timed.  Under a time limit agents are made by name only.
        make_generator: Makes the generator of a seat from its key.
        time_limit: Seconds that an agent may take to answer; None for no limit.
        on_fault: ``"stop"``: a fault of an agent is an error; ``"lose"``: it loses that game, and is made again.
        processor: Whether decisions are timed by the processor's clock, which other programs do not slow down.
        hands: The hands of the deals, as for :func:`new_deal`.

    Attributes:
        agents: The agents, each made at its first game and kept.
    """

    def __init__(
        self,
        rules: Rules,
        seed: int,
        timing: bool = True,
        maker: Callable[[str], Agent] | None = None,
        *,
        processor: bool = False,
        make_generator: MakeGenerator = make_agent_generator,
        time_limit: float | None = None,
        on_fault: str = "stop",
        hands: Sequence[str] = (),
    ) -> None:
        self.rules = rules
        self.seed = seed
        self._hands = hands
        self.timing = timing
        self._make_generator = make_generator
        self._on_fault = on_fault
        self._clock = cpu_time if processor else wall_time
        self._apart = time_limit is not None
        processes = None if time_limit is None else AgentProcesses(time_limit, rules)
        maker = maker or functools.partial(make_agent, rules=rules if timing else None)
        self.agents = AgentPool(maker, processes)

    def deal_state(self, deal: int) -> State:
        """Return the initial state of a numbered deal, before its first move."""
        return new_deal(self.rules, self.seed, deal, self._hands)

    def close(self) -> None:
        """Close the agents and end their processes."""
        self.agents.close()

    def work(self, task: Match | list[Match]) -> Any:
        """Play one deal, or each deal of a block, and return the records of its games."""
        return self.play_block(task) if isinstance(task, list) else self.play(task)

    def play(self, match: Match) -> list[GameResult]:
        """Play every game of a match on its deal, and return the records.

        Raises:
            AgentFailedError: If an agent fails and that is to stop the match.
            UnknownAgentError: If an agent does not exist.
        """
        return [
            self._make_result(self.play_game(match, number, seats), match, number, seats)
            for number, seats in enumerate(match.seatings(self.rules))
        ]

    def play_block(self, block: Sequence[Match]) -> list[list[GameResult]]:
        """Play several matches in one batch if their agents support batches (:func:`can_play_many_games`).

        The records are those of :meth:`play`.

        The time of a call is shared equally by its decisions: all games of the block have the same milliseconds per
        decision.  If an agent fails, the deals are played one by one, so that it loses no other game.

        Args:
            block: The deals.

        Raises:
            AgentFailedError: If an agent fails and that is to stop the match.
            UnknownAgentError: If an agent does not exist.
        """
        specs = list(dict.fromkeys(spec for match in block for spec in match.specs))
        try:
            if all(can_play_many_games(call_agent(spec, 0, "construction", self.agents.get, spec)) for spec in specs):
                return self._play_side_by_side(block, specs)
        except (AgentFaultError, IllegalMoveError, InvalidMoveError):
            for spec in specs:
                self.agents.release(spec)
        return [self.play(match) for match in block]

    def _play_side_by_side(self, block: Sequence[Match], specs: Sequence[str]) -> list[list[GameResult]]:
        """Play all games of several matches in one batch, with agents that support batches."""
        layouts, spent = block[0].seatings(self.rules), np.zeros((2, len(specs)))
        games = [(match, number, seats) for match in block for number, seats in enumerate(layouts)]
        rows = np.array([self.deal_state(match.deal).row for match, _, _ in games])
        spec_indices = np.array(  # in specs, of the agent in each seat
            [[specs.index(match.specs[LETTERS.index(letter)]) for letter in seats] for match, _, seats in games]
        )
        agents: list[Any] = [self.agents.get(spec) for spec in specs]

        @functools.cache
        def rng(game: int, seat: int) -> np.random.Generator:
            match, number, _ = games[game]
            return self._make_generator([self.seed, match.deal, number, seat])

        def answer(index: int, waiting: WaitingGames) -> Words:
            start = self._read_clocks()
            moves = request_moves(agents[index], waiting, name=specs[index])
            spent[:, index] += self._read_clocks() - start
            return moves

        decided = play_games_together(rows, self.rules, spec_indices, answer, rng)[:, : self.rules.players]
        spent /= np.maximum(np.bincount(spec_indices.ravel(), decided.ravel(), len(specs)), 1)  # of each decision
        records = [
            self._make_result(
                FinishedGame(State(row, self.rules), counts.tolist(), *(counts * spent[:, indices]).tolist()), *game
            )
            for row, counts, indices, game in zip(rows, decided, spec_indices, games, strict=True)
        ]
        return [records[first : first + len(layouts)] for first in range(0, len(records), len(layouts))]

    def play_game(self, match: Match, number: int, seats: str, ask: AskAgent | None = None) -> FinishedGame:
        """Play one game of a match, up to its end or to an agent's fault.

        Args:
            match: Who plays which deal.
            number: Number of the game within the deal.
            seats: Who sits where, one letter per seat.
            ask: Asks an agent for its move, instead of ``act``.

        Raises:
            AgentFailedError: If an agent fails and that is to stop the match.
            UnknownAgentError: If an agent does not exist.
        """
        deal, specs, names, players = match.deal, match.specs, match.names, self.rules.players
        played = FinishedGame(self.deal_state(deal), [0] * players, [0.0] * players, [0.0] * players)
        indices = [LETTERS.index(letter) for letter in seats]
        try:
            agents = [
                call_agent(names[index], seat, "construction", self.agents.get, specs[index], seat)
                for seat, index in enumerate(indices)
            ]
            rngs = make_seat_generators([self.seed, deal, number], players, self._make_generator)
            self._play_to_end(played, agents, rngs, ask)
        except AgentFaultError as fault:
            if isinstance(fault.__cause__, (UnknownAgentError, InvalidAgentOptionError)):
                raise fault.__cause__ from None
            index = indices[fault.seat]
            if self._on_fault == "stop":
                where = f"in seat {fault.seat} of deal {deal}, game {number} (seed {self.seed}), in {fault.phase}"
                raise AgentFailedError(f"agent {names[index]!r} failed {where}: {fault.reason}") from fault
            self.agents.release(specs[index])
            return played._replace(fault=fault)
        return played

    def _play_to_end(
        self, played: FinishedGame, agents: Sequence[Agent], rngs: Sequence[np.random.Generator], ask: AskAgent | None
    ) -> None:
        """Play a game like :func:`~ddz_env.playing.game.play_game`, counting and timing every decision."""
        state = played.state
        for seat, agent in enumerate(agents):
            notify_of_game(agent, seat, self.rules, ())
        while not state.is_over:
            seat, agent = state.seat, agents[state.seat]
            view, act = agent_input(agent, state), agent.act if ask is None else functools.partial(ask, agent)
            start = self._read_clocks()
            answer = call_agent(agent, seat, "act", act, view, rngs[seat])
            wall, cpu = self._read_clocks() - start
            played.seconds[seat] += float(wall)
            played.cpu_seconds[seat] += float(cpu)
            played.decisions[seat] += 1
            play_and_notify(state, agents, answer)

    def _make_result(self, played: FinishedGame, match: Match, number: int, seats: str) -> GameResult:
        state, fault, names = played.state, played.fault, match.names
        letter = seats[fault.seat] if fault else ""
        over = forfeit(state, seats, letter) if fault else state
        landlord = next((seat for seat in range(self.rules.players) if state.role(seat) == "landlord"), -1)
        if state.winner is None and fault is None:
            landlord = -1
        (decisions_a, ms_a, cpu_ms_a), (decisions_b, ms_b, cpu_ms_b) = (
            self._time_spent(played, seats, agent) for agent in PAIR
        )
        return GameResult(
            match.deal,
            names[0],
            names[1],
            number,
            seats,
            landlord,
            landlord_agent=names[LETTERS.index(seats[landlord])] if landlord >= 0 else "",
            winner=_winning_side(over, seats, landlord, letter),
            win=over.returns("win"),
            stake=over.returns("stake"),
            botzone=over.returns("botzone"),
            moves=int(state.row[MOVES]),
            decisions_a=decisions_a,
            decisions_b=decisions_b,
            ms_a=ms_a,
            ms_b=ms_b,
            fault_by=letter,
            fault=_fit_into_cell(f"seat {fault.seat}, {fault.phase}: {fault.reason}") if fault else "",
            cpu_ms_a=cpu_ms_a,
            cpu_ms_b=cpu_ms_b,
        )

    def _read_clocks(self) -> npt.NDArray[np.float64]:
        """Read the match's clock (wall or processor time) and the processor clock, in seconds, shape ``[2]``."""
        return np.array((self._clock(), cpu_time()))

    def _time_spent(self, played: FinishedGame, seats: str, letter: str) -> tuple[int, float, float]:
        """Return an agent's number of decisions, and its milliseconds per decision by the match and CPU clocks."""
        seated = [seat for seat, occupant in enumerate(seats) if occupant == letter]
        decisions = sum(played.decisions[seat] for seat in seated)
        if not (self.timing and decisions):
            return decisions, 0.0, math.nan
        ms, cpu_ms = (
            round(1000 * sum(seconds[seat] for seat in seated) / decisions, 4)
            for seconds in (played.seconds, played.cpu_seconds)
        )
        return decisions, ms, math.nan if self._apart else cpu_ms


def _winning_side(over: State, seats: str, landlord: int, fault_by: str) -> str:
    """Return the winning side, or an empty string if nobody bid or the agent at fault sat on both sides."""
    if landlord < 0:
        return ""
    if fault_by:
        lost = {seat == landlord for seat, occupant in enumerate(seats) if occupant == fault_by}
        return SIDES[lost.pop()] if len(lost) == 1 else ""
    return SIDES[over.winner != landlord]


def _fit_into_cell(text: str) -> str:
    """Shorten an agent's error text to one printable line for a results file or the terminal."""
    plain = "".join(character if character.isprintable() else " " for character in text)
    return textwrap.shorten(plain, _MAX_FAULT_LENGTH, placeholder=" ...")


def make_matches(
    agents: Mapping[str, str], pairs: Sequence[tuple[str, str]], deals: Iterable[int], partner: str | None = None
) -> dict[tuple[Any, ...], Match]:
    """Make one match per pair of agents and deal, keyed by deal number and labels (:data:`KEY`).

    Args:
        agents: Specification of each agent by its label.
        pairs: Labels.
        deals: Numbers of the deals.
        partner: Specification of the agent that plays the second peasant beside every other; None for none.
    """
    third = () if partner is None else (partner,)
    wanted = (Match(deal, (agents[a], agents[b], *third), (a, b, *third)) for deal in deals for a, b in pairs)
    return {match.key: match for match in wanted}
