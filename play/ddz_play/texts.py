"""The texts that players read, in English and in Chinese, loaded from ``texts.json``.

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


class TextCatalogue(NamedTuple):
    """The contents of ``texts.json``: texts by key, and Chinese translations of error messages.

    Attributes:
        texts: Every text by its key: English, Chinese.  Braces stand for values.
        messages: English message → Chinese.
    """

    texts: Mapping[str, tuple[str, str]]
    messages: Mapping[str, str]


@functools.cache
def load_catalogue() -> TextCatalogue:
    """Load the text catalogue, once per process."""
    parts = json.loads(files(__package__).joinpath("texts.json").read_text(encoding="utf-8"))
    texts, messages = (dict(ChainMap(*parts[part].values())) for part in TextCatalogue._fields)
    return TextCatalogue({**rendering.table_texts(), **texts}, messages)


class Texts(rendering.Texts):
    """The texts of one language, looked up by calling the object with a text's key and values.

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
        return load_catalogue().texts

    def error_text(self, error: Exception | str) -> str:
        """Return an error's text in this language, or in English if it has no translation.

        Example:
            >>> message = Message("{number} cards of rank {rank}: the pack has {most}", number=4, rank="B", most=1)
            >>> Texts("zh").error_text(message)
            '4 张 B：一副牌只有 1 张'
        """
        said = error if isinstance(error, str) else error.message if isinstance(error, DouDizhuError) else str(error)
        message = said if isinstance(said, Message) else Message(said)
        translated = load_catalogue().messages.get(message.text) if self.language == "zh" else None
        if translated is None:
            return str(said)
        return translated.format(**{name: self._format_value(value) for name, value in message.values.items()})

    def _format_value(self, value: Any) -> Any:
        """Format a value for a message in this language, such as a move, a list or another message."""
        if isinstance(value, Message):
            return self.move(self.error_text(value))
        if isinstance(value, list):
            return "、".join(str(self._format_value(part)) for part in value)
        return self.move(value) if isinstance(value, Move) else value
