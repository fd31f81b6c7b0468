"""The texts of drawn tables in English and Chinese, read from ``texts.json``."""

from __future__ import annotations

import functools
import json
from collections import ChainMap
from collections.abc import Mapping
from importlib.resources import files

from ddz_env.core.notation import Move
from ddz_env.support.checks import check_choice

LANGUAGES = ("en", "zh")
"""English and Chinese."""


@functools.cache
def table_texts() -> Mapping[str, tuple[str, str]]:
    """Return every text of drawn tables by key, in English and Chinese; braces mark values to insert."""
    groups = json.loads(files(__package__).joinpath("texts.json").read_text(encoding="utf-8"))
    return dict(ChainMap(*groups.values()))


class Texts:
    """The texts of drawn tables in one language.

    Args:
        language: ``en`` or ``zh``.

    Raises:
        InvalidOptionError: If there is no such language.

    Example:
        >>> Texts("en")("seat", seat=2), Texts("zh")("seat", seat=2)
        ('seat 2', '2号位')
    """

    def __init__(self, language: str = "en") -> None:
        self.language = check_choice("language", language, LANGUAGES)
        self._place = LANGUAGES.index(self.language)

    @property
    def catalogue(self) -> Mapping[str, tuple[str, str]]:
        """All texts by key, each in English and Chinese."""
        return table_texts()

    def __call__(self, key: str, **values: object) -> str:
        """Return the text with a given key, with values filled in."""
        return self.catalogue[key][self._place].format(**values)

    def move(self, move: Move | str) -> str:
        """Return a move's display string: cards in notation; words for a pass, a bid or an answer to doubling."""
        text = str(move)
        return self(text) if text[:1].islower() and text in self.catalogue else text
