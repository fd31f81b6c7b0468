"""What decisions are said to take: no compilation.  Nothing is timed."""

from __future__ import annotations

import time
from contextlib import closing

import numpy as np
import pytest
from numba.core import event

from ddz_env import Move, Rules, State, View
from ddz_env.playing.generators import make_agent_generator
from ddz_training.measure import clocks, duplicate
from ddz_training.measure.agent_process import AgentProcesses
from ddz_training.measure.clocks import PausingClock
from ddz_training.measure.duplicate import DealPlayer, Match
from ddz_training.measure.errors import AgentFailedError

SECONDS = 2.0
"""That an agent compiles."""


class Noting:
    """Counts its decisions, and chooses by how often it has acted before."""

    def __init__(self, spec: str) -> None:
        self.name, self.acted, self.closed = spec, 0, False

    def act(self, view: View, rng: np.random.Generator) -> Move:
        self.acted += 1
        moves = view.legal_moves()
        return moves[(self.acted + int(rng.integers(100))) % len(moves)]

    def close(self) -> None:
        self.closed = True


def test_the_clock_stands_still_while_numba_compiles() -> None:
    now = [0.0]
    clock = PausingClock(lambda: now[0])
    began = clock()
    now[0] = 3.0
    with event.trigger_event("numba:compiler_lock"):
        now[0] = 40.0
        with event.trigger_event("numba:compiler_lock"):  # one kernel calls another
            now[0] = 60.0
        assert clock() - began == 3.0
        now[0] = 100.0
    now[0] = 105.0
    assert clock() - began == 8.0


def test_what_an_agent_compiles_in_a_game_is_in_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(duplicate, "wall_time", PausingClock(lambda: now[0]))

    class Compiling(Noting):
        def act(self, view: View, rng: np.random.Generator) -> Move:
            now[0] += 2.0
            with event.trigger_event("numba:compiler_lock"):
                now[0] += 1000.0
            return super().act(view, rng)

    for record in DealPlayer(Rules(), 0, maker=Compiling).play(Match(0, ("a", "b"))):
        assert (record.ms_a, record.ms_b) == (2000.0, 2000.0)


@pytest.mark.parametrize("timing", [True, False])
def test_a_users_agent_is_made_once_per_seat_and_asked_in_its_games_alone(timing: bool) -> None:
    made = list[Noting]()

    def maker(spec: str) -> Noting:
        made.append(Noting(spec))
        return made[-1]

    records = DealPlayer(Rules(), 7, timing=timing, maker=maker).play(Match(0, ("a", "b")))
    assert len(made) == 2 * 3
    assert sum(agent.acted for agent in made) == sum(record.decisions_a + record.decisions_b for record in records)


@pytest.mark.parametrize(("timing", "practised"), [(True, [Rules()]), (False, [None])])
def test_where_decisions_are_timed_an_agent_is_compiled_before_it_is_handed_over(
    timing: bool, practised: list[Rules | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[Rules | None]()

    def make(spec: str, rules: Rules | None) -> Noting:
        asked.append(rules)
        return Noting(spec)

    monkeypatch.setattr(duplicate, "make_agent", make)
    DealPlayer(Rules(), 7, timing=timing).agents.get("a")
    assert asked == practised


class Compiles(Noting):
    """Compiles for longer than its time limit when it is first asked."""

    def __init__(self) -> None:
        super().__init__("compiles")

    def act(self, view: View, rng: np.random.Generator) -> Move:
        if not self.acted:
            with event.trigger_event("numba:compiler_lock"):
                time.sleep(SECONDS)
        return super().act(view, rng)


def test_what_a_users_agent_compiles_in_its_process_neither_loses_on_time_nor_counts_as_thinking() -> None:
    processes, stopped = AgentProcesses(time_limit=SECONDS / 2), clocks.wall_time.stopped
    with closing(processes):
        agent, view = processes.make(f"{__name__}:Compiles"), State.new(0).view()
        assert agent.act(view, make_agent_generator([0])) in view.legal_moves()
    assert clocks.wall_time.stopped - stopped >= SECONDS


def test_an_agent_that_fails_is_blamed_in_its_game() -> None:
    class Failing(Noting):
        def act(self, view: View, rng: np.random.Generator) -> Move:
            raise ZeroDivisionError("no idea")

    with pytest.raises(AgentFailedError, match="'a' failed in seat 0 of deal 5, game 0"):
        DealPlayer(Rules(), 0, maker=Failing).play(Match(5, ("a", "b")))
