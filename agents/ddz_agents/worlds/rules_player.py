"""The rule agent as a player model: how likely a move is, given the move that the rule agent would make.

Real players are not deterministic, so the policy's move is a *centre*.  The likelihood is a mixture: a share
``uniform`` for a player that draws any legal move, the rest for one that strays from the centre by kind: the same
main group, one of *kin* (the same category and length, or the same body), another, a bomb or a pass; the lowest legal
group of its category and length is a kind of its own, because most players that do not pass spend as little as they
can.  How often each kind is chosen depends on the situation (lead or follow, whose move is to be beaten, whether the
policy passes); the moves of a kind share its probability, kinds that the hand does not offer have none.  Every
particle therefore gets a proper distribution over the moves that *it* could have made, and no legal move has
probability zero.

Three responses were fitted (in git at 758dc8e7, ``training/experiments/response_fit.py``) by counting how
the true holder of the cards moved, in games of three kinds of players: the rule agent itself, information-set UCT, and
uniformly random play.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.prices import is_bomb
from ddz_agents.rules.rules import rules_move
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.rules.workspace import RuleWorkspace, new_rule_workspace
from ddz_agents.worlds.determinize import Reals, Words
from ddz_agents.worlds.history import S_KICKERS, S_MAIN, S_SEAT, PublicHistory, rewind
from ddz_env.core.engine import tables
from ddz_env.core.engine.layout import HANDS, LANDLORD, OWNER, ROW_WORDS, SEAT, TARGET
from ddz_env.core.engine.step import play_move
from ddz_env.core.engine.words import JOKERS, PLANE, U0, U1, U2, U16, body_mask, lowest_bit, popcount
from ddz_env.core.notation import Move
from ddz_env.core.rules import R_TWO_JOKERS, Rules
from ddz_env.support.arrays import WritableAfterUnpickling
from ddz_env.support.compiling import inline_kernel, kernel, part_kernel, pure_kernel

SITUATIONS = ("lead", "play on an enemy", "play on the partner", "pass on an enemy", "pass on the partner")
"""What the policy would do, and whose move it follows."""
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

ILLEGAL = np.int64(-1)
"""In place of the kind of a move that is not legal."""

_BINOMIALS = np.array([[comb(ranks, count) for count in range(8)] for ranks in range(16)], np.float64)
_U63, _U64 = np.uint64(63), np.uint64(64)


@part_kernel
def find_situation(row: np.ndarray, chosen: np.uint64) -> int:
    """Classify a decision: a lead, or the rule agent's play or pass on a move of an enemy or of its partner."""
    if row[TARGET] == U0:
        return LEAD
    landlord = row[LANDLORD]
    if row[SEAT] == landlord or row[OWNER] == landlord:
        return PASS_ON_ENEMY if chosen == U0 else PLAY_ON_ENEMY
    return PASS_ON_PARTNER if chosen == U0 else PLAY_ON_PARTNER


@part_kernel
def classify_move(main: np.uint64, chosen: np.uint64, lowest_of_segment: bool, rules: np.ndarray) -> int:
    """Classify a main group against the rule agent's choice: ``SAME``, ``PASS`` or another of ``KINDS``."""
    if main == chosen:
        return SAME
    if main == U0:
        return PASS
    if is_bomb(main, rules):
        return BOMB
    segment, other = tables.MAIN_SEGMENT[main], tables.MAIN_SEGMENT[chosen]
    kin = segment == other
    if (
        chosen != U0
        and chosen != tables.ROCKET_ID
        and main - tables.SEGMENT_BASE[segment] == chosen - tables.SEGMENT_BASE[other]
    ):
        same_length = tables.SEGMENT_LENGTH[segment] == tables.SEGMENT_LENGTH[other]
        kin = kin or (same_length and tables.SEGMENT_COPIES[segment] == tables.SEGMENT_COPIES[other])
    if kin:
        return LOWEST_KIN if lowest_of_segment else KIN
    return LOWEST_OTHER if lowest_of_segment else OTHER


@inline_kernel
def count_kicker_sets(hand: np.uint64, main: np.uint64, rules: np.ndarray) -> float:
    """Return how many kicker sets of different ranks a hand has for a main group, at least one."""
    segment = tables.MAIN_SEGMENT[main]
    count = tables.SEGMENT_KICKER_COUNT[segment]
    if count == U0:
        return 1.0
    size = tables.SEGMENT_KICKER_SIZE[segment]
    body = body_mask(main - tables.SEGMENT_BASE[segment], tables.SEGMENT_LENGTH[segment])
    ranks = (hand >> (U16 * (size - U1))) & PLANE & ~body
    have = popcount(ranks)
    sets = _BINOMIALS[have, count]
    if count >= U2 and (ranks & JOKERS) == JOKERS and rules[R_TWO_JOKERS] == U0:
        sets -= _BINOMIALS[have - U2, count - U2]
    return max(sets, 1.0)


class ObservedMove(NamedTuple):
    """The facts that determine an observed move's likelihood, apart from the counts of legal main groups.

    Attributes:
        situation: One of ``SITUATIONS``.
        kind: One of ``KINDS``, of the observed move; ``ILLEGAL`` where it is not legal.
        moves: How many whole moves are legal.
        sets: How many kicker sets the observed main group has.
        own_kickers: Whether the kickers are the policy's.
    """

    situation: int
    kind: int
    moves: float
    sets: float
    own_kickers: bool


@part_kernel
def _count_kinds(
    hand: np.uint64, mask: np.ndarray, main: np.uint64, chosen: np.uint64, rules: np.ndarray, counts: np.ndarray
) -> tuple[int, float]:
    """Count the legal main groups by kind of deviation; return the kind of ``main`` and the number of legal moves."""
    counts[:] = 0.0
    kind_of_main, moves = ILLEGAL, 0.0
    before = _U63  # no segment
    for word in range(tables.MASK_WORDS):
        bits = mask[word]
        while bits != U0:
            legal = np.uint64(word) * _U64 + lowest_bit(bits)
            bits &= bits - U1
            kind = classify_move(legal, chosen, tables.MAIN_SEGMENT[legal] != before, rules)
            before = tables.MAIN_SEGMENT[legal]
            if legal == main:
                kind_of_main = np.int64(kind)
            counts[kind] += 1.0
            moves += count_kicker_sets(hand, legal, rules)
    return kind_of_main, moves


@part_kernel
def describe_decision(
    row: np.ndarray, rules: np.ndarray, move: tuple[np.uint64, np.uint64], workspace: RuleWorkspace, counts: np.ndarray
) -> ObservedMove:
    """Return how an observed move compares with the rule agent's choice in the same position.

    Args:
        row: The position before the move, shape ``[32]``, in the play stage.
        rules: The rules array.
        move: The main group that was played, and its kickers as a hand.
        workspace: The rule agent's memory.
        counts: Output: the legal main groups of each kind, shape ``[N_KINDS]``, float64.
    """
    main, kickers = move
    chosen, riders = rules_move(row, rules, workspace, WEIGHTS)
    hand = row[HANDS + np.int64(row[SEAT])]
    kind, moves = _count_kinds(hand, workspace.mask, main, chosen, rules, counts)
    return ObservedMove(
        find_situation(row, chosen), kind, moves, count_kicker_sets(hand, main, rules), kickers == riders
    )


@pure_kernel
def log_likelihood(facts: ObservedMove, counts: np.ndarray, table: np.ndarray) -> float:
    """Return the log-probability of an observed move under a table of deviation frequencies.

    Args:
        facts: What :func:`describe_decision` has found.
        counts: What it has counted, shape ``[N_KINDS]``, float64.
        table: Shape ``[TABLE_WORDS]``, float64.
    """
    if facts.kind == ILLEGAL:
        return IMPOSSIBLE
    if facts.moves <= 1.0:
        return 0.0  # forced: every player plays this
    first = facts.situation * N_KINDS
    offered = 0.0
    for other in range(N_KINDS):
        if counts[other] > 0.0:
            offered += table[first + other]
    strayed = table[first + facts.kind] / (offered * counts[facts.kind])
    if facts.kind == SAME and facts.sets > 1.0:
        own_share = table[T_KICKERS]
        strayed *= own_share if facts.own_kickers else (1.0 - own_share) / (facts.sets - 1.0)
    else:
        strayed /= facts.sets
    share = table[T_UNIFORM]
    return np.log(share / facts.moves + (1.0 - share) * strayed)


class Response(NamedTuple):
    """How one kind of player deviates from the rule agent's move.

    Attributes:
        kinds: The relative frequency of each of ``KINDS`` in each of ``SITUATIONS``, five rows of seven.  Kinds that a
            hand does not offer are left out and the others scaled up.
        kickers: How often the rule agent's own kickers ride along where its own main group is played.
        uniform: The share of the player that draws any legal move; the floor under every legal move.
    """

    kinds: tuple[tuple[float, ...], ...]
    kickers: float
    uniform: float

    def table(self) -> Reals:
        """Return the deviation frequencies as a table that kernels read, shape ``[TABLE_WORDS]``, float64."""
        table = np.zeros(TABLE_WORDS)
        table[:T_KICKERS] = np.asarray(self.kinds).ravel()
        table[T_KICKERS], table[T_UNIFORM] = self.kickers, self.uniform
        return table


@kernel
def _decision_log_likelihoods(
    rows: np.ndarray, rules: np.ndarray, move: tuple[np.uint64, np.uint64], table: np.ndarray, workspace: RuleWorkspace
) -> np.ndarray:
    """Return one move's log-likelihood in every determinization, shape ``[n]``."""
    logs, counts = np.empty(rows.shape[0]), np.empty(N_KINDS)
    for index in range(rows.shape[0]):
        logs[index] = log_likelihood(describe_decision(rows[index], rules, move, workspace, counts), counts, table)
    return logs


@kernel
def _history_log_likelihoods(
    history: PublicHistory,
    hands: np.ndarray,
    weighed: np.ndarray,
    rules: np.ndarray,
    responses: np.ndarray,
    workspace: RuleWorkspace,
) -> np.ndarray:
    """Replay the history once per particle, and return each seat's log-likelihoods, ``[n, responses, 3]``."""
    logs = np.zeros((hands.shape[0], responses.shape[0], 3))
    counts, row = np.empty(N_KINDS), np.empty(ROW_WORDS, np.uint64)
    end = weighed.shape[0]
    while end > 0 and not weighed[end - 1]:
        end -= 1
    for particle in range(hands.shape[0]):
        rewind(history, hands[particle], row)
        for index in range(end):
            main, kickers = history.moves[index, S_MAIN], history.moves[index, S_KICKERS]
            if weighed[index]:
                facts = describe_decision(row, rules, (main, kickers), workspace, counts)
                seat = np.int64(history.moves[index, S_SEAT])
                for kind in range(responses.shape[0]):
                    logs[particle, kind, seat] += log_likelihood(facts, counts, responses[kind])
            play_move(row, main, kickers, rules)
    return logs


class RulesPlayer(WritableAfterUnpickling):
    """A model of a seat that plays like the rule agent apart from deviations (see :class:`Response`).

    Args:
        response: How it strays.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1)
        >>> move = RulesPlayer(SEARCHER).log_likelihood(state.row[None], state.rules, 0, state.legal_moves()[0])
        >>> move.shape, bool(move[0] < 0)
        ((1,), True)
    """

    def __init__(self, response: Response) -> None:
        self.response = response
        self._table = response.table()
        self._workspace = new_rule_workspace()

    def __repr__(self) -> str:
        return f"RulesPlayer({self.response!r})"

    def log_likelihood(self, rows: Words, rules: Rules, seat: int, move: Move, ring: Words | None = None) -> Reals:
        """Return a move's log-probability in each position (see :class:`~ddz_agents.worlds.history.PlayerModel`)."""
        return np.asarray(_decision_log_likelihoods(rows, rules.words(), move.words, self._table, self._workspace))


def rules_history_log_likelihoods(
    models: Sequence[RulesPlayer], history: PublicHistory, hands: Words, weighed: npt.NDArray[np.bool_], rules: Rules
) -> Reals:
    """Return the log-likelihoods of each seat's past decisions under rule models, in one compiled loop.

    The rule agent moves once per decision and particle, for all responses together.

    Args:
        models: The models.
        history: The public history.
        hands: The particles, shape ``[n, 4]``, uint64.
        weighed: Which decisions of the history are weighed, shape ``[moves]``.
        rules: The rules.

    Returns:
        Shape ``[n, models, 3]``, float64.
    """
    responses = np.stack([model.response.table() for model in models])
    return np.asarray(_history_log_likelihoods(history, hands, weighed, rules.words(), responses, new_rule_workspace()))


FAITHFUL = Response(((1.0,) + (0.02,) * 6,) * 5, kickers=0.98, uniform=0.02)
"""A player that follows the rule agent.  The fit says "always"; this is blunter, so that one slip is forgiven."""

SEARCHER = Response(
    (
        (0.392, 0.184, 0.026, 0.383, 0.015, 0.001, 0.001),
        (0.413, 0.277, 0.157, 0.001, 0.001, 0.093, 0.060),
        (0.354, 0.207, 0.240, 0.001, 0.001, 0.070, 0.129),
        (0.001, 0.001, 0.001, 0.409, 0.181, 0.409, 0.001),
        (0.563, 0.001, 0.001, 0.150, 0.133, 0.154, 0.001),
    ),
    kickers=0.999,
    uniform=0.303,
)
"""A player that searches: information-set UCT with 2,000 iterations."""

ANYTHING = Response(((1.0,) * 7,) * 5, kickers=0.5, uniform=1.0)
"""A player that draws uniformly from its legal moves; nothing is fitted."""

RESPONSES = (FAITHFUL, SEARCHER, ANYTHING)
"""The kinds of players that a hidden seat may be, equally likely before it has moved."""
