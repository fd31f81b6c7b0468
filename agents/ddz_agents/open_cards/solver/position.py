"""Positions with open cards, read from strings: the hands, the seat to move, the move to beat, later moves.

``KK5543 / 225543`` are two hands, the first of which leads; three hands are a game of three, the first of them the
landlord's.  Moves that have been played follow a colon: ``KK5543 / 225543: 3, 4, pass``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ddz_env import Hand, Move, Rules, State
from ddz_env.core.cards import MAX_HAND, RANK_NAMES
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.step import play_move
from ddz_env.support.errors import DouDizhuError, short_repr

_MOST_HANDS = 3


class InvalidPositionError(DouDizhuError):
    """Raised when a position string is malformed or no game can reach the position; the message says why."""


def open_position(
    text: str,
    rules: str | Rules = "standard",
    *,
    turn: int = 1,
    to_beat: str | Move | None = None,
    landlord: int = 1,
    played: int | None = None,
) -> State:
    """Create a state with all hands open from a string such as ``KK5543 / 225543``.

    Args:
        text: Two or three hands separated by ``/``; behind ``:`` the moves played from there, separated by commas.
        rules: A preset's name or a :class:`Rules`; with two hands it is played by two.
        turn: The hand that moves, from 1.
        to_beat: The move on the table; None where it leads.
        landlord: The landlord's hand, from 1; the others are one side.
        played: How many of the moves to play; all by default.

    Raises:
        InvalidPositionError: If the text is malformed, or no game can reach the position.
        InvalidHandError: If a hand cannot be read.
        InvalidMoveError: If a move cannot be read.
        IllegalMoveError: If a move is not legal in its place.
        InvalidRulesError: If the preset is unknown.

    Example:
        >>> state = open_position("KK5543 / 225543", turn=2, to_beat="4")
        >>> state.seat, [str(move) for move in state.legal_moves()]
        (1, ['pass', '5', '2'])
    """
    if not isinstance(text, str):
        raise InvalidPositionError(f"a position is text, as 'KK5543 / 225543', not {short_repr(text)}")
    cards, colon, moves = text.partition(":")
    hands = [_parse_hand(number, part) for number, part in enumerate(cards.split("/"), 1)]
    rules = _rules_for(Rules.preset(rules), len(hands))
    for name, number in (("turn", turn), ("landlord", landlord)):
        if not 1 <= number <= len(hands):
            raise InvalidPositionError(f"{name} {number} is none of the {len(hands)} hands, counted from 1")
    target = None if to_beat is None else _parse_target(to_beat, rules)
    _check_deck(hands, target, rules)
    state = State.from_hands(hands, rules=rules, check_sizes=False)
    row = state.row
    row[at.STAGE], row[at.LANDLORD], row[at.SEAT], row[at.OWNER] = at.STAGE_PLAY, landlord - 1, turn - 1, turn - 1
    if target is not None:
        _put_target_on_table(state, target, turn - 1)
    _check_sizes(state, target)
    _play_moves(state, [part.strip() for part in moves.split(",")] if colon and moves.strip() else [], played)
    return state


def deal_position(sizes: Sequence[int], rng: np.random.Generator, rules: str | Rules = "standard") -> State:
    """Deal hands of given sizes uniformly from the whole deck; the first hand is the landlord's and leads.

    Args:
        sizes: Cards of each hand.
        rng: The only source of randomness.
        rules: A preset's name or a :class:`Rules`.

    Raises:
        InvalidPositionError: If the rules deal fewer hands or cards.
    """
    rules = _rules_for(Rules.preset(rules), len(sizes))
    deck = np.repeat(np.arange(len(RANK_NAMES)), rules.deck)
    if min(sizes) < 1 or max(sizes) > MAX_HAND or sum(sizes) > len(deck):
        raise InvalidPositionError(
            f"sizes={short_repr(tuple(sizes))}: each hand needs 1..{MAX_HAND} cards, and all together at most "
            f"{len(deck)}"
        )
    cards = rng.permutation(deck)
    ends = np.cumsum(sizes).tolist()
    hands = [cards[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    text = " / ".join(str(Hand(tuple(np.bincount(hand, minlength=len(RANK_NAMES)).tolist()))) for hand in hands)
    return open_position(text, rules)


def parse_hand_sizes(text: str) -> list[int]:
    """Parse the sizes of hands to deal from a string such as ``12+13``.

    Args:
        text: Two or three numbers separated by ``+``.

    Raises:
        InvalidPositionError: If the text is something else.

    Example:
        >>> parse_hand_sizes("12+13")
        [12, 13]
    """
    sizes = text.split("+")
    if not 2 <= len(sizes) <= _MOST_HANDS or not all(size.strip().isdecimal() for size in sizes):
        raise InvalidPositionError(f"{short_repr(text)} must be sizes of two or three hands separated by '+', as 12+13")
    return [int(size) for size in sizes]


def _parse_hand(number: int, text: str) -> Hand:
    hand = Hand.parse(text.strip())
    if not len(hand):
        raise InvalidPositionError(f"hand {number} has no cards: this game is over, or there is one '/' too many")
    return hand


def _rules_for(rules: Rules, hands: int) -> Rules:
    """Return the given rules, changed to two players if a position has only two hands."""
    if not 2 <= hands <= _MOST_HANDS:
        raise InvalidPositionError(f"a position has two or three hands separated by '/', not {hands}")
    if hands == rules.players:
        return rules
    if hands > rules.players:
        raise InvalidPositionError(f"the {rules.name} rules are for two players, but there are three hands")
    return rules.replace(players=hands, bidding="fixed")


def _parse_target(to_beat: str | Move, rules: Rules) -> Move:
    move = to_beat if isinstance(to_beat, Move) else Move.parse(to_beat, rules)
    if move.is_pass or move.group is None:
        raise InvalidPositionError(f"{move} is nothing to beat: leave it out for a lead")
    return move


def _check_deck(hands: Sequence[Hand], target: Move | None, rules: Rules) -> None:
    on_table = (0,) * len(RANK_NAMES) if target is None else target.cards.counts
    for rank, name in enumerate(RANK_NAMES):
        held = sum(hand.counts[rank] for hand in hands)
        if held + on_table[rank] > rules.deck[rank]:
            where = f", {on_table[rank]} of them on the table" if on_table[rank] else ""
            raise InvalidPositionError(
                f"there are {held + on_table[rank]} cards of rank {name}{where}; the deck has {rules.deck[rank]}"
            )


def _put_target_on_table(state: State, target: Move, seat: int) -> None:
    """Put the move to beat on the table, as played by the seat before the one to move."""
    row = state.row
    owner = (seat - 1) % state.rules.players
    kept_hand = row[at.HANDS + owner].copy()
    whole = Hand(tuple(a + b for a, b in zip(state.hand(owner).counts, target.cards.counts, strict=True)))
    row[at.HANDS + owner], row[at.SEAT] = whole.word, owner
    if target not in state.legal_moves():
        raise InvalidPositionError(f"hand {owner + 1} could not have played {target}: the rules have no such move")
    play_move(row, *target.words, state.rule_words)
    row[at.HANDS + owner], row[at.SEAT] = kept_hand, seat


def _check_sizes(state: State, target: Move | None) -> None:
    """Check that no hand holds more cards than it was dealt, the cards of the move to beat included."""
    rules, row = state.rules, state.row
    for seat in range(rules.players):
        most = rules.hand_size + (rules.bottom if seat == int(row[at.LANDLORD]) or rules.players == 2 else 0)
        owns = target is not None and seat == int(row[at.OWNER])
        held = len(state.hand(seat)) + (len(target.cards) if target is not None and owns else 0)
        if held > min(most, MAX_HAND):
            beside = ", the move to beat included" if owns else ""
            raise InvalidPositionError(f"hand {seat + 1} has {held} cards{beside}; it is dealt at most {most}")


def _play_moves(state: State, moves: Sequence[str], played: int | None) -> None:
    if played is not None and not 0 <= played <= len(moves):
        raise InvalidPositionError(f"move {played} is none of the game's {len(moves)}")
    for number, text in enumerate(moves[:played], 1):
        if state.is_over:
            raise InvalidPositionError(f"the game is over before move {number}, {short_repr(text)}")
        state.step(text)
