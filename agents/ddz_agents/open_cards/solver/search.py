"""The solver's alpha-beta search for a win or a loss, which keeps its own stack and can be resumed.

A value is 1 if the landlord's side reaches the goal and 0 if not, so that alpha-beta is: the first move that suits the
mover ends the search of a position.  Who cannot beat the table passes without a node of its own.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.open_cards.solver import memory
from ddz_agents.open_cards.solver import moves as game
from ddz_agents.open_cards.solver.goals import (
    goal_after_bomb,
    is_decided_by_win,
    plays_after,
    value_at_end,
    value_if_decided,
)
from ddz_agents.open_cards.solver.memory import SolverMemory, hash_node, look_up, store
from ddz_agents.open_cards.solver.quick_wins import has_quick_win, loses_to_quick_win
from ddz_agents.rules.prices import is_bomb
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.tables import MAIN_SEGMENT, SEGMENT_BASE
from ddz_env.core.engine.words import BYTE, U0, popcount
from ddz_env.core.rules import R_PLAYERS
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel

# The score by which the first move to try is chosen: points for each move fewer to play, card, rank lower and pass.
MOVE_POINTS, CARD_POINTS, RANK_POINTS, PASS_POINTS = np.int64(80), np.int64(25), np.int64(4), np.int64(-200)
FROM_TABLE = 4
"""The bit of a value that came from the table."""


@pure_kernel
def find_acting_seat(
    hands: np.ndarray, owner: int, code: np.uint64, first: int, rules: np.ndarray, tighten: bool
) -> tuple[int, int, np.uint64]:
    """Find the first seat after the owner of the move on the table that can beat it, else the owner.

    Args:
        hands: The hands, shape ``[3]``.
        owner: Who played the target.
        code: The target.
        first: How many seats after the owner have passed.
        rules: The rules array.
        tighten: Whether the target is raised as far as the replies allow.

    Returns:
        The seat, how many passed before it, and the target code.
    """
    players = np.int64(rules[R_PLAYERS])
    acting, actor = np.int64(-1), np.int64(owner)
    starts = U0
    for passes in range(first, players - 1):
        seat = owner + 1 + passes
        if seat >= players:
            seat -= players
        reply = game.reply_starts(hands[seat], code, rules)
        starts |= reply
        if acting < 0 and (reply != U0 or game.can_trump(hands[seat], code, rules)):
            acting, actor = passes, seat
    if acting < 0:
        return actor, np.int64(0), game.LEAD
    return actor, acting, game.tighten_target(code, starts, rules) if tighten else code


@part_kernel
def _swap_best_to_front(moves: game.Moves, index: int, end: int) -> None:
    """Swap the best of the moves ``index..end-1`` into position ``index``."""
    best = index
    for other in range(index + 1, end):
        if moves.scores[other] > moves.scores[best]:
            best = other
    if best != index:
        main, kickers, rest, score = moves.mains[best], moves.kickers[best], moves.rests[best], moves.scores[best]
        moves.mains[best], moves.kickers[best] = moves.mains[index], moves.kickers[index]
        moves.rests[best], moves.scores[best] = moves.rests[index], moves.scores[index]
        moves.mains[index], moves.kickers[index], moves.rests[index], moves.scores[index] = main, kickers, rest, score


@inline_kernel
def open_child(search: SolverMemory, ply: int, index: int) -> int:
    """Play a node's move, and return its value if known at once, or -1 after pushing the child node."""
    rules = search.rules
    frame, child, moves = search.frames[ply], search.frames[ply + 1], search.moves
    seat, main = frame.seat, moves.mains[index]
    hands = search.hands[ply + 1]
    hands[0], hands[1], hands[2] = search.hands[ply, 0], search.hands[ply, 1], search.hands[ply, 2]
    child.goal, child.plays, child.first = frame.goal, frame.plays, frame.end
    if main == U0:
        players = np.int64(rules[R_PLAYERS])
        owner = seat - 1 - frame.passes
        if owner < 0:
            owner += players
        code, first = frame.code, frame.passes + 1
    else:
        hands[seat] = moves.rests[index]
        landlord = seat == search.landlord
        if is_bomb(main, rules):
            child.goal = goal_after_bomb(frame.goal)
        child.plays = plays_after(frame.plays, landlord)
        if hands[seat] == U0:
            return value_at_end(child.goal, landlord, child.plays, rules)
        owner, first = seat, np.int64(0)
        code = game.code_after_move(moves, main, moves.kickers[index], rules)
    acting, passes, code = find_acting_seat(hands, owner, code, first, rules, search.techniques.tighten)
    child.seat, child.passes, child.code = acting, passes, code
    return value_if_decided(child.goal, hands, plays_after(child.plays, acting == search.landlord), rules)


@part_kernel
def _wins_at_once(search: SolverMemory, ply: int) -> bool:
    """Return whether one of a node's moves ends the game in favour of the seat to move."""
    rules = search.rules
    frame, moves = search.frames[ply], search.moves
    landlord = frame.seat == search.landlord
    plays = plays_after(frame.plays, landlord)
    for index in range(frame.first, frame.end):
        if moves.rests[index] == U0:
            goal = goal_after_bomb(frame.goal) if is_bomb(moves.mains[index], rules) else frame.goal
            if value_at_end(goal, landlord, plays, rules) == (1 if landlord else 0):
                return True
    return False


@part_kernel
def _drop_losing_moves(search: SolverMemory, ply: int) -> int:
    """Drop a node's moves that lose at once, and return the node's value if one is known by then, else -1."""
    frame, moves = search.frames[ply], search.moves
    landlord = frame.seat == search.landlord
    wins = 1 if landlord else 0
    if _wins_at_once(search, ply):
        return wins
    stop, end = frame.first, frame.end
    threats = search.techniques.threats and is_decided_by_win(frame.goal, not landlord)
    for index in range(frame.first, end):
        main, kickers = moves.mains[index], moves.kickers[index]
        if threats and main != U0 and loses_to_quick_win(search, ply, end, main, kickers):
            continue
        moves.mains[stop], moves.kickers[stop] = main, kickers
        moves.rests[stop], moves.scores[stop] = moves.rests[index], -index
        stop += 1
    frame.next, frame.end = frame.first, stop
    return -1 if stop > frame.first else 1 - wins


@part_kernel
def _score_moves(search: SolverMemory, ply: int) -> None:
    """Write a score for each of the node's moves, the highest for the most promising."""
    rules = search.rules
    frame, moves = search.frames[ply], search.moves
    end = frame.end
    held = popcount(search.hands[ply, frame.seat])
    for index in range(frame.first, end):
        main, rest = moves.mains[index], moves.rests[index]
        score = np.int64(held - popcount(rest)) * CARD_POINTS
        score -= game.fewest_turns(search.turns, moves, end, rest, rules) * MOVE_POINTS
        if main == U0:
            score += PASS_POINTS
        else:
            if is_bomb(main, rules):
                score -= MOVE_POINTS
            score -= np.int64(main - SEGMENT_BASE[MAIN_SEGMENT[main]]) * RANK_POINTS
        moves.scores[index] += score


@part_kernel
def _open_node(search: SolverMemory, ply: int) -> int:
    """Open a node and return its value if known, else -1 with its moves listed, or -2 if the stack is full."""
    rules = search.rules
    frame, control, moves = search.frames[ply], search.control[0], search.moves
    control.nodes += 1
    frame.start = control.nodes
    seat, landlord = frame.seat, frame.seat == search.landlord
    used = search.techniques
    if used.table:
        hash_node(search, ply)
        stored = look_up(search.table, used.ways, frame.bucket, frame.name, frame.goal)
        if stored != memory.ABSENT:
            control.hits += 1
            return stored | FROM_TABLE
    code, first = frame.code, frame.first
    if code == game.LEAD:
        if used.quick_wins and is_decided_by_win(frame.goal, landlord):
            if has_quick_win(search, first, search.hands[ply], seat, np.int64(0)):
                return 1 if landlord else 0
        end = game.append_leads(moves, first, search.hands[ply, seat], rules)
    else:
        end = game.append_replies(moves, first, search.hands[ply, seat], code, rules)
    if end > moves.mains.size:
        return -2
    frame.end = end
    value = _drop_losing_moves(search, ply)
    if used.order and value < 0 and frame.end - frame.first > 1:
        _score_moves(search, ply)
    return value


@pure_kernel
def set_root(search: SolverMemory, row: np.ndarray, goal: int) -> None:
    """Set up a search from an engine state between two moves, skipping seats that cannot answer.

    Args:
        search: Memory; the table is kept.
        row: The position, shape ``[32]``, uint64; of a finished game the value is known at once.
        goal: The goal of the whole game: doublings that have been played count.
    """
    rules = search.rules
    control, frame = search.control[0], search.frames[0]
    control.nodes, control.ply, control.status, control.value = 0, 0, memory.FRESH, 0
    control.hits, control.evictions = 0, 0
    search.threats[:] = 0
    for seat in range(3):
        search.hands[0, seat] = row[at.HANDS + seat]
    landlord = np.int64(row[at.LANDLORD])
    plays = np.int64(0)
    for seat in range(np.int64(rules[R_PLAYERS])):
        count = np.int64((row[at.PLAYS] >> np.uint64(8 * seat)) & BYTE)
        for _ in range(min(count, 2)):
            plays = plays_after(plays, seat == landlord)
    code = game.code_of_target(row[at.TARGET], row[at.KEY], rules)
    acting, passes = np.int64(row[at.SEAT]), np.int64(row[at.PASSES])
    if code != game.LEAD:
        owner, tighten = np.int64(row[at.OWNER]), search.techniques.tighten
        acting, passes, code = find_acting_seat(search.hands[0], owner, code, passes, rules, tighten)
    frame.seat, frame.passes, frame.code = acting, passes, code
    for _ in range(np.int64(row[at.BOMBS])):
        goal = goal_after_bomb(goal)
    frame.goal, frame.plays, frame.first = goal, plays, 0
    value = value_if_decided(goal, search.hands[0], plays_after(plays, acting == landlord), rules)
    if row[at.STAGE] == np.uint64(at.STAGE_OVER):
        value = value_at_end(goal, np.int64(row[at.WINNER]) == landlord + 1, plays, rules)
    if value >= 0:
        control.value, control.status = value, memory.DONE


@inline_kernel
def _wanted_value(search: SolverMemory, ply: int) -> int:
    """Return the value that the seat to move at a node wants: 1 for the landlord's side, 0 for the peasants."""
    return np.int64(1) if search.frames[ply].seat == search.landlord else np.int64(0)


@inline_kernel
def _close_node(search: SolverMemory, ply: int, value: int) -> int:
    """Return a node's value, storing it in the transposition table unless it came from there."""
    if value & FROM_TABLE == 0 and search.techniques.table:
        store(search, ply, value)
    return value & 1


@inline_kernel
def _try_next_move(search: SolverMemory, ply: int) -> int:
    """Try the best remaining move at a node, and return its value, or a negative number if it opens a node."""
    frame = search.frames[ply]
    index = frame.next
    _swap_best_to_front(search.moves, index, frame.end)
    frame.next = index + 1
    return open_child(search, ply, index)


@pure_kernel
def run_search(search: SolverMemory, budget: int) -> int:
    """Continue the search for at most ``budget`` nodes, and return its status.

    The root is line 0 of ``hands`` and ``frames``; the status is ``FRESH`` at first, or ``DONE``.

    Args:
        search: Memory.
        budget: Nodes of this call.

    Returns:
        ``RUNNING``, ``DONE`` (with ``control.value``) or ``NO_ROOM``.
    """
    control = search.control[0]
    if control.status == memory.DONE:
        return memory.DONE
    stop = control.nodes + budget
    ply = control.ply
    value = np.int64(-1)
    entering = control.status == memory.FRESH
    control.status = memory.RUNNING
    while True:
        if entering:  # the one place that opens nodes: it is compiled into this loop
            value = _open_node(search, ply)
            entering = False
        if value == -2:
            control.status = memory.NO_ROOM
            return memory.NO_ROOM
        if value >= 0:  # of the node at ply
            value = _close_node(search, ply, value)
            if ply == 0:
                control.value, control.status = value, memory.DONE
                return memory.DONE
            ply -= 1
            if value == _wanted_value(search, ply):
                continue
            value = np.int64(-1)
        if control.nodes >= stop:
            control.ply = ply
            return memory.RUNNING
        if search.frames[ply].next == search.frames[ply].end:
            value = np.int64(1) - _wanted_value(search, ply)
            continue
        value = _try_next_move(search, ply)
        if value < 0:
            ply += 1
            entering = True
        elif value != _wanted_value(search, ply):
            value = np.int64(-1)  # over, and not as the mover wants
