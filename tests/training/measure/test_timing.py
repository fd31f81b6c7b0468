"""What decisions are said to take: no compilation, and no trace of the warming up in the games.  Nothing is timed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numba.core import event

from ddz_env import PRESETS, Move, Rules, View
from ddz_env.playing.game import warm_up
from ddz_env.support.clocks import ThinkingClock
from ddz_training.measure import duplicate
from ddz_training.measure.duplicate import DealPlayer, Match
from ddz_training.measure.errors import AgentFailedError


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
    clock = ThinkingClock(lambda: now[0])
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
    monkeypatch.setattr(duplicate, "thinking_time", ThinkingClock(lambda: now[0]))

    class Compiling(Noting):
        def act(self, view: View, rng: np.random.Generator) -> Move:
            now[0] += 2.0
            with event.trigger_event("numba:compiler_lock"):
                now[0] += 1000.0
            return super().act(view, rng)

    for record in DealPlayer(Rules(), 0, maker=Compiling).play(Match(0, ("a", "b"))):
        assert (record.ms_a, record.ms_b) == (2000.0, 2000.0)


def test_another_agent_is_warmed_up_where_games_are_timed_and_leaves_no_trace_in_them() -> None:
    """The agents here remember how often they have acted, and draw from their generators."""
    made: dict[bool, list[Noting]] = {True: [], False: []}
    games = []
    for timing, own in made.items():

        def maker(spec: str, own: list[Noting] = own) -> Noting:
            own.append(Noting(spec))
            return own[-1]

        player = DealPlayer(Rules(), 7, timing=timing, maker=maker)
        played = [game for deal in range(3) for game in player.play(Match(deal, ("a", "b")))]
        games.append([replace(game, ms_a=0, ms_b=0) for game in played])
    assert games[0] == games[1]
    assert (len(made[True]), len(made[False])) == (2 * (1 + 3), 2 * 3)
    assert [(agent.name, agent.acted) for agent in made[True] if agent.closed] == [("a", 2), ("b", 2)]


@pytest.mark.parametrize("preset", PRESETS)
def test_an_agent_decides_under_all_rules_when_it_is_warmed_up(preset: str) -> None:
    agent = Noting("a")
    warm_up(lambda: agent, Rules.preset(preset))
    assert agent.acted >= 2
    assert agent.closed


def test_an_agent_that_fails_is_blamed_in_its_game_not_while_it_is_warmed_up() -> None:
    class Failing(Noting):
        def act(self, view: View, rng: np.random.Generator) -> Move:
            raise ZeroDivisionError("no idea")

    with pytest.raises(AgentFailedError, match="'a' failed in seat 0 of deal 5, game 0"):
        DealPlayer(Rules(), 0, maker=Failing).play(Match(5, ("a", "b")))
