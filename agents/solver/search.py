"""Alpha-beta on win or lose, compiled: a search over whole moves with its own stack, so that it can stop and go on.

A value is 1 if the landlord's side reaches the goal and 0 if not, so that alpha-beta is: the first move that suits the
mover ends the search of a position.  Who cannot beat the table passes without a node of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agents.solver.moves import (
    BOMBS,
    LEAD,
    NOTHING,
    RUN_FRAMES,
    W_DELTA,
    W_END,
    W_HAND,
    W_NEXT,
    W_SEGMENT,
    W_SHORT,
    W_WEAK,
    Moves,
    can_beat,
    can_trump,
    code_after,
    code_of_target,
    follow_moves,
    is_read_again,
    lead_moves,
    reply_starts,
    tightened,
)
from agents.solver.table import ABSENT, look_up, place_of, store
from agents.solver.turns import turns
from ddz_env.engine import layout as at
from ddz_env.engine.compiling import inline_kernel, pure_kernel
from ddz_env.engine.legal import bombs_in, holds_rocket
from ddz_env.engine.tables import MAIN_SEGMENT, SEG_BOMB, SEG_ROCKET, SEGMENT_BASE
from ddz_env.engine.words import (
    BYTE,
    FOUR_PLANES,
    PLANE,
    U0,
    U1,
    U2,
    U3,
    U4,
    U8,
    U12,
    U15,
    U16,
    U32,
    popcount,
)
from ddz_env.engine.words import (
    run as in_a_row,
)
from ddz_env.rules import R_BOMBS, R_CHAIN_FROM_QUAD, R_PLAYERS

MAX_PLIES = 192
"""Nodes on one line of play: at most 54 plays, each with at most two passes, forced ones not counted."""
ANY_WIN = np.int64(64)

# Words of the control array.
NODES, PLY, STATUS, VALUE, HITS, LIMIT, BEST = range(7)
CONTROL_WORDS = 16
FRESH, RUNNING, DONE, NO_ROOM = 0, 1, 2, 3

# Words of a frame.
F_SEAT, F_PASSES, F_FIRST, F_NEXT, F_END, F_START, F_BOMBS, F_PLAYS = range(8)
FRAME_WORDS = 8
C_CODE, C_BUCKET, C_NAME = range(3)


class Technique(NamedTuple):
    """What the search does; :class:`agents.solver.options.SolverOptions` says what each switch means.

    Attributes:
        table: Look positions up in the transposition table.
        ways: Entries a bucket.
        tighten: Raise a target to the highest that lets the same replies through.
        runs: Quick wins: 0 never, 1 where a search begins, 2 everywhere.
        ranks: Look positions up with the ranks taken out that nobody holds.
        ahead: Look every move's position up before any is searched.
        order: Try moves in the order of the fewest moves that their rest needs.
        history: Prefer moves that cut before.
        killers: Prefer the move that cut last at the same depth.
        goal: What the landlord shall reach: ``ANY_WIN`` just to win; else a stake, see :func:`reached`.
        spring: Whether spring doubles the stake.
        landlord: The landlord's seat.
        move_points: Order: points that a move fewer to play is worth.
        rank_points: Points that each rank higher costs.
        lead_points: Points for a move that keeps the lead, and cost of one that gives it away.
        pass_points: Points for a pass.
        most_history: The most points that history gives, and those of a killer.
    """

    table: np.bool_
    ways: np.uint64
    tighten: np.bool_
    runs: np.int64
    ranks: np.bool_
    ahead: np.bool_
    order: np.bool_
    history: np.bool_
    killers: np.bool_
    goal: np.int64
    spring: np.bool_
    landlord: np.int64
    move_points: np.int64
    rank_points: np.int64
    lead_points: np.int64
    pass_points: np.int64
    most_history: np.int64


class Search(NamedTuple):
    """The memory of a search.

    Attributes:
        control: Counters and state, shape ``[CONTROL_WORDS]``, int64.
        hands: Hands of the three seats, a line a node, shape ``[MAX_PLIES, 3]``, uint64.
        frames: Shape ``[MAX_PLIES, FRAME_WORDS]``, int64.
        codes: Target code and hashes, shape ``[MAX_PLIES, 3]``, uint64.
        moves: The stack of moves.
        table: The transposition table.
        turns: The table of :mod:`agents.solver.turns`.
        history: Cuts by side and main group, shape ``[2, NUM_MAIN]``, int64.
        killers: The last main group that cut, by ply, shape ``[MAX_PLIES]``, int64.
    """

    control: npt.NDArray[np.int64]
    hands: npt.NDArray[np.uint64]
    frames: npt.NDArray[np.int64]
    codes: npt.NDArray[np.uint64]
    moves: Moves
    table: npt.NDArray[np.uint64]
    turns: npt.NDArray[np.uint64]
    history: npt.NDArray[np.int64]
    killers: npt.NDArray[np.int64]


@inline_kernel
def reached(goal: int, won: bool, bombs: int, spring: bool) -> bool:
    """Whether a finished game gives the landlord its goal.

    A goal of ``k`` >= 1 asks for a win of at least 2 ** (k - 1) stakes, one of ``k`` <= 0 for a loss of at most
    2 ** -k stakes or a win; ``ANY_WIN`` is any win.

    Args:
        goal: The goal.
        won: Whether the landlord won.
        bombs: Bombs and rockets played.
        spring: Whether the game was a spring or an anti-spring.
    """
    if goal == ANY_WIN:
        return won
    doublings = bombs + (1 if spring else 0)
    if goal >= 1:
        return won and doublings >= goal - 1
    return won or doublings <= -goal


@pure_kernel
def settle(
    hands: np.ndarray, owner: int, code: np.uint64, first: int, tighten: bool, rules: np.ndarray
) -> tuple[int, int, np.uint64]:
    """Who acts on a target: the first seat, from the ``first``-th after its owner on, that beats it, else the owner.

    Args:
        hands: The hands, shape ``[3]``.
        owner: Who played the target.
        code: The target.
        first: How many seats after the owner have passed.
        tighten: Whether to raise the target as far as the replies allow.
        rules: The rules array.

    Returns:
        The seat, how many passed before it, and the target code.
    """
    players = np.int64(rules[R_PLAYERS])
    acting = np.int64(-1)
    starts = U0
    for passes in range(first, players - 1):
        seat = owner + 1 + passes
        if seat >= players:
            seat -= players
        own = reply_starts(hands[seat], code, rules)
        starts |= own
        if acting < 0 and (own != U0 or can_trump(hands[seat], code, rules)):
            acting = passes
    if acting < 0:
        return np.int64(owner), np.int64(0), LEAD
    seat = owner + 1 + acting
    if seat >= players:
        seat -= players
    return np.int64(seat), acting, (tightened(code, starts, rules) if tighten else code)


@pure_kernel
def stands(hands: np.ndarray, owner: int, code: np.uint64, landlord: int, rules: np.ndarray) -> bool:
    """Whether no opponent of the owner beats a target (the owner's partner can always pass)."""
    players = np.int64(rules[R_PLAYERS])
    for seat in range(players):
        if (seat == landlord) != (owner == landlord) and can_beat(hands[seat], code, rules):
            return False
    return True


@inline_kernel
def _weight(hands: np.ndarray, owner: int, code: np.uint64, landlord: int, rules: np.ndarray) -> int:
    """1 for a move that an opponent can beat, 0 for one that stands, -1 for one that beats all that they have."""
    if not stands(hands, owner, code, landlord, rules):
        return np.int64(1)
    if code in (NOTHING, BOMBS) or (code & U15) == U0 or is_read_again(code, rules):
        return np.int64(0)
    return np.int64(-1) if stands(hands, owner, code - U1, landlord, rules) else np.int64(0)


@pure_kernel
def runs_out(search: Search, top: int, hands: np.ndarray, owner: int, technique: Technique, rules: np.ndarray) -> bool:
    """Whether a leader wins whatever the opponents do, by keeping the lead or taking it back at once.

    The hand is split into moves.  One that no opponent beats keeps the lead.  A beatable one is led while a master of
    its category is kept, which beats every answer.  One beatable move without a master may be left for the end.  What
    opponents hold only gets less, so the order does not matter, and each move is tried where the lowest card left makes
    it necessary.  An opponent answers each beatable lead once at most, so that one that needs more moves cannot go out.

    Args:
        search: Memory.
        top: The free part of the stack of moves.
        hands: All hands, shape ``[3]``.
        owner: The leader.
        technique: Settings.
        rules: The rules array.
    """
    moves, work, tally = search.moves, search.moves.work, search.moves.tally
    least = np.int64(99)
    for seat in range(np.int64(rules[R_PLAYERS])):
        if (seat == technique.landlord) != (owner == technique.landlord):
            least = min(least, turns(search.turns, moves, top, hands[seat], rules))
    tally[:] = 0
    depth = np.int64(RUN_FRAMES)
    work[depth, W_HAND], work[depth, W_NEXT], work[depth, W_SEGMENT] = np.int64(hands[owner]), top, 0
    work[depth, W_DELTA], work[depth, W_WEAK], work[depth, W_SHORT] = 0, 0, 0
    work[depth, W_END] = lead_moves(moves, top, hands[owner], rules)
    looked = 0
    while True:
        index, end = work[depth, W_NEXT], work[depth, W_END]
        if end > moves.mains.size or looked > RUN_LIMIT:
            return False
        if index == end:
            if depth == RUN_FRAMES:
                return False
            tally[work[depth, W_SEGMENT]] -= work[depth, W_DELTA]
            depth -= 1
            continue
        work[depth, W_NEXT] = index + 1
        hand, rest = np.uint64(work[depth, W_HAND]), moves.rests[index]
        held = hand & PLANE
        if ((rest ^ hand) & ((held & (~held + U1)) * FOUR_PLANES)) == U0:
            continue
        looked += 1
        code = code_after(moves, moves.mains[index], moves.kickers[index], rules)
        delta = _weight(hands, owner, code, technique.landlord, rules)
        weak, short = work[depth, W_WEAK], work[depth, W_SHORT]
        segment = np.int64(MAIN_SEGMENT[moves.mains[index]])
        if delta > 0:
            weak += 1
            short += 1 if tally[segment] >= 0 else 0
            if weak > least:
                continue
        elif delta < 0 and tally[segment] > 0:
            short -= 1
        if rest == U0:
            if short <= 1 and weak - short < least:
                return True
            continue
        tally[segment] += delta
        depth += 1
        work[depth, W_HAND], work[depth, W_NEXT], work[depth, W_SEGMENT] = np.int64(rest), end, segment
        work[depth, W_DELTA], work[depth, W_WEAK], work[depth, W_SHORT] = delta, weak, short
        work[depth, W_END] = lead_moves(moves, end, rest, rules)


KNOWN = 4
"""Marks a value that stood in the table."""
RUN_LIMIT = 200
"""Hands that one check for a quick win may look at."""


@pure_kernel
def quick_win(search: Search, top: int, hands: np.ndarray, owner: int, technique: Technique, rules: np.ndarray) -> bool:
    """Whether a leader provably runs out."""
    moves = search.moves
    needed = turns(search.turns, moves, top, hands[owner], rules)
    if needed == 1:
        return True
    trumps = np.int64(popcount(bombs_in(hands[owner], rules)) + (U1 if holds_rocket(hands[owner], rules) else U0))
    if needed > 1 + trumps:
        for seat in range(np.int64(rules[R_PLAYERS])):
            if (seat == technique.landlord) != (owner == technique.landlord) and can_trump(hands[seat], BOMBS, rules):
                return False  # it beats every move but bombs
    if rules[R_CHAIN_FROM_QUAD] == U0:
        return False  # there a chain's legality depends on the rest of the hand, so the order would matter
    return runs_out(search, top, hands, owner, technique, rules)


@inline_kernel
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


_CHAIN_RANKS = np.uint64(0xFFF)
_FIVE = np.uint64(5)
_OTHER_RANKS = np.uint64(0x7000) * FOUR_PLANES


@inline_kernel
def _without_rank(hand: np.uint64, below: np.uint64) -> np.uint64:
    """A hand with an empty chain rank taken out, those above it moved down.

    Args:
        hand: The hand.
        below: Mask of the ranks below the empty one.
    """
    low = below * FOUR_PLANES
    return (hand & (low | _OTHER_RANKS)) | (((hand & ~(low | _OTHER_RANKS)) >> U1) & (_CHAIN_RANKS * FOUR_PLANES))


@inline_kernel
def _has_chain(hand: np.uint64) -> bool:
    """Whether a hand has ranks for any chain: five solos, three pairs or two trios in a row."""
    solos, pairs = hand & _CHAIN_RANKS, (hand >> U16) & _CHAIN_RANKS
    trios = (hand >> U32) & _CHAIN_RANKS
    return in_a_row(solos, _FIVE) != U0 or in_a_row(pairs, U3) != U0 or (trios & (trios >> U1)) != U0


@pure_kernel
def _close_up(
    a: np.uint64, b: np.uint64, c: np.uint64, empty: np.uint64, start: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Take empty chain ranks out of three hands; also where the rank ``start`` lies then."""
    while empty != U0:
        top = empty
        top |= top >> U1
        top |= top >> U2
        top |= top >> U4
        top |= top >> U8
        top ^= top >> U1
        empty ^= top
        below = top - U1
        a, b, c = _without_rank(a, below), _without_rank(b, below), _without_rank(c, below)
        if start < U12 and top < (U1 << start):
            start -= U1
    return a, b, c, start


@pure_kernel
def place(search: Search, ply: int, technique: Technique, rules: np.ndarray) -> None:
    """Write a node's two hashes.  Positions that differ only in ranks that nothing separates have the same.

    Ranks that nobody holds any more are taken out: all of them where no hand has a chain even then, else all but one
    between two that are held, so that no chain arises.  2 and the jokers stay where they are.

    Args:
        search: Memory.
        ply: The node.
        technique: Settings.
        rules: The rules array.
    """
    frame = search.frames[ply]
    code, a, b, c = search.codes[ply, C_CODE], search.hands[ply, 0], search.hands[ply, 1], search.hands[ply, 2]
    if technique.ranks:
        held = (a | b | c) & _CHAIN_RANKS
        empty = ~held & _CHAIN_RANKS
        start = (code & U15) + U1
        ordinary = code != LEAD and code != BOMBS and code != NOTHING
        closed_a, closed_b, closed_c, moved = _close_up(a, b, c, empty, start)
        if _has_chain(closed_a) or _has_chain(closed_b) or _has_chain(closed_c):
            gaps = empty & (held << U1)  # the first empty rank above one that is held stays
            closed_a, closed_b, closed_c, moved = _close_up(a, b, c, empty & ~gaps, start)
        a, b, c = closed_a, closed_b, closed_c
        if ordinary:
            code = ((code >> U4) << U4) | ((moved - U1) & U15)
    state = (code << U4) | np.uint64((frame[F_SEAT] << 2) | frame[F_PASSES])
    state |= np.uint64(technique.goal + 64) << np.uint64(32)
    if technique.goal != ANY_WIN:
        state |= np.uint64((frame[F_BOMBS] << 4) | frame[F_PLAYS]) << np.uint64(40)
    state ^= np.uint64(technique.landlord) << np.uint64(60)
    search.codes[ply, C_BUCKET], search.codes[ply, C_NAME] = place_of(a, b, c, state)


# Plays of a game so far, as much as spring needs: 0, 1 or 2 by the landlord (2 bits), any by the peasants (1 bit).
PEASANTS_PLAYED = 4


@inline_kernel
def plays_after(plays: int, by_landlord: bool) -> int:
    """The plays so far, with one more by a side."""
    if not by_landlord:
        return plays | PEASANTS_PLAYED
    return plays + 1 if (plays & 3) < 2 else plays


@inline_kernel
def ends(technique: Technique, by_landlord: bool, bombs: int, plays: int) -> int:
    """The value of a game that a side has just finished."""
    spring = technique.spring and ((plays & PEASANTS_PLAYED) == 0 if by_landlord else (plays & 3) == 1)
    return 1 if reached(technique.goal, by_landlord, bombs, spring) else 0


@inline_kernel
def explodes(main: np.uint64, rules: np.ndarray) -> bool:
    """Whether a move doubles the stake."""
    segment = MAIN_SEGMENT[main]
    return bool(segment == np.uint64(SEG_ROCKET) or (segment == np.uint64(SEG_BOMB) and rules[R_BOMBS] == U1))


@pure_kernel
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


@inline_kernel
def _drop(search: Search, index: int, last: int) -> None:
    """Put the last move in the place of one that is refuted."""
    moves = search.moves
    moves.mains[index], moves.kickers[index], moves.rests[index] = (
        moves.mains[last],
        moves.kickers[last],
        moves.rests[last],
    )


@pure_kernel
def _score(search: Search, ply: int, technique: Technique, rules: np.ndarray) -> int:
    """Score the node's moves and drop those that lose at once; the node's value if one move decides it, else -1."""
    frame, moves = search.frames[ply], search.moves
    seat = frame[F_SEAT]
    landlord = seat == technique.landlord
    wins = 1 if landlord else 0
    end = frame[F_END]
    for index in range(frame[F_FIRST], end):
        if moves.rests[index] == U0:
            bombs = frame[F_BOMBS] + (1 if explodes(moves.mains[index], rules) else 0)
            if ends(technique, landlord, bombs, plays_after(frame[F_PLAYS], landlord)) == wins:
                return wins
    stop = end
    index = frame[F_FIRST]
    while index < stop:
        main, rest = moves.mains[index], moves.rests[index]
        score = -np.int64(index)
        acting = np.int64(-1)
        if technique.ahead:
            value = child_of(search, ply, index, technique, rules)
            if value < 0:
                acting = search.frames[ply + 1, F_SEAT]
                leads = search.codes[ply + 1, C_CODE] == LEAD
                if technique.table:
                    place(search, ply + 1, technique, rules)
                    value = look_up(
                        search.table, technique.ways, search.codes[ply + 1, C_BUCKET], search.codes[ply + 1, C_NAME]
                    )
                if value < 0 and leads and technique.runs == 2 and technique.goal == ANY_WIN:
                    if quick_win(search, end, search.hands[ply + 1], acting, technique, rules):
                        value = np.int64(1 if acting == technique.landlord else 0)
                if leads:
                    score += (
                        technique.lead_points if (acting == technique.landlord) == landlord else -technique.lead_points
                    )
            if value == wins:
                return wins
            if value >= 0:
                stop -= 1
                _drop(search, index, stop)
                continue
        if technique.order:
            score -= turns(search.turns, moves, end, rest, rules) * technique.move_points
            if main == U0:
                score += technique.pass_points
            else:
                if explodes(main, rules):
                    score -= technique.move_points
                score -= np.int64(main - SEGMENT_BASE[MAIN_SEGMENT[main]]) * technique.rank_points
        if technique.history:
            score += min(search.history[wins, main], technique.most_history)
        if technique.killers and search.killers[ply] == np.int64(main):
            score += technique.most_history
        moves.scores[index] = score
        index += 1
    frame[F_NEXT], frame[F_END] = frame[F_FIRST], stop
    if stop == frame[F_FIRST]:
        return 1 - wins
    return -1


@pure_kernel
def _enter(search: Search, ply: int, technique: Technique, rules: np.ndarray) -> int:
    """Open a node: its value if it is known at once, else -1 with its moves on the stack; -2 if the stack is full."""
    frame, control, moves = search.frames[ply], search.control, search.moves
    control[NODES] += 1
    frame[F_START] = control[NODES]
    seat = frame[F_SEAT]
    wins = 1 if seat == technique.landlord else 0
    if technique.table:
        place(search, ply, technique, rules)
        known = look_up(search.table, technique.ways, search.codes[ply, C_BUCKET], search.codes[ply, C_NAME])
        if known != ABSENT:
            control[HITS] += 1
            return known | KNOWN
    code = search.codes[ply, C_CODE]
    first = frame[F_FIRST]
    if code == LEAD:
        if technique.runs > 0 and technique.goal == ANY_WIN:
            if quick_win(search, first, search.hands[ply], seat, technique, rules):
                return wins
        end = lead_moves(moves, first, search.hands[ply, seat], rules)
    else:
        end = follow_moves(moves, first, search.hands[ply, seat], code, rules)
    if end > moves.mains.size:
        return -2
    frame[F_END] = end
    return _score(search, ply, technique, rules)


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
    if control[STATUS] == FRESH:
        ply = np.int64(0)
        value = _enter(search, ply, technique, rules)
        control[STATUS] = RUNNING
    while True:
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
                    technique.ways,
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
                main = np.int64(moves.mains[frame[F_NEXT] - 1])
                size = control[NODES] - frame[F_START]
                search.history[value, main] += min(size, np.int64(4096)) + 1
                search.killers[ply] = main
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
        value = _enter(search, ply, technique, rules)
