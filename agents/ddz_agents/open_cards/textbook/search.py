"""Depth-limited minimax and alpha-beta on a game with open hands, after the textbook.

(Russell and Norvig, *Artificial Intelligence*, chapter 5.)  The landlord is MAX and the peasants are MIN; a seat is
followed by its partner or by an enemy, so two levels of MIN may follow each other.  A position at the depth limit gets
its evaluation, unless it is not *quiet*; a table keeps what has been searched; a *singular* move, better than all
others by far or the only one, costs no depth.  Values are those of the landlord.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ddz_agents.open_cards.minimax import fold, trick_word
from ddz_agents.open_cards.textbook.candidates import look_at, push_moves, to_front
from ddz_agents.open_cards.textbook.space import (
    ALPHA,
    BEST,
    BETA,
    CURSOR,
    DEEPER,
    DEPTH,
    EXACT,
    FRESH,
    HIGH,
    LIMIT,
    LOW,
    LOWER,
    MAX_PLIES,
    NODES,
    NOTHING,
    PLACE,
    QUIET_PLIES,
    QUIET_REPLIES,
    SECOND,
    SHALLOW,
    SINGULAR_DEPTH,
    SLOT,
    STOP,
    STOPPED,
    SURE,
    UPPER,
    WHOLE_TRICK,
    Settings,
    Space,
)
from ddz_agents.rules.position import evaluate, set_position
from ddz_agents.rules.prices import is_bomb
from ddz_agents.tree_search.simulate import landlord_won
from ddz_env.core.engine.compiling import inline_kernel, part_kernel, pure_kernel
from ddz_env.core.engine.layout import BOMBS_ONLY, HANDS, LANDLORD, OWNER, ROW_WORDS, SEAT, STAGE, STAGE_OVER, TARGET
from ddz_env.core.engine.legal import bombs_in, finishing_action, holds_rocket
from ddz_env.core.engine.step import next_seat, pass_turn, play_lightly
from ddz_env.core.engine.words import U0, U4

_LEAST, _MOST = -1e9, 1e9
_HUNDRED = 100.0
_BOMBS_ONLY = np.uint64(BOMBS_ONLY)


@inline_kernel
def _code(space: Space, row: np.ndarray) -> tuple[np.uint64, np.uint64]:
    """The 128 bits of a position, of these prices."""
    code = fold((space.appraiser.salt[0], U0), row[HANDS])
    code = fold(code, row[HANDS + 1])
    code = fold(code, row[HANDS + 2])
    return fold(code, (trick_word(row) << U4) | row[LANDLORD])


@part_kernel
def value_of_position(space: Space, ply: int) -> float:
    """The value of a position without search."""
    odds = evaluate(space.rows[ply], space.rules, space.appraiser, space.weights)
    place = np.int64(np.floor(odds * _HUNDRED + 0.5))
    return space.scale[SURE + min(SURE - 1, max(1 - SURE, place))]


@part_kernel
def is_quiet(row: np.ndarray, rules: np.ndarray, quiescence: int) -> bool:
    """Whether the trick is closed, or, if only bombs are searched on, nobody who still acts in it can bomb it."""
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
        if bombs_in(hand, rules) != U0 or holds_rocket(hand, rules):
            return False
        seat = next_seat(seat, rules)
    return True


@inline_kernel
def _step(space: Space, ply: int, index: int) -> None:
    """Play a move of the stack from the position at a ply; the next ply has what follows."""
    row = space.rows[ply + 1]
    for word in range(ROW_WORDS):
        row[word] = space.rows[ply, word]
    if space.mains[index] == U0:
        pass_turn(row, space.rules)
    else:
        play_lightly(row, space.mains[index], space.kickers[index], space.rules)


@part_kernel
def _keep_bombs(space: Space, first: int, stop: int) -> int:
    """Keep what quiescence looks at: pass, bombs and the most promising other replies; the new end."""
    kept, others = first, 0
    for index in range(first, stop):
        main = space.mains[index]
        bomb = main == U0 or is_bomb(main, space.rules)
        if not bomb:
            others += 1
        if bomb or others <= QUIET_REPLIES:
            space.mains[kept], space.kickers[kept] = main, space.kickers[index]
            kept += 1
    return kept


@part_kernel
def _known_at_once(space: Space, ply: int, depth: int, settings: Settings) -> tuple[bool, float]:
    """Whether the position at a ply needs no search, and its value then.

    The game is over or the next move ends it, the search has run out of positions, or the depth limit is reached and
    the position is quiet.  Otherwise its legal actions stand in ``space.mask``.
    """
    row = space.rows[ply]
    space.counters[NODES] += 1
    if row[STAGE] == STAGE_OVER:
        return True, space.scale[2 * SURE] if landlord_won(row) else space.scale[0]
    if space.counters[NODES] > space.counters[LIMIT]:
        space.counters[STOPPED] = 1
        return True, space.scale[SURE]
    if depth <= 0 or ply + 2 >= MAX_PLIES:
        if depth <= -QUIET_PLIES or ply + 2 >= MAX_PLIES or is_quiet(row, space.rules, settings.quiescence):
            return True, value_of_position(space, ply)
    look_at(space, ply)
    if finishing_action(row[HANDS + np.int64(row[SEAT])], space.mask) != U0:
        return True, space.scale[2 * SURE] if row[SEAT] == row[LANDLORD] else space.scale[0]
    return False, 0.0


@part_kernel
def _look_up(space: Space, ply: int, depth: int) -> tuple[int, float]:
    """What the table says of a position that is searched to a depth: which bound (0: none), and its value.

    An entry of another depth gives its best move alone, so that the table changes no value.
    """
    slot, plan = space.plan[ply, SLOT], space.plan[ply]
    if space.keys[slot, 0] != space.codes[ply, 0] or space.keys[slot, 1] != space.codes[ply, 1]:
        return FRESH, 0.0
    to_front(space, space.top[ply], plan[STOP], space.best[slot, 0], space.best[slot, 1])
    return space.depths[slot] % 4 if space.depths[slot] // 4 == depth else FRESH, space.values[slot]


@part_kernel
def _open(space: Space, ply: int, depth: int, alpha: float, beta: float, settings: Settings) -> tuple[bool, float]:
    """Begin with the position at a ply: whether its value is known already, and the value."""
    known, value = _known_at_once(space, ply, depth, settings)
    if known:
        return True, value
    plan, bounds, first = space.plan[ply], space.bounds[ply], space.top[ply]
    plan[DEPTH], plan[STOP] = depth, push_moves(space, ply, settings.whole)
    bounds[ALPHA], bounds[BETA], bounds[LOW], bounds[HIGH] = alpha, beta, alpha, beta
    if depth <= 0:
        plan[STOP] = _keep_bombs(space, first, plan[STOP])
    elif settings.table:
        space.codes[ply, 0], space.codes[ply, 1] = _code(space, space.rows[ply])
        plan[SLOT] = np.int64(space.codes[ply, 1] & np.uint64(space.values.size - 1))
        bound, value = _look_up(space, ply, depth)
        if bound == EXACT or (bound == LOWER and value >= beta) or (bound == UPPER and value <= alpha):
            return True, value
    choice, singular = plan[STOP] - first > 1, settings.singular > 0.0
    plan[DEEPER] = 1 if singular and not choice else 0
    plan[SHALLOW] = 1 if singular and choice and depth >= SINGULAR_DEPTH else 0
    _begin(space, ply)
    return False, 0.0


@part_kernel
def _begin(space: Space, ply: int) -> None:
    """Stand before the first move of a position."""
    space.plan[ply, CURSOR], space.plan[ply, PLACE] = space.top[ply], space.top[ply]
    space.bounds[ply, BEST], space.bounds[ply, SECOND] = _LEAST, _LEAST


@part_kernel
def _credit(space: Space, ply: int, value: float, settings: Settings) -> None:
    """Count the value of the move that was played last from the position at a ply."""
    plan, bounds = space.plan[ply], space.bounds[ply]
    maximizing = space.rows[ply, SEAT] == space.rows[ply, LANDLORD]
    own = value if maximizing else -value
    if own > bounds[BEST]:
        bounds[SECOND], bounds[BEST], plan[PLACE] = bounds[BEST], own, plan[CURSOR] - 1
    else:
        bounds[SECOND] = max(bounds[SECOND], own)
    if settings.pruning and plan[SHALLOW] == 0:
        if maximizing:
            bounds[LOW] = max(bounds[LOW], bounds[BEST])
        else:
            bounds[HIGH] = min(bounds[HIGH], -bounds[BEST])


@part_kernel
def _next_child(space: Space, ply: int, settings: Settings) -> bool:
    """Play the next move from the position at a ply; false if none is left, or none matters."""
    plan, bounds, first = space.plan[ply], space.bounds[ply], space.top[ply]
    if plan[SHALLOW] == 1 and plan[CURSOR] == plan[STOP]:
        # All moves have been searched two plies shallower: is one better than all others by far?
        to_front(space, first, plan[STOP], space.mains[plan[PLACE]], space.kickers[plan[PLACE]])
        plan[DEEPER] = 1 if bounds[BEST] - bounds[SECOND] >= settings.singular else 0
        plan[SHALLOW] = 0
        _begin(space, ply)
    if plan[CURSOR] == plan[STOP] or bounds[LOW] >= bounds[HIGH]:
        return False
    _step(space, ply, plan[CURSOR])
    plan[CURSOR] += 1
    return True


@part_kernel
def _window(space: Space, ply: int) -> tuple[int, float, float]:
    """Plies left and window of the child that was played last from the position at a ply."""
    plan, bounds = space.plan[ply], space.bounds[ply]
    if plan[SHALLOW] == 1:
        return plan[DEPTH] - 3, _LEAST, _MOST
    more = plan[DEEPER] if plan[CURSOR] - 1 == space.top[ply] else np.int64(0)
    return plan[DEPTH] - 1 + more, bounds[LOW], bounds[HIGH]


@part_kernel
def _close(space: Space, ply: int, settings: Settings) -> float:
    """The value of a position all of whose moves have been searched, or enough of them."""
    plan, bounds, row = space.plan[ply], space.bounds[ply], space.rows[ply]
    value = bounds[BEST] if row[SEAT] == row[LANDLORD] else -bounds[BEST]
    if settings.table and plan[DEPTH] > 0 and space.counters[STOPPED] == 0:
        slot, bound = plan[SLOT], EXACT
        if value <= bounds[ALPHA]:
            bound = UPPER
        elif value >= bounds[BETA]:
            bound = LOWER
        space.keys[slot, 0], space.keys[slot, 1] = space.codes[ply, 0], space.codes[ply, 1]
        space.best[slot, 0], space.best[slot, 1] = space.mains[plan[PLACE]], space.kickers[plan[PLACE]]
        space.depths[slot], space.values[slot] = plan[DEPTH] * 4 + bound, value
    return value


@part_kernel
def search(space: Space, root: int, depth: int, alpha: float, beta: float, settings: Settings) -> float:
    """The value of the position at a ply.

    A recursion written out, because compiled recursions cannot be cached: what each call would remember stands in
    ``space.plan`` and ``space.bounds``.

    Args:
        space: The search; ``space.rows[root]`` and ``space.top[root]`` are set.
        root: The position.
        depth: Plies to search; none or fewer: evaluate it once it is quiet.
        alpha: What the landlord has for certain elsewhere.
        beta: What the peasants can hold him to elsewhere.
        settings: How to search.

    Returns:
        The value, or a bound on it where it lies outside the window.
    """
    ply, left, low, high = root, depth, alpha, beta
    while True:
        known, value = _open(space, ply, left, low, high, settings)
        while True:
            if known:
                if ply == root:
                    return value
                ply -= 1
                _credit(space, ply, value, settings)
            if _next_child(space, ply, settings):
                break
            known, value = True, _close(space, ply, settings)
        left, low, high = _window(space, ply)
        ply += 1


@pure_kernel
def value_moves(
    space: Space,
    world: npt.NDArray[np.uint64],
    w: npt.NDArray[np.int64],
    mains: npt.NDArray[np.uint64],
    kickers: npt.NDArray[np.uint64],
    depth: int,
    settings: Settings,
    values: npt.NDArray[np.float64],
) -> None:
    """Value every move of a decision in one world, to the seat that decides.

    Args:
        space: Memory; ``space.counters`` counts on.
        world: The game, nothing hidden, in the play stage; shape ``[32]``, uint64.
        w: The weights of the prices (``WEIGHTS``).
        mains: The moves, main groups, shape ``[n]``.
        kickers: Their kickers as hands, shape ``[n]``.
        depth: Plies, the move itself included.
        settings: How to search.
        values: Output, shape ``[n]``: exact values, the greater the better for the seat.
    """
    set_position(world, space.rules, space.appraiser, w)
    sign = 1.0 if world[SEAT] == world[LANDLORD] else -1.0
    for word in range(ROW_WORDS):
        space.rows[0, word] = world[word]
    for index in range(mains.size):
        space.mains[0], space.kickers[0] = mains[index], kickers[index]
        space.top[0], space.top[1] = 0, 1
        _step(space, 0, 0)
        values[index] = sign * search(space, 1, depth - 1, _LEAST, _MOST, settings)
