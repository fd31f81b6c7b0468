"""Experiments that are matches: duplicate deals of pairs of agents, a line of results a deal."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ddz_env import Rules
from ddz_env.playing.generators import published_generator
from ddz_training.experiments.experiment import Saved, kept
from ddz_training.measure.match.duplicate import DealPlayer, DealWorker, GameRecord, Match, check_agents
from ddz_training.measure.match.results import OnProgress, ResultStore

_Result = TypeVar("_Result")


def play_matches(
    kind: type[_Result],
    line: Callable[[Sequence[GameRecord]], list[_Result]],
    rules: Rules,
    tasks: Mapping[tuple[str, str, int], Match],
    settings: Mapping[str, Any],
    processes: int,
    path: Path | None,
    on_progress: OnProgress,
    *,
    processor: bool = False,
) -> Saved[_Result]:
    """Play duplicate deals and keep a line of each.

    Args:
        kind: The dataclass of a line; ``agent``, ``opponent`` and ``deal`` are its key.
        line: Makes it from the games of a deal.
        rules: The rules.
        tasks: What is played, by agent, opponent and deal.
        settings: What the results depend on, ``seed`` among it.
        processes: Worker processes.
        path: Where to save; a file of an earlier run is resumed.
        on_progress: Told how many deals are done.
        processor: Whether decisions are timed by the processor's clock, which other programs do not slow down.

    Raises:
        UnknownAgentError: If an agent does not exist.
        SettingsMismatchError: If the file was written with other settings.
    """
    agents = tuple(dict.fromkeys(spec for match in tasks.values() for spec in match.specs))
    check_agents(agents)
    store = ResultStore(kind, path, settings, ("agent", "opponent", "deal"), agents=agents)
    player = functools.partial(
        DealPlayer, rules, settings["seed"], make_generator=published_generator, processor=processor
    )
    start = functools.partial(DealWorker[list[_Result]], line, player)
    return kept(store, store.fill(tasks, start, processes, on_progress))
