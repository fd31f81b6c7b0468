"""Quick wins, found without a search: a leader keeps the lead to the end or regains it when beaten.

*Threats* are quick wins of an opponent: a reply that is not beaten, after which it runs out.  All moves that such a
reply beats lose, so that they need no node of their own.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.open_cards.solver import moves as game
from ddz_agents.open_cards.solver.memory import TRUMPS, SolverMemory
from ddz_env.core.engine.legal import bomb_ranks, holds_rocket
from ddz_env.core.engine.tables import MAIN_SEGMENT, SEG_BOMB, SEGMENT_BASE
from ddz_env.core.engine.words import JOKERS, U0, U1, U4, U15, lowest_bit, popcount, remove_cards
from ddz_env.core.rules import R_BOMBS_BEAT_ROCKET, R_CHAIN_FROM_QUAD, R_PLAYERS
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel

RUN_LIMIT = 200
"""Hands that one check for a quick win may look at."""


@inline_kernel
def _weight_of_target(hands: np.ndarray, owner: int, code: np.uint64, landlord: int, rules: np.ndarray) -> int:
    """Return 1 for a move that an opponent can beat, -1 if a move one rank lower is safe too, else 0."""
    if not game.is_unbeaten(hands, owner, code, landlord, rules):
        return np.int64(1)
    if code in (game.NOTHING, game.BOMBS) or (code & U15) == U0 or game.is_compared_by_any_trio(code, rules):
        return np.int64(0)
    return np.int64(-1) if game.is_unbeaten(hands, owner, code - U1, landlord, rules) else np.int64(0)


@inline_kernel
def _fewest_turns(search: SolverMemory, top: int, hands: np.ndarray, owner: int, spent: int) -> int:
    """Return the fewest moves in which an opponent of the leader can go out, less the ``spent`` moves."""
    fewest = np.int64(99)
    for seat in range(np.int64(search.rules[R_PLAYERS])):
        if (seat == search.landlord) != (owner == search.landlord):
            fewest = min(fewest, game.fewest_turns(search.turns, search.moves, top, hands[seat], search.rules) - spent)
    return fewest


@part_kernel
def _open_frame(search: SolverMemory, depth: int, hand: np.uint64, top: int) -> None:
    """Begin a search frame for a hand by listing all its leads on the move stack from ``top`` on."""
    frame = search.moves.work[depth]
    frame.hand, frame.next, frame.end = hand, top, game.append_leads(search.moves, top, hand, search.rules)


@inline_kernel
def _retreat(moves: game.Moves, depth: int) -> int:
    """Take back the move that led to the current hand, and return the depth before it."""
    frame = moves.work[depth]
    moves.tally[frame.segment] -= frame.weight
    return depth - 1


@inline_kernel
def _weigh_move(search: SolverMemory, depth: int, index: int, hands: np.ndarray, owner: int) -> tuple[int, int, int]:
    """Return a move's ``_weight_of_target``, and the new counts of beatable moves, in all and without a master."""
    moves, frame = search.moves, search.moves.work[depth]
    code = game.code_after_move(moves, moves.mains[index], moves.kickers[index], search.rules)
    weight, kept = (
        _weight_of_target(hands, owner, code, search.landlord, search.rules),
        moves.tally[_segment_of(moves, index)],
    )
    beatable, without_master = frame.beatable, frame.without_master
    if weight > 0:
        beatable += 1
        without_master += 1 if kept >= 0 else 0
    elif weight < 0 and kept > 0:
        without_master -= 1
    return weight, beatable, without_master


@inline_kernel
def _segment_of(moves: game.Moves, index: int) -> int:
    return np.int64(MAIN_SEGMENT[moves.mains[index]])


@inline_kernel
def _advance(moves: game.Moves, depth: int, index: int, weight: int, beatable: int, without_master: int) -> int:
    """Enter the search frame after a move, with the move's weight and counts, and return the new depth."""
    segment, frame = _segment_of(moves, index), moves.work[depth + 1]
    moves.tally[segment] += weight
    frame.segment, frame.weight, frame.beatable, frame.without_master = segment, weight, beatable, without_master
    return depth + 1


@part_kernel
def can_run_out(search: SolverMemory, top: int, hands: np.ndarray, owner: int, spent: int) -> bool:
    """Return whether a leader wins against any defence by keeping the lead or regaining it at once.

    The hand is split into moves.  One that no opponent beats keeps the lead.  A beatable one is led while a master of
    its category, which beats every answer, is kept.  One beatable move without a master may be left for the end.
    Opponents' hands only shrink, so the order does not matter, and each move is tried where the lowest card left makes
    it necessary.  An opponent answers each beatable lead once at most, so one that needs more moves cannot go out.

    Args:
        search: Memory.
        top: The free part of the stack of moves.
        hands: All hands, shape ``[3]``.
        owner: The leader.
        spent: Moves that an opponent may have made since.
    """
    moves = search.moves
    fewest_turns = _fewest_turns(search, top, hands, owner, spent)
    moves.tally[:] = 0
    depth, looked = np.int64(game.RUN_FRAMES), 0
    frame = moves.work[depth]
    frame.segment, frame.weight, frame.beatable, frame.without_master = 0, 0, 0, 0
    _open_frame(search, depth, hands[owner], top)
    while True:
        frame = moves.work[depth]
        index, end = frame.next, frame.end
        if end > moves.mains.size or looked > RUN_LIMIT:
            return False
        if index == end:
            if depth == game.RUN_FRAMES:
                return False
            depth = _retreat(moves, depth)
            continue
        frame.next = index + 1
        rest = moves.rests[index]
        if not game.takes_lowest(frame.hand, rest):
            continue
        looked += 1
        weight, beatable, without_master = _weigh_move(search, depth, index, hands, owner)
        if beatable > fewest_turns:
            continue
        if rest == U0:
            if without_master <= 1 and beatable - without_master < fewest_turns:
                return True
            continue
        depth = _advance(moves, depth, index, weight, beatable, without_master)
        _open_frame(search, depth, rest, end)


@pure_kernel
def has_quick_win(search: SolverMemory, top: int, hands: np.ndarray, owner: int, spent: int) -> bool:
    """Return whether a leader provably wins by playing out all its cards.

    Args:
        search: Memory.
        top: The free part of the stack of moves.
        hands: All hands, shape ``[3]``.
        owner: The leader.
        spent: Moves that each opponent may have made since, from these hands.
    """
    landlord, rules = search.landlord, search.rules
    needed = game.fewest_turns(search.turns, search.moves, top, hands[owner], rules)
    if needed == 1:
        return True
    trumps = np.int64(popcount(bomb_ranks(hands[owner], rules)) + (U1 if holds_rocket(hands[owner], rules) else U0))
    if needed > 1 + trumps:
        for seat in range(np.int64(rules[R_PLAYERS])):
            other_side = (seat == landlord) != (owner == landlord)
            if other_side and game.can_trump(hands[seat], game.BOMBS, rules):
                return False  # it beats every move but bombs
    if rules[R_CHAIN_FROM_QUAD] == U0:
        return False  # there a chain's legality depends on the rest of the hand, so the order would matter
    return can_run_out(search, top, hands, owner, spent)


@pure_kernel
def _reply_wins(search: SolverMemory, ply: int, top: int, owner: int, code: np.uint64, rest: np.uint64) -> bool:
    """Return whether a reply wins at once: no opponent beats it, and its owner plays out all cards after it.

    The mover's hand only gets less before the reply, so its whole hand is used for what is left of it.  A partner of
    the mover who acts before the reply could take over: it must not go out by that, and the reply must beat
    everything that it can play.

    Args:
        search: Memory.
        ply: The node.
        top: The free part of the stack of moves.
        owner: Who replies.
        code: What the reply leaves on the table.
        rest: The owner's hand after it.
    """
    landlord, rules = search.landlord, search.rules
    seat, hands = search.frames[ply].seat, search.hands[ply]
    players = np.int64(rules[R_PLAYERS])
    partner = seat + 1 if seat + 1 < players else np.int64(0)
    if partner != owner and seat != landlord:
        if game.fewest_turns(search.turns, search.moves, top, hands[partner], rules) == 1:
            return False  # it may go out first
        lower = code not in (game.BOMBS, game.NOTHING) and (code & U15) != U0
        if lower and game.can_beat(hands[partner], code - U1, rules):
            return False
    if rest == U0:
        return True
    if not game.is_unbeaten(hands, owner, code, landlord, rules):
        return False
    after = search.hands[ply + 1]
    after[0], after[1], after[2] = hands[0], hands[1], hands[2]
    after[owner] = rest
    return has_quick_win(search, top, after, owner, np.int64(1))


@part_kernel
def _highest_winning_reply(search: SolverMemory, ply: int, top: int, code: np.uint64) -> int:
    """Return the highest rank of an opponent's reply in the same category that wins at once, or -1."""
    landlord, rules = search.landlord, search.rules
    moves, hands, seat = search.moves, search.hands[ply], search.frames[ply].seat
    segment = game.segment_of(code)
    best = np.int64(-1)
    for owner in range(np.int64(rules[R_PLAYERS])):
        if (owner == landlord) == (seat == landlord):
            continue
        starts = game.reply_starts(hands[owner], code, rules)
        end = game.append_group_moves(moves, top, hands[owner], segment, starts, game.FOLLOWING, code & U15, rules)
        if end > moves.mains.size:
            return best
        for index in range(end - 1, top - 1, -1):
            rank = np.int64(moves.mains[index] - SEGMENT_BASE[segment])
            if rank <= best:
                break
            target = ((segment + U1) << U4) | np.uint64(rank)
            if _reply_wins(search, ply, end, owner, target, moves.rests[index]):
                best = rank
                break
    return best


@part_kernel
def _trump_wins(search: SolverMemory, ply: int, top: int) -> bool:
    """Return whether an opponent's bomb or rocket wins at once."""
    landlord, rules = search.landlord, search.rules
    hands, seat = search.hands[ply], search.frames[ply].seat
    for owner in range(np.int64(rules[R_PLAYERS])):
        if (owner == landlord) == (seat == landlord):
            continue
        hand = hands[owner]
        if holds_rocket(hand, rules):
            code = game.BOMBS if rules[R_BOMBS_BEAT_ROCKET] == U1 else game.NOTHING
            if _reply_wins(search, ply, top, owner, code, hand & ~JOKERS):
                return True
        bombs = bomb_ranks(hand, rules)
        while bombs != U0:
            rank = lowest_bit(bombs)
            bombs &= bombs - U1
            code = ((np.uint64(SEG_BOMB) + U1) << U4) | rank
            if _reply_wins(search, ply, top, owner, code, remove_cards(hand, U1 << rank, U4)):
                return True
    return False


@part_kernel
def loses_to_quick_win(search: SolverMemory, ply: int, top: int, main: np.uint64, kickers: np.uint64) -> bool:
    """Return whether a node's move, other than a pass, loses to an opponent's quick win.

    What refutes a move refutes every lower one of its segment, so each segment is worked out once per node; the lowest
    move of a segment must come first.

    Args:
        search: Memory.
        ply: The node.
        top: The free part of the stack of moves.
        main: The move's main group.
        kickers: Its kickers.
    """
    rules = search.rules
    if rules[R_CHAIN_FROM_QUAD] == U0:
        return False  # there a hand that gets less may gain replies
    code = game.code_after_move(search.moves, main, kickers, rules)
    if code in (game.BOMBS, game.NOTHING) or game.is_compared_by_any_trio(code, rules):
        return False
    threats, node = search.threats, search.frames[ply].start
    segment = np.int64(game.segment_of(code))
    if threats[segment, 0] != node:
        threats[segment, 0], threats[segment, 1] = node, _highest_winning_reply(search, ply, top, code)
    if threats[segment, 1] > np.int64(code & U15):
        return True
    if segment == SEG_BOMB:
        return False
    if threats[TRUMPS, 0] != node:
        threats[TRUMPS, 0] = node
        threats[TRUMPS, 1] = 1 if _trump_wins(search, ply, top) else 0
    return threats[TRUMPS, 1] == 1
