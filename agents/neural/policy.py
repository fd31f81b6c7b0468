"""What search and agents ask of a learned policy, and our network behind it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import torch

from agents.neural.columns import describe_concealed, describe_observations
from agents.neural.errors import InvalidPolicyInputError
from agents.neural.masking import masked_log_probabilities
from agents.neural.network import Critic, PolicyNetwork, policy_input
from ddz_env.actions import NUM_ACTIONS
from ddz_env.observation import CONCEALED, OBSERVATION_SIZE

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.int8]


@runtime_checkable
class PolicyModel(Protocol):
    """A policy with a value, over batches; arrays in, arrays out."""

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Evaluate the decisions of ``n`` seats that are to act, at any stage of a move.

        Args:
            observations: Shape ``[n, OBSERVATION_SIZE]``, int8, by the table ``OBSERVATION``.
            masks: Shape ``[n, 400]``, int8, non-zero where legal; at least one action a row.

        Returns:
            Logarithms of the probabilities, shape ``[n, 400]``, minus infinity where illegal; the values for the
            observers, shape ``[n]``.
        """
        ...


def check_batch(observations: Bytes, masks: Bytes) -> None:
    """Check what :meth:`PolicyModel.evaluate` is given.

    Raises:
        InvalidPolicyInputError: If a shape or type is wrong or a row has no legal action.
    """
    for name, array, size in (("observations", observations, OBSERVATION_SIZE), ("masks", masks, NUM_ACTIONS)):
        check_bytes(name, array, len(observations), size)
    empty = np.flatnonzero(~masks.any(axis=1))
    if len(empty):
        raise InvalidPolicyInputError(f"row {empty[0]} has no legal action: is the game over?")


def check_bytes(name: str, array: Bytes, count: int, size: int) -> None:
    """Check an array of vectors.

    Raises:
        InvalidPolicyInputError: If it is not int8 of shape ``[count, size]``.
    """
    if array.dtype != np.int8 or array.shape != (count, size):
        raise InvalidPolicyInputError(
            f"{name} must be int8 of shape [{count}, {size}]; got {array.dtype} of shape {list(array.shape)}"
        )


class NetworkPolicy:
    """Our network as a :class:`PolicyModel`.

    Args:
        network: The policy.
        critic: The critic, for :meth:`value_of_games`.
        threads: Threads of every operation, for the whole process: it is PyTorch's own setting.  One is best unless
            batches are large and nobody else wants the cores.
    """

    def __init__(self, network: PolicyNetwork, critic: Critic | None = None, threads: int = 1) -> None:
        self.network = network.eval()
        self.critic = critic.eval() if critic is not None else None
        torch.set_num_threads(threads)

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Logarithms of the probabilities, shape ``[n, 400]``, and values, shape ``[n]``, both float32.

        Raises:
            InvalidPolicyInputError: If a shape or type is wrong or a row has no legal action.
        """
        check_batch(observations, masks)
        with torch.inference_mode():
            logits, values = self.network(*policy_input(observations, masks, self.network.architecture.history))
            return masked_log_probabilities(logits, torch.from_numpy(masks)).numpy(), values.numpy()

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
        if self.critic is None:
            raise InvalidPolicyInputError("these weights hold no critic")
        check_batch(observations, masks)
        check_bytes("concealed", concealed, len(observations), CONCEALED.size)
        with torch.inference_mode():
            columns = describe_observations(observations, masks, self.critic.architecture.history)
            hidden = describe_concealed(observations, concealed)
            values: Floats = self.critic(torch.from_numpy(columns), torch.from_numpy(hidden)).numpy()
            return values
