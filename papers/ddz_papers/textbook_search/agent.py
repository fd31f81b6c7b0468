"""The textbook agents: expectiminimax over sampled deals, and alpha-beta on the true game.

Hidden cards are a chance node at the root: every move gets its mean value over some sampled deals.  As the textbook
warns, a search in each deal alone *averages over clairvoyance*: it plans as if the seat knew at its next move where all
cards are.  So there is a second chance node at that move: deals in which the others have answered alike look the same
to the seat, and one move is chosen for all of them.  Deeper moves, and the others', see all hands.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from ddz_agents.rules.agent import choose_move
from ddz_agents.rules.candidates import best_candidates
from ddz_agents.rules.position import POSITION_WEIGHTS
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.rules.workspace import new_rule_workspace
from ddz_agents.search_agent import InferringAgent, Milliseconds, Position, SearchAgent, ViewOrState
from ddz_agents.worlds.determinize import Reals, Words, draw_games
from ddz_agents.worlds.inference import MOST_PARTICLES, infer_pool
from ddz_env import Move, State, View
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.layout import LANDLORD, SEAT, STAGE, STAGE_PLAY
from ddz_env.playing.agent import Decision
from ddz_env.support.clocks import Clock
from ddz_env.support.options import Options, Range, takes_options
from ddz_papers.search_stack import LIMIT, NODES, STOPPED
from ddz_papers.textbook_search import search
from ddz_papers.textbook_search.candidates import SearchMemory

QUIESCENCE = {"off": search.NOTHING, "bombs": search.BOMBS, "trick": search.WHOLE_TRICK}
MOST_DEPTH = 40
"""The deepest search allowed."""


@dataclass(frozen=True)
class AlphaBetaOptions(Options):
    """Options of the search of a game with open hands.

    Attributes:
        depth: Plies searched, the move itself included; a pass is a ply.
        milliseconds: Thinking time per decision, instead of a depth: the search is repeated ply by ply deeper, and the
            deepest one that was completed decides; results then depend on the machine.
        pruning: Alpha-beta; without it plain minimax, which plays the same moves.
        quiescence: At the depth limit, search on until the ``trick`` is closed, only where somebody can still bomb into
            it (``bombs``), or not at all (``off``).
        singular: How much better than all others, in win rate, a move must look to be searched a ply deeper; where a
            seat has no choice its move is searched deeper, too. 0 for neither.
        table: Keep what has been searched in a transposition table.
        candidates: Moves of the decision itself that are compared, always including the rule agent's.
    """

    depth: Annotated[int, Range(1, MOST_DEPTH)] = 4
    milliseconds: Milliseconds = None
    pruning: bool = True
    quiescence: Literal["trick", "bombs", "off"] = "trick"
    singular: Annotated[float, Range(0, 1)] = 0.0
    table: bool = True
    candidates: Annotated[int, Range(2, NUM_ACTIONS)] = 12

    def settings(self) -> search.Settings:
        """Convert the options to the settings that the compiled search reads."""
        return search.Settings(
            pruning=np.bool_(self.pruning),
            quiescence=QUIESCENCE[self.quiescence],
            singular=np.float64(self.singular),
            table=np.bool_(self.table),
        )


@dataclass(frozen=True)
class ExpectiminimaxOptions(AlphaBetaOptions):
    """Options of expectiminimax: of the search in every deal, and of the deals.

    Attributes:
        worlds: Deals sampled for a decision, the same for all its moves.
        particles: Number of determinizations from which deals are drawn, weighted by how plausible they make the hidden
            seats' past moves; 0 draws uniform ones. Weighing them takes time on top of `milliseconds`.
    """

    worlds: Annotated[int, Range(1, 10_000)] = 20
    particles: Annotated[int, Range(0, MOST_PARTICLES)] = 0


class DepthLimitedAgent(SearchAgent[ViewOrState]):
    """The base class of alpha-beta and expectiminimax agents, which search deeper while time remains."""

    budget = "depth {0.depth}"
    options: AlphaBetaOptions
    weights = POSITION_WEIGHTS
    prices = WEIGHTS

    def __init__(self, options: AlphaBetaOptions) -> None:
        super().__init__(options)
        self.settings = options.settings()
        self._workspace = new_rule_workspace()
        self._space: SearchMemory | None = None
        self._is_decided = False  # whether every value of the last search was that of a finished game
        self.depth = 0
        """Plies of the last search that was completed."""

    @property
    def nodes(self) -> int:
        """The number of positions visited in the last decision."""
        return int(self._space.stack.counters[NODES]) if self._space is not None else 0

    @abstractmethod
    def _draw_worlds(self, view: ViewOrState, position: Position, rng: np.random.Generator) -> Words:
        """Return the game states to search, shape ``[n, 32]``: sampled deals, or the true game."""

    def _search(self, view: ViewOrState, position: Position, rng: np.random.Generator) -> Decision:
        """Evaluate the legal moves by search, or ask the rule agent in the auction and at doubling."""
        if int(position.row[STAGE]) != STAGE_PLAY:
            return Decision(choose_move(position.row, position.rules, self._workspace, self.prices))
        mains, kickers = self._list_moves(position)
        moves = [Move.from_words(int(main), int(rest)) for main, rest in zip(mains, kickers, strict=True)]
        if len(moves) == 1:
            return Decision.from_moves(moves, np.zeros(1), 0, "chance")
        values = self._deepen(position, self._draw_worlds(view, position, rng), mains, kickers)
        return Decision.from_moves(moves, values, int(np.argmax(values)), "chance")

    def _list_moves(self, position: Position) -> tuple[Words, Words]:
        row = position.row.view()
        row.flags.writeable = False  # as a view's: a kernel is compiled once more for rows that may be written
        return best_candidates(row, position.rules, self._workspace, self.options.candidates)

    def _get_memory(self, position: Position) -> SearchMemory:
        """Return the search memory, which is created anew when the rules change."""
        if self._space is None or not np.array_equal(self._space.stack.rules, position.rules):
            self._space = search.new_search_memory(position.rules.copy(), self.weights)
        self._space.stack.counters[:] = 0, 1 << 60, 0
        return self._space

    def _deepen(self, position: Position, deals: Words, mains: Words, kickers: Words) -> Reals:
        """Search at the set depth, or ever deeper while time remains, and return the moves' mean values."""
        self._get_memory(position)
        milliseconds = self.options.milliseconds
        if milliseconds is None:
            self.depth = self.options.depth
            return self._average_moves(deals, mains, kickers, self.depth)
        clock = Clock(milliseconds)
        means, before, visited = np.zeros(len(mains)), 0, -1
        for depth in range(1, MOST_DEPTH + 1):
            deeper = self._average_moves(deals, mains, kickers, depth, clock if depth > 1 else None)
            if self._is_stopped:
                break
            means, self.depth = deeper, depth
            before, spent = self.nodes, self.nodes - before
            if spent == visited and self._is_decided:  # nothing lies deeper
                break
            visited = spent
        return means

    def _average_moves(
        self, deals: Words, mains: Words, kickers: Words, depth: int, clock: Clock | None = None
    ) -> Reals:
        """Average each move's value for the seat over the deals; the result is meaningless if time ran out."""
        values = []
        for world in deals:
            values.append(self._value_world(world, mains, kickers, depth, clock))
            if self._is_stopped:
                break
        self._is_decided = bool(np.isin(values, self._end_values).all())
        return np.asarray(np.mean(values, axis=0))

    def _value_world(self, world: Words, mains: Words, kickers: Words, depth: int, clock: Clock | None) -> Reals:
        """Evaluate every move for the seat to act by search, in one game with all hands known."""
        space, values = self._space, np.zeros(len(mains))
        assert space is not None
        if clock is not None:
            space.stack.counters[LIMIT] = clock.estimate_affordable(self.nodes)
        search.value_moves(space, world, self.prices, mains, kickers, depth, self.settings, values)
        if world[SEAT] != world[LANDLORD]:
            values += sum(self._end_values)  # what the landlord does not get
        return values

    @property
    def _end_values(self) -> tuple[float, float]:
        """The values of a lost and of a won game, on the scale of win rates."""
        assert self._space is not None
        return float(self._space.scale[0]), float(self._space.scale[-1])

    @property
    def _is_stopped(self) -> bool:
        return self._space is not None and bool(self._space.stack.counters[STOPPED])


class ExpectiminimaxAgent(InferringAgent, DepthLimitedAgent[View]):
    """Expectiminimax over sampled deals, each searched to a limited depth.

    Until the seat's next move the others play what a search with all hands open prefers; that move is one for all deals
    in which they played alike.

    Raises:
        InvalidAgentOptionError: If there is no such option, or its value is not allowed.

    Example:
        >>> state = State.new(seed=1)
        >>> agent = ExpectiminimaxAgent(depth=2, worlds=3, particles=0)
        >>> agent.act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    options: ExpectiminimaxOptions

    @takes_options(ExpectiminimaxOptions)
    def __init__(self, options: ExpectiminimaxOptions) -> None:
        super().__init__(options)

    def _draw_worlds(self, view: View, position: Position, rng: np.random.Generator) -> Words:
        self._rules = view.rules
        pool = infer_pool(view, rng, self.options.particles)
        return draw_games(view, pool, self.options.worlds, rng.integers(0, 2**64, dtype=np.uint64))

    def _average_moves(
        self, deals: Words, mains: Words, kickers: Words, depth: int, clock: Clock | None = None
    ) -> Reals:
        """Average each move's value over the deals; deals that look alike to the seat share its next move."""
        if depth <= self._rules.players:
            return super()._average_moves(deals, mains, kickers, depth, clock)
        values = np.zeros(len(mains))
        for index, (main, rest) in enumerate(zip(mains, kickers, strict=True)):
            values[index] = self._average_move(deals, Move.from_words(int(main), int(rest)), depth, clock)
            if self._is_stopped:
                break
        self._is_decided = bool(np.isin(values, self._end_values).all())
        return values

    def _average_move(self, deals: Words, move: Move, depth: int, clock: Clock | None) -> float:
        """Compute a move's mean value over the deals, grouping the deals that look alike at the seat's next turn."""
        seat, alike = int(deals[0, SEAT]), dict[tuple[Move, ...], list[State]]()
        for deal in deals:
            state = State(deal.copy(), self._rules)
            state.step(move)
            alike.setdefault(self._play_to_next_turn(state, seat, depth, clock), []).append(state)
        return sum(self._best_common_value(states, seat, depth, clock) for states in alike.values()) / len(deals)

    def _play_to_next_turn(self, state: State, seat: int, depth: int, clock: Clock | None) -> tuple[Move, ...]:
        """Play up to the seat's next turn or the end of the game, and return the moves of the others."""
        answers = []
        while not (state.is_over or state.seat == seat or self._is_stopped):
            mains, kickers = self._list_moves(Position.of(state))
            best = 0
            if len(mains) > 1:
                best = int(np.argmax(self._value_world(state.row, mains, kickers, depth - 2, clock)))
            answers.append(Move.from_words(int(mains[best]), int(kickers[best])))
            state.step(answers[-1])
        return tuple(answers)

    def _best_common_value(self, states: list[State], seat: int, depth: int, clock: Clock | None) -> float:
        """Return the summed value of the best move that is common to games which look alike to the seat."""
        if states[0].is_over:
            return len(states) * self._end_values[states[0].returns("win")[seat] > 0]
        mains, kickers = self._list_moves(Position.of(states[0]))
        plies = depth - self._rules.players
        return float(
            np.sum([self._value_world(state.row, mains, kickers, plies, clock) for state in states], axis=0).max()
        )


class CheatingAlphaBetaAgent(DepthLimitedAgent[State]):
    """A cheating agent that plays depth-limited alpha-beta on the true game.

    Raises:
        InvalidAgentOptionError: If there is no such option, or its value is not allowed.
    """

    cheats = True

    @takes_options(AlphaBetaOptions)
    def __init__(self, options: AlphaBetaOptions) -> None:
        super().__init__(options)

    def _draw_worlds(self, view: State, position: Position, rng: np.random.Generator) -> Words:
        return position.row[None].copy()
