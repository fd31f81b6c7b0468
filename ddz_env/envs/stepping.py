"""The arrays of a batch of games, and the compiled functions that deal, play and write outputs.

Here are games whose seats are all the caller's, stepped action by action (:func:`step_games`); games with one
learner and opponents are in :mod:`ddz_env.envs.learner_games`.  Kernels that take :class:`Slots` are pure, because
other kernels count references to each array.

An *order* says what a step does with a game:

==========  ============================================================================================
``WAIT``    nothing
``OBSERVE`` show the position
``DEAL``    deal the game of its seed and number
``BEGIN``   begin with a row that is dealt already
``RESUME``  likewise, and the learner keeps its random seat
``ACT``     play the learner's action
``ANSWER``  play what an opponent answered
``RENEW``   deal the next game in the step that ended one
==========  ============================================================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.deal import new_game
from ddz_env.core.engine.layout import (
    HISTORY_MOVES,
    HISTORY_WORDS,
    MOVES,
    ROW_WORDS,
    SEAT,
    STAGE,
    STAGE_KICKER,
    STAGE_OVER,
    STAGE_PLAY,
)
from ddz_env.core.engine.legal import count_legal, is_legal_action, nth_legal, write_legal_mask
from ddz_env.core.engine.random import advance, mix, scale_below, stream_state
from ddz_env.core.engine.score import write_returns
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import KICKER_ID, MAIN_SEGMENT, MASK_WORDS, SEGMENT_KICKER_SIZE
from ddz_env.core.engine.unshuffled import new_unshuffled_game
from ddz_env.core.engine.words import PLANE, U0, U1, U16, lowest_bit, remove_cards
from ddz_env.core.observation import (
    CONCEALED_WORDS,
    MASK_BYTE_WORDS,
    OBSERVATION_WORDS,
    expand_mask,
    write_concealed,
    write_observation,
)
from ddz_env.core.rules import DEAL_UNSHUFFLED, R_DEAL, Rules
from ddz_env.core.state import SCORINGS
from ddz_env.core.view import role_number
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel

WAIT, OBSERVE, DEAL, BEGIN, RESUME, ACT, ANSWER, RENEW = range(8)

LEARNER_TURN, FINISHED, OPPONENT_TURN = range(3)
"""What a game waits for: the learner, a new deal, an agent, an agent who needs no observation."""

RANDOM_ROLE, EVERYONE = 3, 4
"""Roles of the learner besides the three: a random seat, and all seats."""

ILLEGAL_REWARD = -1.0

LOG_MOVES = 256
"""Completed moves a log holds.  54 cards are at most 54 plays with two passes after each, and an auction."""

INFO_WIDTH = 6
"""Numbers of an info: those of :data:`ddz_env.envs.outputs.INFOS`, and the cards of the last move."""

_SAMPLE_STREAM = np.uint64(0x53414D504C45)
_STAGE_OVER = np.uint64(STAGE_OVER)
_KICKER_ID = np.uint64(KICKER_ID)
_U15 = np.uint64(15)
_MAIN_BITS = np.uint64(0xFFFF)
_RING_SLOTS = np.uint64(HISTORY_MOVES)

Bytes = npt.NDArray[np.int8]
Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]


# --- The arrays -------------------------------------------------------------------------------------------------------

GAME_DTYPE = np.dtype(
    [
        ("seed", np.uint64),  # of its deals
        ("number", np.uint64),  # its number under that seed
        ("stream", np.uint64),  # state of its random generator: the opponents', or that of sampled actions
        ("order", np.int64),  # what to do next
        ("action", np.int64),  # the learner's action
        ("main", np.uint64),  # an opponent's answer: main id, or the action id of a single stage
        ("kickers", np.uint64),  # its kickers as a hand
        ("learner", np.int64),  # the learner's seat
        ("seat", np.int8),  # the seat to act
        ("role", np.int8),  # its role, 3 none yet
        ("status", np.int64),  # what the game waits for
        ("decided", np.bool_),  # whether the learner has decided anything in it
        ("done", np.bool_),  # whether the last step ended a game
        ("illegal", np.bool_),  # whether the learner's last action was illegal
        ("reward", np.float64),  # the learner's, of the game that the last step ended
    ],
    align=True,
)
"""What is noted of a game besides its cards and moves."""


class Slots(NamedTuple):
    """The arrays of a batch of ``n`` games, and the settings that the games share.

    Attributes:
        rules: The rules array, shape ``[18]``, uint64.
        scoring: The number of the scoring.
        peasant_reward: What a peasant wins.
        illegal_reward: What an illegal action of the learner's brings.
        role: The learner's role, ``RANDOM_ROLE`` or ``EVERYONE``.
        kinds: How the opponent of each role plays (:mod:`ddz_env.envs.opponents`), shape ``[players]``, int64.
        stride: By how much the number of a slot's game grows.
        renews: Whether the step that ends a game deals the next one.
        games: What is noted of each game, shape ``[n]``, of :data:`GAME_DTYPE`.
        rows: The games as the engine holds them, shape ``[n, 32]``, uint64.
        rings: Their recent moves, shape ``[n, 16, 2]``, uint64.
        returns: Of the game that the last step ended, by seat, shape ``[n, 3]``, float64.
        bits: Masks as bits, shape ``[n, 7]``, uint64.
        masks: Masks as bytes, shape ``[n, 400]`` (rounded up to whole words), int8.
        observations: Shape ``[n, 512]``, int8.
        concealed: What the seat does not see, shape ``[n, 48]``, int8.
        infos: Of all seats or of the learner, shape ``[n, seats, INFO_WIDTH]``, int64 (:func:`write_info`).
        logs: All moves, shape ``[n, 256, 2]``, uint64.
        last_observations: What the learner saw at the end of the game that ended last, where the step that ends one
            deals the next; shape ``[n, 512]``, int8.
        last_infos: Its info then, shape ``[n, INFO_WIDTH]``, int64.

    Of ``masks``, ``observations``, ``concealed`` and the last two, arrays that are not wanted have no rows; ``infos``
    and ``logs`` then have the shapes ``[n, 0, INFO_WIDTH]`` and ``[n, 0, 2]``.
    """

    rules: Words
    scoring: int
    peasant_reward: float
    illegal_reward: float
    role: int
    kinds: Integers
    stride: int
    renews: bool
    games: npt.NDArray[np.void]
    rows: Words
    rings: Words
    returns: npt.NDArray[np.float64]
    bits: Words
    masks: Bytes
    observations: Bytes
    concealed: Bytes
    infos: Integers
    logs: Words
    last_observations: Bytes
    last_infos: Integers


def allocate_slots(
    n: int,
    rules: Rules,
    scoring: str,
    *,
    role: int = EVERYONE,
    kinds: Integers | None = None,
    illegal_reward: float = ILLEGAL_REWARD,
    stride: int = 1,
    renews: bool = False,
    masks: bool = False,
    observations: bool = False,
    concealed: bool = False,
    infos: int = 0,
    logs: bool = False,
    last: bool = False,
) -> Slots:
    """Allocate zeroed arrays for ``n`` games and for the outputs that the caller asks for.

    Args:
        n: How many games.
        rules: The rules.
        scoring: A key of ``SCORINGS``.
        role: As in :class:`Slots`.
        kinds: As in :class:`Slots`; of no meaning without a learner.
        illegal_reward: As in :class:`Slots`, likewise.
        stride: As in :class:`Slots`.
        renews: As in :class:`Slots`.
        masks: Whether masks are written as bytes.
        observations: Whether observations are.
        concealed: Whether the cards that a seat does not see are.
        infos: How many infos a game has: one, or one for each seat.
        logs: Whether all moves are kept.
        last: Whether what the learner saw last is.
    """

    def words(*shape: int) -> Words:
        return np.zeros((n, *shape), np.uint64)

    def rows_of_bytes(wanted: bool, width: int) -> Bytes:
        return np.zeros((n if wanted else 0, 8 * width), np.int8)

    games = np.zeros(n, GAME_DTYPE)
    games["status"] = FINISHED
    return Slots(
        rules=rules.words(),
        scoring=SCORINGS[scoring],
        peasant_reward=float(rules.peasant_reward),
        illegal_reward=illegal_reward,
        role=role,
        kinds=np.zeros(3, np.int64) if kinds is None else kinds,
        stride=stride,
        renews=renews,
        games=games,
        rows=words(ROW_WORDS),
        rings=words(HISTORY_MOVES, HISTORY_WORDS),
        returns=np.zeros((n, 3), np.float64),
        bits=words(MASK_WORDS),
        masks=rows_of_bytes(masks, MASK_BYTE_WORDS),
        observations=rows_of_bytes(observations, OBSERVATION_WORDS),
        concealed=rows_of_bytes(concealed, CONCEALED_WORDS),
        infos=np.zeros((n, infos, INFO_WIDTH), np.int64),
        logs=words(logs * LOG_MOVES, HISTORY_WORDS),
        last_observations=rows_of_bytes(last, OBSERVATION_WORDS),
        last_infos=np.zeros((n if last else 0, INFO_WIDTH), np.int64),
    )


# --- Kernels of all games ---------------------------------------------------------------------------------------------


@pure_kernel
def is_action_legal(action: int, bits: np.ndarray) -> bool:
    """Return whether an integer, in range or not, is a legal action id according to a mask of shape ``[7]``."""
    return 0 <= action < NUM_ACTIONS and is_legal_action(bits, np.uint64(action))


@pure_kernel
def first_illegal(actions: np.ndarray, bits: np.ndarray) -> int:
    """Return the index of the first action that its mask forbids, or -1 if all are legal."""
    for index in range(actions.shape[0]):
        if not is_action_legal(actions[index], bits[index]):
            return index
    return -1


@part_kernel
def play_action(row: np.ndarray, ring: np.ndarray, log: np.ndarray, action: np.uint64, rules: np.ndarray) -> None:
    """Play one legal action, and record a completed move in the buffer of recent moves and in the log.

    Args:
        row: The game, shape ``[32]``, uint64, changed in place.
        ring: The recent moves, shape ``[16, 2]``, uint64, changed in place.
        log: All moves of the deal, shape ``[256, 2]``, uint64, or ``[0, 2]`` where they are not kept.
        action: A legal action id.
        rules: The rules array.
    """
    before = row[MOVES]
    apply_and_record(row, ring, action, rules)
    if row[MOVES] != before and row[MOVES] > U0 and log.shape[0] > 0:
        slot = np.int64(before & _U15)
        log[np.int64(before), 0] = ring[slot, 0]
        log[np.int64(before), 1] = ring[slot, 1]


@pure_kernel
def play_whole_move(
    row: np.ndarray, ring: np.ndarray, log: np.ndarray, main: np.uint64, kickers: np.uint64, rules: np.ndarray
) -> None:
    """Play a legal whole move action by action: the main group, then each kicker.

    Args:
        row: The game, changed in place.
        ring: The recent moves, changed in place.
        log: All moves (:func:`play_action`).
        main: Action id of the main group, a bid or an answer to doubling.
        kickers: The kickers as a hand, 0 if none.
        rules: The rules array.
    """
    play_action(row, ring, log, main, rules)
    while kickers != U0:
        rank = lowest_bit(kickers & PLANE)
        kickers = remove_cards(kickers, U1 << rank, SEGMENT_KICKER_SIZE[MAIN_SEGMENT[main]])
        play_action(row, ring, log, _KICKER_ID + rank, rules)


@pure_kernel
def deal_game(row: np.ndarray, ring: np.ndarray, game: Any, bits: np.ndarray, rules: np.ndarray) -> None:
    """Deal the game with a given seed and number into a game-state array, with ``bits`` as scratch space."""
    seed = stream_state(game["seed"], game["number"])
    if rules[R_DEAL] == DEAL_UNSHUFFLED:
        new_unshuffled_game(row, seed, rules, bits)
    else:
        new_game(row, seed, rules)
    ring[:] = U0


@part_kernel
def clear_outcome(game: Any, returns: np.ndarray) -> None:
    """Clear the rewards, end flags and illegal-action flags that the last step wrote."""
    game["done"] = False
    game["illegal"] = False
    game["reward"] = 0.0
    for seat in range(returns.shape[0]):
        returns[seat] = 0.0


@pure_kernel
def write_outcome(
    row: np.ndarray, game: Any, scoring: int, peasant_reward: float, returns: np.ndarray, rules: np.ndarray
) -> None:
    """Write each seat's return, the learner's reward and the end flag of a finished game."""
    write_returns(row, rules, scoring, peasant_reward, returns)
    game["done"] = game["decided"]
    game["reward"] = returns[game["learner"]]


@part_kernel
def write_info(row: np.ndarray, ring: np.ndarray, rules: np.ndarray, seat: np.uint64, out: np.ndarray) -> None:
    """Write the numbers in a seat's info dict: seat, role, stage and the last move.

    Args:
        row: The game, shape ``[32]``, uint64.
        ring: The recent moves, shape ``[16, 2]``, uint64.
        rules: The rules array.
        seat: For whom.
        out: Output, shape ``[INFO_WIDTH]``, int64.
    """
    stage = row[STAGE]
    if stage == STAGE_KICKER and seat != row[SEAT]:
        stage = np.uint64(STAGE_PLAY)  # the half-built move of another seat is not on the table yet
    out[0] = np.int64(seat)
    out[1] = role_number(row, seat, rules)
    out[2] = np.int64(stage)
    out[3] = out[4] = -1
    if row[MOVES] > U0:
        cards, packed = ring[np.int64((row[MOVES] - U1) % _RING_SLOTS)]
        out[3] = np.int64(packed & _MAIN_BITS)
        out[4] = np.int64(packed >> U16)
        out[5] = np.int64(cards)


@inline_kernel
def write_outputs(
    index: int, slots: Slots, seat: np.uint64, over: bool, observations: np.ndarray, masks: np.ndarray
) -> None:
    """Write the requested outputs for a seat: observation, mask, concealed cards and infos.

    A learner's game that is over offers action 0, which changes nothing: a distribution over no actions at all does not
    exist, and policies answer for such a game before the next is dealt.
    """
    row, ring, bits, game = slots.rows[index], slots.rings[index], slots.bits[index], slots.games[index]
    write_legal_mask(row, slots.rules, bits)
    if over:
        bits[:] = U0
        bits[0] = U1
    if masks.shape[0] > 0:
        expand_mask(bits, masks[index].view(np.uint64))
    if observations.shape[0] > 0:
        write_observation(row, ring, slots.rules, seat, observations[index].view(np.uint64))
    if slots.concealed.shape[0] > 0:
        write_concealed(row, slots.rules, seat, slots.concealed[index].view(np.uint64))
    infos = slots.infos[index]
    for number in range(infos.shape[0]):
        write_info(row, ring, slots.rules, seat if infos.shape[0] == 1 else np.uint64(number), infos[number])
    game["seat"] = np.int8(row[SEAT])
    game["role"] = np.int8(role_number(row, row[SEAT], slots.rules))


# --- Games whose seats are all the caller's ---------------------------------------------------------------------------


@pure_kernel
def step_games(first: int, stop: int, slots: Slots) -> None:
    """Step the games ``first..stop-1``: carry out their instructions, and write what the seats to act see.

    Args:
        first: The first game.
        stop: The end.
        slots: The games.
    """
    for index in range(first, stop):
        if _carry_out_order(index, slots):
            deal_game(slots.rows[index], slots.rings[index], slots.games[index], slots.bits[index], slots.rules)
        write_outputs(index, slots, slots.rows[index, SEAT], False, slots.observations, slots.masks)


@inline_kernel
def _carry_out_order(index: int, slots: Slots) -> bool:
    """Carry out a game's instruction other than dealing; return whether a new game must be dealt."""
    row, ring, game, returns = slots.rows[index], slots.rings[index], slots.games[index], slots.returns[index]
    if game["order"] != OBSERVE:
        clear_outcome(game, returns)
        game["decided"] = game["order"] == ACT
    if game["order"] == ACT:
        play_action(row, ring, slots.logs[index], np.uint64(game["action"]), slots.rules)
    if game["order"] == DEAL:
        return True
    if row[STAGE] != _STAGE_OVER:
        return False
    write_outcome(row, game, slots.scoring, slots.peasant_reward, returns, slots.rules)
    game["number"] += np.uint64(slots.stride)
    return slots.renews


@pure_kernel
def step_single_game(order: int, action: int, arrays: tuple[Any, ...]) -> tuple[int, bool]:
    """Begin a single game, or check and play an action in it, and then write the game's outputs.

    Args:
        order: ``BEGIN`` or ``ACT``.
        action: Any integer.
        arrays: The :class:`Slots` of the game as a plain tuple: it takes Numba two microseconds less to read.

    Returns:
        The seat to act, or -1 if the action is not legal, and nothing has changed; and whether the game is over.
    """
    slots = Slots(*arrays)
    if order == ACT and not is_action_legal(action, slots.bits[0]):
        return -1, False
    game = slots.games[0]
    game["order"], game["action"] = order, action
    _carry_out_order(0, slots)  # it deals no next game, so that dealing need not be compiled
    write_outputs(0, slots, slots.rows[0, SEAT], False, slots.observations, slots.masks)
    return np.int64(game["seat"]), slots.rows[0, STAGE] == _STAGE_OVER  # type: ignore[return-value]  # Numba's integers


@pure_kernel
def seed_action_samplers(slots: Slots) -> None:
    """Seed each game's own generator of random actions."""
    for index in range(slots.games.shape[0]):
        game = slots.games[index]
        game["stream"] = stream_state(game["seed"] ^ _SAMPLE_STREAM, np.uint64(index))


@pure_kernel
def draw_actions(slots: Slots) -> None:
    """Draw a uniformly random legal action for each game from the game's own generator."""
    for index in range(slots.games.shape[0]):
        game, bits = slots.games[index], slots.bits[index]
        game["stream"] = advance(game["stream"])
        game["action"] = np.int64(nth_legal(bits, scale_below(mix(game["stream"]), count_legal(bits))))
