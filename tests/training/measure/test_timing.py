"""What decisions are said to take: no compilation, and no trace of the warming up in the games.  Nothing is timed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numba.core import event

from ddz_env import PRESETS, Move, Rules, View
from ddz_training.measure import duplicate
from ddz_training.measure.duplicate import DealPlayer
from ddz_training.measure.errors import AgentFailedError
from ddz_training.measure.timing import ThinkingClock, warm_up
from tests.rooms import SOURCES


class Noting:
    """Records its calls, and chooses by how often it has acted before."""

    def __init__(self, spec: str, notes: list[tuple[str, str, int]]) -> None:
        self.name, self.notes, self.acted = spec, notes, 0

    def reset(self, seat: int, rules: Rules) -> None:
        self.notes.append((self.name, "reset", id(self)))

    def act(self, view: View, rng: np.random.Generator) -> Move:
        self.notes.append((self.name, "act", id(self)))
        self.acted += 1
        moves = view.legal_moves()
        return moves[(self.acted + int(rng.integers(100))) % len(moves)]

    def close(self) -> None:
        self.notes.append((self.name, "close", id(self)))


def noting() -> tuple[list[tuple[str, str, int]], list[object], Callable[[str], Noting]]:
    notes: list[tuple[str, str, int]] = []
    made: list[object] = []  # keeps them alive, so that no two have one id

    def maker(spec: str) -> Noting:
        made.append(Noting(spec, notes))
        return made[-1]  # type: ignore[return-value]

    return notes, made, maker


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

    for record in DealPlayer(Rules(), 0, maker=lambda spec: Compiling(spec, [])).play(0, ("a", "b")):
        assert (record.ms_a, record.ms_b) == (2000.0, 2000.0)


def test_another_agent_is_warmed_up_before_the_first_is_timed() -> None:
    notes, made, maker = noting()
    player = DealPlayer(Rules(), 0, maker=maker)
    player.play(0, ("a", "b"))
    player.play(1, ("a", "b"))
    for spec in ("a", "b"):
        own = [(what, who) for name, what, who in notes if name == spec]
        first = own[0][1]
        assert own[:4] == [("reset", first), ("act", first), ("act", first), ("close", first)]
        assert first not in {who for _, who in own[4:]}, "it is thrown away"
    assert len(made) == 2 * (1 + 3), "one of each specification is warmed up, however many games follow"


def test_warming_up_leaves_no_trace_in_the_games_and_happens_only_where_they_are_timed() -> None:
    """The agents here remember how often they have acted, and draw from their generators."""
    made, games = [], []
    for timing in (True, False):
        _, agents, maker = noting()
        player = DealPlayer(Rules(), 7, timing=timing, maker=maker)
        played = [game for deal in range(3) for game in player.play(deal, ("a", "b"))]
        games.append([replace(game, ms_a=0, ms_b=0) for game in played])
        made.append(len(agents))
    assert games[0] == games[1]
    assert made == [2 * (1 + 3), 2 * 3]


@pytest.mark.parametrize("preset", PRESETS)
def test_an_agent_decides_under_all_rules_when_it_is_warmed_up(preset: str) -> None:
    notes, _, maker = noting()
    warm_up(lambda: maker("a"), Rules.preset(preset))
    assert [what for _, what, _ in notes].count("act") >= 2
    assert notes[-1][1] == "close"


def test_an_agent_that_fails_is_blamed_in_its_game_not_while_it_is_warmed_up() -> None:
    class Failing(Noting):
        def act(self, view: View, rng: np.random.Generator) -> Move:
            raise ZeroDivisionError("no idea")

    with pytest.raises(AgentFailedError, match="'a' failed in seat 0 of deal 5, game 0"):
        DealPlayer(Rules(), 0, maker=lambda spec: Failing(spec, [])).play(5, ("a", "b"))


CLOCKS_OF_THEIR_OWN = {
    "timing.py",
    "store.py",  # how often it writes
    "agent_process.py",  # limits how long it waits
}


def test_decisions_are_timed_with_no_other_clock() -> None:
    for folder in ("measure", "experiments"):
        for file in sorted((SOURCES["ddz_training"] / folder).glob("*.py")):
            if file.name not in CLOCKS_OF_THEIR_OWN:
                assert not re.search(r"perf_counter|process_time|monotonic", file.read_text(encoding="utf-8")), file
