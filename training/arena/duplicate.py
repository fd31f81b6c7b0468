"""Duplicate deals: every deal is played once from each side, so that luck of the cards cancels.

With a fixed landlord a deal is two games on identical cards: A is the landlord against two B peasants, then B
is the landlord against two A peasants.  With an auction nobody knows who will be the landlord, so a deal is six
games on identical cards and the same opener: A alone in seat 0, 1 and 2 against two B, and the same with A and B
exchanged.  (Then A and B may be peasants together.)

Each seat's generator is keyed by (seed, deal, game, seat), so a result depends on nothing but the agents, the rules,
the seed and the number of the deal.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import numpy as np

from ddz_env import Move, Rules, State
from ddz_env.agent import Agent, cheats, close
from ddz_env.errors import DouDizhuError
from ddz_env.playing import play_game, seat_generators
from ddz_env.registry import make_agent
from training.arena.errors import AgentFailedError
from training.arena.timing import thinking_time, warm_up

SIDES = ("landlord", "peasants")

Scores = tuple[Annotated[float, "g"], ...]
"""A return for each seat; files have them without needless zeros."""


@dataclass(frozen=True)
class GameRecord:
    """One game of a duplicate deal.

    Attributes:
        deal: Number of the deal.
        a: Label of the pair's first agent.
        b: Label of the pair's second agent.
        game: Number of the game within the deal (0, 1; 0..5 with an auction).
        seats: Who sat where, a letter a seat: ``abb`` is A in seat 0 and B in the others.
        landlord: The landlord's seat, -1 if nobody bid.
        landlord_agent: Label of the landlord's agent, empty if nobody bid.
        winner: ``landlord``, ``peasants``, or empty if nobody bid.
        win: Each seat's return under win scoring.
        stake: Each seat's return under stake scoring.
        botzone: Each seat's return under Botzone's scoring.
        moves: Completed moves, passes and bids included.
        decisions_a: Moves that A chose, forced ones included.
        decisions_b: Moves that B chose.
        ms_a: Milliseconds a decision of A, compilation not counted (0 where times are not recorded).
        ms_b: Milliseconds a decision of B.
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

    def label(self, letter: str) -> str:
        """The agent that a letter of ``seats`` stands for."""
        return self.a if letter == "a" else self.b

    def side(self, seat: int) -> str:
        """``landlord`` or ``peasants``; empty if nobody bid."""
        if self.landlord < 0:
            return ""
        return SIDES[0] if seat == self.landlord else SIDES[1]


def seatings(rules: Rules) -> tuple[str, ...]:
    """Who sits where in each game of a deal.

    Example:
        >>> seatings(Rules())
        ('abb', 'baa')
        >>> len(seatings(Rules.preset("bidding")))
        6
    """
    others = rules.players - 1
    if rules.bidding == "fixed":
        return "a" + "b" * others, "b" + "a" * others
    lonely = range(rules.players)
    return tuple(
        "".join(alone if seat == place else rest for seat in lonely)
        for alone, rest in (("a", "b"), ("b", "a"))
        for place in lonely
    )


class TimedAgent:
    """Passes everything on to an agent, and counts and times its decisions.

    Args:
        agent: The agent.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent: Any = agent
        self.decisions = 0
        self.seconds = 0.0
        for optional in ("reset", "observe"):
            method = getattr(agent, optional, None)
            if method is not None:
                setattr(self, optional, method)

    @property
    def name(self) -> str:
        """The agent's name."""
        return str(getattr(self._agent, "name", type(self._agent).__name__))

    @property
    def cheats(self) -> bool:
        """Whether the agent asks for the whole state."""
        return cheats(self._agent)

    def act(self, view: Any, rng: np.random.Generator) -> Move:
        """Choose a move, on the clock."""
        start = thinking_time()
        move: Move = self._agent.act(view, rng)
        self.seconds += thinking_time() - start
        self.decisions += 1
        return move


class AgentKeeper:
    """Agents by specification and seat; each is made once and kept from game to game.

    Args:
        maker: Makes an agent from a specification.
        timed: The rules under which the agents will be timed: before the first of each specification is made, another
            is warmed up (:mod:`training.arena.timing`).  None where nothing is timed.
    """

    def __init__(self, maker: Callable[[str], Agent] = make_agent, timed: Rules | None = None) -> None:
        self._maker, self._timed = maker, timed
        self._made: dict[tuple[str, int], Agent] = {}

    def agent(self, spec: str, seat: int = 0) -> Agent:
        """The agent of a seat."""
        if (spec, seat) not in self._made:
            if self._timed is not None and spec not in {made for made, _ in self._made}:
                warm_up(functools.partial(self._maker, spec), self._timed)
            self._made[spec, seat] = self._maker(spec)
        return self._made[spec, seat]

    def close(self) -> None:
        """Release what the agents hold (external programs, say)."""
        for agent in self._made.values():
            close(agent)
        self._made.clear()


def check_agents(specs: Iterable[str]) -> None:
    """Make and close agents, so that a wrong name or option is an error before anything is played.

    Raises:
        UnknownAgentError: If an agent does not exist.
    """
    for spec in dict.fromkeys(specs):
        close(make_agent(spec))


class DealPlayer(AgentKeeper):
    """Plays duplicate deals.

    Args:
        rules: The rules.
        seed: The seed of deals and agents.
        timing: Whether records hold milliseconds (without them equal runs give equal records).
        maker: Makes an agent from a specification.
    """

    def __init__(
        self, rules: Rules, seed: int, timing: bool = True, maker: Callable[[str], Agent] = make_agent
    ) -> None:
        self.rules = rules
        self.seed = seed
        self.timing = timing
        super().__init__(maker, rules if timing else None)

    def play(self, deal: int, pair: tuple[str, str], labels: tuple[str, str] | None = None) -> list[GameRecord]:
        """Play every game of one deal.

        Args:
            deal: Number of the deal under the seed.
            pair: The specifications of A and B.
            labels: Their names in the records; the specifications by default.

        Raises:
            AgentFailedError: If an agent raises or chooses an illegal move.
            UnknownAgentError: If an agent does not exist.
        """
        labels = labels or pair
        return [self._play_game(deal, game, seats, pair, labels) for game, seats in enumerate(seatings(self.rules))]

    def _play_game(
        self, deal: int, game: int, seats: str, pair: tuple[str, str], labels: tuple[str, str]
    ) -> GameRecord:
        state = State.new(self.seed, self.rules, deal)
        agents = [TimedAgent(self.agent(pair["ab".index(letter)], seat)) for seat, letter in enumerate(seats)]
        try:
            play_game(state, agents, seat_generators([self.seed, deal, game], self.rules.players))
        except Exception as error:
            name = labels["ab".index(seats[state.seat])]
            text = str(error) if isinstance(error, DouDizhuError) else f"{type(error).__name__}: {error}"
            raise AgentFailedError(
                f"agent {name!r} failed in seat {state.seat} of deal {deal}, game {game} (seed {self.seed}): {text}"
            ) from error
        return self._record(state, deal, game, seats, labels, agents)

    def _record(
        self, state: State, deal: int, game: int, seats: str, labels: tuple[str, str], agents: Sequence[TimedAgent]
    ) -> GameRecord:
        landlord = next((seat for seat in range(self.rules.players) if state.role(seat) == "landlord"), -1)
        if state.winner is None:
            landlord = -1
        decisions, ms = {}, {}
        for letter in "ab":
            clocks = [agent for agent, taken in zip(agents, seats, strict=True) if taken == letter]
            decisions[letter] = sum(clock.decisions for clock in clocks)
            timed = self.timing and decisions[letter]
            ms[letter] = round(1000 * sum(clock.seconds for clock in clocks) / decisions[letter], 4) if timed else 0.0
        return GameRecord(
            deal=deal,
            a=labels[0],
            b=labels[1],
            game=game,
            seats=seats,
            landlord=landlord,
            landlord_agent=labels["ab".index(seats[landlord])] if landlord >= 0 else "",
            winner="" if landlord < 0 else SIDES[state.winner != landlord],
            win=state.returns("win"),
            stake=state.returns("stake"),
            botzone=state.returns("botzone"),
            moves=len(state.history),
            decisions_a=decisions["a"],
            decisions_b=decisions["b"],
            ms_a=ms["a"],
            ms_b=ms["b"],
        )


_Result = TypeVar("_Result")


class Match(NamedTuple):
    """One deal of one pair.

    Attributes:
        labels: The names of A and B in the records.
        deal: Number of the deal.
        specs: Their specifications.
    """

    labels: tuple[str, str]
    deal: int
    specs: tuple[str, str]


class DealWorker(Generic[_Result]):
    """Plays matches in one process.

    Args:
        result: What is made of the games of a deal; with several processes it must be picklable.
        rules: The rules.
        seed: The seed of deals and agents.
        timing: Whether records hold milliseconds.
    """

    def __init__(
        self, result: Callable[[list[GameRecord]], _Result], rules: Rules, seed: int, timing: bool = True
    ) -> None:
        self._result, self._player = result, DealPlayer(rules, seed, timing)

    def play(self, match: Match) -> _Result:
        """Play one deal from both sides."""
        return self._result(self._player.play(match.deal, match.specs, match.labels))

    def close(self) -> None:
        """Release the agents."""
        self._player.close()
