"""Levels of play for people who know no agent by name: easy, medium, hard and master.

A level is a name for an agent's specification, so :func:`ddz_env.playing.registry.make_agent` takes it wherever it
takes one. The ratings are those of ``ddz reproduce levels``; a test compares them with the committed results.
"""

from __future__ import annotations

from typing import NamedTuple


class Level(NamedTuple):
    """A level of play.

    Attributes:
        name: Its name.
        agent: The agent that plays it, as for :func:`ddz_env.playing.registry.make_agent`.
        elo: Its rating; ``rules`` is 0.
    """

    name: str
    agent: str
    elo: int


LEVELS = (
    Level("easy", "isuct:iterations=200", -311),
    Level("medium", "rules-without:rule=pass", -124),
    Level("hard", "rules", 0),
    Level("master", "neural-ismcts", 139),
)
"""From the weakest to the strongest."""

_BY_NAME = {level.name: level for level in LEVELS}


def spelled_out(agent: str) -> str:
    """An agent's specification with the level that it begins with replaced by the agent that plays it.

    Options of its own stand before those that are added; an option that both name is the added one.

    Example:
        >>> spelled_out("medium"), spelled_out("easy:exploration=0.9"), spelled_out("random")
        ('rules-without:rule=pass', 'isuct:iterations=200,exploration=0.9', 'random')
    """
    name, _, rest = agent.strip().partition(":")
    level = _BY_NAME.get(name)
    if level is None or (rest and "=" not in rest.partition(":")[0]):  # `easy:MyAgent` is somebody's own module
        return agent
    player, _, own = level.agent.partition(":")
    added = {option.partition("=")[0].strip() for option in rest.split(",")}
    kept = [option for option in own.split(",") if option and option.partition("=")[0] not in added]
    options = ",".join([*kept, *filter(None, [rest])])
    return f"{player}:{options}" if options else player
