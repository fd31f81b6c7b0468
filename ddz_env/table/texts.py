"""What people read at the table, in English and in Chinese; the texts themselves are in ``texts.json``.

``texts`` has both languages of every text by its key.  ``messages`` has the Chinese of the errors that a person at the
table can cause: errors are in English wherever they are raised, and callers may rely on their words.  A message is
found by its English text with the names of its values (:class:`ddz_env.support.errors.Message`).
"""

from __future__ import annotations

import functools
import json
from collections import ChainMap
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from ddz_env.core.notation import Move
from ddz_env.support.checks import check_choice
from ddz_env.support.errors import DouDizhuError, Message

LANGUAGES = ("en", "zh")
"""English and Chinese."""


class Catalogue(NamedTuple):
    """The file of texts.

    Attributes:
        texts: Every text by its key: English, Chinese.  Braces stand for values.
        messages: English message → Chinese.
    """

    texts: Mapping[str, tuple[str, str]]
    messages: Mapping[str, str]


@functools.cache
def catalogue() -> Catalogue:
    """All texts, read once."""
    parts = json.loads(files(__package__).joinpath("texts.json").read_text(encoding="utf-8"))
    return Catalogue(*(dict(ChainMap(*parts[part].values())) for part in Catalogue._fields))


class Texts:
    """The texts of a language.

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

    def __call__(self, key: str, **values: object) -> str:
        """A text with its values filled in."""
        return catalogue().texts[key][self._place].format(**values)

    def move(self, move: Move | str) -> str:
        """A move: cards in notation, and words for a pass, a bid or an answer to doubling."""
        text = str(move)
        return self(text) if text[:1].islower() and text in catalogue().texts else text

    def complaint(self, error: Exception | str) -> str:
        """What was wrong; a message that has no Chinese stays English.

        Example:
            >>> said = Message("{number} cards of rank {rank}: the pack has {most}", number=4, rank="B", most=1)
            >>> Texts("zh").complaint(said)
            '4 张 B：一副牌只有 1 张'
        """
        said = error if isinstance(error, str) else error.said if isinstance(error, DouDizhuError) else str(error)
        message = said if isinstance(said, Message) else Message(said)
        translated = catalogue().messages.get(message.text) if self.language == "zh" else None
        if translated is None:
            return str(said)
        return translated.format(**{name: self._value(value) for name, value in message.values.items()})

    def _value(self, value: Any) -> Any:
        """A value of a message, which may be moves, or a message itself."""
        if isinstance(value, Message):
            return self.move(self.complaint(value))
        if isinstance(value, list):
            return "、".join(str(self._value(part)) for part in value)
        return self.move(value) if isinstance(value, Move) else value
