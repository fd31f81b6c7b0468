"""In which form an environment hands out what an agent sees: the dtype, and whether the mask stands beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ddz_env.core.checks import check_choice
from ddz_env.core.errors import InvalidOptionError, shown
from ddz_env.core.observation import Layout

DTYPES = ("int8", "float32")
OBSERVATIONS = ("vector", "dict")


class ObservationForm:
    """The form of observations.

    Args:
        observation: ``"vector"``, the observation alone, or ``"dict"``, with the mask beside it.
        dtype: ``"int8"``, the bytes as they are, or ``"float32"``, each divided by the highest value it can have;
            NumPy's types of these names, too.
        observation_key: Where the observation stands in the dict.
        mask_key: Where the mask stands.

    Attributes:
        scaled: Whether observations are floating-point numbers.
        observation_key: As above.
        mask_key: As above.

    Raises:
        InvalidOptionError: If a choice is unknown, or the keys are no two different names.
    """

    def __init__(self, observation: str, dtype: Any, observation_key: str, mask_key: str) -> None:
        if isinstance(dtype, (type, np.dtype)):  # np.float32, as NumPy's own functions take it
            dtype = np.dtype(dtype).name
        self._beside = check_choice("observation", observation, OBSERVATIONS) == "dict"
        self.scaled = check_choice("dtype", dtype, DTYPES) == "float32"
        for name, key in (("observation_key", observation_key), ("mask_key", mask_key)):
            if not isinstance(key, str) or not key:
                raise InvalidOptionError(f"{name} must be a name, not {shown(key)}")
        if observation_key == mask_key:
            raise InvalidOptionError(f"observation_key and mask_key must differ, not both be {shown(mask_key)}")
        self.observation_key, self.mask_key = observation_key, mask_key

    def box(self, layout: Layout) -> spaces.Box:
        """The space of a vector with this layout."""
        if self.scaled:
            return spaces.Box(0.0, 1.0, layout.high.shape, np.float32)
        return spaces.Box(layout.low, layout.high, dtype=np.int8)

    def space(self, layout: Layout, actions: int) -> spaces.Space[Any]:
        """The space of observations with a mask over so many actions."""
        if not self._beside:
            return self.box(layout)
        return spaces.Dict(
            {self.observation_key: self.box(layout), self.mask_key: spaces.Box(0, 1, (actions,), np.int8)}
        )

    def vector(self, values: npt.NDArray[np.int8], layout: Layout) -> npt.NDArray[Any]:
        """Bytes of a layout, shape ``[..., size]``, in the dtype asked for; a new array."""
        # Divided, not multiplied with the inverse: the highest value is 1 exactly.
        return np.divide(values, layout.high, dtype=np.float32) if self.scaled else values.copy()

    def of(self, values: Any, mask: npt.NDArray[np.int8]) -> Any:
        """The observation, with a copy of its mask beside it if asked for."""
        return {self.observation_key: values, self.mask_key: mask.copy()} if self._beside else values
