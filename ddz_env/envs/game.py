"""One game with the buffers of an environment, stepped and shown by one compiled call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ddz_env.core import observation
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.checks import as_integer
from ddz_env.core.engine.compiling import pure_kernel
from ddz_env.core.engine.deal import new_game
from ddz_env.core.engine.layout import HISTORY_MOVES, HISTORY_WORDS, ROW_WORDS, SEAT
from ddz_env.core.engine.legal import marked
from ddz_env.core.engine.score import write_returns
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.errors import IllegalMoveError, shown
from ddz_env.core.observation import write_mask, write_observation
from ddz_env.core.owned import own
from ddz_env.core.rules import Rules
from ddz_env.core.state import game_key
from ddz_env.envs import outputs, stepping
from ddz_env.envs.outputs import write_infos
from ddz_env.envs.stepping import play_action
from ddz_env.envs.threads import Turn

if TYPE_CHECKING:
    from ddz_env.core.state import State


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
        infos: Output, shape ``[players, WIDTH]``, int64 (:mod:`ddz_env.envs.outputs`).

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
        infos: By the table ``INFOS`` of :mod:`ddz_env.envs.outputs`, shape ``[players, WIDTH]``, int64, likewise.
    """

    def __init__(self, rules: Rules, scoring: str | None = None) -> None:
        self.rules = rules
        self._scoring = stepping.choose_scoring(rules, scoring)
        self.rule_words = rules.words()
        self.row = np.zeros(ROW_WORDS, np.uint64)
        self.ring = np.zeros((HISTORY_MOVES, HISTORY_WORDS), np.uint64)
        self._log = np.zeros((stepping.LOG_MOVES, HISTORY_WORDS), np.uint64)
        self._bits = np.zeros(MASK_WORDS, np.uint64)
        self._observation = np.zeros(observation.OBSERVATION_WORDS, np.uint64)
        self._mask = np.zeros(observation.MASK_BYTE_WORDS, np.uint64)
        self.infos = np.zeros((rules.players, outputs.WIDTH), np.int64)
        self._turn = Turn()
        self._name_bytes()

    def _name_bytes(self) -> None:
        self.observation: npt.NDArray[np.int8] = self._observation.view(np.int8)
        self.mask: npt.NDArray[np.int8] = observation.mask_bytes(self._mask)

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
        given = stepping.dealt_state(options, self.rules, seed)
        if given is None:
            new_game(self.row, game_key(seed, number), self.rule_words)
            self.ring[:] = 0
        else:
            stepping.lay_out(given, self.row, self.ring, self._log)
        self._step_and_look(-1, -1, self._observation)

    def step(self, action: int) -> None:
        """Play one action.

        Raises:
            GameOverError: If the game has ended.
            InvalidMoveError: If the id does not exist.
            IllegalMoveError: If it is not legal now.  The game is unchanged.
        """
        number = as_integer(action)
        if number is None or not 0 <= number < NUM_ACTIONS or not self._step_and_look(number, -1, self._observation):
            self.state().step_action(action)  # knows what is wrong, and raises it
            raise IllegalMoveError(f"action {shown(action)} is not legal now")

    def _step_and_look(self, action: int, observer: int, observation: npt.NDArray[np.uint64]) -> bool:
        turn = self._turn
        if not turn.acquire(False):
            raise turn.refuse()
        try:
            game = self.row, self.ring, self._log, self.rule_words
            return step_and_look(*game, action, observer, self._bits, observation, self._mask, self.infos)
        finally:
            turn.release()

    @property
    def seat(self) -> int:
        """The seat to act."""
        return int(self.row[SEAT])

    def returns(self) -> list[float]:
        """Each seat's return; zeros while the game runs."""
        values = np.zeros(3)
        write_returns(self.row, self.rule_words, self._scoring, self.rules.peasant_reward, values)
        return [float(value) for value in values[: self.rules.players]]

    def observe(self, seat: int) -> npt.NDArray[np.int8]:
        """A fresh observation of any seat, shape ``[OBSERVATION_SIZE]``, int8."""
        out = np.empty(observation.OBSERVATION_WORDS, np.uint64)
        self._step_and_look(-1, seat, out)  # writes mask and infos again, as they are
        return out.view(np.int8)

    def state(self) -> State:
        """A state of its own; changing it does not change the game."""
        return stepping.restore_state(self.row, self.ring, self._log, self.rules)
