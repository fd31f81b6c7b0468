"""The base of all searching agents: the positions that they refuse, and the moves played without a search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import numpy as np

from ddz_agents.worlds.determinize import Words, belief_of
from ddz_agents.worlds.inference import infer_pool
from ddz_env import Move, State, View
from ddz_env.core.actions import KICKER_BASE, MAIN_GROUPS
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.legal import finishing_action, nth_legal, write_legal_mask
from ddz_env.core.engine.step import body_cards
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import remove_hand
from ddz_env.core.rules import R_PLAYERS
from ddz_env.core.view import check_view_cards
from ddz_env.playing.agent import Decision
from ddz_env.playing.search_statistics import Belief
from ddz_env.support.arrays import WritableAfterUnpickling
from ddz_env.support.errors import IllegalMoveError, InconsistentViewError
from ddz_env.support.options import Options, Range

Milliseconds = Annotated[float, Range(0.1, 86_400_000)] | None
"""The option of a thinking time: a day at most, so that what a search expects to afford fits into 64 bits."""

ViewOrState = TypeVar("ViewOrState", bound=View | State)
"""What an agent gets to see: a view, or for one that cheats the state."""


class Position(NamedTuple):
    """A decision to search: the game as the searcher sees it, the seat to act, and the rules.

    Attributes:
        row: The searcher's view row, or a whole game; shape ``[32]``, uint64.
        seat: The searcher's seat.
        rules: The rules array.
    """

    row: Words
    seat: int
    rules: Words

    @staticmethod
    def of(view: View | State) -> Position:
        """Create a position from a view, or from a state for a search that cheats."""
        return Position(view.row, int(view.seat), view.rule_words)


def check_decision(row: Words, seat: int, rules: Words, cheats: bool) -> None:
    """Check that it is the given seat's turn, that no move is half built, and that the cards add up.

    Args:
        row: A view's row, or the whole game for a search that cheats; shape ``[32]``.
        seat: The seat that is to act.
        rules: The rules array.
        cheats: Whether every hand must be known.

    Raises:
        IllegalMoveError: If a move is half built, or it is another seat's turn.
        InconsistentViewError: If no deal agrees with the view, or a search that cheats is shown one.
    """
    if cheats:
        _check_start(row)
        _check_hands(row, rules)
    else:
        check_view(row, seat, rules)
    check_turn(row, seat)


def check_view(row: Words, seat: int, rules: Words) -> None:
    """Check that at least one deal is consistent with a view at the start of a decision.

    Args:
        row: A view's row (:func:`ddz_env.core.view.write_view`), shape ``[32]``.
        seat: The observer.
        rules: The rules array.

    Raises:
        IllegalMoveError: If the observer's move is half built.
        InconsistentViewError: If the hand sizes or the cards do not add up.

    Example:
        >>> from ddz_env import State
        >>> view = State.new(seed=1).view()
        >>> check_view(view.row, view.seat, view.rule_words)
    """
    _check_start(row)
    check_view_cards(row, seat, rules)


def check_turn(row: Words, seat: int) -> None:
    """Raise an error if a seat other than the given one is to act.

    Args:
        row: A view's row or a full row, shape ``[32]``.
        seat: The seat that is to act.

    Raises:
        IllegalMoveError: If it is another seat's.
    """
    if int(row[at.SEAT]) != seat:
        raise IllegalMoveError(f"seat {seat} cannot act: it is seat {int(row[at.SEAT])}'s turn")


def _check_start(row: Words) -> None:
    if int(row[at.STAGE]) == at.STAGE_KICKER:
        raise IllegalMoveError("a move is half built: search chooses whole moves, from the start of a decision")


def _check_hands(row: Words, rules: Words) -> None:
    """Check that a game-state array holds every hand in full, as a search that cheats needs."""
    sizes = int(row[at.SIZES])  # of a view's hands; a state has none
    for seat in range(int(rules[R_PLAYERS]) if sizes else 0):
        if int(row[at.HANDS + seat]).bit_count() != (sizes >> (8 * seat)) & 255:
            raise InconsistentViewError(f"seat {seat}'s hand is hidden: a cheating agent needs the state, not a view")


def move_without_search(root: Words, seat: int, rules: Words, finish: bool) -> Move | None:
    """Return the only legal move or a move that empties the hand, or None if a search is needed.

    Args:
        root: The row, at the start of a decision.
        seat: The seat to act.
        rules: The rules array.
        finish: Whether a move that empties the hand is taken.

    Raises:
        IllegalMoveError: If there is no legal move.
    """
    mask = np.empty(MASK_WORDS, np.uint64)
    write_legal_mask(root, rules, mask)
    total = sum(int(word).bit_count() for word in mask)
    if total == 0:
        raise IllegalMoveError("there is no legal move: the game is over")
    first = int(nth_legal(mask, np.uint64(0)))
    if total == 1 and not count_kickers(first):
        return Move(first)
    if not finish or int(root[at.STAGE]) != at.STAGE_PLAY:
        return None
    hand = root[at.HANDS + seat]
    main = np.uint64(finishing_action(hand, mask))
    return Move.from_words(int(main), int(remove_hand(hand, body_cards(main)))) if main else None


def count_kickers(action: int) -> int:
    """Return the number of kickers that a main group takes, or 0 for a bid or an answer to doubling."""
    return MAIN_GROUPS[action].kicker_count if action < KICKER_BASE else 0


class SearchAgent(WritableAfterUnpickling, ABC, Generic[ViewOrState]):
    """Base class of searching agents, which checks positions and plays forced moves without a search.

    Args:
        options: The agent's options.
    """

    cheats = False
    finish = True
    """Whether a finishing move is taken at once."""
    budget = "{0.iterations}"
    """Its budget other than time, as its name shows it: a format of the options."""
    options: Any

    def __init__(self, options: Options) -> None:
        self.options = options

    @property
    def name(self) -> str:
        """The name of the agent's class with its search budget."""
        milliseconds = getattr(self.options, "milliseconds", None)
        budget = f"{milliseconds:g}ms" if milliseconds else self.budget.format(self.options)
        return f"{type(self).__name__}({budget})"

    def act(self, view: ViewOrState, rng: np.random.Generator) -> Move:
        """Search a decision and return the chosen move."""
        return self.decide(view, rng).move

    def decide(self, view: ViewOrState, rng: np.random.Generator) -> Decision:
        """Search a position, and return the chosen move with the search's statistics.

        Raises:
            IllegalMoveError: If it is another seat's turn, a move is half built, or the game is over.
            InconsistentViewError: If no deal agrees with the view, or a search that cheats is shown one.
        """
        position = Position.of(view)
        check_decision(*position, self.cheats)
        move = move_without_search(*position, self.finish)
        if move is not None:
            return Decision(move, line=move.actions)
        return self._search(view, position, rng)

    @abstractmethod
    def _search(self, view: ViewOrState, position: Position, rng: np.random.Generator) -> Decision:
        """Search a decision with several legal moves, and return the move with the search's statistics."""


class InferringAgent(SearchAgent[View]):
    """Base class of searches whose determinizations are weighted by how likely they make past moves."""

    def believe(self, view: View, rng: np.random.Generator) -> Belief:
        """Return the belief about the hidden cards from which the agent's determinizations are drawn."""
        return belief_of(view, infer_pool(view, rng, self.options.particles))
