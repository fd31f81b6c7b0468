"""The package's exceptions, whose messages say what was wrong and what would be right."""

from __future__ import annotations

import difflib
import os
import shlex
import subprocess
from collections.abc import Iterable
from typing import Any


class Message(str):
    """A message that keeps its template and its values, so that it can be translated.

    Args:
        text: English, with the names of values in braces: what a translation is found by.
        **values: The values by name: numbers, texts, moves, lists of these, or other messages.

    Attributes:
        text: The same.
        values: The same, by name.

    Example:
        >>> said = Message("{number} cards of rank {rank}", number=5, rank="A")
        >>> said, said.text, said.values["number"]
        ('5 cards of rank A', '{number} cards of rank {rank}', 5)
    """

    text: str
    values: dict[str, Any]

    def __new__(cls, text: str, /, **values: Any) -> Message:
        """Make a message by inserting the values into the template text."""
        words = {name: ", ".join(map(str, part)) if isinstance(part, list) else part for name, part in values.items()}
        message = super().__new__(cls, text.format(**words) if values else text)
        message.text, message.values = text, values
        return message


class DouDizhuError(ValueError):
    """The base class of all exceptions raised for bad input.

    Args:
        text: What was wrong, and what would be right; as of a :class:`Message` if there are values.
        **values: As of a :class:`Message`.
    """

    def __init__(self, text: str = "", /, **values: Any) -> None:
        super().__init__(text if isinstance(text, Message) else Message(text, **values))

    @property
    def message(self) -> Message:
        """The error message, including its template and values for translation."""
        message: Message = self.args[0]
        return message


class InvalidMoveError(DouDizhuError):
    """Raised when a string, ids or cards do not form a move of Dou Dizhu."""


class AmbiguousMoveError(InvalidMoveError):
    """Raised when cards can be read as more than one move; the message lists the readings."""


class IllegalMoveError(DouDizhuError):
    """Raised when a move exists but the position does not allow it."""


class InvalidHandError(DouDizhuError):
    """Raised when a string, ids or counts do not form a hand (a 55th card, a fifth ace, a third joker ...)."""


class InvalidRulesError(DouDizhuError):
    """Raised when rules have an unknown preset, an unknown option, or a value outside its range."""


class InvalidDealError(DouDizhuError):
    """Raised when a deal does not fit the rules (wrong hand sizes, cards that the deck does not have)."""


class InconsistentViewError(DouDizhuError):
    """Raised when a view's history does not account for the cards on the table, or no deal agrees with the view."""


class GameOverError(DouDizhuError):
    """Raised when a step is attempted in a game that has ended."""


class SharedGamesError(DouDizhuError):
    """Raised when two threads use the same games at once, which would overwrite each other's arrays."""


class UnknownAgentError(DouDizhuError):
    """Raised when no agent has the given name; the message lists the existing agents."""


class InvalidOptionError(DouDizhuError):
    """Raised when an environment is given an unknown option, or a value outside its range."""


class InvalidAgentOptionError(InvalidOptionError):
    """Raised when an agent is given an unknown option, or a value outside its range."""


class InvalidPictureError(DouDizhuError):
    """Raised when a picture cannot be drawn, for example because of an unknown perspective or a size out of range."""


class MissingDependencyError(DouDizhuError, ImportError):
    """Raised when a renderer needs a package that is not installed.

    Args:
        package: The package's name on the index.
    """

    def __init__(self, package: str) -> None:
        super().__init__(
            f'{package} is needed to draw the table: {install_hint("render")}; render_mode="ansi" needs nothing'
        )


_MAX_VALUE_LENGTH = 120
"""Most characters of a value that a message shows."""


def short_repr(value: object) -> str:
    """Return a value's ``repr`` for an error message, on one line and with at most 120 characters.

    Example:
        >>> short_repr("ten"), short_repr([1, 2]), len(short_repr(10**5000)) <= 120
        ("'ten'", '[1, 2]', True)
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # integers of thousands of digits, deep nesting, a foreign __repr__
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[: _MAX_VALUE_LENGTH - 3]}..."


def install_hint(extra: str) -> str:
    """Return the command that installs an optional extra of this package, for error messages.

    The package is installed from a clone.  It is in no index; a name there would be another package.

    Args:
        extra: Its name, or several separated by commas.

    Example:
        >>> install_hint("web")
        "pip install -e '.[web]' (in a clone of ddz-env)"
    """
    return f"pip install -e '.[{extra}]' (in a clone of ddz-env)"


def format_command(*words: object) -> str:
    """Format a command as it would be typed into this system's shell.

    Args:
        *words: The program, its options and their values, each one word.

    Example:
        >>> format_command("ddz", "replay", "games/a.txt")
        'ddz replay games/a.txt'
    """
    texts = list(map(str, words))
    return subprocess.list2cmdline(texts) if os.name == "nt" else shlex.join(texts)


def pluralize(number: int, noun: str) -> Message:
    """Format a number with its noun, in the singular or the plural.

    Example:
        >>> pluralize(1, "card"), pluralize(2, "card")
        ('1 card', '2 cards')
    """
    return Message(f"1 {noun}") if number == 1 else Message(f"{{number}} {noun}s", number=f"{number:,}")


def suggest_name(name: object, choices: Iterable[str]) -> str:
    """Return `` (did you mean ...?)`` with the nearest known name, or an empty string if no name is near."""
    if not isinstance(name, str) or len(name) > _MAX_VALUE_LENGTH:
        return ""
    near = difflib.get_close_matches(name, list(choices), n=1)
    return Message(" (did you mean {near}?)", near=repr(near[0])) if near else ""


def unknown_name_message(what: str, name: object, choices: Iterable[str]) -> Message:
    """Return a message that a name is unknown, with a list of the known names.

    Args:
        what: What kind of name it is.
        name: The name.
        choices: Those that exist.

    Example:
        >>> unknown_name_message("scoring", "wins", ["win", "stake"])
        "unknown scoring 'wins' (did you mean 'win'?); choose from win, stake"
    """
    names = list(choices)
    values = {"name": short_repr(name), "near": suggest_name(name, names), "names": names}
    return Message(f"unknown {what} {{name}}{{near}}; choose from {{names}}", **values)
