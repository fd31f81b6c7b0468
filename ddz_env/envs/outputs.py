"""The outputs of environments: observations in the requested form, infos and pictures.

Infos have the same keys from the first step on, and a number under each, so that every library can stack them;
``infos="text"`` asks for words where people read along.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.notation import format_recorded_move
from ddz_env.core.observation import OBSERVATION, Layout
from ddz_env.core.state import State
from ddz_env.core.view import ROLES, STAGE_NAMES, View
from ddz_env.support.checks import check_choice
from ddz_env.support.errors import InvalidOptionError, short_repr

DTYPES = ("int8", "float32")
OBSERVATIONS = ("vector", "dict")
DICT_KEYS = ("observation", "action_mask")
"""The keys of a dict by default: of the observation and of the mask."""


class ObservationForm:
    """The form of observations: their dtype, and whether they are a dict that includes the mask of legal actions.

    Args:
        observation: ``"vector"``, the observation alone, or ``"dict"``, with the mask beside it.
        dtype: ``"int8"``, the bytes as they are, or ``"float32"``, each divided by the highest value it can have;
            NumPy's types of these names, too.
        observation_key: The key of the observation in the dict.
        mask_key: The key of the mask.

    Attributes:
        scaled: Whether observations are floating-point numbers.
        observation_key: As above.
        mask_key: As above.

    Raises:
        InvalidOptionError: If a choice is unknown, the keys are not two different names, or a vector has any.
    """

    def __init__(self, observation: str, dtype: Any, observation_key: str, mask_key: str) -> None:
        if isinstance(dtype, (type, np.dtype)):  # np.float32, as NumPy's own functions take it
            dtype = np.dtype(dtype).name
        self._beside = check_choice("observation", observation, OBSERVATIONS) == "dict"
        self.scaled = check_choice("dtype", dtype, DTYPES) == "float32"
        if not self._beside and (observation_key, mask_key) != DICT_KEYS:
            raise InvalidOptionError(
                "a vector has no keys: leave out observation_key and mask_key, or add observation='dict'"
            )
        for name, key in (("observation_key", observation_key), ("mask_key", mask_key)):
            if not isinstance(key, str) or not key:
                raise InvalidOptionError(f"{name} must be a name, not {short_repr(key)}")
        if observation_key == mask_key:
            raise InvalidOptionError(f"observation_key and mask_key must differ, not both be {short_repr(mask_key)}")
        self.observation_key, self.mask_key = observation_key, mask_key

    def make_box(self, layout: Layout) -> spaces.Box:
        """Make the Gymnasium ``Box`` space of vectors with a given layout."""
        if self.scaled:
            return spaces.Box(0.0, 1.0, layout.high.shape, np.float32)
        space = spaces.Box(layout.low, layout.high, dtype=np.int8)
        space.high_repr = f"{layout.high.min()}..{layout.high.max()}"
        return space

    def make_space(self, actions: int = NUM_ACTIONS) -> spaces.Space[Any]:
        """Make the Gymnasium space of observations, including any mask, for a given number of actions."""
        vector, mask = self.make_box(OBSERVATION), spaces.Box(0, 1, (actions,), np.int8)
        return spaces.Dict({self.observation_key: vector, self.mask_key: mask}) if self._beside else vector

    def convert_vector(self, values: npt.NDArray[np.int8], layout: Layout) -> npt.NDArray[Any]:
        """Convert int8 vectors, shape ``[..., size]``, to the requested dtype, in a new array."""
        # Divided, not multiplied with the inverse: the highest value is 1 exactly.
        return np.divide(values, layout.high, dtype=np.float32) if self.scaled else values.copy()

    def make_observation(self, values: Any, mask: npt.NDArray[np.int8]) -> Any:
        """Make an observation from a converted vector and, if the form includes masks, a copy of the mask."""
        return {self.observation_key: values, self.mask_key: mask.copy()} if self._beside else values

    def make_observations(self, values: npt.NDArray[Any], masks: npt.NDArray[np.int8]) -> Iterable[Any]:
        """Make the observations of several games from converted vectors and masks."""
        return map(self.make_observation, values, masks) if self._beside else values

    def convert_observation(self, observed: npt.NDArray[np.int8], mask: npt.NDArray[np.int8]) -> Any:
        """Make the observation of one seat from its vector and mask, in new arrays."""
        values = self.convert_vector(observed, OBSERVATION) if self.scaled else observed.copy()
        return {self.observation_key: values, self.mask_key: mask.copy()} if self._beside else values


KINDS = ("numbers", "text")

_NUMBERS = (*(np.int64(number) for number in range(NUM_ACTIONS)), np.int64(-1))
"""Every number that an info can hold, at its own index (-1 is the last): looking one up is faster than making it."""


class Info(NamedTuple):
    """The documentation of one entry of an info dict: its key, its values as numbers and text, its meaning.

    Attributes:
        key: Its name.
        numbers: The values of ``infos="numbers"``.
        text_key: Its name under ``infos="text"``.
        text: The values there.
        meaning: What it says.
    """

    key: str
    numbers: str
    text_key: str
    text: str
    meaning: str


def _number_names(names: tuple[str, ...]) -> str:
    return ", ".join(f"{number} {name}" for number, name in enumerate(names))


INFOS = (
    Info("seat", "0..2", "seat", "the same number", "the seat that the info is for"),
    Info("role", f"{_number_names(ROLES)}, 3 none yet", "role", "its name; empty: none yet", "its role"),
    Info("stage", _number_names(STAGE_NAMES), "stage", "its name", "the stage, as this seat sees it"),
    Info("last_action", "0..399; -1 none yet", "last_move", "in notation, with kickers; empty", "the last whole move"),
    Info("last_player", "0..2; -1 no one yet", "last_player", "`player_0` ...; empty", "the seat that made it"),
)
"""What every info holds, in the order in which kernels write it; the docs page is generated from it."""

KEYS = tuple(info.key for info in INFOS)
TEXT_KEYS = tuple(info.text_key for info in INFOS)


def is_text_wanted(infos: str) -> bool:
    """Check the option ``infos``, and return whether it asks for text.

    Raises:
        InvalidOptionError: If the choice is unknown.
    """
    return check_choice("infos", infos, KINDS) == "text"


def make_info(written: list[int], *, text: bool) -> dict[str, Any]:
    """Make a seat's info dict, with values as numbers or words, from the numbers that compiled code wrote.

    Args:
        written: What :func:`ddz_env.envs.stepping.write_info` wrote.
        text: Whether to put it into words.

    Returns:
        An ``np.int64`` under each of :data:`KEYS`, or words under :data:`TEXT_KEYS`.
    """
    if text:
        return _make_text_info(*written)
    seat, role, stage, action, player, _ = written
    return {  # spelled out, because it is done at every step
        "seat": _NUMBERS[seat],
        "role": _NUMBERS[role],
        "stage": _NUMBERS[stage],
        "last_action": _NUMBERS[action],
        "last_player": _NUMBERS[player],
    }


def _make_text_info(seat: int, role: int, stage: int, action: int, player: int, cards: int) -> dict[str, Any]:
    move, mover = ("", "") if player < 0 else (format_recorded_move(action, cards), f"player_{player}")
    return dict(zip(TEXT_KEYS, (seat, (*ROLES, "")[role], STAGE_NAMES[stage], move, mover), strict=True))


RENDER_MODES = ("ansi", "rgb_array", "human")
_COLUMNS = 80
"""Width of the text, which any terminal has."""


class Screen:
    """A renderer of positions in one render mode; in human mode it opens a window at the first position.

    A mode whose packages are missing is refused by ``show``, not before: SB3's ``make_vec_env`` asks for pictures that
    no one looks at, and learning needs no Pillow.

    Args:
        mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or None.
        modes: Those that the environment has.

    Raises:
        InvalidOptionError: If the mode is unknown.
    """

    def __init__(self, mode: str | None, modes: Sequence[str] = RENDER_MODES) -> None:
        self._mode = None if mode is None else check_choice("render_mode", mode, modes)
        self._window: Any = None

    def show(self, position: State | View, fps: float) -> Any:
        """Render a position: return text or a picture ``[height, width, 3]``, uint8, or show it in a window.

        Raises:
            MissingDependencyError: If a package that the mode needs is not installed.
        """
        from ddz_env import rendering

        if self._mode is None:
            gymnasium.logger.warn("render() was called without a render_mode; name one when making the environment")
            return None
        if self._mode == "ansi":
            return rendering.render_ansi(position, width=_COLUMNS)
        picture = rendering.render_rgb(position)
        if self._mode == "rgb_array":
            return picture
        if self._window is None:
            self._window = rendering.Window(fps=fps)
        self._window.show(picture)
        return None

    def close(self) -> None:
        """Close the window if one is open."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_window": None}  # a window belongs to its process
