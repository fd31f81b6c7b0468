"""Stepping games for environments: what a game is dealt, which actions are legal, and playing one in a bare row.

The environments keep bare rows, because a :class:`~ddz_env.State` costs microseconds a step.  What people and agents
need (a state, a view, readable moves) is rebuilt from the row and its log on request.  Many games are named tuples of
arrays (:func:`allocate`), which kernels take whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Annotated, Any, NoReturn, TypeVar, get_type_hints

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import NUM_ACTIONS, action_name
from ddz_env.core.checks import as_array, check_choice, described
from ddz_env.core.engine.compiling import pure_kernel
from ddz_env.core.engine.deal import new_game
from ddz_env.core.engine.layout import HISTORY_MOVES, HISTORY_WORDS, MOVES, ROW_WORDS, SEAT
from ddz_env.core.engine.legal import marked
from ddz_env.core.engine.random import key
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0
from ddz_env.core.errors import IllegalMoveError, InvalidMoveError, InvalidOptionError, InvalidRulesError, shown
from ddz_env.core.notation import recorded_move
from ddz_env.core.observation import MASK_BYTE_WORDS, OBSERVATION_WORDS
from ddz_env.core.rules import Rules
from ddz_env.core.state import SCORINGS, State
from ddz_env.core.view import seat_role

LOG_MOVES = 256
"""Completed moves a log holds.  54 cards are at most 54 plays with two passes after each, and an auction."""

_U15 = np.uint64(15)
_MAIN = 0xFFFF


Rows = Annotated[Any, np.uint64, ROW_WORDS]
Rings = Annotated[Any, np.uint64, HISTORY_MOVES, HISTORY_WORDS]
Bits = Annotated[Any, np.uint64, MASK_WORDS]
Masks = Annotated[Any, np.uint64, MASK_BYTE_WORDS]
Observations = Annotated[Any, np.uint64, OBSERVATION_WORDS]
Words = Annotated[Any, np.uint64]
Bytes = Annotated[Any, np.int8]
Flags = Annotated[Any, np.bool_]
"""Arrays of many games: their types, and their shapes but for the games."""

_Arrays = TypeVar("_Arrays", bound=tuple[Any, ...])


def allocate(kind: type[_Arrays], n: int, **fewer: int) -> _Arrays:
    """Zeroed arrays for ``n`` games.

    Args:
        kind: A named tuple; the annotation of each field has the array's type and shape, but for the games.
        n: How many games.
        **fewer: For how many games an array is, by its field: none where nobody reads it.
    """
    fields = get_type_hints(kind, include_extras=True).items()
    shapes = {name: (fewer.get(name, n), *annotated.__metadata__[1:]) for name, annotated in fields}
    return kind(*(np.zeros(shapes[name], annotated.__metadata__[0]) for name, annotated in fields))


@pure_kernel
def play_action(row: np.ndarray, ring: np.ndarray, log: np.ndarray, action: np.uint64, rules: np.ndarray) -> None:
    """Play one legal action and enter a completed move in the ring and in the log.

    Args:
        row: The game, shape ``[32]``, uint64, changed in place.
        ring: The recent moves, shape ``[16, 2]``, uint64, changed in place.
        log: All moves of the deal, shape ``[256, 2]``, uint64, or ``[0, 2]`` where nobody reads it.
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
def begin_game(row: np.ndarray, ring: np.ndarray, seed: np.uint64, game: np.uint64, rules: np.ndarray) -> None:
    """Deal game number ``game`` of a seed and clear the ring."""
    new_game(row, key(seed, game), rules)
    for slot in range(HISTORY_MOVES):
        for word in range(HISTORY_WORDS):
            ring[slot, word] = U0


@pure_kernel
def acting_role(row: np.ndarray, rules: np.ndarray) -> np.int64:
    """The role of the seat to act: 0 landlord, 1 peasant down, 2 peasant up, 3 none yet."""
    return seat_role(row, row[SEAT], rules)


@pure_kernel
def is_playable(action: int, bits: np.ndarray) -> bool:
    """Whether any integer is a legal action of a mask of shape ``[7]``."""
    return 0 <= action < NUM_ACTIONS and marked(bits, np.uint64(action))


@pure_kernel
def first_illegal(actions: np.ndarray, bits: np.ndarray) -> int:
    """Index of the first action that is not legal, -1 if all are."""
    for index in range(actions.shape[0]):
        if not is_playable(actions[index], bits[index]):
            return index
    return -1


def restore_state(
    row: npt.NDArray[np.uint64], ring: npt.NDArray[np.uint64], log: npt.NDArray[np.uint64], rules: Rules
) -> State:
    """A state of its own from a row, its ring and its log (all copied)."""
    state = State.__new__(State)
    packed = log[: int(row[MOVES])].tolist()
    history = [(mover >> 16, recorded_move(mover & _MAIN, cards)) for cards, mover in packed]
    state.__setstate__((row.copy(), rules, ring.copy(), history))
    return state


def lay_out(
    state: State, row: npt.NDArray[np.uint64], ring: npt.NDArray[np.uint64], log: npt.NDArray[np.uint64]
) -> None:
    """Write a state into a row, its ring and its log (of no rows where nobody reads it)."""
    row[:], ring[:] = state.row, state.ring
    for slot, (seat, move) in enumerate(state.history if len(log) else ()):
        log[slot] = move.cards.word, move.main | seat << 16


def check_actions(actions: npt.ArrayLike, count: int) -> npt.NDArray[np.int64]:
    """Actions as the kernels take them.

    Raises:
        InvalidMoveError: If they are not integers of shape ``[count]``.
    """
    array = as_array(actions)
    if array is None or array.shape != (count,) or array.dtype.kind not in "iu":
        raise InvalidMoveError(f"actions must be integers of shape [{count}]; got {described(actions)}")
    return np.array(array, np.int64, order="C")  # a copy: what is checked is what is played, whoever writes to theirs


def refuse_action(where: str, action: int, legal: list[int]) -> NoReturn:
    """Say what is wrong with an action.

    Raises:
        InvalidMoveError: If the id does not exist.
        IllegalMoveError: Otherwise.
    """
    if not 0 <= action < NUM_ACTIONS:
        raise InvalidMoveError(f"{where}: action {action} does not exist: ids run from 0 to {NUM_ACTIONS - 1}")
    names = ", ".join(f"{a} ({action_name(a)})" for a in legal[:12])
    raise IllegalMoveError(f"{where}: action {action} ({action_name(action)}) is not legal; legal are {names}")


def choose_scoring(rules: Rules, scoring: str | None) -> int:
    """The engine's number of a scoring, the rules' own by default.

    Raises:
        InvalidRulesError: If the scoring is unknown.
    """
    name = rules.scoring if scoring is None else check_choice("scoring", scoring, SCORINGS, InvalidRulesError)
    return SCORINGS[name]


_DEAL_OPTIONS = ("hands", "bottom", "check_sizes")


def dealt_state(options: Mapping[str, Any] | None, rules: Rules, seed: int) -> State | None:
    """The deal that ``reset(options=...)`` asks for, None if it asks for none.

    Args:
        options: ``{"hands": [...], "bottom": ..., "check_sizes": ...}`` as for :meth:`State.from_hands`, the same
            under the key ``"deal"``, or a :class:`State` under ``"deal"``.  Other options are ignored with a
            warning, as PettingZoo's tests demand, unless they stand beside these.
        rules: The environment's rules.
        seed: Generator of the opener and of later deals in an auction.

    Raises:
        InvalidOptionError: If the deal is incomplete or has unknown fields.
        InvalidDealError: If the deal does not fit the rules.
        InvalidHandError: If a hand cannot be read.
    """
    if options is None:
        return None
    if not isinstance(options, Mapping):
        raise InvalidOptionError(f"options of reset are a dict, not {shown(options)}")
    if not options:
        return None
    deal: Any = options.get("deal", options)
    if isinstance(deal, State):
        if deal.rules != rules:
            raise InvalidOptionError(f"the deal follows the {deal.rules.name} rules, not {rules.name}")
        return deal.copy()
    if deal is options and "hands" not in options:
        warnings.warn(f"reset ignores the options {', '.join(map(repr, options))}", stacklevel=4)
        return None
    if not isinstance(deal, Mapping) or "hands" not in deal or any(name not in _DEAL_OPTIONS for name in deal):
        given = shown(list(deal) if isinstance(deal, Mapping) else deal)
        raise InvalidOptionError(f"a deal has the fields {', '.join(_DEAL_OPTIONS)}, the first required; got {given}")
    return State.from_hands(rules=rules, seed=seed, **deal)


def check_position(position: object) -> State:
    """A position that an environment is to go on from.

    Raises:
        InvalidOptionError: If it is no :class:`~ddz_env.State`.
    """
    if not isinstance(position, State):
        raise InvalidOptionError(f"a position is a ddz_env.State, not {shown(position)}")
    return position


def random_seed() -> int:
    """A seed from the operating system's entropy."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
