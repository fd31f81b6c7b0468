"""A policy trained with sb3-contrib's MaskablePPO, for everything here that takes a policy.

Stable-Baselines3 saves its models as zip files with pickled objects in them, and unpickling runs whatever code a file
brings along.  Such a file is therefore read only by those who say that they trust it; our own files of weights
(:mod:`ddz_agents.neural.weights`) hold nothing but tensors and need no trust.

What such a zip was trained for stands in a member of its own, as JSON that is read without unpickling anything;
Stable-Baselines3 reads the members that it wrote and leaves this one alone.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces

from ddz_agents.neural.errors import MissingSb3Error, TensorFileError, TensorFileMismatchError, UntrustedFileError
from ddz_agents.neural.model import Bytes, Floats, check_batch
from ddz_agents.neural.network import masked_log_probabilities
from ddz_agents.neural.tensor_file import check_purpose, plain_values
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.errors import command_line, install_hint
from ddz_env.core.observation import OBSERVATION, OBSERVATION_SIZE

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy


MEMBER = "ddz-policy.json"
KIND = "ddz-sb3-policy"
VERSION = 1

_MODEL = "data"
"""A member that every model has.  Its weights are zips in the zip, so that a part of a model may pass for a zip."""
_MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class Purpose:
    """What a policy was trained for.

    Attributes:
        rules: The preset; None where the file does not say.
        objective: What its values mean: ``win`` or ``stake``.
    """

    rules: str | None = None
    objective: str = "win"


_RIGHT = (
    "a model can be played if its environment was gymnasium.make('ddz_env/DouDizhu-v0', ...), with dtype 'int8' or "
    "'float32', observation 'vector' or 'dict', and no wrapper that changes observations or actions"
)
_BOTH = OBSERVATION_SIZE + NUM_ACTIONS


@dataclass(frozen=True)
class SavedForm:
    """The form in which a model is shown what a seat sees.

    Attributes:
        dtype: Type of the numbers.
        scaled: Whether each is divided by the highest value that it can have.
        keys: Names of the observation and of the mask, where a dict holds them.
        mask_dtype: Type of the mask in a dict.
        flat: Whether one vector holds both: ``""`` (the observation alone), ``"mask first"`` or ``"mask last"``.
    """

    dtype: np.dtype[Any]
    scaled: bool
    keys: tuple[str, str] | None = None
    mask_dtype: np.dtype[Any] | None = None
    flat: str = ""

    def show(self, observations: Bytes, masks: Bytes) -> npt.NDArray[Any] | dict[str, npt.NDArray[Any]]:
        """What the model takes.

        Args:
            observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
            masks: Shape ``[n, 400]``, int8.

        Returns:
            Arrays of ``n`` rows: those given, where the model takes them as they are.
        """
        values: npt.NDArray[Any] = observations
        if self.scaled:
            values = np.divide(observations, OBSERVATION.high, dtype=np.float32)
        values = values.astype(self.dtype, copy=False)
        if self.keys is not None:
            return {self.keys[0]: values, self.keys[1]: (masks != 0).astype(self.mask_dtype)}
        if not self.flat:
            return values
        mask = (masks != 0).astype(self.dtype)
        return np.concatenate((mask, values) if self.flat == "mask first" else (values, mask), axis=1)

    def has_shown(self, shown: Any) -> bool:
        """Whether what a model was shown last can be of this form: the numbers lead back to bytes that show them."""
        mask: npt.NDArray[Any] = np.ones((1, NUM_ACTIONS), np.int8)
        if self.keys is not None:
            if not isinstance(shown, dict) or set(shown) != set(self.keys):
                return False
            values, mask = np.asarray(shown[self.keys[0]]), np.asarray(shown[self.keys[1]])
        else:
            values = np.asarray(shown)
        if self.flat and values.shape[-1:] == (_BOTH,):
            where = NUM_ACTIONS if self.flat == "mask first" else OBSERVATION_SIZE
            parts = np.split(values, [where], axis=-1)
            mask, values = parts if self.flat == "mask first" else parts[::-1]
        if values.shape[-1:] != (OBSERVATION_SIZE,) or values.dtype.kind not in "iuf":
            return False
        counted = values * OBSERVATION.high.astype(np.float64) if self.scaled else values.astype(np.float64)
        inside = (counted > -0.5) & (counted < OBSERVATION.high + 0.5)
        whole = np.abs(counted - np.round(counted)) < 1e-3
        return bool((inside & whole).all() and np.isin(mask, (0, 1)).all())


def saved_form(space: Any, actions: Any, shown: Any = None) -> SavedForm:
    """Find the form in which a model was shown positions.

    Args:
        space: Its saved observation space.
        actions: Its saved action space.
        shown: What it was shown last, where that is known: normalized numbers give themselves away there.

    Raises:
        TensorFileMismatchError: If it is none of ours, more than one, or the actions are others.
    """
    if type(actions) is not spaces.Discrete or (int(actions.n), int(actions.start)) != (NUM_ACTIONS, 0):
        raise TensorFileMismatchError(
            f"the policy was saved with the action space {actions}; that here is Discrete({NUM_ACTIONS}): {_RIGHT}"
        )
    possible = _possible_forms(space)
    if not possible:
        raise TensorFileMismatchError(
            f"the policy was saved with an observation space that is none of ours: {_what_it_is(space)}; {_RIGHT}"
        )
    fitting = possible if shown is None else [form for form in possible if form.has_shown(shown)]
    if not fitting:
        raise TensorFileMismatchError(
            "what the policy was shown in training is not what its observation space says: the numbers were changed "
            f"on the way (VecNormalize with norm_obs=True, or a wrapper like it); {_RIGHT}"
        )
    if len(fitting) > 1:
        raise TensorFileMismatchError(
            f"the policy takes {_BOTH} numbers from 0 to 1, and nothing says whether the mask stands before or behind "
            f"the observation; flatten int8 observations, or do not flatten; {_RIGHT}"
        )
    return fitting[0]


def _possible_forms(space: Any) -> list[SavedForm]:
    """The forms that have a space."""
    if isinstance(space, spaces.Dict):
        sizes = {part.shape: key for key, part in space.spaces.items()}
        if len(space.spaces) != 2 or set(sizes) != {(OBSERVATION_SIZE,), (NUM_ACTIONS,)}:
            return []
        seen, mask = sizes[OBSERVATION_SIZE,], sizes[NUM_ACTIONS,]
        if not _is_mask(space[mask]):
            return []
        alone = _scaling(space[seen], OBSERVATION.high)
        return [SavedForm(space[seen].dtype, scaled, (seen, mask), space[mask].dtype) for scaled in alone]  # type: ignore[arg-type]
    ones = np.ones(NUM_ACTIONS, np.int8)
    orders = {"": [OBSERVATION.high], "mask first": [ones, OBSERVATION.high], "mask last": [OBSERVATION.high, ones]}
    return [
        SavedForm(space.dtype, scaled, flat=flat)
        for flat, highest in orders.items()
        for scaled in _scaling(space, np.concatenate(highest))
    ]


def _scaling(space: Any, highest: npt.NDArray[np.int8]) -> list[bool]:
    """Whether the numbers of a space are scaled: no answer if they have other bounds than ours."""
    if not isinstance(space, spaces.Box) or space.shape != highest.shape or (space.low != 0).any():
        return []
    if (space.high == highest).all():
        return [False]
    return [True] if space.dtype.kind == "f" and (space.high == 1).all() else []


def _is_mask(space: Any) -> bool:
    return isinstance(space, spaces.Box) and bool((space.low == 0).all() and (space.high == 1).all())


def _what_it_is(space: Any) -> str:
    """A space in words: its size, and what has probably made it."""
    if isinstance(space, spaces.Dict):
        return f"a dict of {', '.join(f'{key} {part.shape}' for key, part in space.spaces.items())}"
    if not isinstance(space, spaces.Box):
        return f"a {type(space).__name__}"
    size = int(np.prod(space.shape))
    frames, rest = divmod(size, OBSERVATION_SIZE)
    if frames > 1 and rest == 0:
        return f"shape {space.shape}, a stack of {frames} observations (FrameStackObservation, VecFrameStack)"
    bounds = f"{space.dtype} of shape {space.shape} from {space.low.min()} to {space.high.max()}"
    if space.shape == (OBSERVATION_SIZE,):
        return f"{bounds}, as normalized observations have (NormalizeObservation, RescaleObservation)"
    return bounds


class SB3Policy:
    """The network of a MaskablePPO as a :class:`~ddz_agents.neural.model.PolicyModel`.

    It is shown positions in the form that its own observation space says (:mod:`ddz_agents.neural.sb3_policy`).
    Values are in the unit of the rewards that it was trained with.

    Args:
        policy: The network (``model.policy``), with our observations and actions.
        purpose: What it was trained for; to win if nothing else is known.
        shown: What it was shown last in training (``model._last_obs``), if that is known.

    Attributes:
        policy: The network.
        rules: The preset that it was trained under; None where that is not known.
        objective: What its values mean: ``win`` or ``stake``.

    Raises:
        TensorFileMismatchError: If it takes other observations or actions, or was shown others than its space says.
    """

    def __init__(self, policy: MaskableActorCriticPolicy, purpose: Purpose | None = None, shown: Any = None) -> None:
        self._form = saved_form(policy.observation_space, policy.action_space, shown)
        known = purpose or Purpose()
        self.policy, self.rules, self.objective = policy, known.rules, known.objective

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Logarithms of the probabilities, shape ``[n, 400]``, and values, shape ``[n]``, both float32.

        Raises:
            InvalidPolicyInputError: If a shape or type is wrong or a row has no legal action.
        """
        found = self.log_probabilities(observations, masks)
        with torch.inference_mode():
            values = self.policy.predict_values(self._tensors(observations, masks))
        return found, values.flatten().cpu().numpy()

    def log_probabilities(self, observations: Bytes, masks: Bytes) -> Floats:
        """The first part of :meth:`evaluate`, without the pass for the values."""
        check_batch(observations, masks)
        self.policy.set_training_mode(False)
        with torch.inference_mode():
            # sb3-contrib gives illegal actions a small probability instead of none: the mask is applied here.
            categorical: Any = self.policy.get_distribution(self._tensors(observations, masks)).distribution
            found: Floats = masked_log_probabilities(categorical.logits.cpu(), torch.from_numpy(masks)).numpy()
        return found

    def _tensors(self, observations: Bytes, masks: Bytes) -> Any:
        shown, device = self._form.show(observations, masks), self.policy.device
        if isinstance(shown, dict):
            return {key: torch.from_numpy(part).to(device) for key, part in shown.items()}
        return torch.from_numpy(shown).to(device)


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
            f"{path} is a zip of Stable-Baselines3: reading it runs whatever code is in it; if you know where it comes "
            f"from, write {how}"
        )


def load_sb3_policy(path: str | Path, *, trust_file: bool = False, threads: int = 1) -> SB3Policy:
    """Read the policy of a MaskablePPO that ``model.save`` wrote.

    What it was trained for stands in files of ``ddz train sb3`` (:func:`add_purpose`); a file that does
    not say is taken to play for wins.

    Args:
        path: The zip file.
        trust_file: Whether the file may run its code.
        threads: PyTorch's threads, for the whole process.

    Raises:
        UntrustedFileError: If ``trust_file`` is not True.  Nothing has been read.
        MissingSb3Error: If sb3-contrib is not installed.
        TensorFileError: If the file is missing or broken.
        TensorFileMismatchError: If it holds another algorithm, or takes other observations or actions.
    """
    check_trust(path, trust_file, command_line(f"policy:path={path},trust_file=true"))
    model = load_maskable_ppo(path)
    torch.set_num_threads(threads)
    purpose = read_purpose(path)
    try:
        return SB3Policy(model.policy, purpose, getattr(model, "_last_obs", None))
    except TensorFileMismatchError as error:
        raise TensorFileMismatchError(f"{path}: {error}") from error


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
        raise MissingSb3Error(
            f"a zip of Stable-Baselines3 needs sb3-contrib ({error}): {install_hint('train')}"
        ) from error
    if not Path(path).is_file():
        raise TensorFileError(f"{path}: there is no such file")
    if not zipfile.is_zipfile(path):
        raise TensorFileError(f"{path} is no zip file, or was truncated")
    try:
        model = MaskablePPO.load(path, env, device)
    except zipfile.BadZipFile as error:
        raise TensorFileError(f"{path} is corrupt: {error}") from error
    except Exception as error:  # unpickling raises whatever it likes
        raise TensorFileMismatchError(f"{path} holds no MaskablePPO that can be read here: {error}") from error
    for name, weight in model.policy.state_dict().items():
        if not torch.isfinite(weight).all():
            raise TensorFileError(f"{path}: {name} holds numbers that are not finite")
    return model


def add_purpose(file: str | Path | IO[bytes], purpose: Purpose) -> None:
    """Say in a zip that ``model.save`` has written what it is for.  Once: members of a zip are not replaced.

    Args:
        file: The zip, or its path.
        purpose: What to say.

    Raises:
        TensorFileError: If the file is missing, no such zip, or says so already.
    """
    about = {"kind": KIND, "version": VERSION, "rules": purpose.rules, "objective": purpose.objective}
    if MEMBER in _members(file):
        raise TensorFileError(f"{file} says already what it is for, in its member {MEMBER}")
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
    if MEMBER not in _members(path):
        return Purpose()
    try:
        with zipfile.ZipFile(path) as archive, archive.open(MEMBER) as member:
            text = member.read(_MOST_BYTES)
    except (OSError, zipfile.BadZipFile) as error:
        raise TensorFileError(f"{path} is corrupt: {error}") from error
    about = plain_values(f"{path}: its member {MEMBER}", text)
    try:
        heading, purpose = (about["kind"], about["version"]), Purpose(about["rules"], about["objective"])
    except KeyError as error:
        raise TensorFileMismatchError(f"{path}: its member {MEMBER} does not say what it is for: {error!r}") from error
    check_purpose(
        f"{path}: its member {MEMBER}", "" if purpose.rules is None else purpose.rules, purpose.objective, {}, True
    )
    if heading != (KIND, VERSION):
        raise TensorFileMismatchError(f"{path}: its member {MEMBER} is no {KIND} of version {VERSION}: {about}")
    return purpose


def _members(file: str | Path | IO[bytes]) -> list[str]:
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise TensorFileError(f"{file} is missing, no zip file, or was truncated: {error}") from error
    if _MODEL not in names:
        raise TensorFileError(f"{file} holds no model of Stable-Baselines3, or was truncated")
    return names
