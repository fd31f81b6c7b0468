"""Whether a view can be searched: determinizations are drawn by compiled code, which checks nothing."""

from __future__ import annotations

from ddz_agents.worlds.determinize import Words
from ddz_env.core.engine.layout import HANDS, HIDDEN, KNOWN, LANDLORD, NO_SEAT, PLAYED, SEAT, SIZES, STAGE, STAGE_KICKER
from ddz_env.core.errors import DouDizhuError, IllegalMoveError
from ddz_env.core.notation import word_to_counts
from ddz_env.core.rules import R_DECK, R_OPEN_HANDS, R_PLAYERS


class InconsistentViewError(DouDizhuError):
    """A view whose history does not account for the cards on the table, or that no deal agrees with."""


def check_turn(row: Words, seat: int) -> None:
    """Raise unless it is a seat's turn.

    Args:
        row: A view's row or a full row, shape ``[32]``.
        seat: The seat that is asked.

    Raises:
        IllegalMoveError: If it is another seat's.
    """
    if int(row[SEAT]) != seat:
        raise IllegalMoveError(f"seat {seat} is asked to act, but it is seat {int(row[SEAT])}'s turn")


def check_start(row: Words) -> None:
    """Raise if a row stands in the middle of a move.

    Args:
        row: A view's row or a full row, shape ``[32]``.

    Raises:
        IllegalMoveError: If it does.
    """
    if int(row[STAGE]) == STAGE_KICKER:
        raise IllegalMoveError("a move is half built: search chooses whole moves, from the start of a decision")


def check_hands(row: Words, rules: Words) -> None:
    """Make sure that every hand is known: what a search that cheats must be shown.

    Args:
        row: The game, shape ``[32]``, uint64.
        rules: The rules array.

    Raises:
        InconsistentViewError: If one is not: a view was handed over in place of the state.
    """
    sizes = int(row[SIZES])  # of a view's hands; a state has none
    for seat in range(int(rules[R_PLAYERS]) if sizes else 0):
        if int(row[HANDS + seat]).bit_count() != (sizes >> (8 * seat)) & 255:
            raise InconsistentViewError(f"seat {seat}'s hand is hidden: an agent that cheats needs the state, no view")


def check_view(row: Words, seat: int, rules: Words) -> None:
    """Raise unless some deal agrees with a view at the start of a decision.

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
    check_start(row)
    _check_sizes(row, seat, rules)
    _check_cards(row, seat, rules)


def _check_sizes(row: Words, seat: int, rules: Words) -> None:
    players, landlord = int(rules[R_PLAYERS]), int(row[LANDLORD])
    sizes = [(int(row[SIZES]) >> (8 * other)) & 255 for other in range(players)]
    seen = range(players) if rules[R_OPEN_HANDS] else (seat,)
    for other in seen:
        held = int(row[HANDS + other]).bit_count()
        if held != sizes[other]:
            raise InconsistentViewError(f"seat {other}'s hand has {held} cards, its size is given as {sizes[other]}")
    if rules[R_OPEN_HANDS]:
        return
    if landlord not in (seat, NO_SEAT):
        sizes[landlord] -= int(row[KNOWN]).bit_count()
    others = [size for other, size in enumerate(sizes) if other != seat]
    pool = int(row[HIDDEN]).bit_count()
    if min(others) < 0 or sum(others) > pool:
        raise InconsistentViewError(f"seat {seat} sees {pool} unplaced cards for hands of {others}: no deal agrees")


def _check_cards(row: Words, seat: int, rules: Words) -> None:
    """Seen, played and unseen cards are the deck.  Landlord cards still in another seat's hand stand in ``KNOWN``."""
    words = [row[HIDDEN], *row[PLAYED : PLAYED + 3], *row[HANDS : HANDS + 3]]
    if not rules[R_OPEN_HANDS] and int(row[LANDLORD]) not in (seat, NO_SEAT):
        words.append(row[KNOWN])
    cards = [sum(column) for column in zip(*(word_to_counts(int(word)) for word in words), strict=True)]
    deck = list(word_to_counts(int(rules[R_DECK])))
    if cards != deck:
        raise InconsistentViewError(
            f"the hand, the played and the unseen cards are {cards} by rank; the deck is {deck}"
        )
