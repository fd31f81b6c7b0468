"""Policies that never change: weights that shipped once, kept so that later ones can be measured against them.

``ddz arena policy ddz_agents.neural.frozen:FrozenPolicyAgent:weights=final`` plays against one.  They carry the names
of the training runs that made them (``agents/ddz_agents/neural/shipped/MODEL_CARD.md``).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.loading import load_policy
from ddz_env.core.options import Options, takes


@dataclass(frozen=True)
class FrozenPolicyOptions(Options):
    """Which policy plays.

    Attributes:
        weights: The training run that ended with it.
    """

    weights: Literal["final", "last"] = "last"

    def files(self) -> tuple[Path, ...]:
        """The file of the weights."""
        return (Path(str(resources.files(__name__) / f"{self.weights}.safetensors")),)


@takes(FrozenPolicyOptions)
class FrozenPolicyAgent(ModelAgent):
    """Plays the most probable action of weights that do not change.

    Raises:
        InvalidAgentOptionError: If there are no such weights.

    Example:
        >>> FrozenPolicyAgent(weights="final").name
        'policy-final'
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        options = FrozenPolicyOptions.of(*values, **named)
        super().__init__(load_policy(*options.files()), name=f"policy-{options.weights}")
