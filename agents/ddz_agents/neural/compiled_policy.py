"""Our weights as a :class:`~ddz_agents.neural.model.PolicyModel`, played by compiled code: no PyTorch is needed."""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.architecture import Architecture
from ddz_agents.neural.compiled_network import CriticLayers, Desk, PolicyLayers, Trunk, new_desk, run_critic, run_policy
from ddz_agents.neural.errors import InvalidPolicyInputError
from ddz_agents.neural.model import Bytes, Floats, check_batch, check_bytes
from ddz_agents.neural.stored_policy import StoredPolicy
from ddz_agents.neural.tensor_file import Arrays
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.compiling import kernel
from ddz_env.core.observation import CONCEALED
from ddz_env.core.owned import OwnsArrays
from ddz_env.envs.threads import run_chunks

_memory = threading.local()
"""The desks of a thread, by the sizes of their networks."""


class CompiledPolicy(OwnsArrays):
    """A file of weights as a :class:`~ddz_agents.neural.model.PolicyModel`.

    A row's answer depends on nothing but the row: neither on the batch nor on the threads.

    Args:
        stored: The weights.
        threads: Threads that share the rows of a large batch.

    Attributes:
        architecture: The sizes.
        critic: The critic's layers, None if the weights came without one.
        objective: What the values mean: ``win`` or ``stake``.
        values_trained: Whether the policy's own value was taught.
    """

    def __init__(self, stored: StoredPolicy, threads: int = 1) -> None:
        self.architecture = stored.architecture
        self.objective, self.values_trained = stored.objective, stored.values_trained
        self._policy = _policy_layers(stored.policy, stored.architecture)
        self.critic = None if stored.critic is None else _critic_layers(stored.critic, stored.architecture)
        self._threads = threads

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Logarithms of the probabilities, shape ``[n, 400]``, and values, shape ``[n]``, both float32.

        Raises:
            InvalidPolicyInputError: If a shape or type is wrong or a row has no legal action.
        """
        check_batch(observations, masks)
        count, sizes = len(observations), self.architecture
        logs, values = np.empty((count, NUM_ACTIONS), np.float32), np.empty(count, np.float32)

        def work(first: int, stop: int) -> None:
            desk = _desk(self._policy.trunk, sizes.rest_width, sizes.rest_features)
            given = observations[first:stop], masks[first:stop]
            _run_policy(*given, sizes.history, self._policy, desk, logs[first:stop], values[first:stop])

        run_chunks(work, count, self._threads)
        return logs, values

    def value_of_games(self, observations: Bytes, masks: Bytes, concealed: Bytes) -> Floats:
        """The critic's values of games whose hidden cards are known, as on a determinization.

        Args:
            observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
            masks: Shape ``[n, 400]``, int8.
            concealed: Shape ``[n, CONCEALED.size]``, int8.

        Returns:
            Values for the observers, shape ``[n]``, float32.

        Raises:
            InvalidPolicyInputError: If a shape or type is wrong, or the weights came without a critic.
        """
        critic = self.critic
        if critic is None:
            raise InvalidPolicyInputError("these weights hold no critic")
        check_batch(observations, masks)
        check_bytes("concealed", concealed, len(observations), CONCEALED.size)
        values = np.empty(len(observations), np.float32)

        def work(first: int, stop: int) -> None:
            _run_critic(
                observations[first:stop], concealed[first:stop], critic, _desk(critic.trunk), values[first:stop]
            )

        run_chunks(work, len(observations), self._threads)
        return values


def _desk(trunk: Trunk, rest_width: int = 0, rest_features: int = 0) -> Desk:
    """This thread's desk for a network."""
    desks: dict[tuple[int, ...], Desk] = _memory.__dict__.setdefault("desks", {})
    sizes = (*trunk.first.shape, rest_width, rest_features)
    if sizes not in desks:
        desks[sizes] = new_desk(*sizes)
    return desks[sizes]


@kernel
def _run_policy(
    observations: np.ndarray,
    masks: np.ndarray,
    history: int,
    policy: PolicyLayers,
    desk: Desk,
    logs: np.ndarray,
    values: np.ndarray,
) -> None:
    for index in range(values.size):
        values[index] = run_policy(observations[index], masks[index], history, policy, desk, logs[index])


@kernel
def _run_critic(
    observations: np.ndarray, concealed: np.ndarray, critic: CriticLayers, desk: Desk, values: np.ndarray
) -> None:
    for index in range(values.size):
        values[index] = run_critic(observations[index], concealed[index], critic, desk)


def trunk_layers(arrays: Arrays, blocks: int) -> Trunk:
    """The layers of a trunk; weights with the inputs first, so that what an input adds lies side by side."""
    width = arrays["trunk.0.bias"].size
    between = [f"trunk.{2 + block}" for block in range(blocks)]
    norms = [*(f"{name}.norm" for name in between), f"trunk.{2 + blocks}"]
    return Trunk(
        turned(arrays["trunk.0.weight"]),
        arrays["trunk.0.bias"],
        np.array([arrays[f"{name}.linear.weight"].T for name in between], np.float32).reshape(-1, width, width),
        np.array([arrays[f"{name}.linear.bias"] for name in between], np.float32).reshape(-1, width),
        np.array([arrays[f"{name}.weight"] for name in norms], np.float32),
        np.array([arrays[f"{name}.bias"] for name in norms], np.float32),
    )


def turned(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Weights with the inputs first."""
    return np.ascontiguousarray(weights.T)


def _policy_layers(arrays: Arrays, architecture: Architecture) -> PolicyLayers:
    return PolicyLayers(
        trunk_layers(arrays, architecture.blocks),
        np.ascontiguousarray(arrays["logits.weight"]),
        arrays["logits.bias"],
        np.ascontiguousarray(arrays["value.weight"][0]),
        arrays["value.bias"],
        turned(arrays["rest.0.weight"]),
        arrays["rest.0.bias"],
        np.ascontiguousarray(arrays["rest.2.weight"]),
        arrays["rest.2.bias"],
        turned(arrays["weigh.weight"]),
        arrays["weigh.bias"],
    )


def _critic_layers(arrays: Arrays, architecture: Architecture) -> CriticLayers:
    trunk = trunk_layers(arrays, architecture.critic_blocks)
    return CriticLayers(trunk, np.ascontiguousarray(arrays["value.weight"][0]), arrays["value.bias"])
