"""A policy trained with sb3-contrib's MaskablePPO, for everything here that takes a policy.

Stable-Baselines3 saves its models as zip files with pickled objects in them, and unpickling runs any code that a file
brings along.  Such a file is therefore read only where the user says that it is trusted; our own files of weights
(:mod:`ddz_agents.neural.weights`) hold nothing but tensors and need no trust.

What such a zip was trained for is in a member of its own, as JSON that is read without unpickling anything;
Stable-Baselines3 reads the members that it wrote and leaves this one alone.
"""

from __future__ import annotations

import itertools
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import torch
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from ddz_agents.neural.errors import MissingSb3Error, TensorFileError, TensorFileMismatchError, UntrustedFileError
from ddz_agents.neural.model import Bytes, Floats, check_batch, leaf_of
from ddz_agents.neural.network import masked_log_probabilities
from ddz_agents.neural.tensor_file import check_archive, check_purpose, plain_values
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import OBSERVATION
from ddz_env.envs.outputs import DICT_KEYS, DTYPES, ObservationForm
from ddz_env.support.errors import command_line, install_hint

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

MEMBER, KIND, VERSION = "ddz-policy.json", "ddz-sb3-policy", 1

_MODEL = "data"
"""A member that every model has.  Its weights are zips in the zip, so that a part of a model may pass for a zip."""
_RIGHT = (
    "a model can be played if its environment was gymnasium.make('ddz_env/DouDizhu-v0', ...) or that of ddz train sb3, "
    "without a wrapper that changes observations or actions"
)


@dataclass(frozen=True)
class Purpose:
    """What a policy was trained for.

    Attributes:
        rules: The preset; None where the file does not say.
        objective: What its values mean: ``win`` or ``stake``.
    """

    rules: str | None = None
    objective: str = "win"


def saved_form(space: Any, actions: Any) -> ObservationForm:
    """The form in which a model was shown positions: the one whose space was saved with it.

    Args:
        space: Its saved observation space.
        actions: Its saved action space.

    Raises:
        TensorFileMismatchError: If it is not one of ours, or the actions differ.
    """
    if actions != spaces.Discrete(NUM_ACTIONS):
        raise TensorFileMismatchError(f"the policy was saved with the action space {actions}; {_RIGHT}")
    beside = isinstance(space, spaces.Dict) and len(space) == 2
    orders = itertools.permutations(space) if beside else [DICT_KEYS]
    for dtype, (observation_key, mask_key) in itertools.product(DTYPES, orders):
        form = ObservationForm("dict" if beside else "vector", dtype, observation_key, mask_key)
        if form.space() == space:
            return form
    saved = f"{type(space).__name__} of shape {space.shape} and type {space.dtype}"
    raise TensorFileMismatchError(f"the policy was saved with an observation space that is not ours, {saved}; {_RIGHT}")


class SB3Policy:
    """The network of a MaskablePPO as a :class:`~ddz_agents.neural.model.PolicyModel`.

    It is shown positions in the form that its own observation space says.  Values are in the unit of the rewards that
    it was trained with.

    Args:
        policy: The network (``model.policy``), with our observations and actions.
        purpose: What it was trained for.

    Attributes:
        policy: The network.
        rules: The preset that it was trained under; None where that is not known.
        objective: What its values mean: ``win`` or ``stake``.
        leaf: What a search's leaf is worth with it (:class:`~ddz_agents.neural.model.PolicyModel`).

    Raises:
        TensorFileMismatchError: If it takes other observations or actions.
    """

    def __init__(self, policy: MaskableActorCriticPolicy, purpose: Purpose | None = None) -> None:
        self._form = saved_form(policy.observation_space, policy.action_space)
        purpose = purpose or Purpose()
        self.policy, self.rules, self.objective = policy, purpose.rules, purpose.objective
        self.leaf = leaf_of(self.objective, values_trained=True)

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Logarithms of the probabilities, shape ``[n, 400]``, and values, shape ``[n]``, both float32.

        Raises:
            InvalidPolicyInputError: If a shape or type is wrong or a row has no legal action.
        """
        check_batch(observations, masks)
        if self.policy.training:  # to set it takes as long as to multiply a layer
            self.policy.set_training_mode(False)
        shown, _ = self.policy.obs_to_tensor(self._form.of(self._form.vector(observations, OBSERVATION), masks))
        with torch.inference_mode():
            # sb3-contrib gives illegal actions a small probability instead of none: the mask is applied here.
            categorical: Any = self.policy.get_distribution(shown).distribution
            logs = masked_log_probabilities(categorical.logits.cpu(), torch.from_numpy(masks))
            return logs.numpy(), self.policy.predict_values(shown).flatten().cpu().numpy()


def check_trust(path: str | Path, trust: bool, how: str) -> None:
    """Refuse a file that would be unpickled.

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


def load_sb3_policy(path: str | Path, *, trust_file: bool = False, threads: int = 1) -> SB3Policy:
    """Read the policy of a MaskablePPO that ``model.save`` wrote.

    What it was trained for is in files of ``ddz train sb3`` (:func:`add_purpose`); a file that does
    not say is taken to play for wins.

    Args:
        path: The zip file.
        trust_file: Whether the file may run its code.
        threads: PyTorch's threads, for the whole process.

    Raises:
        UntrustedFileError: If ``trust_file`` is not True.  Nothing has been read.
        MissingSb3Error: If sb3-contrib is not installed.
        TensorFileError: If the file is missing or broken.
        TensorFileMismatchError: If it holds another algorithm, takes other observations or actions, or was shown
            others than its space says.
    """
    check_trust(path, trust_file, command_line(f"policy:path={path},trust_file=true"))
    model = load_maskable_ppo(path)
    torch.set_num_threads(threads)
    purpose, shown = read_purpose(path), model._last_obs
    try:
        policy = SB3Policy(model.policy, purpose)
    except TensorFileMismatchError as error:
        raise TensorFileMismatchError(f"{path}: {error}") from error
    if shown is not None and shown not in batch_space(model.observation_space, model.n_envs):
        raise TensorFileMismatchError(f"{path}: in training numbers were changed, as by VecNormalize; {_RIGHT}")
    return policy


def load_maskable_ppo(path: str | Path, env: Any = None, device: str = "cpu") -> MaskablePPO:
    """Unpickle a MaskablePPO.  Call :func:`check_trust` first.

    Args:
        path: The zip file.
        env: The environment to continue with, an SB3 ``VecEnv``; None to play only.
        device: PyTorch's name of the device.

    Raises:
        MissingSb3Error: If sb3-contrib is not installed.
        TensorFileError: If the file is missing or broken, or holds weights that are not finite.
        TensorFileMismatchError: If it holds another algorithm.
    """
    try:
        from sb3_contrib import MaskablePPO
    except ImportError as error:
        raise MissingSb3Error(f"a model's zip needs sb3-contrib ({error}): {install_hint('train')}") from error
    _check_zip(path)
    try:
        model = MaskablePPO.load(path, env, device)
    except Exception as error:  # unpickling can raise anything
        raise TensorFileMismatchError(f"{path} holds no MaskablePPO that can be read here: {error}") from error
    for name, weight in model.policy.state_dict().items():
        if not torch.isfinite(weight).all():
            raise TensorFileError(f"{path}: {name} holds numbers that are not finite")
    return model


def add_purpose(file: str | Path | IO[bytes], purpose: Purpose) -> None:
    """Add a model's purpose to the zip that ``model.save`` has written.

    Only once: members of a zip are not replaced.

    Args:
        file: The zip, or its path.
        purpose: What to say.

    Raises:
        TensorFileError: If the file is missing, no such zip, or says so already.
    """
    if MEMBER in _check_zip(file):
        raise TensorFileError(f"{file} says already what it is for, in its member {MEMBER}")
    about = {"kind": KIND, "version": VERSION, "rules": purpose.rules, "objective": purpose.objective}
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(MEMBER, json.dumps(about, indent=2) + "\n")


def read_purpose(path: str | Path) -> Purpose:
    """Read what a zip of Stable-Baselines3 is for; nothing is unpickled, so that no trust is needed.

    Args:
        path: The file.  One that does not say, as plain ``model.save`` writes it, is taken to play for wins.

    Raises:
        TensorFileError: If the file is missing, no such zip, or corrupt.
        TensorFileMismatchError: If what it says is not to be understood here.
    """
    if MEMBER not in _check_zip(path):
        return Purpose()
    where = f"{path}: its member {MEMBER}"
    try:
        with zipfile.ZipFile(path) as archive:
            about = plain_values(where, archive.read(MEMBER))
    except zipfile.BadZipFile as error:
        raise TensorFileError(f"{path} is corrupt: {error}") from error
    if (about.get("kind"), about.get("version")) != (KIND, VERSION):
        raise TensorFileMismatchError(f"{where} is not a {KIND} of version {VERSION}: {about}")
    purpose = Purpose(about.get("rules"), about.get("objective", ""))
    check_purpose(where, "standard" if purpose.rules is None else purpose.rules, purpose.objective, {}, True)
    return purpose


def _check_zip(file: str | Path | IO[bytes]) -> list[str]:
    """The members of a model's zip."""
    names = check_archive(file)
    if _MODEL not in names:
        raise TensorFileError(f"{file} holds no model of Stable-Baselines3, or was truncated")
    return names
