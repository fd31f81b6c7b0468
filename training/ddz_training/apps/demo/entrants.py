"""Who plays in the demonstration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ddz_env.core.errors import DouDizhuError


class InvalidDemonstrationError(DouDizhuError):
    """The demonstration was asked for something that it cannot do."""


@dataclass(frozen=True)
class Entrant:
    """One agent of the benchmark.

    Attributes:
        name: What tables call it.
        specification: As for :func:`ddz_env.playing.registry.make_agent`; ``{fresh}`` stands for the file of the policy
        that
            has just been trained, ``{milliseconds}`` for the thinking time of a search.
    """

    name: str
    specification: str


ENTRANTS = (
    Entrant("shipped policy", "policy"),
    Entrant("fresh policy", "policy:path={fresh}"),
    Entrant("shipped policy in search", "neural-ismcts:milliseconds={milliseconds},particles=0"),
    Entrant("fresh policy in search", "neural-ismcts:path={fresh},milliseconds={milliseconds},particles=0"),
    Entrant("information-set UCT", "isuct:milliseconds={milliseconds}"),
    Entrant("determinized UCT", "duct:trees=20,milliseconds={milliseconds}"),
    Entrant("rules", "rules"),
    Entrant("random", "random"),
)


def specifications(entrants: Sequence[Entrant], fresh: Path, milliseconds: float) -> dict[str, str]:
    """The agents to be made.

    Args:
        entrants: Who plays.
        fresh: The file of the policy that has just been trained.
        milliseconds: Thinking time of a search.

    Returns:
        Specification to name, in the order of the entrants.

    Raises:
        InvalidDemonstrationError: If the file's name cannot stand in a specification.

    Example:
        >>> specifications([Entrant("mine", "policy:path={fresh}")], Path("fresh.safetensors"), 20)
        {'policy:path=fresh.safetensors': 'mine'}
    """
    if "," in str(fresh):
        raise InvalidDemonstrationError(f"{fresh}: options of agents are separated by commas; name a folder without")
    return {
        entrant.specification.format(fresh=fresh.as_posix(), milliseconds=f"{milliseconds:g}"): entrant.name
        for entrant in entrants
    }
