"""The benchmark's fixed deals and opponents, with checks that neither has changed.

There are two lists of deals: one to choose by, one to report on.  A list is a seed; deal ``n`` of it is
``State.new(seed, "standard", n)``.  A committed SHA-256 of all its deals as text lets other programs check that they
deal the same: one line per deal, the landlord's twenty cards first, then both other hands in playing order, separated
by blanks.

Every option of the field's players is written out.  A committed sample of positions comes with the move that each
player of the field chose in it.  Before a player plays, it chooses again: if a move differs, it is another player,
whose results cannot be compared with older ones.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from ddz_env import Move, Rules, State
from ddz_env.playing.agent import Agent, agent_input
from ddz_env.playing.game import check_is_move, notify_of_game
from ddz_env.playing.generators import make_agent_generator
from ddz_env.support.checks import check_choice
from ddz_training.measure.agent_pool import query_agent
from ddz_training.measure.duplicate import new_deal
from ddz_training.measure.errors import BenchmarkChangedError, InvalidBenchmarkRequestError

RULES = Rules()
"""The rules of the benchmark: ``standard``."""


@dataclass(frozen=True)
class DealList:
    """A list of numbered deals on which the benchmark is played.

    Attributes:
        name: Its name in files of results.
        seed: The seed of the deals, and of the agents that play them.
        count: How many there are.
        sha256: The hash of all of them.
        purpose: What it is for.
        hands: The hands of its deals, if they are given and not dealt from the seed.
    """

    name: str
    seed: int
    count: int
    sha256: str
    purpose: str
    hands: tuple[str, ...] = ()

    @property
    def settings(self) -> dict[str, str | int]:
        """The settings that identify the list of deals in a results file."""
        return {"list": self.name, "seed": self.seed, "sha256": self.sha256}

    @functools.cached_property
    def _current_sha256(self) -> str:
        """The SHA-256 of the deals as the current code deals them."""
        lines = (format_seat_hands(new_deal(RULES, self.seed, number, self.hands)) for number in range(self.count))
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def check(self) -> None:
        """Deal the whole list again, and compare the SHA-256 of its deals with the committed one.

        Raises:
            BenchmarkChangedError: If they differ from those that were committed.
        """
        if self._current_sha256 != self.sha256:
            raise BenchmarkChangedError(
                f"the deals {self.name!r} have the SHA-256 {self._current_sha256}, not {self.sha256}: "
                "dealing has changed, and results on these deals would not compare with others"
            )

    def check_count(self, deals: int) -> None:
        """Refuse to play more deals than the list has.

        Raises:
            InvalidBenchmarkRequestError: If there are fewer, or ``deals`` is not positive.
        """
        if not 1 <= deals <= self.count:
            raise InvalidBenchmarkRequestError(f"deals={deals} must be in 1..{self.count}, the deals {self.name!r}")


def format_seat_hands(state: State) -> str:
    """Format a deal's hands, seat by seat, as one line of text.

    Example:
        >>> print(format_seat_hands(State.new(3, "standard", 5)).strip())
        334456788999TJJQQQAR 445567778TTQKKK22 3356689TJJKAAA22B
    """
    return " ".join(str(state.hand(seat)) for seat in range(state.rules.players)) + "\n"


DEALS: Mapping[str, DealList] = {
    "choosing": DealList(
        name="choosing",
        seed=71_400_001,
        count=2000,
        sha256="a521f902919fa39936e261a72152e43bec78ef5f8893c33d25ffaf622ef9b8a8",
        purpose="choosing agents and options; play on it as often as you like",
    ),
    "reporting": DealList(
        name="reporting",
        seed=71_400_002,
        count=2000,
        sha256="46a08d753d4f32fc5cda116211a3102c14619eb249fc041467988f305cf045a5",
        purpose="results that are reported; nothing is chosen by them",
    ),
}
"""The lists by name."""


def find_deal_list(name: str) -> DealList:
    """Return the benchmark's deal list with a given name.

    Raises:
        InvalidBenchmarkRequestError: If there is none.
    """
    return DEALS[check_choice("deal list", name, DEALS, InvalidBenchmarkRequestError)]


def deal_list_of_hands(name: str, hands: tuple[str, ...]) -> DealList:
    """Make a deal list from given hands, seeding the agents' random numbers as in the ``choosing`` list."""
    deals = DealList(name, DEALS["choosing"].seed, len(hands), "", "given hands", hands)
    return replace(deals, sha256=deals._current_sha256)


SAMPLE_SEED = 71_400_003
"""The seed of the deals of the sample, and of the generators of the agents that play in it."""

_FOLDER = Path(str(resources.files("ddz_training.measure.benchmark")))
POSITIONS_FILE = _FOLDER / "positions.json"
MOVES_FILE = _FOLDER / "moves.json"
_SHOWN = 3


@dataclass(frozen=True)
class FieldMember:
    """A fixed opponent in the benchmark, with its name and its agent specification.

    Attributes:
        name: Its name in results.
        agent: Its specification, with every option that it has.
        quick: Whether it plays in the quick placement, which needs no optional package and no searching opponent.
    """

    name: str
    agent: str
    quick: bool = False


_FIELD_MEMBERS = (
    FieldMember("random", "random", quick=True),
    FieldMember("rlcard-rule", "rlcard-rule"),
    FieldMember("rules", "rules", quick=True),
    FieldMember(
        "isuct",
        "isuct:iterations=10000,trees=1,milliseconds=none,exploration=1.0,simulation=random,finish=true,threads=1,"
        "particles=0",
    ),
    FieldMember("rollout", "rollout:iterations=1000,milliseconds=none,candidates=12,particles=300,caution=0.5"),
    FieldMember("policy-v1", "policy:path=policy-v1,threads=1,trust_file=false,temperature=0.0", quick=True),
)

FIELD: Mapping[str, FieldMember] = {member.name: member for member in _FIELD_MEMBERS}
"""The field of version 2.  It never changes: another field is another version of the benchmark."""

ANCHOR = "rules"
"""The player whose rating is 0."""


@dataclass(frozen=True)
class SamplePosition:
    """A position in which the benchmark compares each fixed opponent's move with the recorded move.

    Attributes:
        deal: Number of the deal under :data:`SAMPLE_SEED`.
        moves: What has been played, as text.
    """

    deal: int
    moves: tuple[str, ...]

    def __str__(self) -> str:
        return f"deal {self.deal} after {len(self.moves)} moves"


def read_positions() -> list[SamplePosition]:
    """Read the sample positions in which the benchmark checks the moves of its fixed opponents."""
    games = json.loads(POSITIONS_FILE.read_text(encoding="utf-8"))
    return [SamplePosition(game["deal"], tuple(game["moves"].split()[:ply])) for game in games for ply in game["asked"]]


def choose_moves(agent: str, positions: Sequence[SamplePosition]) -> list[str]:
    """Return an agent's moves in sample positions, as strings, after showing it the moves before each position.

    Args:
        agent: Its specification.
        positions: The positions.

    Raises:
        UnknownAgentError: If the agent does not exist.
    """
    return query_agent(agent, lambda made: [str(_choose_move(made, position)) for position in positions])


def _choose_move(agent: Agent, position: SamplePosition) -> Move:
    state = State.new(SAMPLE_SEED, RULES, position.deal)
    for move in position.moves:
        state.step(move)
    notify_of_game(agent, state.seat, RULES, state.history)
    rng = make_agent_generator([SAMPLE_SEED, position.deal, len(position.moves)])
    return check_is_move(agent.act(agent_input(agent, state), rng))


def hash_moves(moves: Iterable[str]) -> str:
    """Compute the first sixteen hexadecimal digits of the SHA-256 of moves given as strings."""
    return hashlib.sha256("\n".join(moves).encode()).hexdigest()[:16]


@functools.cache
def read_committed_moves() -> Mapping[str, tuple[str, ...]]:
    """Read the recorded moves of every fixed opponent in the sample positions, by opponent name."""
    document = json.loads(MOVES_FILE.read_text(encoding="utf-8"))
    return {name: tuple(moves.split()) for name, moves in document.items()}


@functools.cache
def check_member(member: FieldMember) -> None:
    """Check, once per process, that a fixed opponent still chooses its recorded moves in the sample positions.

    Raises:
        BenchmarkChangedError: If it plays another move somewhere.
        MissingPeerError: If it needs a package that is not installed.
    """
    positions, before = read_positions(), read_committed_moves()[member.name]
    now = choose_moves(member.agent, positions)
    changed = [
        f"{position}: {new} instead of {old}"
        for position, new, old in zip(positions, now, before, strict=True)
        if new != old
    ]
    if changed:
        raise BenchmarkChangedError(
            f"{member.name} is not the player that the field was fixed with: it plays another move in "
            f"{len(changed)} of {len(positions)} positions ({'; '.join(changed[:_SHOWN])}); "
            "results against it would not compare"
        )
