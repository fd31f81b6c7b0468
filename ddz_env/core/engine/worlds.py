"""Sampling of full games that agree with a seat's knowledge (determinizations), and random playouts."""

from __future__ import annotations

import numpy as np

from ddz_env.core.engine import layout as at
from ddz_env.core.engine.deal import distribute_cards
from ddz_env.core.engine.playout import draw_action
from ddz_env.core.engine.random import stream_state
from ddz_env.core.engine.score import write_returns
from ddz_env.core.engine.step import apply_action
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1, U2, U8, U16, U32, U48, add_hand, popcount
from ddz_env.core.rules import R_BOTTOM_SIZE, R_OPEN_HANDS
from ddz_env.support.compiling import inline_kernel, kernel, part_kernel

_NO_SEAT = np.uint64(at.NO_SEAT)
_BYTE = np.uint64(0xFF)


@part_kernel
def set_landlord_cards_aside(row: np.ndarray, rules: np.ndarray) -> None:
    """Move the cards that are in no hand from ``HIDDEN`` to ``BOTTOM`` if they are the landlord cards of an auction.

    Args:
        row: A game in which every hand is known, shape ``[32]``, changed in place.
        rules: The rules array.
    """
    if row[at.LANDLORD] == _NO_SEAT and rules[R_BOTTOM_SIZE] == popcount(row[at.HIDDEN]):
        row[at.BOTTOM], row[at.HIDDEN] = row[at.HIDDEN], U0


@inline_kernel
def determinize(view: np.ndarray, seat: np.uint64, rules: np.ndarray, state: np.uint64, row: np.ndarray) -> np.uint64:
    """Fill in the hidden hands of a view at random, with every consistent deal of the cards equally likely.

    The face-up landlord cards that the landlord has not played stay with the landlord; cards that are in no hand stay
    undealt; before the auction has ended three of them are the bottom.  Under unshuffled rules the deals of cards are
    not equally likely; they are drawn as if they were.

    Args:
        view: The observer's row (:func:`ddz_env.core.view.write_view`), shape ``[32]``.
        seat: The observer.
        rules: The rules array.
        state: The generator's state.
        row: Output, shape ``[32]``.

    Returns:
        The generator's new state.
    """
    for word in range(at.ROW_WORDS):
        row[word] = view[word]
    row[at.RNG] = state
    row[at.SIZES] = U0
    if rules[R_OPEN_HANDS] == U1:
        set_landlord_cards_aside(row, rules)
        return state
    landlord = view[at.LANDLORD]
    slots = U0
    for other in range(3):
        index = np.uint64(other)
        size = (view[at.SIZES] >> (U8 * index)) & _BYTE
        if index == seat:
            size = U0
        elif index == landlord:
            size -= popcount(view[at.KNOWN])
        slots |= size << (U16 * index)
    unplaced = popcount(view[at.HIDDEN]) - (slots & np.uint64(0xFFFF))
    unplaced -= ((slots >> U16) & np.uint64(0xFFFF)) + ((slots >> U32) & np.uint64(0xFFFF))
    slots |= unplaced << U48
    hand0, hand1, hand2, rest, state = distribute_cards(view[at.HIDDEN], slots, state)
    row[at.HIDDEN] = rest
    set_landlord_cards_aside(row, rules)
    if seat != U0:
        row[at.HANDS] = hand0
    if seat != U1:
        row[at.HANDS + 1] = hand1
    if seat != U2:
        row[at.HANDS + 2] = hand2
    if landlord != _NO_SEAT and landlord != seat:
        own = at.HANDS + np.int64(landlord)
        row[own] = add_hand(row[own], view[at.KNOWN])
    return state


@kernel
def sample_world(view: np.ndarray, seat: np.uint64, rules: np.ndarray, state: np.uint64, row: np.ndarray) -> bool:
    """Fill in the hidden hands of a view at random; return False if there are too few hidden cards."""
    needed = np.int64(0)
    for other in range(3):
        if np.uint64(other) != seat:
            needed += np.int64((view[at.SIZES] >> (U8 * np.uint64(other))) & _BYTE)
    if view[at.LANDLORD] != _NO_SEAT and view[at.LANDLORD] != seat:
        needed -= np.int64(popcount(view[at.KNOWN]))
    if rules[R_OPEN_HANDS] == U0 and not 0 <= needed <= np.int64(popcount(view[at.HIDDEN])):
        return False
    determinize(view, seat, rules, state, row)
    fits = True
    for other in range(3):
        fits &= popcount(row[at.HANDS + other]) == (view[at.SIZES] >> (U8 * np.uint64(other))) & _BYTE
    return fits


@kernel
def sample_hands(view: np.ndarray, seat: np.uint64, rules: np.ndarray, state: np.uint64, hands: np.ndarray) -> None:
    """Draw the hidden cards of a view several times, and write the hands and undealt cards, shape ``[n, 4]``.

    Args:
        view: The observer's row, shape ``[32]``.
        seat: The observer.
        rules: The rules array.
        state: The generator's state.
        hands: Output: the hands of the three seats and the cards that none of them holds, shape ``[n, 4]``, uint64.
    """
    row = np.empty(at.ROW_WORDS, np.uint64)
    for index in range(hands.shape[0]):
        state = determinize(view, seat, rules, state, row)
        for other in range(3):
            hands[index, other] = row[at.HANDS + other]
        hands[index, 3] = row[at.HIDDEN]
        if view[at.LANDLORD] == _NO_SEAT and row[at.HIDDEN] == U0:
            hands[index, 3] = row[at.BOTTOM]


@kernel
def play_to_end(row: np.ndarray, rules: np.ndarray, state: np.uint64) -> None:
    """Play a game to its end in place with uniformly random actions."""
    mask = np.empty(MASK_WORDS, np.uint64)
    while row[at.STAGE] != at.STAGE_OVER:
        action, state = draw_action(row, rules, mask, state)
        apply_action(row, action, rules)


@kernel
def play_to_end_repeatedly(
    row: np.ndarray, rules: np.ndarray, seed: np.uint64, scoring: int, peasant_reward: float, returns: np.ndarray
) -> None:
    """Play several copies of a game to the end with random actions, and write the returns, shape ``[n, 3]``.

    Args:
        row: The game; it stays as it is.
        rules: The rules array.
        seed: The seed; playout ``i`` uses stream ``i``.
        scoring: One of the ``SCORE_`` constants.
        peasant_reward: Of the rules.
        returns: Output: each seat's return, shape ``[n, 3]``, float64.
    """
    game, mask = np.empty(at.ROW_WORDS, np.uint64), np.empty(MASK_WORDS, np.uint64)
    for index in range(returns.shape[0]):
        game[:] = row
        state = stream_state(seed, np.uint64(index))
        while game[at.STAGE] != at.STAGE_OVER:
            action, state = draw_action(game, rules, mask, state)
            apply_action(game, action, rules)
        write_returns(game, rules, scoring, peasant_reward, returns[index])
