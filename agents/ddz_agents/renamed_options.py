"""Renamed agent options, whose earlier names are refused with a hint at the current name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ddz_env.support.options import Options

RENAMED: Mapping[str, str] = {
    "ahead": "leaf_policy_steps",
    "play": "card_player",
    "player": "rollout_player",
    "settled": "skip_search_above",
}
"""Options by their names of earlier versions, and what they are called today."""

RENAMED_VALUES: Mapping[tuple[str, str], str] = {("worlds", "own"): "particles"}
"""Values of options by their names of earlier versions, and what they are called today."""


class RenamedOptions(Options):
    """Base class of agent options that refuses earlier names with a hint at the current ones.

    Raises:
        InvalidAgentOptionError: If an option or a value has its name of an earlier version.
    """

    def __post_init__(self) -> None:
        for (name, old), new in RENAMED_VALUES.items():
            if getattr(self, name, None) == old:
                raise self.error(f"{name}={old!r} is called {name}={new!r} now")
        super().__post_init__()

    @classmethod
    def check_names(cls, names: Iterable[str]) -> None:
        """Refuse unknown option names, giving the current name where an option has been renamed.

        Raises:
            InvalidAgentOptionError: If there is one.
        """
        names, today = list(names), [option.name for option in cls.options()]
        for name in names:
            new = RENAMED.get(name)
            if name not in today and new in today:
                raise cls.error(f"the option {name!r} is called {new!r} now")
        super().check_names(names)
