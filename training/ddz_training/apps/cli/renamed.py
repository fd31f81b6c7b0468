"""Commands whose names have changed: the old ones go on to work for a release, and say what the new ones are."""

from __future__ import annotations

from collections.abc import Sequence

from ddz_training.apps.cli.console import complain

RENAMED = {
    "bench": "speed",
    "hand": "bidding",
    "equivalent": "study equivalent",
    "exploit": "study exploit",
    "tendency": "study tendency",
    "botzone-bot": "botzone bot",
    "botzone-bundle": "botzone bundle",
    "botzone-log": "botzone log",
    "botzone-match": "botzone match",
    "version": "--version",
}
"""The new name of each old one.  All of them go with the release after the one that they came with."""


def current(arguments: Sequence[str]) -> list[str]:
    """The arguments of ``ddz`` with the command's new name in place of an old one, which is said on standard error."""
    place = next((place for place, word in enumerate(arguments) if not word.startswith("-")), None)
    if place is None or arguments[place] not in RENAMED:
        return list(arguments)
    old = arguments[place]
    complain(f"'ddz {old}' is 'ddz {RENAMED[old]}' now; the old name will go with the next release")
    return [*arguments[:place], *RENAMED[old].split(), *arguments[place + 1 :]]
