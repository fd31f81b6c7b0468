"""How likely a move is, given the move that a deterministic policy would have made.

Real players are not deterministic, so the policy's move is a *centre*.  The likelihood is a mixture: a share
``uniform`` for a player that draws any legal move, the rest for one that strays from the centre by kind: the same
main group, one of *kin* (the same category and length, or the same body), another, a bomb or a pass; the lowest legal
group of its category and length is a kind of its own, because most players that do not pass spend as little as they
can.  How often each kind is chosen depends on the situation (lead or follow, whose move is to be beaten, whether the
policy passes); the moves of a kind share its probability, kinds that the hand does not offer have none.  Every
particle therefore gets a proper distribution over the moves that *it* could have made, and no legal move has
probability zero.
"""

# mypy: disable-error-code="arg-type, return-value, assignment, no-any-return"
# (To Numba NumPy's integers and Python's are one type, to the checker they are two.)

from __future__ import annotations

from math import comb

import numpy as np

from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.layout import HANDS, LANDLORD, OWNER, SEAT, TARGET
from ddz_env.core.engine.tables import (
    MAIN_SEGMENT,
    MASK_WORDS,
    ROCKET_ID,
    SEG_BOMB,
    SEGMENT_BASE,
    SEGMENT_COPIES,
    SEGMENT_KICKER_COUNT,
    SEGMENT_KICKER_SIZE,
    SEGMENT_LENGTH,
)
from ddz_env.core.engine.words import JOKERS, PLANE, U0, U1, U2, U16, body_mask, lowest, popcount
from ddz_env.core.rules import R_BOMBS, R_TWO_JOKERS

SITUATIONS = ("lead", "play on an enemy", "play on the partner", "pass on an enemy", "pass on the partner")
"""What the policy would do, and on whose move."""
KINDS = ("same", "lowest kin", "kin", "lowest other", "other", "bomb", "pass")
"""How the observed move relates to the policy's."""
N_SITUATIONS, N_KINDS = len(SITUATIONS), len(KINDS)
LEAD, PLAY_ON_ENEMY, PLAY_ON_PARTNER, PASS_ON_ENEMY, PASS_ON_PARTNER = range(N_SITUATIONS)
SAME, LOWEST_KIN, KIN, LOWEST_OTHER, OTHER, BOMB, PASS = range(N_KINDS)

T_KICKERS = N_SITUATIONS * N_KINDS
"""Index in a table: how often the policy's own kickers ride with the policy's own main group."""
T_UNIFORM = T_KICKERS + 1
"""Index in a table: the share of the player that draws any legal move."""
TABLE_WORDS = T_UNIFORM + 1
"""A table: the probability of each kind in each situation, then ``T_KICKERS`` and ``T_UNIFORM``; float64."""

IMPOSSIBLE = -20.0
"""Log-likelihood of a move that a particle could not have made (possible where a rule looks at the whole hand)."""

F_COUNTS = 0
"""Index in the facts of a decision: how many legal main groups there are of each kind."""
F_MOVES = N_KINDS
"""Index in the facts: how many whole legal moves there are."""
F_SITUATION, F_KIND = F_MOVES + 1, F_MOVES + 2
"""Indexes in the facts: the situation, and the kind of the observed move (``ILLEGAL`` where it is not legal)."""
F_SETS, F_OWN_KICKERS = F_MOVES + 3, F_MOVES + 4
"""Indexes in the facts: how many kicker sets the observed main group has, and 1 where the kickers are the policy's."""
FACTS = F_OWN_KICKERS + 1
"""The facts of a decision: float64."""
ILLEGAL = -1.0

_CHOOSE = np.array([[comb(ranks, count) for count in range(8)] for ranks in range(16)], np.float64)
_ROCKET = np.uint64(ROCKET_ID)
_BOMB = np.uint64(SEG_BOMB)
_U63, _U64 = np.uint64(63), np.uint64(64)


@inline_kernel
def situation(row: np.ndarray, chosen: np.uint64) -> int:
    """The situation of the acting seat, for which a policy chose a main group."""
    if row[TARGET] == U0:
        return LEAD
    landlord = row[LANDLORD]
    if row[SEAT] == landlord or row[OWNER] == landlord:
        return PASS_ON_ENEMY if chosen == U0 else PLAY_ON_ENEMY
    return PASS_ON_PARTNER if chosen == U0 else PLAY_ON_PARTNER


@inline_kernel
def kind_of(main: np.uint64, chosen: np.uint64, lowest_of_segment: bool, rules: np.ndarray) -> int:
    """How a main group relates to the policy's."""
    if main == chosen:
        return SAME
    if main == U0:
        return PASS
    segment = MAIN_SEGMENT[main]
    if main == _ROCKET or (segment == _BOMB and rules[R_BOMBS] == U1):
        return BOMB
    other = MAIN_SEGMENT[chosen]
    kin = segment == other
    if chosen != U0 and chosen != _ROCKET and main - SEGMENT_BASE[segment] == chosen - SEGMENT_BASE[other]:
        same_length = SEGMENT_LENGTH[segment] == SEGMENT_LENGTH[other]
        kin = kin or (same_length and SEGMENT_COPIES[segment] == SEGMENT_COPIES[other])
    if kin:
        return LOWEST_KIN if lowest_of_segment else KIN
    return LOWEST_OTHER if lowest_of_segment else OTHER


@inline_kernel
def kicker_sets(hand: np.uint64, main: np.uint64, rules: np.ndarray) -> float:
    """How many kicker sets of different ranks the hand has for a main group, at least one."""
    segment = MAIN_SEGMENT[main]
    count = SEGMENT_KICKER_COUNT[segment]
    if count == U0:
        return 1.0
    size = SEGMENT_KICKER_SIZE[segment]
    body = body_mask(main - SEGMENT_BASE[segment], SEGMENT_LENGTH[segment])
    ranks = (hand >> (U16 * (size - U1))) & PLANE & ~body
    have = popcount(ranks)
    sets = _CHOOSE[have, count]
    if count >= U2 and (ranks & JOKERS) == JOKERS and rules[R_TWO_JOKERS] == U0:
        sets -= _CHOOSE[have - U2, count - U2]
    return max(sets, 1.0)


@pure_kernel
def _count_kinds(
    hand: np.uint64, mask: np.ndarray, main: np.uint64, chosen: np.uint64, rules: np.ndarray, facts: np.ndarray
) -> None:
    """Write how many legal main groups there are of each kind, how many whole moves, and the kind of one of them."""
    for index in range(FACTS):
        facts[index] = 0.0
    facts[F_KIND] = ILLEGAL
    before = _U63  # no segment
    for word in range(MASK_WORDS):
        bits = mask[word]
        while bits != U0:
            legal = np.uint64(word) * _U64 + lowest(bits)
            bits &= bits - U1
            kind = kind_of(legal, chosen, MAIN_SEGMENT[legal] != before, rules)
            before = MAIN_SEGMENT[legal]
            if legal == main:
                facts[F_KIND] = kind
            facts[F_COUNTS + kind] += 1.0
            facts[F_MOVES] += kicker_sets(hand, legal, rules)


@pure_kernel
def describe(
    row: np.ndarray,
    rules: np.ndarray,
    mask: np.ndarray,
    move: tuple[np.uint64, np.uint64],
    chosen: tuple[np.uint64, np.uint64],
    facts: np.ndarray,
) -> None:
    """Write what the likelihood of a move depends on.

    Args:
        row: The position before the move, shape ``[32]``, in the play stage.
        rules: The rules array.
        mask: The legal actions, shape ``[7]``.
        move: Main group and kickers that were played.
        chosen: Main group and kickers that the policy would play.
        facts: Output, shape ``[FACTS]``, float64.
    """
    main, kickers = move
    hand = row[HANDS + np.int64(row[SEAT])]
    _count_kinds(hand, mask, main, chosen[0], rules, facts)
    facts[F_SITUATION] = situation(row, chosen[0])
    facts[F_SETS] = kicker_sets(hand, main, rules)
    facts[F_OWN_KICKERS] = 1.0 if kickers == chosen[1] else 0.0


@pure_kernel
def log_likelihood(facts: np.ndarray, table: np.ndarray) -> float:
    """The log-probability of the move that a decision's facts describe.

    Args:
        facts: Shape ``[FACTS]``, float64 (:func:`describe`).
        table: Shape ``[TABLE_WORDS]``, float64.
    """
    if facts[F_KIND] == ILLEGAL:
        return IMPOSSIBLE
    if facts[F_MOVES] <= 1.0:
        return 0.0  # forced: whoever plays, plays this
    first = np.int64(facts[F_SITUATION]) * N_KINDS
    kind = np.int64(facts[F_KIND])
    offered = 0.0
    for other in range(N_KINDS):
        if facts[F_COUNTS + other] > 0.0:
            offered += table[first + other]
    strayed = table[first + kind] / (offered * facts[F_COUNTS + kind])
    sets = facts[F_SETS]
    if kind == SAME and sets > 1.0:
        own = table[T_KICKERS]
        strayed *= own if facts[F_OWN_KICKERS] > 0.0 else (1.0 - own) / (sets - 1.0)
    else:
        strayed /= sets
    share = table[T_UNIFORM]
    return np.log(share / facts[F_MOVES] + (1.0 - share) * strayed)
