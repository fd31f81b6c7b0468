"""The arrays in which all environments hold their games, and checks of actions, positions and options.

Environments keep games as arrays (:class:`~ddz_env.envs.stepping.Slots`), because a :class:`~ddz_env.State` costs
microseconds per step.  What people and agents need (a state, a view, readable moves) is rebuilt from them on request.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import NUM_ACTIONS, action_name, format_actions
from ddz_env.core.rules import Rules
from ddz_env.core.state import SCORINGS, State, restore_state
from ddz_env.core.view import mask_to_ids
from ddz_env.envs.stepping import Slots, allocate_slots, first_illegal, step_games
from ddz_env.support.arrays import WritableAfterUnpickling
from ddz_env.support.checks import as_array, check_choice, check_integer, describe_array
from ddz_env.support.errors import IllegalMoveError, InvalidMoveError, InvalidOptionError, InvalidRulesError, short_repr
from ddz_env.support.threads import GamesLock, exclusive, run_chunks

MAX_GAMES = 2**24
"""Games of one batch; each takes a kilobyte and a half."""

_DEAL_OPTIONS = ("hands", "bottom", "check_sizes")


class GameBatch(WritableAfterUnpickling):
    """A batch of games, stepped and observed in one compiled call.

    Args:
        num_games: How many games.
        rules: The rules.
        scoring: A key of ``SCORINGS``, the rules' own by default.
        threads: How many threads step.
        **settings: What else the games need (:func:`ddz_env.envs.stepping.allocate_slots`).

    Attributes:
        num_games: As above.
        rules: As above.
        threads: As above.
        slots: All arrays.

    Raises:
        InvalidRulesError: If the scoring is unknown.
    """

    def __init__(self, num_games: int, rules: Rules, scoring: str | None, *, threads: int = 1, **settings: Any) -> None:
        self.num_games, self.rules, self.threads = num_games, rules, threads
        self._lock = GamesLock()
        name = rules.scoring if scoring is None else check_choice("scoring", scoring, SCORINGS, InvalidRulesError)
        self.slots = allocate_slots(num_games, rules, name, **settings)

    @property
    def observation(self) -> npt.NDArray[np.int8]:
        """The observations of the seats to act, or of the learners, shape ``[num_games, OBSERVATION_SIZE]``, int8.

        It has no rows if it is left out.  Every step overwrites it.
        """
        return self.slots.observations

    @property
    def mask(self) -> npt.NDArray[np.int8]:
        """The masks of legal actions, shape ``[num_games, 400]``, int8."""
        return self.slots.masks[:, :NUM_ACTIONS]

    @exclusive
    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "slots": Slots._make(map(copy, self.slots))}

    def run_orders(self, orders: Any) -> None:
        """Carry out an instruction (:mod:`ddz_env.envs.stepping`), such as a deal or an action, in each game.

        Args:
            orders: One for all games, or one per game.
        """
        self.slots.games["order"] = orders
        run_chunks(step_games, self.num_games, self.threads, self.slots)

    def set_game_state(self, index: int, state: State) -> None:
        """Overwrite the game at an index with a copy of a given state."""
        self.slots.rows[index], self.slots.rings[index] = state.row, state.ring
        log = self.slots.logs[index]
        for number, (seat, move) in enumerate(state.history if len(log) else ()):
            log[number] = move.cards.word, move.main | seat << 16

    def state(self, index: int) -> State:
        """Return a copy of one game as a :class:`~ddz_env.State`; its history is empty if no log is kept.

        Raises:
            InvalidOptionError: If there is no such game.
        """
        index = check_integer("game", index, 0, self.num_games - 1)
        slots = self.slots
        return restore_state(slots.rows[index], slots.rings[index], slots.logs[index], self.rules)


def check_num_games(option: str, value: object) -> int:
    """Check that the number of games to step at once is an integer in 1..2**24, and return it.

    Raises:
        InvalidOptionError: If it is not an integer in 1..2**24.
    """
    return check_integer(option, value, 1, MAX_GAMES)


def check_actions(actions: npt.ArrayLike, count: int) -> npt.NDArray[np.int64]:
    """Check that actions are integers of shape ``[count]``, and return them as an int64 copy.

    Raises:
        InvalidMoveError: If they are not integers of shape ``[count]``.
    """
    array = as_array(actions)
    if array is None or array.shape != (count,) or array.dtype.kind not in "iu":
        raise InvalidMoveError(f"actions must be integers of shape [{count}]; got {describe_array(actions)}")
    return np.array(array, np.int64, order="C")  # a copy, which the caller cannot change before it is played


def refuse_illegal(
    actions: npt.NDArray[np.int64], bits: npt.NDArray[np.uint64], where: Callable[[int], str] = "game {}".format
) -> None:
    """Raise an error for the first action, if any, that the mask of its game forbids.

    Args:
        actions: Action ids, shape ``[k]``.
        bits: The masks, shape ``[k, 7]``.
        where: What the message calls the place of the first that is wrong.

    Raises:
        InvalidMoveError: If its id does not exist.
        IllegalMoveError: If it is not legal now.
    """
    wrong = int(first_illegal(actions, bits))
    if wrong < 0:
        return
    action = int(actions[wrong])
    if not 0 <= action < NUM_ACTIONS:
        raise InvalidMoveError(f"{where(wrong)}: action {action} does not exist: ids run from 0 to {NUM_ACTIONS - 1}")
    problem = (
        f"action {action} ({action_name(action)}) is not legal; legal are {format_actions(mask_to_ids(bits[wrong]))}"
    )
    raise IllegalMoveError(f"{where(wrong)}: {problem}")


def state_from_options(options: Mapping[str, Any] | None, rules: Rules, seed: int) -> State | None:
    """Make the state from the deal in the options of ``reset``, or return None if the options contain no deal.

    Args:
        options: ``{"hands": [...], "bottom": ..., "check_sizes": ...}`` as for :meth:`State.from_hands`, the same
            under the key ``"deal"``, or a :class:`State` under ``"deal"``.  Other options are ignored with a
            warning, as PettingZoo's tests demand, unless they come beside these.
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
        raise InvalidOptionError(f"options of reset are a dict, not {short_repr(options)}")
    if not options:
        return None
    deal: Any = options.get("deal", options)
    if isinstance(deal, State):
        return check_position(deal, rules).copy()
    if deal is options and "hands" not in options:
        warnings.warn(f"reset ignores the options {', '.join(map(repr, options))}", stacklevel=4)
        return None
    if not isinstance(deal, Mapping) or "hands" not in deal or any(name not in _DEAL_OPTIONS for name in deal):
        value = short_repr(list(deal) if isinstance(deal, Mapping) else deal)
        raise InvalidOptionError(f"a deal has the fields {', '.join(_DEAL_OPTIONS)}, the first required; got {value}")
    return State.from_hands(rules=rules, seed=seed, **deal)


def check_position(position: object, rules: Rules) -> State:
    """Check that a position is a :class:`~ddz_env.State` under the environment's rules, and return it.

    Raises:
        InvalidOptionError: If it is not a :class:`~ddz_env.State`, or its rules differ.
    """
    if not isinstance(position, State):
        raise InvalidOptionError(f"a position is a ddz_env.State, not {short_repr(position)}")
    if position.rules != rules:
        raise InvalidOptionError(f"the deal follows the {position.rules.name} rules, not {rules.name}")
    return position


def draw_random_seed() -> int:
    """Draw a 64-bit seed from the operating system's entropy."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
