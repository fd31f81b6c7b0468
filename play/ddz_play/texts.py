"""What people read at the table, in English and in Chinese; the texts themselves are in ``texts.json``.

``texts`` has both languages of every text by its key, beside those of the drawn table.  ``messages`` has the Chinese
of the errors that a person at the table can cause: errors are in English wherever they are raised, and callers may
rely on their words.  A message is found by its English text with the names of its values
(:class:`ddz_env.support.errors.Message`).
"""

from __future__ import annotations

import functools
import json
from collections import ChainMap
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from ddz_env.core.notation import Move
from ddz_env.rendering import texts as rendering
from ddz_env.support.errors import DouDizhuError, Message


class Catalogue(NamedTuple):
    """The file of texts, and the texts of the drawn table.

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
    texts, messages = (dict(ChainMap(*parts[part].values())) for part in Catalogue._fields)
    return Catalogue({**rendering.table_texts(), **texts}, messages)


class Texts(rendering.Texts):
    """The texts of a language: those of the drawn table, and all else that people read.

    Args:
        language: ``en`` or ``zh``.

    Raises:
        InvalidOptionError: If there is no such language.

    Example:
        >>> Texts("en")("seat", seat=2), Texts("zh")("your move")
        ('seat 2', '轮到您了')
    """

    @property
    def catalogue(self) -> Mapping[str, tuple[str, str]]:
        """Every text by its key, in English and in Chinese."""
        return catalogue().texts

    def complaint(self, error: Exception | str) -> str:
        """What was wrong; a message that has no Chinese stays English.

        Example:
            >>> message = Message("{number} cards of rank {rank}: the pack has {most}", number=4, rank="B", most=1)
            >>> Texts("zh").complaint(message)
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
