"""Where a training computes: on the host with NumPy's arrays, or on a device with PyTorch's tensors.

The trainer is written once, in operations that both have (the array API standard); what differs is here: how arrays and
games are made, where random numbers come from, and which build of the compiled kernels is called.  On a device nothing
of a rollout passes through the host: games, observations, masks and decisions stay where they are made.
"""

from __future__ import annotations

from typing import Any, Protocol

import array_api_compat.numpy
import array_api_compat.torch
import numpy as np
import numpy.typing as npt
import torch

from ddz_agents.neural.cuda_launch import as_tensor, torch_device
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.envs.cuda_batch import CudaSelfPlayBatch, simulated
from ddz_training.learn.ppo import kernels, lookahead


class Draws(Protocol):
    """Random numbers: NumPy's generator, or one that makes them on a device."""

    def random(self, size: int) -> Any:
        """Uniform in 0..1, shape ``[size]``, float64."""

    def integers(self, low: int, high: int, size: int) -> Any:
        """From ``low`` to ``high - 1``, shape ``[size]``, int64."""

    def permutation(self, count: int) -> Any:
        """The numbers below ``count`` in random order, shape ``[count]``, int64."""

    @property
    def bit_generator(self) -> Any:
        """What has a ``state`` to save and to restore."""


class Device:
    """One of the two.

    Args:
        name: ``cpu`` for the host, ``cuda`` for a device.

    Attributes:
        on_host: Whether arrays are NumPy's.
        place: Where PyTorch's tensors lie.
        xp: The array API's functions for the arrays.
        kernels: The compiled kernels for the arrays: ``drawn``, ``pick_candidates``, ``add_probes`` and ``surrogates``
            as in :mod:`ddz_training.learn.ppo.kernels`.
        led: Plays candidates on: :func:`ddz_training.learn.ppo.lookahead.led`.

    Raises:
        NoDeviceError: If there is no device.
    """

    def __init__(self, name: str = "cpu") -> None:
        self.on_host = name == "cpu"
        self.place = torch.device("cpu") if self.on_host else torch_device()
        self.xp: Any = array_api_compat.numpy if self.on_host else array_api_compat.torch
        self.kernels: Any = kernels
        self.led: lookahead.Lead = lookahead.led
        if not self.on_host:
            from ddz_training.learn.ppo import cuda_kernels  # compiling for a device takes numba.cuda along

            self.kernels, self.led = cuda_kernels, cuda_kernels.led

    def captures(self, graphs: bool) -> bool:
        """Whether passes are captured: on a real GPU, unless the settings say no."""
        return graphs and self.place.type == "cuda"

    def zeros(self, shape: tuple[int, ...], kind: Any) -> Any:
        """A zeroed array; on a device words are int64, and what is no number is a byte."""
        if self.on_host:
            return np.zeros(shape, kind)
        signed = {np.uint64: np.int64, np.object_: np.int8}.get(kind, kind)
        return torch.zeros(shape, dtype=torch.from_numpy(np.zeros(0, signed)).dtype, device=self.place)

    def array(self, values: npt.NDArray[Any]) -> Any:
        """An array of the host's, where the others are."""
        if self.on_host:
            return values
        signed = values.view(np.int64) if values.dtype == np.uint64 else values
        return torch.from_numpy(np.array(signed)).to(self.place)

    def batch(self, games: int, rules: str, seed: int, scoring: str) -> Any:
        """Games to play on; on the host they are stepped by one thread."""
        if self.on_host:
            return SelfPlayBatch(games, rules, seed, 1, scoring=scoring, concealed=True)
        return DeviceBatch(games, rules, seed, scoring)

    def draws(self, rng: np.random.Generator) -> Draws:
        """Random numbers that follow from a generator; simulated, they are its own."""
        if self.on_host:
            return rng
        return HostDraws(rng) if simulated() else DeviceDraws(int(rng.integers(2**63)), self.place)


def to_host(array: Any) -> npt.NDArray[Any]:
    """An array of either kind, copied to the host."""
    found: npt.NDArray[Any] = np.array(array) if isinstance(array, np.ndarray) else array.cpu().numpy().copy()
    return found


class DeviceBatch:
    """Games on a device, with tensors in place of arrays: otherwise as :class:`~ddz_env.batch.SelfPlayBatch`.

    The tensors share the memory that the kernels write.  Words (``mask_words``, ``rows``) are int64.  Illegal actions
    are not looked for: that would wait for the device at every step, and what a policy draws is legal.

    Args:
        games: How many.
        rules: A preset's name.
        seed: Of the deals.
        scoring: ``win`` or ``stake``.
    """

    def __init__(self, games: int, rules: str, seed: int, scoring: str) -> None:
        batch = CudaSelfPlayBatch(games, rules, seed, scoring=scoring, concealed=True, check=False)
        self._batch = batch
        self.num_games, self.rules = batch.num_games, batch.rules
        self.step, self.state_dict, self.load_state_dict = batch.step, batch.state_dict, batch.load_state_dict
        self.observation, self.mask, self.concealed = map(as_tensor, (batch.observation, batch.mask, batch.concealed))
        self.mask_words, self.rows = as_tensor(batch.mask_words), as_tensor(batch.rows)
        self.seat, self.role, self.reward, self.done = map(
            as_tensor, (batch.seat, batch.role, batch.reward, batch.done)
        )


class DeviceDraws:
    """Random numbers made on a device.

    Args:
        seed: Of its generator.
        place: The device.
    """

    def __init__(self, seed: int, place: torch.device) -> None:
        self._place = place
        self._generator = torch.Generator(device=place).manual_seed(seed)

    def random(self, size: int) -> torch.Tensor:
        """Uniform in 0..1."""
        return torch.rand(size, dtype=torch.float64, device=self._place, generator=self._generator)

    def integers(self, low: int, high: int, size: int) -> torch.Tensor:
        """From ``low`` to ``high - 1``."""
        return torch.randint(low, high, (size,), device=self._place, generator=self._generator)

    def permutation(self, count: int) -> torch.Tensor:
        """The numbers below ``count`` in random order."""
        return torch.randperm(count, device=self._place, generator=self._generator)

    @property
    def bit_generator(self) -> DeviceDraws:
        """Itself: it has a ``state``."""
        return self

    @property
    def state(self) -> str:
        """The generator's state as hexadecimal digits."""
        return bytes(self._generator.get_state().numpy()).hex()

    @state.setter
    def state(self, digits: str) -> None:
        self._generator.set_state(torch.frombuffer(bytearray.fromhex(digits), dtype=torch.uint8))


class HostDraws:
    """The host's random numbers as tensors: with them the simulator plays the host's very games.

    Args:
        rng: The generator.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.bit_generator = rng.bit_generator

    def random(self, size: int) -> torch.Tensor:
        """Uniform in 0..1."""
        return torch.from_numpy(self._rng.random(size))

    def integers(self, low: int, high: int, size: int) -> torch.Tensor:
        """From ``low`` to ``high - 1``."""
        return torch.from_numpy(self._rng.integers(low, high, size))

    def permutation(self, count: int) -> torch.Tensor:
        """The numbers below ``count`` in random order."""
        return torch.from_numpy(self._rng.permutation(count))


HOST = Device()
"""Where everything computes unless something else is said."""
