"""Alpha-beta on win or lose, compiled: a search over whole moves with its own stack, so that it can stop and go on.

A value is 1 if the landlord's side reaches the goal and 0 if not, so that alpha-beta is: the first move that suits the
mover ends the search of a position.  Who cannot beat the table passes without a node of its own.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.open_cards.solver.memory import (
    ANY_WIN,
    C_BUCKET,
    C_CODE,
    C_NAME,
    DONE,
    F_BOMBS,
    F_END,
    F_FIRST,
    F_NEXT,
    F_PASSES,
    F_PLAYS,
    F_SEAT,
    F_START,
    FRESH,
    HITS,
    NO_ROOM,
    NODES,
    PLY,
    RUNNING,
    STATUS,
    VALUE,
    Search,
    Technique,
)
from ddz_agents.open_cards.solver.moves import LEAD, Moves, code_after, code_of_target, follow_moves, lead_moves
from ddz_agents.open_cards.solver.quick_wins import quick_win, threatened
from ddz_agents.open_cards.solver.ranks import place
from ddz_agents.open_cards.solver.table import ABSENT, look_up, store
from ddz_agents.open_cards.solver.tricks import ends, explodes, plays_after, settle
from ddz_agents.open_cards.solver.turns import turns
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.compiling import inline_kernel, part_kernel, pure_kernel
from ddz_env.core.engine.tables import MAIN_SEGMENT, SEGMENT_BASE
from ddz_env.core.engine.words import BYTE, U0, popcount
from ddz_env.core.rules import R_PLAYERS

KNOWN = 4
"""Marks a value that stood in the table."""


@part_kernel
def _sort_in(moves: Moves, place: int, end: int) -> None:
    """Bring the best of the remaining moves to a place."""
    best = place
    for index in range(place + 1, end):
        if moves.scores[index] > moves.scores[best]:
            best = index
    if best != place:
        main, kickers, rest, score = moves.mains[best], moves.kickers[best], moves.rests[best], moves.scores[best]
        moves.mains[best], moves.kickers[best] = moves.mains[place], moves.kickers[place]
        moves.rests[best], moves.scores[best] = moves.rests[place], moves.scores[place]
        moves.mains[place], moves.kickers[place], moves.rests[place], moves.scores[place] = main, kickers, rest, score


@inline_kernel
def child_of(search: Search, ply: int, index: int, technique: Technique, rules: np.ndarray) -> int:
    """Make a move: its value if the game is over, else -1 with the child on the stack."""
    frame, child, moves = search.frames[ply], search.frames[ply + 1], search.moves
    seat, main = frame[F_SEAT], moves.mains[index]
    hands = search.hands[ply + 1]
    hands[0], hands[1], hands[2] = search.hands[ply, 0], search.hands[ply, 1], search.hands[ply, 2]
    child[F_BOMBS], child[F_PLAYS] = frame[F_BOMBS], frame[F_PLAYS]
    child[F_FIRST] = frame[F_END]
    if main == U0:
        players = np.int64(rules[R_PLAYERS])
        owner = seat - 1 - frame[F_PASSES]
        if owner < 0:
            owner += players
        code, first = search.codes[ply, C_CODE], frame[F_PASSES] + 1
    else:
        hands[seat] = moves.rests[index]
        landlord = seat == technique.landlord
        child[F_BOMBS] += 1 if explodes(main, rules) else 0
        child[F_PLAYS] = plays_after(frame[F_PLAYS], landlord)
        if hands[seat] == U0:
            return ends(technique, landlord, child[F_BOMBS], child[F_PLAYS])
        owner, first = seat, np.int64(0)
        code = code_after(moves, main, moves.kickers[index], rules)
    acting, passes, code = settle(hands, owner, code, first, technique.tighten, rules)
    child[F_SEAT], child[F_PASSES], search.codes[ply + 1, C_CODE] = acting, passes, code
    return -1


@part_kernel
def _keep(moves: Moves, index: int, place: int) -> None:
    """Move a move down to a place."""
    if index != place:
        moves.mains[place], moves.kickers[place] = moves.mains[index], moves.kickers[index]
        moves.rests[place], moves.scores[place] = moves.rests[index], moves.scores[index]


@part_kernel
def _wins_at_once(search: Search, ply: int, technique: Technique, rules: np.ndarray) -> bool:
    """Whether one of the node's moves ends the game as its mover wants."""
    frame, moves = search.frames[ply], search.moves
    landlord = frame[F_SEAT] == technique.landlord
    plays = plays_after(frame[F_PLAYS], landlord)
    for index in range(frame[F_FIRST], frame[F_END]):
        if moves.rests[index] == U0:
            bombs = frame[F_BOMBS] + (1 if explodes(moves.mains[index], rules) else 0)
            if ends(technique, landlord, bombs, plays) == (1 if landlord else 0):
                return True
    return False


@part_kernel
def _sift(search: Search, ply: int, technique: Technique, rules: np.ndarray) -> int:
    """Drop the node's moves that lose at once; the node's value if one move decides it, else -1."""
    frame, moves = search.frames[ply], search.moves
    wins = 1 if frame[F_SEAT] == technique.landlord else 0
    if _wins_at_once(search, ply, technique, rules):
        return wins
    kept = frame[F_FIRST]
    end = frame[F_END]
    threats = technique.threats and technique.goal == ANY_WIN
    for index in range(frame[F_FIRST], end):
        main = moves.mains[index]
        if threats and main != U0 and threatened(search, ply, end, main, moves.kickers[index], technique, rules):
            continue
        moves.scores[index] = -index
        _keep(moves, index, kept)
        kept += 1
    frame[F_NEXT], frame[F_END] = frame[F_FIRST], kept
    return -1 if kept > frame[F_FIRST] else 1 - wins


@part_kernel
def _score(search: Search, ply: int, technique: Technique, rules: np.ndarray) -> None:
    """Score the node's moves, the most promising highest."""
    frame, moves = search.frames[ply], search.moves
    end = frame[F_END]
    held = popcount(search.hands[ply, frame[F_SEAT]])
    for index in range(frame[F_FIRST], end):
        main, rest = moves.mains[index], moves.rests[index]
        score = np.int64(0)
        if technique.order:
            score -= turns(search.turns, moves, end, rest, rules) * technique.move_points
            score += np.int64(held - popcount(rest)) * technique.card_points
            if main == U0:
                score += technique.pass_points
            else:
                if explodes(main, rules):
                    score -= technique.move_points
                score -= np.int64(main - SEGMENT_BASE[MAIN_SEGMENT[main]]) * technique.rank_points
        moves.scores[index] += score


@part_kernel
def _enter(search: Search, ply: int, technique: Technique, rules: np.ndarray) -> int:
    """Open a node: its value if it is known at once, else -1 with its moves on the stack; -2 if the stack is full."""
    frame, control, moves = search.frames[ply], search.control, search.moves
    control[NODES] += 1
    frame[F_START] = control[NODES]
    seat = frame[F_SEAT]
    wins = 1 if seat == technique.landlord else 0
    if technique.table:
        place(search, ply, technique, rules)
        known = look_up(search.table, search.codes[ply, C_BUCKET], search.codes[ply, C_NAME])
        if known != ABSENT:
            control[HITS] += 1
            return known | KNOWN
    code = search.codes[ply, C_CODE]
    first = frame[F_FIRST]
    if code == LEAD:
        if technique.quick_wins and technique.goal == ANY_WIN:
            if quick_win(search, first, search.hands[ply], seat, np.int64(0), technique, rules):
                return wins
        end = lead_moves(moves, first, search.hands[ply, seat], rules)
    else:
        end = follow_moves(moves, first, search.hands[ply, seat], code, rules)
    if end > moves.mains.size:
        return -2
    frame[F_END] = end
    value = _sift(search, ply, technique, rules)
    if value < 0 and frame[F_END] - frame[F_FIRST] > 1:
        _score(search, ply, technique, rules)
    return value


@pure_kernel
def set_root(search: Search, row: np.ndarray, technique: Technique, rules: np.ndarray) -> None:
    """Start a search at a row of the engine between two moves; seats that cannot answer have passed.

    Args:
        search: Memory; the table is kept.
        row: The position, shape ``[32]``, uint64.
        technique: Settings.
        rules: The rules array.
    """
    control, frame = search.control, search.frames[0]
    control[NODES], control[PLY], control[STATUS], control[VALUE], control[HITS] = 0, 0, FRESH, 0, 0
    search.threats[:] = 0
    for seat in range(3):
        search.hands[0, seat] = row[at.HANDS + seat]
    landlord = np.int64(row[at.LANDLORD])
    plays = np.int64(0)
    for seat in range(np.int64(rules[R_PLAYERS])):
        count = np.int64((row[at.PLAYS] >> np.uint64(8 * seat)) & BYTE)
        for _ in range(min(count, 2)):
            plays = plays_after(plays, seat == landlord)
    code = code_of_target(row[at.TARGET], row[at.KEY], rules)
    acting, passes = np.int64(row[at.SEAT]), np.int64(row[at.PASSES])
    if code != LEAD:
        acting, passes, code = settle(search.hands[0], np.int64(row[at.OWNER]), code, passes, technique.tighten, rules)
    frame[F_SEAT], frame[F_PASSES], search.codes[0, C_CODE] = acting, passes, code
    frame[F_BOMBS], frame[F_PLAYS], frame[F_FIRST] = np.int64(row[at.BOMBS]), plays, 0


@pure_kernel
def run(search: Search, technique: Technique, rules: np.ndarray, budget: int) -> int:
    """Search on, at most ``budget`` nodes.

    The root stands in line 0 of ``hands``, ``frames`` and ``codes``; ``control[STATUS]`` is ``FRESH`` at first.

    Args:
        search: Memory.
        technique: Settings.
        rules: The rules array.
        budget: Nodes of this call.

    Returns:
        ``RUNNING``, ``DONE`` (with ``control[VALUE]``) or ``NO_ROOM``.
    """
    control, moves = search.control, search.moves
    stop = control[NODES] + budget
    ply = control[PLY]
    value = np.int64(-1)
    entering = control[STATUS] == FRESH
    control[STATUS] = RUNNING
    while True:
        if entering:  # the one place that opens nodes: it is compiled into this loop
            value = _enter(search, ply, technique, rules)
            entering = False
        if value == -2:
            control[STATUS] = NO_ROOM
            return NO_ROOM
        frame = search.frames[ply]
        if value >= 0:  # of the node at ply
            known = value & KNOWN
            value &= 1
            if technique.table and known == 0:
                store(
                    search.table,
                    search.codes[ply, C_BUCKET],
                    search.codes[ply, C_NAME],
                    value,
                    control[NODES] - frame[F_START],
                )
            if ply == 0:
                control[VALUE] = value
                control[STATUS] = DONE
                return DONE
            ply -= 1
            frame = search.frames[ply]
            if value == (1 if frame[F_SEAT] == technique.landlord else 0):
                continue
            value = np.int64(-1)
        if control[NODES] >= stop:
            control[PLY] = ply
            return RUNNING
        index = frame[F_NEXT]
        if index == frame[F_END]:
            value = np.int64(0 if frame[F_SEAT] == technique.landlord else 1)
            continue
        _sort_in(moves, index, frame[F_END])
        frame[F_NEXT] = index + 1
        value = child_of(search, ply, index, technique, rules)
        if value >= 0:  # over, and not what the mover wants, or _score had seen it
            if value == (1 if frame[F_SEAT] == technique.landlord else 0):
                continue
            value = np.int64(-1)
            continue
        ply += 1
        entering = True
