"""Named errors.  Every border of the package raises one of these, and says what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DouDizhuError(ValueError):
    """Base class of every error that bad input raises."""


class InvalidMoveError(DouDizhuError):
    """The text, ids or cards do not form a move of Dou Dizhu."""


class AmbiguousMoveError(InvalidMoveError):
    """The cards can be read as more than one move; the message lists the readings."""


class IllegalMoveError(DouDizhuError):
    """The move exists, but the position does not allow it."""


class InvalidHandError(DouDizhuError):
    """The text, ids or counts do not form a hand (a 55th card, a fifth ace, a third joker ...)."""


class InvalidRulesError(DouDizhuError):
    """An unknown preset, an unknown option or a value outside its range."""


class InvalidDealError(DouDizhuError):
    """A deal that does not fit the rules (wrong hand sizes, cards that the deck does not have)."""


class GameOverError(DouDizhuError):
    """A step was asked of a game that has ended."""


class UnknownAgentError(DouDizhuError):
    """No agent answers to the name; the message lists those that exist."""


class InvalidOptionError(DouDizhuError):
    """An environment was given an option it does not have, or a value outside its range."""


class InvalidAgentOptionError(InvalidOptionError):
    """An agent was given an option that it does not have, or a value outside its range."""


class InvalidPictureError(DouDizhuError):
    """A picture that cannot be drawn: an unknown perspective, a size out of range."""


class MissingDependencyError(DouDizhuError, ImportError):
    """A renderer needs a package that is not installed.

    Args:
        package: The package's name on the index.
    """

    def __init__(self, package: str) -> None:
        super().__init__(
            f'{package} is needed to draw the table: pip install "ddz-env[render]" (render_mode="ansi" needs nothing)'
        )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`` (did you mean ...?)`` with the nearest of the known names; empty if none is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    """The message for a name that does not exist.

    Args:
        what: What kind of name it is.
        name: The name.
        known: Those that exist.

    Example:
        >>> unknown("scoring", "wins", ["win", "stake"])
        "unknown scoring 'wins' (did you mean 'win'?); choose from win, stake"
    """
    names = list(known)
    return f"unknown {what} {name!r}{did_you_mean(str(name), names)}; choose from {', '.join(names)}"
