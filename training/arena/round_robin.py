"""The arena: every pair of agents plays the same duplicate deals, in as many processes as wanted.

Results are keyed by (seed, deal) and written in the order of the deals, so they do not depend on the number of
processes, and a run that was cut off goes on where it stopped.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

from ddz_env import Rules, __version__
from ddz_env.agent import close
from ddz_env.registry import make_agent
from training.arena.duplicate import DealPlayer, GameRecord, seatings
from training.arena.errors import InvalidArenaError
from training.arena.ordered_map import ordered_map
from training.arena.results_file import ResultsFile

_STANDARD = Rules()


class Task(NamedTuple):
    """One deal of one pair.

    Attributes:
        deal: Number of the deal.
        first: Index of A among the agents.
        second: Index of B.
    """

    deal: int
    first: int
    second: int


@dataclass(frozen=True)
class Arena:
    """What results depend on.

    Attributes:
        agents: Specifications as for :func:`ddz_env.registry.make_agent`; every pair plays.
        rules: The rules.
        seed: Seed of the deals and the agents.
        timing: Whether to record milliseconds; without them equal runs write equal files.

    Raises:
        InvalidArenaError: If there are fewer than two agents or the seed is out of range.
    """

    agents: tuple[str, ...]
    rules: Rules = _STANDARD
    seed: int = 0
    timing: bool = True

    def __post_init__(self) -> None:
        if len(self.agents) < 2:
            raise InvalidArenaError(f"an arena needs two agents, got {len(self.agents)}")
        if not 0 <= self.seed < 2**64:
            raise InvalidArenaError(f"seed={self.seed} must be in 0..2**64-1")

    @property
    def labels(self) -> tuple[str, ...]:
        """The agents' names in the results: an agent that plays itself is numbered.

        Example:
            >>> Arena(("rules", "random", "rules")).labels
            ('rules', 'random', 'rules #2')
        """
        seen: Counter[str] = Counter()
        labels = []
        for agent in self.agents:
            seen[agent] += 1
            labels.append(agent if seen[agent] == 1 else f"{agent} #{seen[agent]}")
        return tuple(labels)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Every pair of agents, by index."""
        return list(itertools.combinations(range(len(self.agents)), 2))

    @property
    def games_per_deal(self) -> int:
        """Games of one pair on one deal."""
        return len(seatings(self.rules))

    def settings(self) -> dict[str, Any]:
        """What a results file must agree on before it is resumed; rules as they differ from the default."""
        rules = {
            field.name: getattr(self.rules, field.name)
            for field in dataclasses.fields(Rules)
            if getattr(self.rules, field.name) != getattr(_STANDARD, field.name)
        }
        return {
            "version": __version__,
            "agents": list(self.agents),
            "rules": {"name": self.rules.name, **rules},
            "seed": self.seed,
            "timing": self.timing,
        }


class _Worker:
    """Plays tasks in one process."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._player = DealPlayer(arena.rules, arena.seed, arena.timing)

    def play(self, task: Task) -> list[GameRecord]:
        specs, labels = self._arena.agents, self._arena.labels
        pair = specs[task.first], specs[task.second]
        return self._player.play(task.deal, pair, (labels[task.first], labels[task.second]))

    def close(self) -> None:
        self._player.close()


def run_arena(
    arena: Arena,
    deals: int,
    *,
    first_deal: int = 0,
    processes: int = 1,
    results: ResultsFile | None = None,
    on_start: Callable[[int, int], None] | None = None,
    on_deal: Callable[[list[GameRecord]], None] | None = None,
) -> list[GameRecord]:
    """Play duplicate deals between every pair of agents.

    Args:
        arena: Agents, rules and seed.
        deals: Deals a pair.
        first_deal: Number of the first deal.  Defaults are chosen on one range and reported on another.
        processes: Worker processes; 1 plays in this process.
        results: Where to save each deal as soon as it and all before it are done.  Deals that it already holds are not
            played again.
        on_start: Called with the number of deals (times pairs) already there and in all.
        on_deal: Called with the games of each deal.

    Returns:
        The records of all deals asked for, in the order (deal, pair).

    Raises:
        InvalidArenaError: If a number is out of range.
        WorkerDiedError: If a worker process died.
        UnknownAgentError: If an agent does not exist.
        AgentFailedError: If an agent raises or chooses an illegal move.
        KeyboardInterrupt: If the user interrupts; what has been saved stays valid.
    """
    for name, value, least in (("deals", deals, 1), ("first_deal", first_deal, 0), ("processes", processes, 1)):
        if value < least:
            raise InvalidArenaError(f"{name}={value} must be at least {least}")
    for spec in arena.agents:
        close(make_agent(spec))  # a wrong name is an error before anything is played
    labels = arena.labels
    wanted = [Task(deal, *pair) for deal in range(first_deal, first_deal + deals) for pair in arena.pairs]
    done: dict[tuple[int, str, str], list[GameRecord]] = {}
    for record in results.kept if results else ():
        done.setdefault(record.key, []).append(record)

    def key(task: Task) -> tuple[int, str, str]:
        return task.deal, labels[task.first], labels[task.second]

    tasks = [task for task in wanted if key(task) not in done]
    if on_start:
        on_start(len(wanted) - len(tasks), len(wanted))
    with closing(ordered_map(functools.partial(_Worker, arena), tasks, processes)) as played:
        for task, records in zip(tasks, played, strict=True):
            if results:
                results.write(records)
            done[key(task)] = records
            if on_deal:
                on_deal(records)
    return [record for task in wanted for record in done[key(task)]]
