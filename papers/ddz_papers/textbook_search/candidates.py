"""The moves of a position that a search considers, the most promising first.

A seat that leads tries the moves of its cheapest split (by prices, and by losers), one that follows every reply with
the kickers that cost its hand least, and pass.  That leaves out leads that break the split up.  The order matters to
alpha-beta alone: a lead is as promising as it is dear to keep, a reply as the hand gets cheaper by it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.candidates import insert_candidate
from ddz_agents.rules.decomposition import split_hand, write_split
from ddz_agents.rules.position import EvaluationWorkspace, evaluate_hand, workspace_of_side
from ddz_agents.rules.prices import is_bomb, price_of_main
from ddz_agents.rules.rules import choose_kickers, lowest_kickers
from ddz_agents.rules.workspace import KICKERS, MAINS, RuleWorkspace
from ddz_env.core.engine.layout import HANDS, SEAT, TARGET
from ddz_env.core.engine.legal import is_legal_action, nth_legal
from ddz_env.core.engine.step import body_cards
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1, lowest_bit, remove_hand
from ddz_env.support.compiling import part_kernel, pure_kernel
from ddz_papers.search_stack import SearchStack

_BOMB = 1000
_U64 = np.uint64(64)


class SearchMemory(NamedTuple):
    """The memory of one depth-limited search: the stack, move scores, and the weights of the evaluation.

    Attributes:
        stack: The line of play, the moves, the table and the counters.
        scores: How promising the moves are, shape ``[moves]``, int64.
        mask: Legal actions, shape ``[MASK_WORDS]``, uint64.
        appraiser: Prices of hands.
        weights: What the features of a position count, shape ``[12]``, float64.
        scale: The value of every evaluation from ``-SURE`` to ``SURE``, rising; shape ``[2 * SURE + 1]``, float64.
    """

    stack: SearchStack
    scores: npt.NDArray[np.int64]
    mask: npt.NDArray[np.uint64]
    appraiser: EvaluationWorkspace
    weights: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]


@pure_kernel
def _push(space: SearchMemory, first: int, stop: int, main: np.uint64, kickers: np.uint64, score: int) -> int:
    """Insert a new move by its score into the sorted moves from ``first`` on; return the end index."""
    mains, riders = space.stack.mains[first:], space.stack.kickers[first:]
    for index in range(stop - first):
        if mains[index] == main and riders[index] == kickers:
            return stop
    return first + insert_candidate(mains, riders, space.scores[first:], stop - first, main, kickers, score)


@pure_kernel
def _push_split(space: SearchMemory, first: int, stop: int, count: int, workspace: RuleWorkspace) -> int:
    """Push the legal moves of the hand decomposition that was written last; return the end index."""
    memory = workspace.scratch.memory
    for index in range(count):
        main = memory[MAINS + index]
        if is_legal_action(space.mask, main):
            score = price_of_main(main, workspace)
            if is_bomb(main, space.stack.rules):
                score -= _BOMB
            stop = _push(space, first, stop, main, memory[KICKERS + index], score)
    return stop


@part_kernel
def _push_leads(space: SearchMemory, row: np.ndarray, first: int) -> int:
    """Push the legal moves of the two cheapest decompositions of the hand; return the end index."""
    seat = row[SEAT]
    hand, workspace = row[HANDS + np.int64(seat)], workspace_of_side(row, seat, space.appraiser)
    split_hand(hand, workspace)
    stop = _push_split(space, first, first, write_split(False, workspace), workspace)
    stop = _push_split(space, first, stop, write_split(True, workspace), workspace)
    if stop == first:
        main = nth_legal(space.mask, U0)
        stop = _push(space, first, stop, main, lowest_kickers(row, hand, main, space.stack.rules), np.int64(0))
    return stop


@part_kernel
def _push_replies(space: SearchMemory, row: np.ndarray, first: int) -> int:
    """Push the pass, and every legal reply with its cheapest kickers; return the end index."""
    seat = row[SEAT]
    hand, workspace = row[HANDS + np.int64(seat)], workspace_of_side(row, seat, space.appraiser)
    before, _, _ = evaluate_hand(hand, row, seat, space.appraiser)
    stop = _push(space, first, first, U0, U0, np.int64(0))
    for word in range(MASK_WORDS):
        bits = space.mask[word]
        while bits != U0:
            main = np.uint64(word) * _U64 + lowest_bit(bits)
            bits &= bits - U1
            if main != U0:
                kickers = choose_kickers(row, hand, main, space.stack.rules, workspace)
                rest = remove_hand(remove_hand(hand, body_cards(main)), kickers)
                after, _, _ = evaluate_hand(rest, row, seat, space.appraiser)
                stop = _push(space, first, stop, main, kickers, before - after)
    return stop


@part_kernel
def push_moves(space: SearchMemory, ply: int) -> None:
    """Append the moves of the position at a ply to the move stack, after those of the previous ply.

    Args:
        space: The search; ``space.mask`` holds the position's legal actions, and its frame where the moves begin.
        ply: The position, in the play stage.
    """
    row, frame = space.stack.rows[ply], space.stack.frames[ply]
    if row[TARGET] == U0:
        frame.stop = _push_leads(space, row, frame.first)
    else:
        frame.stop = _push_replies(space, row, frame.first)


@pure_kernel
def move_to_front(stack: SearchStack, first: int, stop: int, main: np.uint64, kickers: np.uint64) -> None:
    """Bring a move to the front of the moves from ``first`` to ``stop``, if it is among them."""
    mains, riders = stack.mains, stack.kickers
    for index in range(first, stop):
        if mains[index] == main and riders[index] == kickers:
            for position in range(index, first, -1):
                mains[position], riders[position] = mains[position - 1], riders[position - 1]
            mains[first], riders[first] = main, kickers
            return
