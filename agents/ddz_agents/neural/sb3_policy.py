"""Loading of policies trained with sb3-contrib's MaskablePPO, as PyTorch modules.

Stable-Baselines3 saves its models as zip files with pickled objects in them, and unpickling runs any code that a file
brings along.  Such a file is therefore read only where the user says that it is trusted.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import torch
from gymnasium import spaces
from gymnasium.vector.utils import batch_space
from sb3_contrib import MaskablePPO
from torch import Tensor

from ddz_agents.neural.errors import TensorFileMismatchError, UntrustedFileError
from ddz_agents.neural.tensor_file import check_archive
from ddz_agents.neural.torch_model import TorchModel
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.envs.outputs import DICT_KEYS, DTYPES, ObservationForm
from ddz_env.support.errors import format_command, short_repr

_RIGHT = "a model can play if it was trained on ddz_env, without a wrapper that changes observations or actions"


class Sb3Module(torch.nn.Module):
    """The network of a MaskablePPO model as a PyTorch module that takes observations and masks.

    Args:
        policy: The network (``model.policy``), with our observations and actions.
        where: What an error calls it.

    Attributes:
        dtype: The form of observations that it learned from: ``"float32"`` or ``"int8"``.

    Raises:
        TensorFileMismatchError: If it takes other observations or actions.
    """

    def __init__(self, policy: Any, where: object = "the model") -> None:
        super().__init__()
        self.policy, (self.dtype, self._keys) = policy, _observation_format(policy, where)

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Compute logits, shape ``[n, 400]``, and values on the scale of the training rewards, shape ``[n, 1]``."""
        beside = self._keys and dict(zip(self._keys, (observations, masks.to(observations.dtype)), strict=True))
        features: Any = self.policy.extract_features(beside or observations)
        for_actor, for_critic = (features, features) if self.policy.share_features_extractor else features
        hidden = self.policy.mlp_extractor
        logits: Tensor = self.policy.action_net(hidden.forward_actor(for_actor))
        return logits, self.policy.value_net(hidden.forward_critic(for_critic))


def _observation_format(policy: Any, where: object) -> tuple[str, tuple[str, str] | None]:
    """Return the dtype of a model's observations and, for dict observations, the keys of observation and mask."""
    space = policy.observation_space
    if policy.action_space != spaces.Discrete(NUM_ACTIONS):
        raise TensorFileMismatchError(f"{where} has the action space {policy.action_space}; {_RIGHT}")
    beside = isinstance(space, spaces.Dict) and len(space) == 2
    orders = itertools.permutations(space) if beside else [DICT_KEYS]
    for dtype, (observation_key, mask_key) in itertools.product(DTYPES, orders):
        form = ObservationForm("dict" if beside else "vector", dtype, observation_key, mask_key)
        if form.make_space() == space:
            return dtype, (observation_key, mask_key) if beside else None
    raise TensorFileMismatchError(f"{where} has the observation space {short_repr(space)}; {_RIGHT}")


def check_trust(path: str | Path, trust: bool, how: str) -> None:
    """Refuse to unpickle a file unless the user has declared that it is trusted.

    Args:
        path: The file.
        trust: Whether the user said so.
        how: What the user has to write.

    Raises:
        UntrustedFileError: If the file is not trusted.
    """
    if trust is not True:
        raise UntrustedFileError(
            f"{path} is a zip of Stable-Baselines3: reading it runs the code in it; if you know where it comes "
            f"from, write {how}"
        )


def load_sb3_policy(path: str | Path, *, trust_file: bool = False, threads: int = 1) -> TorchModel:
    """Read the policy of a MaskablePPO model from the file that its ``save`` method wrote.

    A zip does not say what it was trained for: its values are taken for chances of winning.

    Args:
        path: The zip file.
        trust_file: Whether the file may run its code.
        threads: PyTorch's threads, for the whole process.

    Raises:
        UntrustedFileError: If ``trust_file`` is not True.  Nothing has been read.
        TensorFileError: If the file is missing or broken.
        InvalidPolicyOutputError: If it answers with numbers that are not finite.
        TensorFileMismatchError: If it holds another algorithm, takes other observations or actions, or was shown
            others than its space says.
    """
    check_trust(path, trust_file, format_command(f"policy:path={path},trust_file=true"))
    model = load_maskable_ppo(path)
    torch.set_num_threads(threads)
    module, last = Sb3Module(model.policy, path), model._last_obs
    if last is not None and last not in batch_space(model.observation_space, model.n_envs):
        raise TensorFileMismatchError(
            f"{path} was trained on changed observations, as VecNormalize makes them; {_RIGHT}"
        )
    return TorchModel(module, module.dtype)


def load_maskable_ppo(path: str | Path, env: Any = None, device: str = "cpu") -> MaskablePPO:
    """Unpickle a MaskablePPO model from a file that :func:`check_trust` has accepted.

    Args:
        path: The zip file.
        env: The environment to continue with, an SB3 ``VecEnv``; None to play only.
        device: PyTorch's name of the device.

    Raises:
        TensorFileError: If the file is missing or broken.
        TensorFileMismatchError: If it holds another algorithm.
    """
    check_archive(path)
    try:
        return MaskablePPO.load(path, env, device)
    except Exception as error:  # unpickling can raise anything
        raise TensorFileMismatchError(f"{path} holds no MaskablePPO that can be read here: {error}") from error
