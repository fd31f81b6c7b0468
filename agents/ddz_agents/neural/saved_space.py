"""What a model of another library takes: its saved observation space says how it was shown positions.

The environments have several forms (:class:`ddz_env.envs.forms.ObservationForm`), and wrappers make more of them.  A
model that is shown another form than the one it learned from plays worse without a word, so its form is found in the
space that was saved with it, or the model is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ddz_agents.neural.errors import TensorFileMismatchError
from ddz_agents.neural.model import Bytes
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import OBSERVATION, OBSERVATION_SIZE

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
