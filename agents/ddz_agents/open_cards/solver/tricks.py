"""Who acts on a move, whether it stands, and what a finished game is worth to the landlord's goal."""

from __future__ import annotations

import numpy as np

from ddz_agents.open_cards.solver.memory import ANY_WIN, Technique
from ddz_agents.open_cards.solver.moves import LEAD, can_beat, can_trump, reply_starts, tightened
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.tables import MAIN_SEGMENT, SEG_BOMB, SEG_ROCKET
from ddz_env.core.engine.words import U0, U1
from ddz_env.core.rules import R_BOMBS, R_PLAYERS


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
