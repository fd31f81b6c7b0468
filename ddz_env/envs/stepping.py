"""Stepping a game for an environment: one compiled call plays, records, observes and masks.

The environments keep bare rows, because a :class:`~ddz_env.State` costs microseconds a step.  What people and agents
need (a state, a view, readable moves) is rebuilt from the row and its log on request.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.checks import as_integer, check_choice
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.deal import new_game
from ddz_env.core.engine.layout import HISTORY_MOVES, HISTORY_WORDS, MOVES, ROW_WORDS, SEAT, STAGE, STAGE_OVER
from ddz_env.core.engine.score import write_returns
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1
from ddz_env.core.errors import IllegalMoveError, InvalidOptionError, InvalidRulesError, shown
from ddz_env.core.notation import Move, recorded_move
from ddz_env.core.observation import MASK_BYTE_WORDS, OBSERVATION_WORDS, mask_bytes, write_mask, write_observation
from ddz_env.core.owned import own
from ddz_env.core.rules import Rules
from ddz_env.core.state import SCORINGS, State, game_key
from ddz_env.envs.infos import WIDTH, write_infos
from ddz_env.envs.threads import Turn

LOG_MOVES = 256
"""Completed moves a log holds.  54 cards are at most 54 plays with two passes after each, and an auction."""

_U6 = np.uint64(6)
_U15 = np.uint64(15)
_U63 = np.uint64(63)
_MAIN = 0xFFFF


@inline_kernel
def marked(mask: np.ndarray, action: np.uint64) -> bool:
    """Whether an action id (0..399) is set in a mask of shape ``[7]``."""
    word: np.uint64 = mask[np.int64(action >> _U6)]
    return bool(((word >> (action & _U63)) & U1) == U1)


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
def step_and_look(
    row: np.ndarray,
    ring: np.ndarray,
    log: np.ndarray,
    rules: np.ndarray,
    action: int,
    observer: int,
    bits: np.ndarray,
    observation: np.ndarray,
    mask: np.ndarray,
    infos: np.ndarray,
) -> bool:
    """Play one action if it is legal, then write what a seat sees, the mask of the seat to act, and all seats' infos.

    An environment calls this one kernel for everything that it shows, because each one that Python calls is compiled
    with all that it calls.

    Args:
        row: The game, shape ``[32]``, uint64, changed in place.
        ring: The recent moves, shape ``[16, 2]``, uint64.
        log: All moves, as for :func:`play_action`.
        rules: The rules array.
        action: Any action id 0..399, or -1 to look only.
        observer: Whose observation is written: a seat, or -1 for the seat that is to act then.
        bits: The mask of the position, shape ``[7]``, uint64; afterwards that of the next one.
        observation: Output, shape ``[OBSERVATION_WORDS]``, uint64.
        mask: Output, shape ``[50]``, uint64: the mask as bytes.
        infos: Output, shape ``[players, WIDTH]``, int64 (:mod:`ddz_env.envs.infos`).

    Returns:
        False if the action is not legal; then nothing has changed.
    """
    if action >= 0:
        if not marked(bits, np.uint64(action)):
            return False
        play_action(row, ring, log, np.uint64(action), rules)
    write_mask(row, rules, bits, mask)
    write_observation(row, ring, rules, row[SEAT] if observer < 0 else np.uint64(observer), observation)
    write_infos(row, ring, rules, infos)
    return True


def read_log(log: npt.NDArray[np.uint64], moves: int) -> list[tuple[int, Move]]:
    """The first ``moves`` completed moves of a log as ``(seat, move)``."""
    return [(packed >> 16, recorded_move(packed & _MAIN, cards)) for cards, packed in log[:moves].tolist()]


def restore_state(
    row: npt.NDArray[np.uint64], ring: npt.NDArray[np.uint64], log: npt.NDArray[np.uint64], rules: Rules
) -> State:
    """A state of its own from a row, its ring and its log (all copied)."""
    state = State.__new__(State)
    state.__setstate__((row.copy(), rules, ring.copy(), read_log(log, int(row[MOVES]))))
    return state


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


class Game:
    """One game with the buffers of an environment.

    Args:
        rules: The rules.
        scoring: A key of ``SCORINGS``, the rules' own by default.

    Attributes:
        rules: The rules.
        rule_words: The rules array, shape ``[17]``, uint64.
        row: The engine's row, shape ``[32]``, uint64.
        ring: The recent moves, shape ``[16, 2]``, uint64.
        observation: What the seat to act sees, shape ``[OBSERVATION_SIZE]``, int8; written anew by every step.
        mask: Its legal actions, shape ``[400]``, int8; written anew by every step.
        infos: By the table ``INFOS`` of :mod:`ddz_env.envs.infos`, shape ``[players, WIDTH]``, int64, likewise.
        over: Whether the game has ended.
    """

    def __init__(self, rules: Rules, scoring: str | None = None) -> None:
        self.rules = rules
        self._scoring = choose_scoring(rules, scoring)
        self.rule_words = rules.words()
        self.row = np.zeros(ROW_WORDS, np.uint64)
        self.ring = np.zeros((HISTORY_MOVES, HISTORY_WORDS), np.uint64)
        self._log = np.zeros((LOG_MOVES, HISTORY_WORDS), np.uint64)
        self._bits = np.zeros(MASK_WORDS, np.uint64)
        self._observation = np.zeros(OBSERVATION_WORDS, np.uint64)
        self._mask = np.zeros(MASK_BYTE_WORDS, np.uint64)
        self.infos = np.zeros((rules.players, WIDTH), np.int64)
        self._turn = Turn()
        self._name_bytes()

    def _name_bytes(self) -> None:
        self.observation: npt.NDArray[np.int8] = self._observation.view(np.int8)
        self.mask: npt.NDArray[np.int8] = mask_bytes(self._mask)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("observation", "mask")}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(own(saved))
        self._name_bytes()  # a copied view would no longer share the words

    def deal(self, seed: int, number: int, options: Mapping[str, Any] | None = None) -> None:
        """Start game ``number`` of a seed, or the deal that the options name.

        Raises:
            InvalidDealError: If seed or deal do not fit.
            InvalidOptionError: If an option is unknown.
        """
        given = dealt_state(options, self.rules, seed)
        if given is None:
            new_game(self.row, game_key(seed, number), self.rule_words)
            self.ring[:] = 0
        else:
            self.row[:] = given.row
            self.ring[:] = given.ring
            for slot, (seat, move) in enumerate(given.history):
                self._log[slot] = move.cards.word, move.main | seat << 16
        self._step_and_look(-1, -1, self._observation)

    def step(self, action: int) -> None:
        """Play one action.

        Raises:
            GameOverError: If the game has ended.
            InvalidMoveError: If the id does not exist.
            IllegalMoveError: If it is not legal now.  The game is unchanged.
        """
        if not self._play(action):
            self.state().step_action(action)  # knows what is wrong, and raises it
            raise IllegalMoveError(f"action {shown(action)} is not legal now")

    def _play(self, action: object) -> bool:
        """Play a legal action; False, and no change, for anything else."""
        number = as_integer(action)
        return number is not None and 0 <= number < NUM_ACTIONS and self._step_and_look(number, -1, self._observation)

    def _step_and_look(self, action: int, observer: int, observation: npt.NDArray[np.uint64]) -> bool:
        turn = self._turn
        if not turn.acquire(False):
            raise turn.refuse()
        try:
            return step_and_look(
                self.row,
                self.ring,
                self._log,
                self.rule_words,
                action,
                observer,
                self._bits,
                observation,
                self._mask,
                self.infos,
            )
        finally:
            turn.release()

    @property
    def seat(self) -> int:
        """The seat to act."""
        return int(self.row[SEAT])

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return bool(self.row[STAGE] == STAGE_OVER)

    def returns(self) -> list[float]:
        """Each seat's return; zeros while the game runs."""
        values = np.zeros(3)
        write_returns(self.row, self.rule_words, self._scoring, self.rules.peasant_reward, values)
        return [float(value) for value in values[: self.rules.players]]

    def observe(self, seat: int) -> npt.NDArray[np.int8]:
        """A fresh observation of any seat, shape ``[OBSERVATION_SIZE]``, int8."""
        out = np.empty(OBSERVATION_WORDS, np.uint64)
        self._step_and_look(-1, seat, out)  # writes mask and infos again, as they are
        return out.view(np.int8)

    def state(self) -> State:
        """A state of its own; changing it does not change the game."""
        return restore_state(self.row, self.ring, self._log, self.rules)


def random_seed() -> int:
    """A seed from the operating system's entropy."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
