"""The self-play batch on a GPU: one thread a game, the same rules.

    >>> from ddz_env.envs.cuda_batch import CudaSelfPlayBatch  # doctest: +SKIP
    >>> batch = CudaSelfPlayBatch(num_games=65536, seed=1)  # doctest: +SKIP
    >>> batch.step(batch.sample_actions())  # doctest: +SKIP
    >>> torch.as_tensor(batch.observation, device="cuda")  # shares the memory  # doctest: +SKIP

There is no second implementation: :func:`on_device` takes the Python source of the CPU's kernels, and of whatever they
call, and compiles it for the device.  The results equal :class:`ddz_env.envs.batch.SelfPlayBatch` to the bit.
Importing this module needs no GPU; making a batch without one raises :class:`NoDeviceError`.
"""

from __future__ import annotations

import functools
import types
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from ddz_env.core.errors import DouDizhuError, InvalidMoveError
from ddz_env.core.rules import Rules
from ddz_env.envs import batch, stepping
from ddz_env.envs.batch import Batch, BatchRules, Slots
from ddz_env.envs.threads import one_at_a_time

try:
    from numba import cuda
except ImportError as _error:  # pragma: no cover  # Numba will hand it over to the package numba-cuda one day
    cuda: Any = None  # type: ignore[no-redef]
    _MISSING: str | None = f"numba.cuda cannot be imported ({_error}): install numba-cuda"
else:
    _MISSING = None

THREADS_PER_BLOCK = 128


class NoDeviceError(DouDizhuError):
    """There is no CUDA device, or no ``numba.cuda``."""


def simulated() -> bool:
    """Whether Numba's simulator stands for the device: its arrays are the host's."""
    return bool(numba.config.ENABLE_CUDASIM)


def check_device() -> None:
    """Make sure that there is a CUDA device, or the simulator.

    Raises:
        NoDeviceError: If there is none.
    """
    if _MISSING is not None:
        raise NoDeviceError(_MISSING)
    if not cuda.is_available():
        raise NoDeviceError(
            "no CUDA device was found: use ddz_env.envs.batch.SelfPlayBatch, or simulate one with "
            "NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1"
        )


@functools.cache
def _replacements() -> dict[str, Any]:
    """``min`` and ``max`` of two numbers, which Numba 0.68 cannot compile for CUDA."""
    kernel = cuda.jit(device=True)
    return {"min": kernel(lambda a, b: a if a < b else b), "max": kernel(lambda a, b: b if a < b else a)}


@functools.cache
def on_device(function: Any, instead: tuple[str, Any] | None = None) -> Any:
    """Compile a CPU kernel, and the kernels it calls, for the device.

    Args:
        function: A function decorated by :mod:`ddz_env.core.engine.compiling`.
        instead: The name of a kernel that it calls, and another that takes its place.

    Returns:
        A device function.  Under ``NUMBA_DISABLE_JIT=1`` kernels are plain functions and are returned as they are.
    """
    source = getattr(function, "py_func", function if instead else None)
    if source is None:
        return function
    names = _replacements() | source.__globals__
    for name in source.__code__.co_names:
        if instead is not None and name == instead[0]:
            names[name] = on_device(instead[1])
        elif hasattr(names.get(name), "py_func"):
            names[name] = on_device(names[name])
    twin = types.FunctionType(source.__code__, names, source.__name__, source.__defaults__, source.__closure__)
    return twin if source is function else cuda.jit(device=True)(twin)


@functools.cache
def device_kernels() -> dict[str, Any]:
    """The entry points, by name; each is compiled at its first call."""
    begin, show, step = map(on_device, (stepping.begin_game, batch.show_game, batch.step_game))
    seed_stream, sample, playable = map(on_device, (batch.seed_slot, batch.sample_slot, stepping.is_playable))

    def show_all(slots: Slots, terms: BatchRules) -> None:
        index = cuda.grid(1)
        if index < slots.games.shape[0]:
            show(index, slots, terms.rules)

    def begin_all(slots: Slots, streams: Any, terms: BatchRules) -> None:
        index = cuda.grid(1)
        if index < slots.games.shape[0]:
            seed_stream(index, streams, terms.seed)
            begin(slots.rows[index], slots.rings[index], terms.seed, slots.games[index], terms.rules)
            show(index, slots, terms.rules)

    def step_all(actions: Any, slots: Slots, terms: BatchRules) -> None:
        index = cuda.grid(1)
        if index < slots.games.shape[0]:
            step(index, np.uint64(actions[index]), slots, terms)
            show(index, slots, terms.rules)

    def sample_all(bits: Any, streams: Any, actions: Any) -> None:
        index = cuda.grid(1)
        if index < actions.shape[0]:
            sample(index, bits, streams, actions)

    def find_illegal(actions: Any, bits: Any, wrong: Any) -> None:
        index = cuda.grid(1)
        if index < actions.shape[0] and not playable(actions[index], bits[index]):
            cuda.atomic.min(wrong, 0, index)

    return {f.__name__: cuda.jit(f) for f in (begin_all, show_all, step_all, sample_all, find_illegal)}


class CudaSelfPlayBatch(Batch):
    """Many games on a GPU, stepped in one launch.

    The same games, numbers and results as :class:`ddz_env.envs.batch.SelfPlayBatch`.  The attributes are device arrays
    with ``__cuda_array_interface__``, so PyTorch, CuPy and JAX share their memory; steps are queued on Numba's default
    stream.

    Args:
        num_games: How many games.
        rules: A preset's name or a :class:`~ddz_env.Rules`.
        seed: Any integer in 0..2**64-1.
        scoring: ``"win"``, ``"stake"`` or ``"botzone"``; the rules' own by default.
        observation: Whether observations are written.
        mask: Whether masks are written as bytes.
        concealed: Whether the cards that the seat does not see are written.
        check: Whether illegal actions raise.  It waits for the device at every step; without it they corrupt games.

    Attributes:
        observation: Device array, shape ``[num_games, OBSERVATION_SIZE]``, int8.
        mask: Device array, shape ``[num_games, 400]``, int8.
        mask_words: Device array, shape ``[num_games, 7]``, uint64.
        concealed: Device array, shape ``[num_games, 48]``, int8.
        seat: Device array, shape ``[num_games]``, int8.
        role: Device array, shape ``[num_games]``, int8.
        reward: Device array, shape ``[num_games, 3]``, float32.
        done: Device array, shape ``[num_games]``, bool.
        game: Device array, shape ``[num_games]``, uint64.
        rows: The games as the engine holds them, a device array, shape ``[num_games, 32]``, uint64.

    Raises:
        NoDeviceError: If there is no device.
        InvalidRulesError: If the preset or the scoring is unknown.
        InvalidOptionError: If ``num_games`` is out of range.
        InvalidDealError: If the seed is out of range.
    """

    def __init__(
        self,
        num_games: int = 65536,
        rules: str | Rules = "standard",
        seed: int = 0,
        *,
        scoring: str | None = None,
        observation: bool = True,
        mask: bool = True,
        concealed: bool = False,
        check: bool = True,
    ) -> None:
        check_device()
        self.check = check
        super().__init__(num_games, rules, seed, scoring, (observation, mask, concealed))

    @one_at_a_time
    def step(self, actions: Any) -> None:
        """Play one action in every game.

        Args:
            actions: Action ids, shape ``[num_games]``, int64: an array of the device (anything with
                ``__cuda_array_interface__``) or of the host.

        Raises:
            InvalidMoveError: If the actions are not int64 of that shape, or an id does not exist.
            IllegalMoveError: If an action is not legal.  No game has changed.
        """
        there = hasattr(actions, "__cuda_array_interface__")
        played = cuda.as_cuda_array(actions) if there else self._place(np.ascontiguousarray(actions))
        if played.shape != (self.num_games,) or played.dtype != np.int64:
            raise InvalidMoveError(
                f"actions must be int64 of shape [{self.num_games}]; got {played.dtype} of shape {list(played.shape)}"
            )
        if self.check:
            self._refuse_illegal(played)
        self._launch("step_all", played, self._slots, self._terms())

    @one_at_a_time
    def sample_actions(self) -> Any:
        """Draw a uniform legal action for every game, reproducibly from the seed.

        Returns:
            A device array, shape ``[num_games]``, int64; the same one at every call.
        """
        self._launch("sample_all", self.mask_words, self._streams, self._actions)
        return self._actions

    def _show(self, *, anew: bool = False) -> None:
        if anew:
            self._launch("begin_all", self._slots, self._streams, self._terms())
        else:
            self._launch("show_all", self._slots, self._terms())

    def _place(self, array: npt.NDArray[Any]) -> Any:
        return cuda.to_device(array)

    def _fill(self, array: Any, values: Any) -> None:
        array.copy_to_device(np.ascontiguousarray(values))

    def _copied(self, array: Any) -> npt.NDArray[Any]:
        return array.copy_to_host()  # type: ignore[no-any-return]

    def _as_bytes(self, words: Any) -> Any:
        """The int8 view of a device array of words; the simulator's arrays are viewed on the host."""
        return words.view(np.int8) if hasattr(words, "view") else type(words)(words.__array__().view(np.int8))

    def _refuse_illegal(self, played: Any) -> None:
        wrong = cuda.to_device(np.full(1, self.num_games, np.int64))
        self._launch("find_illegal", played, self.mask_words, wrong)
        index = int(wrong.copy_to_host()[0])
        if index < self.num_games:
            stepping.refuse_action(
                f"game {index}", int(played.copy_to_host()[index]), self.state(index).legal_actions()
            )

    def _launch(self, name: str, *arguments: Any) -> None:
        blocks = -(-self.num_games // THREADS_PER_BLOCK)
        device_kernels()[name][blocks, THREADS_PER_BLOCK](*arguments)
