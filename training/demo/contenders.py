"""Who plays in the demonstration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ddz_env.errors import DouDizhuError
from training.arena.statistics import AgentResult


class InvalidDemonstrationError(DouDizhuError):
    """The demonstration was asked for something that it cannot do."""


@dataclass(frozen=True)
class Contender:
    """One agent of the benchmark.

    Attributes:
        name: What tables call it.
        spec: As for :func:`ddz_env.registry.make_agent`; ``{fresh}`` stands for the file of the policy that has just
            been trained, ``{milliseconds}`` for the thinking time of a search.
    """

    name: str
    spec: str


CONTENDERS = (
    Contender("shipped policy", "policy"),
    Contender("fresh policy", "policy:path={fresh}"),
    Contender("shipped policy in search", "neural-ismcts:milliseconds={milliseconds},particles=0"),
    Contender("fresh policy in search", "neural-ismcts:path={fresh},milliseconds={milliseconds},particles=0"),
    Contender("information-set UCT", "isuct:milliseconds={milliseconds}"),
    Contender("determinized UCT", "duct:trees=20,milliseconds={milliseconds}"),
    Contender("rules", "rules"),
    Contender("random", "random"),
)


def specifications(contenders: Sequence[Contender], fresh: Path, milliseconds: float) -> dict[str, str]:
    """The agents to be made.

    Args:
        contenders: Who plays.
        fresh: The file of the policy that has just been trained.
        milliseconds: Thinking time of a search.

    Returns:
        Specification to name, in the order of the contenders.

    Raises:
        InvalidDemonstrationError: If the file's name cannot stand in a specification.

    Example:
        >>> specifications([Contender("mine", "policy:path={fresh}")], Path("fresh.safetensors"), 20)
        {'policy:path=fresh.safetensors': 'mine'}
    """
    if "," in str(fresh):
        raise InvalidDemonstrationError(f"{fresh}: options of agents are separated by commas; name a folder without")
    return {
        contender.spec.format(fresh=fresh.as_posix(), milliseconds=f"{milliseconds:g}"): contender.name
        for contender in contenders
    }


def by_name(results: Sequence[AgentResult], names: Mapping[str, str]) -> list[AgentResult]:
    """Results with names instead of specifications."""
    return [
        replace(result, agent=names[result.agent], opponent=names.get(result.opponent, result.opponent))
        for result in results
    ]
