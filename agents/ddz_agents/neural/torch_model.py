"""An adapter that turns any ``torch.nn.Module`` into a policy for agents, opponents and searches."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ddz_agents.neural.errors import InvalidPolicyOutputError
from ddz_agents.neural.model import Bytes, Floats, LeafValue, check_batch
from ddz_agents.neural.network import masked_log_probabilities
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import OBSERVATION, OBSERVATION_SIZE
from ddz_env.envs.outputs import ObservationForm
from ddz_env.support.errors import short_repr


class TorchModel:
    """A user's PyTorch module, wrapped as a :class:`~ddz_agents.neural.model.PolicyModel`.

    The module is called with observations, shape ``[n, 512]``, in the floating-point type of its first weight, and
    masks, shape ``[n, 400]``, bool, both on that weight's device.  It answers with logits, shape ``[n, 400]``, of which
    those of illegal actions do not count, and values for the observers, shape ``[n]`` or ``[n, 1]``: -1 (lost) to 1
    (won).  Values beyond are cut off, as a critic errs a little near a certain end.  A module without values answers
    with the logits alone; a search then plays its leaves out.

    It is put into evaluation mode and called without gradients.

    Args:
        module: The module, with its weights, on any device.
        dtype: The form of observations that it learned from, in the environments' words: ``"float32"``, scaled to
            0..1, or ``"int8"``, the numbers as they are.

    Attributes:
        module: The module.
        leaf: What a search's leaf is worth with it: its values, if it answers with any, or else playouts.

    Raises:
        InvalidOptionError: If the form is unknown.
        InvalidPolicyOutputError: If it does not take observations and masks, or does not answer two rows of zeros with
            such tensors.
    """

    def __init__(self, module: torch.nn.Module, dtype: str = "float32") -> None:
        self.module = module
        self._form = ObservationForm("vector", dtype, "observation", "action_mask")
        zeros, free = np.zeros((2, OBSERVATION_SIZE), np.int8), np.ones((2, NUM_ACTIONS), np.int8)
        values = self._evaluate(zeros, free)[1]  # wrong shapes must show before a game begins
        self.leaf: LeafValue = "playout" if values is None else "value"

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Compute log-probabilities, shape ``[n, 400]``, and values, shape ``[n]``, both float32.

        Raises:
            InvalidPolicyInputError: If a shape or type is wrong or a row has no legal action.
            InvalidPolicyOutputError: If the module answers with other shapes, or with NaN or infinite numbers where an
                action is legal.
        """
        check_batch(observations, masks)
        logs, values = self._evaluate(observations, masks)
        return logs.numpy(), np.zeros(len(masks), np.float32) if values is None else values.clamp(-1, 1).numpy()

    def _evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Tensor, Tensor | None]:
        """Compute and check log-probabilities and values, and return them as float32 tensors on the CPU."""
        if self.module.training:  # its owner may train it between games
            self.module.eval()
        weight = first_weight(self.module)
        seen = torch.from_numpy(self._form.convert_vector(observations, OBSERVATION)).to(weight.device, weight.dtype)
        legal = torch.from_numpy(masks != 0)
        with torch.inference_mode():
            try:
                answer = self.module(seen, legal.to(weight.device))
            except TypeError as error:
                raise InvalidPolicyOutputError(f"the module must take observations and masks: {error}") from error
            logits, values = answer if isinstance(answer, (tuple, list)) and len(answer) == 2 else (answer, None)
            _check_answer("logits", logits, masks.shape)
            logits = logits.float().cpu()
            if not logits[legal].isfinite().all():
                raise InvalidPolicyOutputError("the module's logits are NaN or infinite where actions are legal")
            logs = masked_log_probabilities(logits, legal)
            if values is None:
                return logs, None
            _check_answer("values", values, (len(masks),), (len(masks), 1))
            values = values.float().cpu().reshape(-1)
        if not values.isfinite().all():
            raise InvalidPolicyOutputError("the module's values are NaN or infinite")
        return logs, values


class ByteInputModule(torch.nn.Module):
    """A module that takes observations and masks as bytes and calls another module as :class:`TorchModel` does.

    Args:
        module: What a :class:`TorchModel` plays, on the processor; it is put into evaluation mode.
        dtype: The form of observations that it learned from.
    """

    highest: Tensor

    def __init__(self, module: torch.nn.Module, dtype: str = "float32") -> None:
        super().__init__()
        self.module = module
        self._dtype = first_weight(module).dtype
        scaled = ObservationForm("vector", dtype, "observation", "action_mask").scaled
        highest = OBSERVATION.high if scaled else np.ones(OBSERVATION_SIZE)
        self.register_buffer("highest", torch.from_numpy(highest.astype(np.float32)), persistent=False)
        self.eval()

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor] | Tensor:
        """Compute logits, shape ``[n, 400]``, and the module's values if any, shape ``[n]``, both float32."""
        answer = self.module((observation.float() / self.highest).to(self._dtype), action_mask != 0)
        if isinstance(answer, (tuple, list)) and len(answer) == 2:
            return answer[0].float(), answer[1].float().reshape(-1)
        logits: Tensor = answer.float()
        return logits


def first_weight(module: torch.nn.Module) -> Tensor:
    """Return a module's first floating-point weight, from which the type and device for inputs are taken.

    Args:
        module: Any module; one without weights computes as PyTorch does by default.
    """
    weights = itertools.chain(module.parameters(), module.buffers(), [torch.empty(0)])
    return next(tensor for tensor in weights if tensor.is_floating_point())


def _check_answer(name: str, answer: Any, *shapes: tuple[int, ...]) -> None:
    """Check that a network's answer is a tensor with one of the allowed shapes."""
    if not isinstance(answer, Tensor) or tuple(answer.shape) not in shapes:
        description = f"a tensor of shape {list(answer.shape)}" if isinstance(answer, Tensor) else short_repr(answer)
        right = " or ".join(str(list(shape)) for shape in shapes)
        raise InvalidPolicyOutputError(f"the module's {name} must be a tensor of shape {right}, not {description}")
