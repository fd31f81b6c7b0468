"""Matches of hostile agents: every fault is named with its agent, and the table of what was played is there."""

from __future__ import annotations

import warnings
from typing import Any

from ddz_training.measure.contest import Arena, run_arena
from ddz_training.measure.duplicate import GameRecord
from tests.sabotage import hostile
from tests.sabotage.outcome import Outcome

_DEALS = 2
_TIME_LIMIT = 2.0


def play_hostile_agents(*, stalling: bool = True) -> Outcome:
    """Let every hostile agent play against an honest one, and those that only a process of their own can stop."""
    outcome = Outcome("hostile agents", "the fault is named and loses its game, or the game is an honest one's", 30)
    honest = _match(hostile.Honest, None)
    for kind in hostile.AGENTS:
        if not kind.stalls or stalling:
            records = _match(kind, _TIME_LIMIT if kind.stalls else None)
            outcome.check(_is_right(kind, records, honest), f"{kind.__name__}: {_told(records)}")
    return outcome


def _match(kind: type[Any], time_limit: float | None) -> list[GameRecord] | BaseException:
    """The games of an agent, or what the match raised."""
    agents = (f"tests.sabotage.hostile:{kind.__name__}", "tests.sabotage.hostile:Honest")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run_arena(Arena(agents, timing=False, time_limit=time_limit), _DEALS)
        except BaseException as error:
            return error


def _is_right(kind: type[Any], records: list[GameRecord] | BaseException, honest: Any) -> bool:
    if isinstance(records, BaseException):  # before the first game
        return kind.loses and kind.__name__ in str(records) and isinstance(records, ValueError)
    if kind.loses:
        return all(record.fault_by == "a" and record.fault.isprintable() for record in records)
    return [_played(record) for record in records] == [_played(record) for record in honest]


def _played(record: GameRecord) -> tuple[Any, ...]:
    return record.deal, record.seats, record.winner, record.moves, tuple(record.stake), record.fault_by


def _told(records: list[GameRecord] | BaseException) -> str:
    if isinstance(records, BaseException):
        return f"{type(records).__name__}: {records}"
    return "; ".join(f"{record.fault_by}: {record.fault[:80]}" for record in records)
