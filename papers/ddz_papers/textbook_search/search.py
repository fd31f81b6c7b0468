"""Depth-limited minimax and alpha-beta search of a game with open hands, after Russell and Norvig's textbook.

(Russell and Norvig, *Artificial Intelligence*, chapter 5.)  The landlord is MAX and the peasants are MIN; a seat is
followed by its partner or by an enemy, so two levels of MIN may follow each other.  A position at the depth limit gets
its evaluation, unless it is not *quiet*; a table keeps what has been searched; a *singular* move, better than all
others by far or the only one, costs no depth.  Values are those of the landlord.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.position import evaluate_position, new_evaluation_workspace, set_position_prices
from ddz_agents.rules.prices import is_bomb
from ddz_env.core.engine.layout import BOMBS_ONLY, HANDS, LANDLORD, OWNER, ROW_WORDS, SEAT, STAGE, STAGE_OVER, TARGET
from ddz_env.core.engine.legal import bomb_ranks, finishing_action, holds_rocket, write_legal_mask
from ddz_env.core.engine.score import landlord_won
from ddz_env.core.engine.step import next_seat
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0
from ddz_env.support.compiling import part_kernel, pure_kernel
from ddz_papers import search_stack as at
from ddz_papers.search_stack import SearchStack, look_up, new_stack, new_table, play_stack_move, position_key, store
from ddz_papers.textbook_search.candidates import SearchMemory, move_to_front, push_moves

MAX_PLIES = 128
"""Positions on one line of play; deeper ones are evaluated."""
STACK = 1 << 14
"""Legal moves on one line of play, all its positions together; further ones are not searched."""
QUIET_PLIES = 12
"""Plies by which quiescence goes beyond the depth, at most."""
QUIET_REPLIES = 2
"""Replies that quiescence looks at, besides pass and the bombs."""
NOTHING, BOMBS, WHOLE_TRICK = np.int64(0), np.int64(1), np.int64(2)
"""What quiescence searches on: nothing, open tricks that somebody can bomb, or every open trick."""
SINGULAR_DEPTH = 3
"""Depth from which a search looks for singular moves."""

MAX_SCORE = 1000
"""Evaluations, in hundredths, lie between this and its negative; a finished game has one of the two."""
NO_BOUND, LOWER, UPPER, EXACT = np.int64(0), np.int64(1), np.int64(2), np.int64(3)
"""The kind of bound that a value in the table is; ``NO_BOUND`` for none."""
_LEAST, _MOST = -1e9, 1e9
_HUNDRED = 100.0
_BOMBS_ONLY = np.uint64(BOMBS_ONLY)


class Settings(NamedTuple):
    """The settings of a depth-limited search, in the form that compiled code reads.

    Attributes:
        pruning: Alpha-beta; without it plain minimax.
        quiescence: What to search on at the depth limit: ``NOTHING``, ``BOMBS`` or ``WHOLE_TRICK``.
        singular: By how much, in values, a move must be better than all others to be searched a ply deeper; 0 never.
        table: Use the transposition table.
    """

    pruning: np.bool_
    quiescence: np.int64
    singular: np.float64
    table: np.bool_


def win_rate_scale() -> npt.NDArray[np.float64]:
    """Return a lookup table of win rates: the logistic function of evaluations, with 0 and 1 at the ends."""
    scale = 1.0 / (1.0 + np.exp(-np.arange(-MAX_SCORE, MAX_SCORE + 1) / 100.0))
    scale[0], scale[-1] = 0.0, 1.0
    return scale


def new_search_memory(
    rules: npt.NDArray[np.uint64], weights: npt.NDArray[np.float64], table_bits: int = 16
) -> SearchMemory:
    """Create the memory of a depth-limited search, for use by one thread.

    Args:
        rules: The rules array.
        weights: What the features of a position count (``POSITION``).
        table_bits: The transposition table has ``2 ** table_bits`` entries of 48 bytes.
    """
    frame = dict.fromkeys(("depth", "place", "deeper", "shallow"), "i8")
    frame |= dict.fromkeys(("alpha", "beta", "low", "high", "second"), "f8")
    table = new_table(table_bits, main="u8", kickers="u8", depth="i8")
    stack = new_stack(rules, MAX_PLIES, STACK, 1 << 40, table, **frame)
    scores, mask = np.zeros(STACK, np.int64), np.zeros(MASK_WORDS, np.uint64)
    return SearchMemory(stack, scores, mask, new_evaluation_workspace(), weights, win_rate_scale())


@part_kernel
def value_of_position(space: SearchMemory, ply: int) -> float:
    """Return the landlord's estimated win rate in the position at a ply, without search."""
    odds = evaluate_position(space.stack.rows[ply], space.stack.rules, space.appraiser, space.weights)
    hundredths = np.int64(np.floor(odds * _HUNDRED + 0.5))
    return space.scale[MAX_SCORE + min(MAX_SCORE - 1, max(1 - MAX_SCORE, hundredths))]


@part_kernel
def is_quiet(row: np.ndarray, rules: np.ndarray, quiescence: int) -> bool:
    """Return whether a position is quiet: no trick is open or, where only bombs count, nobody can bomb it."""
    target = row[TARGET]
    if target == U0 or quiescence == NOTHING:
        return True
    if quiescence == WHOLE_TRICK:
        return False
    if target != _BOMBS_ONLY and is_bomb(target, rules):
        return True
    seat = row[SEAT]
    while seat != row[OWNER]:
        hand = row[HANDS + np.int64(seat)]
        if bomb_ranks(hand, rules) != U0 or holds_rocket(hand, rules):
            return False
        seat = next_seat(seat, rules)
    return True


@part_kernel
def _keep_bombs(stack: SearchStack, ply: int) -> None:
    """Reduce the moves at a ply to those of quiescence search: pass, bombs and the most promising others."""
    frame, mains, kickers = stack.frames[ply], stack.mains, stack.kickers
    stop, others = frame.first, 0
    for index in range(frame.first, frame.stop):
        bomb = mains[index] == U0 or is_bomb(mains[index], stack.rules)
        if not bomb:
            others += 1
        if bomb or others <= QUIET_REPLIES:
            mains[stop], kickers[stop] = mains[index], kickers[index]
            stop += 1
    frame.stop = stop


@part_kernel
def _evaluate_if_leaf(space: SearchMemory, ply: int, depth: int, settings: Settings) -> tuple[bool, float]:
    """Return whether the position at a ply needs no search and, if so, its value.

    The game is over or the next move ends it, the search has run out of positions, or the depth limit is reached and
    the position is quiet.  Otherwise its legal actions are in ``space.mask``.
    """
    row, counters, scale = space.stack.rows[ply], space.stack.counters, space.scale
    counters[at.NODES] += 1
    if row[STAGE] == STAGE_OVER:
        return True, scale[2 * MAX_SCORE] if landlord_won(row) else scale[0]
    if counters[at.NODES] > counters[at.LIMIT]:
        counters[at.STOPPED] = 1
        return True, scale[MAX_SCORE]
    if depth <= 0 or ply + 2 >= MAX_PLIES:
        if depth <= -QUIET_PLIES or ply + 2 >= MAX_PLIES or is_quiet(row, space.stack.rules, settings.quiescence):
            return True, value_of_position(space, ply)
    write_legal_mask(row, space.stack.rules, space.mask)
    if finishing_action(row[HANDS + np.int64(row[SEAT])], space.mask) != U0:
        return True, scale[2 * MAX_SCORE] if row[SEAT] == row[LANDLORD] else scale[0]
    return False, 0.0


@part_kernel
def _look_up_bound(space: SearchMemory, ply: int, depth: int) -> tuple[int, float]:
    """Look up a position searched to the same depth; return the kind of bound (0 for none) and the value.

    An entry of another depth gives its best move alone, so that the table changes no value.
    """
    stack, frame = space.stack, space.stack.frames[ply]
    known, value = look_up(stack, ply, position_key(stack.rows[ply], space.appraiser.salt[0]))
    if not known:
        return NO_BOUND, 0.0
    entry = stack.table[frame.slot]
    move_to_front(stack, frame.first, frame.stop, entry.main, entry.kickers)
    return entry.depth % 4 if entry.depth // 4 == depth else NO_BOUND, value


@part_kernel
def _open_position(
    space: SearchMemory, ply: int, depth: int, alpha: float, beta: float, settings: Settings
) -> tuple[bool, float]:
    """Evaluate the position at a ply or push its moves; return whether the value is known, and the value."""
    decided, value = _evaluate_if_leaf(space, ply, depth, settings)
    if decided:
        return True, value
    frame = space.stack.frames[ply]
    frame.depth, frame.alpha, frame.beta, frame.low, frame.high = depth, alpha, beta, alpha, beta
    push_moves(space, ply)
    if depth <= 0:
        _keep_bombs(space.stack, ply)
    elif settings.table:
        bound, value = _look_up_bound(space, ply, depth)
        if bound == EXACT or (bound == LOWER and value >= beta) or (bound == UPPER and value <= alpha):
            return True, value
    choice, singular = frame.stop - frame.first > 1, settings.singular > 0.0
    frame.deeper = 1 if singular and not choice else 0
    frame.shallow = 1 if singular and choice and depth >= SINGULAR_DEPTH else 0
    _begin_moves(space.stack, ply)
    return False, 0.0


@part_kernel
def _begin_moves(stack: SearchStack, ply: int) -> None:
    """Reset the move cursor and the best values at a ply before the first move is searched."""
    frame = stack.frames[ply]
    frame.cursor, frame.place, frame.best, frame.second = frame.first, frame.first, _LEAST, _LEAST


@part_kernel
def _credit_move(stack: SearchStack, ply: int, value: float, settings: Settings) -> None:
    """Update the best values and the alpha-beta window at a ply with the value of the last move."""
    frame = stack.frames[ply]
    maximizing = stack.rows[ply, SEAT] == stack.rows[ply, LANDLORD]
    mover_value = value if maximizing else -value
    if mover_value > frame.best:
        frame.second, frame.best, frame.place = frame.best, mover_value, frame.cursor - 1
    else:
        frame.second = max(frame.second, mover_value)
    if settings.pruning and frame.shallow == 0:
        if maximizing:
            frame.low = max(frame.low, frame.best)
        else:
            frame.high = min(frame.high, -frame.best)


@part_kernel
def _next_child(stack: SearchStack, ply: int, settings: Settings) -> bool:
    """Play the next move at a ply; return False if no move is left or all others are pruned."""
    frame = stack.frames[ply]
    if frame.shallow == 1 and frame.cursor == frame.stop:
        # All moves have been searched two plies shallower: is one better than all others by far?
        move_to_front(stack, frame.first, frame.stop, stack.mains[frame.place], stack.kickers[frame.place])
        frame.deeper, frame.shallow = 1 if frame.best - frame.second >= settings.singular else 0, 0
        _begin_moves(stack, ply)
    if frame.cursor == frame.stop or frame.low >= frame.high:
        return False
    play_stack_move(stack, ply, frame.cursor)
    stack.frames[ply + 1].first = frame.stop
    frame.cursor += 1
    return True


@part_kernel
def _child_window(stack: SearchStack, ply: int) -> tuple[int, float, float]:
    """Return the remaining depth and the alpha-beta window for the child position of a ply."""
    frame = stack.frames[ply]
    if frame.shallow == 1:
        return frame.depth - 3, _LEAST, _MOST
    more = frame.deeper if frame.cursor - 1 == frame.first else np.int64(0)
    return frame.depth - 1 + more, frame.low, frame.high


@part_kernel
def _close_position(stack: SearchStack, ply: int, settings: Settings) -> float:
    """Return the final value of a searched position, and store it in the transposition table."""
    frame, row = stack.frames[ply], stack.rows[ply]
    value = frame.best if row[SEAT] == row[LANDLORD] else -frame.best
    if settings.table and frame.depth > 0 and stack.counters[at.STOPPED] == 0:
        bound, entry = EXACT, stack.table[frame.slot]
        if value <= frame.alpha:
            bound = UPPER
        elif value >= frame.beta:
            bound = LOWER
        store(stack, ply, value)
        entry.main, entry.kickers = stack.mains[frame.place], stack.kickers[frame.place]
        entry.depth = frame.depth * 4 + bound
    return value


@part_kernel
def search_position(space: SearchMemory, root: int, depth: int, alpha: float, beta: float, settings: Settings) -> float:
    """Compute the value of the position at a ply by depth-limited search.

    Args:
        space: The search; the root's row is set, and in its frame where its moves begin.
        root: The position.
        depth: Plies to search; none or fewer: evaluate it once it is quiet.
        alpha: What the landlord has for certain elsewhere.
        beta: What the peasants can hold him to elsewhere.
        settings: How to search.

    Returns:
        The value, or a bound on it where it lies outside the window.
    """
    ply, remaining, low, high = root, depth, alpha, beta
    while True:
        decided, value = _open_position(space, ply, remaining, low, high, settings)
        while True:
            if decided:
                if ply == root:
                    return value
                ply -= 1
                _credit_move(space.stack, ply, value, settings)
            if _next_child(space.stack, ply, settings):
                break
            decided, value = True, _close_position(space.stack, ply, settings)
        remaining, low, high = _child_window(space.stack, ply)
        ply += 1


@pure_kernel
def value_moves(
    space: SearchMemory,
    world: npt.NDArray[np.uint64],
    w: npt.NDArray[np.int64],
    mains: npt.NDArray[np.uint64],
    kickers: npt.NDArray[np.uint64],
    depth: int,
    settings: Settings,
    values: npt.NDArray[np.float64],
) -> None:
    """Compute every move's value for the deciding seat by search, in one game with all hands known.

    Args:
        space: Memory; ``space.stack.counters`` counts on.
        world: The game, nothing hidden, in the play stage; shape ``[32]``, uint64.
        w: The weights of the prices (``WEIGHTS``).
        mains: The moves, main groups, shape ``[n]``.
        kickers: Their kickers as hands, shape ``[n]``.
        depth: Plies, the move itself included.
        settings: How to search.
        values: Output, shape ``[n]``: exact values, the greater the better for the seat.
    """
    stack = space.stack
    set_position_prices(world, stack.rules, space.appraiser, w)
    sign = 1.0 if world[SEAT] == world[LANDLORD] else -1.0
    for word in range(ROW_WORDS):
        stack.rows[0, word] = world[word]
    stack.frames[1].first = 1
    for index in range(mains.size):
        stack.mains[0], stack.kickers[0] = mains[index], kickers[index]
        play_stack_move(stack, 0, 0)
        values[index] = sign * search_position(space, 1, depth - 1, _LEAST, _MOST, settings)
