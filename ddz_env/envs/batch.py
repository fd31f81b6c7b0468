"""Thousands of games at once, all seats: the self-play batch.

    >>> from ddz_env.envs.batch import SelfPlayBatch
    >>> batch = SelfPlayBatch(num_games=64, seed=1)
    >>> for _ in range(100):
    ...     actions = batch.sample_actions()  # or your policy's, from batch.observation and batch.mask
    ...     batch.step(actions)
    ...     # where batch.done: batch.reward holds the returns of the game that has just ended

Slot ``i`` of a batch of ``n`` games plays the games ``i``, ``i + n``, ``i + 2 n`` ... of the seed, which are the games
``State.new(seed, rules, game)``; nothing depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.checks import as_array, check_flag, check_integer, check_seed, described
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.layout import SEAT, STAGE, STAGE_OVER
from ddz_env.core.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.core.engine.random import advance, below, key, mix
from ddz_env.core.engine.score import write_returns
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.errors import InvalidOptionError, shown
from ddz_env.core.observation import CONCEALED_WORDS, expand_mask, write_concealed, write_observation
from ddz_env.core.rules import Rules
from ddz_env.core.state import State
from ddz_env.envs import stepping
from ddz_env.envs.stepping import acting_role, begin_game, check_actions, first_illegal
from ddz_env.envs.threads import Turn, one_at_a_time, run_chunks, usable_threads

MOST_GAMES = 2**24
"""Games of one batch; each takes a kilobyte and a half."""

_SAMPLE_STREAM = np.uint64(0x53414D504C45)


class Slots(NamedTuple):
    """The arrays of a batch of ``n`` games, as kernels take them.

    Attributes:
        rows: The games, shape ``[n, 32]``, uint64.
        rings: Their recent moves, shape ``[n, 16, 2]``, uint64.
        games: Number of each slot's game, shape ``[n]``, uint64.
        bits: Masks as bits, shape ``[n, 7]``, uint64.
        masks: Masks as bytes, shape ``[n, 50]``, uint64; length 0 if not wanted.
        observations: Shape ``[n, OBSERVATION_WORDS]``, uint64; length 0 if not wanted.
        concealed: Shape ``[n, CONCEALED_WORDS]``, uint64; length 0 if not wanted.
        seats: The seat to act, shape ``[n]``, int8.
        roles: Its role, shape ``[n]``, int8.
        rewards: Returns by seat, shape ``[n, 3]``, float32.
        done: Whether the last step ended a game, shape ``[n]``, bool.
    """

    rows: stepping.Rows
    rings: stepping.Rings
    games: stepping.Words
    bits: stepping.Bits
    masks: stepping.Masks
    observations: stepping.Observations
    concealed: Annotated[Any, np.uint64, CONCEALED_WORDS]
    seats: stepping.Bytes
    roles: stepping.Bytes
    rewards: Annotated[Any, np.float32, 3]
    done: stepping.Flags


class BatchRules(NamedTuple):
    """What stays the same, as kernels take it.

    Attributes:
        rules: The rules array, shape ``[17]``, uint64.
        seed: The batch's seed, uint64.
        scoring: The engine's number of the scoring.
        peasant_reward: See :class:`~ddz_env.Rules`.
    """

    rules: Any
    seed: Any
    scoring: int
    peasant_reward: float


@inline_kernel
def _show_game(index: int, slots: Slots, rules: np.ndarray) -> None:
    """Write everything that a batch shows of one game."""
    row = slots.rows[index]
    bits = slots.bits[index]
    legal_mask(row, rules, bits)
    if slots.masks.shape[0] > 0:
        expand_mask(bits, slots.masks[index])
    if slots.observations.shape[0] > 0:
        write_observation(row, slots.rings[index], rules, row[SEAT], slots.observations[index])
    if slots.concealed.shape[0] > 0:
        write_concealed(row, rules, row[SEAT], slots.concealed[index])
    slots.seats[index] = np.int8(row[SEAT])
    slots.roles[index] = np.int8(acting_role(row, rules))


@pure_kernel
def _step_range(first: int, stop: int, actions: np.ndarray, slots: Slots, terms: BatchRules) -> None:
    """Play one legal action in each of the games ``first..stop-1``; where that ends one, deal the slot's next."""
    for index in range(first, stop):
        row, ring, rewards = slots.rows[index], slots.rings[index], slots.rewards[index]
        apply_and_record(row, ring, np.uint64(actions[index]), terms.rules)
        over = row[STAGE] == STAGE_OVER
        if over:
            write_returns(row, terms.rules, terms.scoring, terms.peasant_reward, rewards)
            slots.games[index] += np.uint64(slots.games.shape[0])
            begin_game(row, ring, terms.seed, slots.games[index], terms.rules)
        elif slots.done[index]:
            for seat in range(3):
                rewards[seat] = 0.0
        slots.done[index] = over
        _show_game(index, slots, terms.rules)


@pure_kernel
def _begin_all(slots: Slots, streams: np.ndarray, terms: BatchRules) -> None:
    """Deal every game, and begin its stream of random actions."""
    for index in range(streams.shape[0]):
        streams[index] = key(terms.seed ^ _SAMPLE_STREAM, np.uint64(index))
        begin_game(slots.rows[index], slots.rings[index], terms.seed, slots.games[index], terms.rules)
        _show_game(index, slots, terms.rules)


@pure_kernel
def _show_all(slots: Slots, rules: np.ndarray) -> None:
    for index in range(slots.rows.shape[0]):
        _show_game(index, slots, rules)


@pure_kernel
def _sample_all(bits: np.ndarray, streams: np.ndarray, actions: np.ndarray) -> None:
    """Draw a uniform legal action for each game from its slot's own stream."""
    for index in range(bits.shape[0]):
        streams[index] = advance(streams[index])
        mask = bits[index]
        actions[index] = np.int64(nth_legal(mask, below(mix(streams[index]), count_legal(mask))))


def check_count(option: str, value: object) -> int:
    """How many games are stepped at once.

    Raises:
        InvalidOptionError: If it is no integer in 1..2**24.
    """
    return check_integer(option, value, 1, MOST_GAMES)


def _check_saved(saved: Any, rules: Rules, arrays: Mapping[str, Any]) -> int:
    """Check what a batch is to continue from, by its own arrays; returns the saved seed.

    Raises:
        InvalidOptionError: If it comes from a batch of another size or of other rules, or lacks a field.
        InvalidDealError: If its seed is out of range.
    """
    if not isinstance(saved, Mapping):
        raise InvalidOptionError(f"a saved batch is the dict of state_dict, not {shown(saved)}")
    missing = [name for name in ("rules", "seed", *arrays) if name not in saved]
    if missing:
        raise InvalidOptionError(f"the saved batch lacks {', '.join(missing)}")
    if not np.array_equal(saved["rules"], rules.words()):
        raise InvalidOptionError(f"the saved batch does not follow the {rules.name} rules")
    for name, array in arrays.items():
        given = as_array(saved[name])
        if given is None or given.shape != array.shape or given.dtype != array.dtype:
            needed = f"{array.dtype} of shape {list(array.shape)}"
            raise InvalidOptionError(
                f"{name} of the saved batch is {described(saved[name])}; this batch needs {needed}"
            )
    return check_seed(saved["seed"])


class SelfPlayBatch:
    """Many games, stepped in one compiled call.

    All arrays are allocated once and written in place by :meth:`step`: copy what you keep.  A step plays one action
    in every game.  Where it ends a game, ``done`` is set, ``reward`` holds that game's returns, and everything else
    already shows the slot's next game (same-step reset).  Elsewhere ``reward`` is zero.  One thread at a time uses a
    batch; a second one gets a :class:`~ddz_env.core.errors.SharedGamesError`.

    Args:
        num_games: How many games.
        rules: A preset's name or a :class:`~ddz_env.Rules`.
        seed: Any integer in 0..2**64-1.
        threads: How many threads step; None for one a core.  Results do not depend on it.
        scoring: ``"win"``, ``"stake"`` or ``"botzone"``; the rules' own by default.
        observation: Whether observations are written.
        mask: Whether masks are written as bytes; ``mask_words`` always are.
        concealed: Whether the cards that the seat does not see are written, for critics.

    Attributes:
        observation: What the seat to act sees, shape ``[num_games, OBSERVATION_SIZE]``, int8 (no rows if left out).
        mask: Legal actions, shape ``[num_games, 400]``, int8 (no rows if left out).
        mask_words: The same as bits, shape ``[num_games, 7]``, uint64.
        concealed: Shape ``[num_games, 48]``, int8, by the table ``CONCEALED`` (no rows unless asked for).
        seat: The seat to act, shape ``[num_games]``, int8.
        role: Its role, shape ``[num_games]``, int8: 0 landlord, 1 peasant down, 2 peasant up, 3 none yet.
        reward: Returns by seat, shape ``[num_games, 3]``, float32.
        done: Whether the last step ended a game, shape ``[num_games]``, bool.
        game: Number of each slot's game, shape ``[num_games]``, uint64.
        rows: The games as the engine holds them, hidden cards included, shape ``[num_games, 32]``, uint64.

    Raises:
        InvalidRulesError: If the preset or the scoring is unknown.
        InvalidOptionError: If ``num_games`` or ``threads`` is out of range.
        InvalidDealError: If the seed is out of range.
    """

    def __init__(
        self,
        num_games: int = 4096,
        rules: str | Rules = "standard",
        seed: int = 0,
        threads: int | None = None,
        *,
        scoring: str | None = None,
        observation: bool = True,
        mask: bool = True,
        concealed: bool = False,
    ) -> None:
        self.threads = usable_threads(threads)
        self.num_games = check_count("num_games", num_games)
        self.rules = Rules.preset(rules)
        self._scoring = stepping.choose_scoring(self.rules, scoring)
        self.seed = check_seed(seed)
        parts = ("observation", observation), ("mask", mask), ("concealed", concealed)
        self._parts = [check_flag(*part) for part in parts]
        self._allocate()
        self.reset()

    def _allocate(self) -> None:
        n, (observation, mask, concealed) = self.num_games, self._parts
        wanted = {"observations": n * observation, "masks": n * mask, "concealed": n * concealed}
        self._slots = slots = stepping.allocate(Slots, n, **wanted)
        self._rule_words = self.rules.words()
        self._streams, self._actions = np.zeros(n, np.uint64), np.zeros(n, np.int64)
        self._turn = Turn()
        self.observation: npt.NDArray[np.int8] = slots.observations.view(np.int8)
        self.mask: npt.NDArray[np.int8] = slots.masks.view(np.int8)[:, :NUM_ACTIONS]
        self.concealed: npt.NDArray[np.int8] = slots.concealed.view(np.int8)
        self.mask_words: npt.NDArray[np.uint64] = slots.bits
        self.seat: npt.NDArray[np.int8] = slots.seats
        self.role: npt.NDArray[np.int8] = slots.roles
        self.reward: npt.NDArray[np.float32] = slots.rewards
        self.done: npt.NDArray[np.bool_] = slots.done
        self.game: npt.NDArray[np.uint64] = slots.games
        self.rows: npt.NDArray[np.uint64] = slots.rows

    @one_at_a_time
    def reset(self, seed: int | None = None) -> None:
        """Deal every slot's first game.

        Args:
            seed: A new seed; the old one by default.

        Raises:
            InvalidDealError: If the seed is out of range.
        """
        if seed is not None:
            self.seed = check_seed(seed)
        self.game[:], self.reward[:], self.done[:] = np.arange(self.num_games), 0.0, False
        _begin_all(self._slots, self._streams, self._terms())

    @one_at_a_time
    def state_dict(self) -> dict[str, Any]:
        """Everything that :meth:`load_state_dict` needs to continue identically: numbers and arrays."""
        saved = {name: array.copy() for name, array in self._saved().items()}
        return {"rules": self.rules.words(), "seed": self.seed} | saved

    @one_at_a_time
    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`.

        Raises:
            InvalidOptionError: If it comes from a batch of another size or of other rules, or lacks a field.
            InvalidDealError: If its seed is out of range.
        """
        arrays = self._saved()
        self.seed = _check_saved(saved, self.rules, arrays)
        for name, array in arrays.items():
            array[:] = saved[name]
        _show_all(self._slots, self._rule_words)

    def _terms(self) -> BatchRules:
        return BatchRules(self._rule_words, np.uint64(self.seed), self._scoring, self.rules.peasant_reward)

    def _saved(self) -> dict[str, Any]:
        """The arrays that cannot be computed from the rest, by name."""
        kept = {name: getattr(self._slots, name) for name in ("rows", "rings", "games", "rewards", "done")}
        return kept | {"streams": self._streams}

    def state(self, index: int) -> State:
        """One game as a :class:`~ddz_env.State` of its own, without the history of moves.

        Raises:
            InvalidOptionError: If there is no such game.
        """
        index = check_integer("game", index, 0, self.num_games - 1)
        state = State(self._slots.rows[index].copy(), self.rules)
        state.ring[:] = self._slots.rings[index]
        return state

    @one_at_a_time
    def step(self, actions: npt.ArrayLike) -> None:
        """Play one action in every game.

        Args:
            actions: Action ids, shape ``[num_games]``, any integer type.

        Raises:
            InvalidMoveError: If the actions are not integers of that shape, or an id does not exist.
            IllegalMoveError: If an action is not legal.  No game has changed.
        """
        played = check_actions(actions, self.num_games)
        wrong = int(first_illegal(played, self.mask_words))
        if wrong >= 0:
            stepping.refuse_action(f"game {wrong}", int(played[wrong]), self.state(wrong).legal_actions())
        run_chunks(_step_range, self.num_games, self.threads, played, self._slots, self._terms())

    @one_at_a_time
    def sample_actions(self) -> npt.NDArray[np.int64]:
        """Draw a uniform legal action for every game, reproducibly from the seed.

        Returns:
            Shape ``[num_games]``, int64; the same array at every call.
        """
        _sample_all(self.mask_words, self._streams, self._actions)
        return self._actions

    def __getstate__(self) -> dict[str, Any]:
        saved = {name: getattr(self, name) for name in ("num_games", "rules", "threads", "_scoring", "_parts")}
        return saved | {"batch": self.state_dict()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        batch = saved.pop("batch")
        self.__dict__.update(saved)
        self._allocate()
        self.load_state_dict(batch)
