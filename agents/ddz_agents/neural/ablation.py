"""The agent ``policy-without``: a policy with one input removed, to measure how much that input is worth.

The weights of the input's columns in the first layer are zero, as if all its columns were.  Inputs overlap: the bytes
of the table hold the seat's own hand too, so a policy without ``hand`` has lost the thresholds and chains, not the
cards.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from ddz_agents.neural.agent import ModelAgent, PolicyFile
from ddz_agents.neural.compiled_policy import CompiledPolicy
from ddz_agents.neural.feature_table import REST_INPUTS, policy_inputs
from ddz_agents.neural.shipped import policy_path
from ddz_agents.neural.weights import Weights, load_weights
from ddz_env.support.options import takes_options
from ddz_env.support.threads import check_threads

InputName = Literal[
    "table", "history", "state", "hand", "prospects", "unseen", "target", "sizes", "key", "signs", "rest",
    "rest-prospects",
]  # fmt: skip
"""The inputs of :func:`~ddz_agents.neural.feature_table.policy_inputs`, and those of the hand that an action leaves."""

_REST = {"rest": "rest", "rest-prospects": "prospects"}


@dataclass(frozen=True)
class AblationOptions(PolicyFile):
    """The options of ``policy-without``: a policy, and the input that is removed.

    Attributes:
        input: The input that is switched off (`docs/reference/network-inputs.md` has the table of inputs; ``rest`` and
            ``rest-prospects`` are those of the hand that an action leaves).
    """

    input: InputName = "signs"


def find_input_columns(name: InputName, history: int) -> tuple[str, slice]:
    """Find the weight matrix that reads a named input, and the columns of the matrix that belong to the input.

    Args:
        name: The input.
        history: Completed moves that the policy sees.

    Returns:
        The weights that read it, and its columns.
    """
    table, layer = (REST_INPUTS, "rest.0") if name in _REST else (policy_inputs(history), "trunk.0")
    return f"{layer}.weight", table.slice_of(_REST.get(name, name))


def ablate_input(weights: Weights, name: InputName) -> Weights:
    """Return a policy's weights with the first-layer columns of one input set to zero."""
    layer, columns = find_input_columns(name, weights.architecture.history)
    ablated = weights.policy[layer].copy()
    ablated[:, columns] = 0
    return dataclasses.replace(weights, policy={**weights.policy, layer: ablated})


class AblatedPolicyAgent(ModelAgent):
    """Plays by a trained policy without one of its inputs: ``policy-without:input=signs``.

    Raises:
        TensorFileError: If the file cannot be read or does not fit this package.
        InvalidAgentOptionError: If an option's value is not allowed.
    """

    @takes_options(AblationOptions)
    def __init__(self, options: AblationOptions) -> None:
        weights = load_weights(policy_path(options.path))
        super().__init__(
            CompiledPolicy(ablate_input(weights, options.input), check_threads(options.threads)), name="policy-without"
        )
