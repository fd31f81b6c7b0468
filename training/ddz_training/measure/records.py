"""Strength from recorded games: how many more games the recorded players win than an agent in their place.

Along a recorded game the agent finishes the game from every position, in all seats, and each seat knows what it always
knows.  Where the side that wins is another one after a move than before it, the change belongs to the mover.

* The *lead* of a role is the sum of its changes, a mean over games.  The landlord's less the peasants' adds up to the
  recorded result less the agent's own result on that deal, exactly.
* Half of the landlord's and the peasants' leads together is the players' lead: on duplicate deals against them the
  agent is to win 50 % less that.
* In a game against the agent this would hold exactly, because an agent's own moves do not change how it finishes.  The
  recorded games are the players' own; that a lead in these carries over is assumed.  Players who have been met as well
  show how well that holds.

With results in place of an evaluation these are the skill terms of an advantage sum (M. Zinkevich, M. Bowling,
N. Bard, M. Kan and D. Billings, "Optimal unbiased estimators for evaluating agent performance", AAAI 2006), of which
AIVAT is the heir (N. Burch, M. Schmid, M. Moravcik, D. Morrill and M. Bowling, "AIVAT: A new variance reduction
technique for agent evaluation in imperfect information games", AAAI 2018).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ddz_env import Move, Rules, State
from ddz_env.core.actions import CATEGORIES, MAIN_GROUPS
from ddz_env.core.engine.layout import LANDLORD, SEAT, STAGE, STAGE_OVER, TARGET, WINNER
from ddz_env.core.view import ROLES
from ddz_env.envs.side_by_side import play_games_together
from ddz_env.playing.agent import Agent
from ddz_env.playing.game import make_seat_generators, notify_of_game, play_turn
from ddz_env.playing.generators import make_agent_generator
from ddz_env.playing.many import request_moves
from ddz_training.measure.agent_pool import AgentPool, can_play_many_games
from ddz_training.measure.errors import InvalidRecordsError
from ddz_training.measure.statistics import Interval, clustered_interval, normal_interval, paired_difference
from ddz_training.measure.store import OnProgress, ignore_progress
from ddz_training.measure.summaries import group_by

_POSITIONS_AT_ONCE = 8192
"""Positions that are finished side by side; results do not depend on it."""

_CATEGORY_OF = np.array([group.category for group in MAIN_GROUPS])


class ReplayableGame(Protocol):
    """A recorded game: its deal and every later decision, including the auction and doubling."""

    @property
    def start(self) -> State:
        """The game's state after dealing, before any decision."""
        ...

    @property
    def moves(self) -> Sequence[Move]:
        """The decisions of the game, in order."""
        ...


class Positions(NamedTuple):
    """The positions of recorded games from the first card played to the end, as arrays over all games.

    Attributes:
        rules: The rules of all games.
        recorded: The games.
        first_game: The number of the first of them in its file.
        rows: The engine's rows, shape ``[n, 32]``, uint64.
        rings: Their recent moves, shape ``[n, 16, 2]``, uint64.
        games: The index of each position's game, shape ``[n]``, int64, ascending.
        mains: The main group that was played there, shape ``[n]``, int64; -1 at the end.
        choices: Whether there was more than one move, shape ``[n]``, bool; False at the end.
    """

    rules: Rules
    recorded: Sequence[ReplayableGame]
    first_game: int
    rows: npt.NDArray[np.uint64]
    rings: npt.NDArray[np.uint64]
    games: npt.NDArray[np.int64]
    mains: npt.NDArray[np.int64]
    choices: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, games: Sequence[ReplayableGame], first_game: int = 0) -> Positions:
        """Replay recorded games, and collect their positions from the first card played on.

        Args:
            games: The games.
            first_game: The number of the first of them in its file, by which an agent's draws are seeded.

        Raises:
            InvalidRecordsError: If there are none, one did not come to its end, or they are of different rules.
            IllegalMoveError: If a move is not legal.
        """
        rules = find_common_rules(games)
        rows, rings, numbers, mains, choices = [], [], [], [], []
        for number, game in enumerate(games):
            for state, move in _replay(game):
                rows.append(state.row.copy())
                rings.append(state.ring.copy())
                numbers.append(number)
                mains.append(-1 if move is None else move.main)
                # Where one main group alone is legal, it is a last card or a pass: there are no kickers to choose.
                choices.append(move is not None and len(state.legal_actions()) > 1)
            if state.winner is None:
                raise InvalidRecordsError(
                    f"record {first_game + number} has no winner: leave out games that nobody won"
                )
        arrays = np.array(rows), np.array(rings), np.array(numbers), np.array(mains), np.array(choices)
        return cls(rules, games, first_game, *arrays)

    def seed_of(self, index: int) -> tuple[int, int]:
        """Return what names a position among all of a file: its game's number there, and its place in the game."""
        game = int(self.games[index])
        return self.first_game + game, index - int(np.searchsorted(self.games, game))

    def replay(self) -> Iterator[State]:
        """Replay the games, and yield the state at each position, which knows all moves before; do not change it."""
        return (state for game in self.recorded for state, _ in _replay(game))


def find_common_rules(games: Sequence[ReplayableGame]) -> Rules:
    """Return the rules of recorded games.

    Raises:
        InvalidRecordsError: If there are none, or they are of different rules.
    """
    rules = {game.start.rules for game in games}
    if len(rules) != 1:
        names = " and ".join(sorted(each.name for each in rules)) or "none"
        raise InvalidRecordsError(f"strength is measured on games of one preset of rules; these are of {names}")
    return rules.pop()


def _replay(game: ReplayableGame) -> Iterator[tuple[State, Move | None]]:
    """Replay a game, and yield the state before each card play with the move, and at the end with None."""
    state = game.start.copy()
    for move in game.moves:
        if state.stage == "play":
            yield state, move
        state.step(move)
    yield state, None


class ComparedDecisions(NamedTuple):
    """Recorded decisions with more than one legal move, compared with an agent's choices in the same positions.

    Attributes:
        games: The number of the game, shape ``[n]``, int64, ascending.
        roles: The mover's role as an index into ``ROLES``, shape ``[n]``, int64.
        leads: Whether the move led a trick, shape ``[n]``, bool.
        categories: The category of the recorded move as an index into ``CATEGORIES``, shape ``[n]``, int64.
        agreed: How often the agent plays the same, kickers included, from 0 to 1, shape ``[n]``, float64.
        gains: What the move adds to the share of games that the mover's side wins, shape ``[n]``, float64.
    """

    games: npt.NDArray[np.int64]
    roles: npt.NDArray[np.int64]
    leads: npt.NDArray[np.bool_]
    categories: npt.NDArray[np.int64]
    agreed: npt.NDArray[np.float64]
    gains: npt.NDArray[np.float64]


class Comparison(NamedTuple):
    """The results of comparing recorded games with an agent that plays on from their positions.

    Attributes:
        agent: The agent's specification.
        decisions: All recorded moves of which there was a choice.
        recorded: Whether the landlord won, by game, shape ``[games]``, bool.
        finished: How often the landlord wins where the agent plays the same deal in all seats, shape ``[games]``,
            float64.
    """

    agent: str
    decisions: ComparedDecisions
    recorded: npt.NDArray[np.bool_]
    finished: npt.NDArray[np.float64]


def compare_with_agent(
    positions: Positions, agent: str, *, repeats: int = 1, seed: int = 0, on_progress: OnProgress = ignore_progress
) -> Comparison:
    """Let an agent play recorded games on from each position, and compare the winners with the recorded winners.

    A game is finished only where the agent would play otherwise: where it plays the recorded move, its game goes on as
    from the next position.  (An agent that draws its moves goes on with the same draws; the estimate stays unbiased.)

    Args:
        positions: Those of the games.
        agent: A specification as for :func:`ddz_env.playing.registry.make_agent`.  An agent that can play many games
            at once (:func:`~ddz_training.measure.agent_pool.can_play_many_games`) plays on from thousands of positions
            side by side, any other from one after another.
        repeats: How often it finishes each of them; more than once is of use for an agent that draws its moves.
        seed: Seed of its draws.
        on_progress: Called with how many decisions are done, and how many there are.

    Raises:
        UnknownAgentError: If the agent does not exist.
        AgentFaultError: If it fails.
    """
    asked = np.flatnonzero(positions.choices)
    agreed, wins = np.zeros(len(asked)), np.zeros(len(positions.rows))
    with closing(AgentPool()) as agents:
        seats = [agents.get(agent, seat) for seat in range(positions.rules.players)]
        finish = _finish_side_by_side if can_play_many_games(seats[0]) else _finish_one_by_one
        for repeat in range(repeats):
            same, won = np.empty(len(asked), np.bool_), np.empty(len(asked), np.bool_)
            for part, *known in finish(positions, asked, seats, [seed, repeat]):
                same[part], won[part] = known
                on_progress(repeat * len(asked) + part.stop, repeats * len(asked))
            agreed += same
            wins += _carry_back(positions, asked[~same], won[~same])
    return _make_comparison(agent, positions, asked, agreed / repeats, wins / repeats)


def _carry_back(
    positions: Positions, finished: npt.NDArray[np.intp], won: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Return whether the landlord wins from each position, read from the game's next position with a known result.

    Args:
        positions: The positions.
        finished: The indices of those that have one of their own, shape ``[n]``; besides them the ends.
        won: Whether the landlord wins there, shape ``[n]``.
    """
    own, landlord_wins = positions.mains < 0, _landlord_won(positions.rows)
    own[finished], landlord_wins[finished] = True, won
    next_own = np.where(own, np.arange(len(own)), len(own))
    return landlord_wins[np.minimum.accumulate(next_own[::-1])[::-1]]


def _make_comparison(
    agent: str,
    positions: Positions,
    asked: npt.NDArray[np.intp],
    agreed: npt.NDArray[np.float64],
    wins: npt.NDArray[np.float64],
) -> Comparison:
    """Make a comparison that credits each change of the expected winner to the player who moved.

    Args:
        agent: The agent.
        positions: The positions.
        asked: The indices of the decisions, shape ``[n]``.
        agreed: How often the agent plays the recorded move, shape ``[n]``.
        wins: How often the landlord wins from each position.
    """
    rows = positions.rows[asked]
    roles = (rows[:, SEAT].astype(np.int64) - rows[:, LANDLORD].astype(np.int64)) % positions.rules.players
    changes = wins[asked + 1] - wins[asked]
    decisions = ComparedDecisions(
        games=positions.games[asked],
        roles=roles,
        leads=rows[:, TARGET] == 0,
        categories=_CATEGORY_OF[positions.mains[asked]],
        agreed=agreed,
        gains=np.where(roles == 0, changes, -changes),
    )
    ends = np.flatnonzero(positions.mains < 0)
    starts = np.concatenate([[0], ends[:-1] + 1])
    return Comparison(agent, decisions, wins[ends] > 0, wins[starts])


def _landlord_won(rows: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Return whether the landlord has played its last card in each game, shape ``[n]``."""
    won: npt.NDArray[np.bool_] = rows[:, WINNER] == rows[:, LANDLORD] + np.uint64(1)
    return won


Finished = tuple[slice, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]
"""Some of the positions asked for; whether the agent's move there is the recorded one, and whether the landlord wins
if the agent plays on, False where the moves agree and nothing is played."""


def _finish_side_by_side(
    positions: Positions, which: npt.NDArray[np.intp], seats: Sequence[Agent], seed: Sequence[int]
) -> Iterator[Finished]:
    """Let an agent play many positions at once to the end, unless the agent's first move is the recorded one.

    Args:
        positions: All positions.
        which: The indices of those that are played, shape ``[n]``.
        seats: Who plays each seat; the first plays all, as agents that play many games at once can.
        seed: Seed of its draws.
    """
    for first in range(0, len(which), _POSITIONS_AT_ONCE):
        part = which[first : first + _POSITIONS_AT_ONCE]
        yield slice(first, first + len(part)), *_finish_part(positions, part, seats[0], seed)


def _finish_part(
    positions: Positions, which: npt.NDArray[np.intp], agent: Agent, seed: Sequence[int]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return for some positions what a :data:`Finished` says of them, playing all of them at once."""
    rows, rings = positions.rows[which], positions.rings[which]

    @functools.cache
    def rng(index: int, seat: int) -> np.random.Generator:
        return make_agent_generator([*seed, *positions.seed_of(int(which[index])), seat])

    _play_on(rows, rings, positions.rules, agent, rng, max_moves=1)
    agreed = (rows == positions.rows[which + 1]).all(axis=1)
    played_on = np.flatnonzero(~agreed & (rows[:, STAGE] != STAGE_OVER))
    rest, recent = rows[played_on], rings[played_on]
    _play_on(rest, recent, positions.rules, agent, lambda index, seat: rng(int(played_on[index]), seat))
    rows[played_on] = rest
    return agreed, _landlord_won(rows)


def _finish_one_by_one(
    positions: Positions, which: npt.NDArray[np.intp], seats: Sequence[Agent], seed: Sequence[int]
) -> Iterator[Finished]:
    """Do the same position after position, for agents that want to know all moves before, one in each seat."""
    chosen = {index: place for place, index in enumerate(which.tolist())}
    for index, state in enumerate(positions.replay()):
        if index not in chosen:
            continue
        state = state.copy()
        rngs = make_seat_generators([*seed, *positions.seed_of(index)], len(seats))
        for seat, agent in enumerate(seats):
            notify_of_game(agent, seat, state.rules, state.history)
        play_turn(state, seats, rngs)
        agrees = bool((state.row == positions.rows[index + 1]).all())
        while not agrees and not state.is_over:
            play_turn(state, seats, rngs)
        place = chosen[index]
        yield slice(place, place + 1), np.array([agrees]), _landlord_won(state.row[None])


def _play_on(
    rows: npt.NDArray[np.uint64],
    rings: npt.NDArray[np.uint64],
    rules: Rules,
    agent: Any,
    rng: Callable[[int, int], np.random.Generator],
    max_moves: int | None = None,
) -> None:
    """Let an agent play on in all seats of many games, modifying the game-state arrays in place."""
    one_player = np.zeros((len(rows), 3), np.int64)
    play_games_together(
        rows, rules, one_player, lambda _, waiting: request_moves(agent, waiting), rng, rings=rings, max_moves=max_moves
    )


# --- What it comes to -------------------------------------------------------------------------------------------------


Wins = Annotated[float, ".6g"]


@dataclass(frozen=True)
class GameLead:
    """The wins that a recorded game's players gained over an agent in their place, by role.

    Attributes:
        agent: The agent.
        game: Number of the game in its file.
        landlord: What the landlord's moves changed.
        peasant_down: What those of the peasant after the landlord did.
        peasant_up: What those of the peasant before the landlord did.
        landlord_won: 1 if the landlord won the recorded game, else 0.
        agent_landlord_won: The same, or a share, where the agent plays the deal in all seats.
        decisions: Moves of which there was a choice.
        agreed: How many of them the agent plays, too.
    """

    agent: str
    game: int
    landlord: Wins
    peasant_down: Wins
    peasant_up: Wins
    landlord_won: int
    agent_landlord_won: Wins
    decisions: int
    agreed: Wins

    @property
    def lead(self) -> float:
        """The players' total lead over the agent: half the sum of the three roles' leads."""
        return (self.landlord + self.peasant_down + self.peasant_up) / 2


def compute_game_leads(comparison: Comparison, first_game: int = 0) -> list[GameLead]:
    """Sum up the recorded players' lead over an agent in each game, role by role.

    Args:
        comparison: The games beside an agent.
        first_game: The number of the first game in its file.
    """
    of, count = comparison.decisions, len(comparison.recorded)
    by_role = [np.bincount(of.games[of.roles == role], of.gains[of.roles == role], count) for role in range(len(ROLES))]
    decisions, agreed = np.bincount(of.games, minlength=count), np.bincount(of.games, of.agreed, count)
    columns = *by_role, comparison.recorded.astype(np.int64), comparison.finished, decisions, agreed
    lines = zip(*(column.tolist() for column in columns), strict=True)
    return [GameLead(comparison.agent, first_game + number, *line) for number, line in enumerate(lines)]


class Strength(NamedTuple):
    """The strength of an agent estimated from recorded games, with intervals over games.

    Attributes:
        agent: The agent.
        games: The number of games.
        decisions: The recorded moves of which there was a choice.
        wins: What the agent is to win against the players on duplicate deals.
        roles: The players' lead in each role of ``ROLES``.
        agreement: The share of these moves that the agent plays, too.
        over_first: What the agent is to win more than the first one, on the same games.
    """

    agent: str
    games: int
    decisions: int
    wins: Interval
    roles: tuple[Interval, ...]
    agreement: Interval
    over_first: Interval


def estimate_strengths(leads: Sequence[GameLead]) -> list[Strength]:
    """Estimate the strength of each agent from the same recorded games, in the given order.

    Args:
        leads: Those of each agent, game by game; the first agent's come first.
    """
    by_agent = group_by(leads, lambda lead: lead.agent)
    first = {lead.game: lead.lead for lead in next(iter(by_agent.values()), ())}
    return [
        Strength(
            agent,
            games=len(own),
            decisions=sum(lead.decisions for lead in own),
            wins=normal_interval([0.5 - lead.lead for lead in own]),
            roles=tuple(normal_interval([getattr(lead, role) for lead in own]) for role in ROLES),
            agreement=_agreement_interval([(lead.agreed, lead.decisions) for lead in own]),
            over_first=paired_difference(first, {lead.game: lead.lead for lead in own}),
        )
        for agent, own in by_agent.items()
    ]


def _agreement_interval(counts: Sequence[tuple[float, int]]) -> Interval:
    """Estimate an agent's share of agreements with recorded moves, with a 95 % interval clustered by game."""
    return clustered_interval([[some / every] * every for some, every in counts if every])


class Kind(NamedTuple):
    """A kind of recorded move: the mover's role, whether the move leads a trick, and its category.

    Attributes:
        role: The mover's role.
        lead: Whether it led a trick.
        category: The category of its main group, or ``pass``.
    """

    role: str
    lead: bool
    category: str


class KindGain(NamedTuple):
    """The recorded players' gain over an agent through one kind of move.

    Attributes:
        kind: The kind.
        decisions: How often it was played by choice.
        agreed: The share of these moves that the agent plays, too.
        gain: The gain of each of them.
        per_game: Their sum over the number of all games.
    """

    kind: Kind
    decisions: int
    agreed: float
    gain: Interval
    per_game: float


def compute_kind_gains(comparison: Comparison) -> list[KindGain]:
    """Compute the players' gain over the agent for every kind of move, in ascending order of gain per game."""
    of, games = comparison.decisions, len(comparison.recorded)
    keys, kind_of = np.unique(np.stack([of.roles, of.leads, of.categories]), axis=1, return_inverse=True)
    found = []
    for number, (role, lead, category) in enumerate(keys.T.tolist()):
        own = np.flatnonzero(kind_of.ravel() == number)
        by_game = np.split(of.gains[own], np.flatnonzero(np.diff(of.games[own])) + 1)
        found.append(
            KindGain(
                Kind(ROLES[role], bool(lead), CATEGORIES[category].name),
                decisions=len(own),
                agreed=float(of.agreed[own].mean()),
                gain=clustered_interval([gains.tolist() for gains in by_game]),
                per_game=float(of.gains[own].sum()) / games,
            )
        )
    return sorted(found, key=lambda kind: kind.per_game)
