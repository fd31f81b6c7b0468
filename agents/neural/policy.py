"""Our network as a policy for search and agents."""

from __future__ import annotations

import torch

from agents.neural.errors import InvalidPolicyInputError
from agents.neural.games import describe_games
from agents.neural.masking import masked_log_probabilities
from agents.neural.model import Bytes, Floats, PolicyModel, check_batch, check_bytes
from agents.neural.network import Critic, PolicyNetwork, policy_input
from ddz_env.observation import CONCEALED

__all__ = ["Bytes", "Floats", "NetworkPolicy", "PolicyModel", "check_batch", "check_bytes"]


class NetworkPolicy:
    """Our network as a :class:`PolicyModel`.

    Args:
        network: The policy.
        critic: The critic, for :meth:`value_of_games`.
        threads: Threads of every operation, for the whole process: it is PyTorch's own setting.  One is best unless
            batches are large and nobody else wants the cores.
        objective: What the values mean: ``win`` or ``stake``.
        values_trained: Whether the network's own value was taught.
    """

    def __init__(
        self,
        network: PolicyNetwork,
        critic: Critic | None = None,
        threads: int = 1,
        objective: str = "win",
        values_trained: bool = True,
    ) -> None:
        self.network = network.eval()
        self.critic = critic.eval() if critic is not None else None
        self.objective, self.values_trained = objective, values_trained
        torch.set_num_threads(threads)

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Logarithms of the probabilities, shape ``[n, 400]``, and values, shape ``[n]``, both float32.

        Raises:
            InvalidPolicyInputError: If a shape or type is wrong or a row has no legal action.
        """
        check_batch(observations, masks)
        with torch.inference_mode():
            seen, _ = policy_input(observations, masks, self.network.architecture.history)
            logits, values = self.network(*seen)
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
            values: Floats = self.critic(torch.from_numpy(describe_games(observations, concealed))).numpy()
            return values
