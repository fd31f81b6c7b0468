"""Files of ``ddz study tendency``, which list deals with the side that each deal favours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ddz_env import Rules
from ddz_env.support.errors import short_repr
from ddz_training.measure.duplicate import SIDES
from ddz_training.measure.errors import InvalidArenaError
from ddz_training.measure.store import read_format

TENDENCIES = ("none", *SIDES)
"""What a deal may lean to."""

FORMAT = "ddz-tendency-1"


@dataclass(frozen=True)
class DealTendency:
    """A deal and the side that it favours, as one line of a ``ddz study tendency`` file.

    Attributes:
        deal: Number of the deal under the seed.
        tendency: ``none``, ``landlord`` or ``peasants``.
        top: Who played as the strong agent.
        bottom: Who played as the weak one.
        top_wins: Games that the strong agent won: 1 where the deal has a tendency, else 2 or 0.
        hands: The hands, the landlord's first, separated by blanks; for programs that deal from them.
    """

    deal: int
    tendency: str
    top: str
    bottom: str
    top_wins: int
    hands: str


def deals_of_file(path: Path, tendency: str | None, rules: Rules, seed: int | None) -> list[int]:
    """Read deal numbers from a ``ddz study tendency`` file, optionally only deals that favour a given side.

    Args:
        path: A file of ``ddz study tendency``.
        tendency: One of :data:`TENDENCIES`; None for all.
        rules: The rules that they will be played by.
        seed: The seed that they will be dealt from; None fits no file.

    Raises:
        ResultsFileError: If it is not a file of deals.
        InvalidArenaError: If there are none, or they are of other rules or another seed.
    """
    settings, judged = read_format(path, DealTendency, FORMAT)
    if (settings.get("rules"), settings.get("seed")) != (rules.name, seed):
        raise InvalidArenaError(
            f"{path} has deals of rules {short_repr(settings.get('rules'))} and seed "
            f"{short_repr(settings.get('seed'))}: play them with --rules {settings.get('rules')} "
            f"--seed {settings.get('seed')}"
        )
    numbers = sorted({deal.deal for deal in judged if tendency in (None, deal.tendency)})
    if not numbers:
        raise InvalidArenaError(f"{path} has no deal of tendency {tendency or 'any'!r}")
    return numbers
