"""Agents that fail: every fault is named with its agent, loses the game and ends nothing else."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ddz_env import Move, Rules, State, View, gym
from ddz_env.playing.game import AgentFaultError, IllegalAgentMoveError, make_seat_generators, play_game
from ddz_env.playing.generators import make_agent_generator, make_published_generator
from ddz_training.cli.app import app
from ddz_training.measure.agent_process import AgentProcesses, wait_for_answer
from ddz_training.measure.contest import Arena, run_arena
from ddz_training.measure.duplicate import DealPlayer, GameResult, Match, forfeit
from ddz_training.measure.errors import AgentFailedError
from ddz_training.measure.summaries import side_score, summarize, win_share


class Honest:
    name = "honest"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return view.legal_moves()[0]


class Faulty(Honest):
    """Does something else in one of its methods."""

    def __init__(self, phase: str, does: Callable[..., Any]) -> None:
        setattr(self, phase, does)


def fails(error: BaseException) -> Callable[..., Any]:
    def fail(*arguments: object) -> Any:
        raise error

    return fail


def answers(answer: object) -> Callable[..., Any]:
    return lambda view, rng: answer


def recurses(view: View, rng: np.random.Generator) -> Any:
    return recurses(view, rng)


FAULTS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "raises": ("act", fails(ZeroDivisionError("by zero")), "ZeroDivisionError"),
    "raises lines": ("act", fails(ValueError("a\nb\x00\x1b[2J")), "ValueError"),
    "quits": ("act", fails(SystemExit(0)), "SystemExit"),
    "recurses": ("act", recurses, "RecursionError"),
    "answers nothing": ("act", answers(None), "must return a Move, not None"),
    "answers text": ("act", answers("pass"), "must return a Move, not 'pass'"),
    "answers an action id": ("act", answers(np.int64(0)), "must return a Move, not"),
    "answers what is not legal": ("act", answers(Move.parse("BR")), "not legal"),
    "answers a bid": ("act", answers(Move.parse("bid 3")), "not legal"),
    "fails in reset": ("reset", fails(RuntimeError()), "RuntimeError"),
    "fails in observe": ("observe", fails(KeyError("who")), "KeyError"),
}
"""The method, what the agent does in it, and a part of the reason that is given."""


def match(make: Callable[[], object], preset: str = "standard", on_fault: str = "lose") -> list[GameResult]:
    maker = lambda spec: make() if spec == "faulty" else Honest()  # noqa: E731
    player = DealPlayer(Rules.preset(preset), 1, timing=False, maker=maker, on_fault=on_fault)
    return player.play(Match(0, ("faulty", "honest"), ("x", "y")))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_and_loses_the_game(fault: str) -> None:
    phase, does, reason = FAULTS[fault]
    records = match(lambda: Faulty(phase, does))
    assert [record.fault_by for record in records] == ["a", "a"]
    for record in records:
        assert f", {phase}: " in record.fault
        assert reason in record.fault
        assert record.fault.isprintable()
        assert (win_share(record, "a"), win_share(record, "b")) == (0.0, 1.0)
        for scoring in ("win", "stake"):
            assert side_score(record, "a", scoring) < 0 < side_score(record, "b", scoring)
            assert sum(getattr(record, scoring)) == 0
    assert [(side.wins.mean, side.faults) for side in summarize(records)] == [(0.0, 2), (1.0, 0)]
    with pytest.raises(AgentFailedError, match="agent 'x' failed in seat"):
        match(lambda: Faulty(phase, does), on_fault="stop")


def test_a_fault_in_construction_is_the_agents_and_ctrl_c_is_the_users() -> None:
    assert all("construction: SystemExit" in record.fault for record in match(lambda: sys.exit(0)))
    with pytest.raises(KeyboardInterrupt):
        match(lambda: Faulty("act", fails(KeyboardInterrupt())))


@pytest.mark.parametrize("kind", [AgentFaultError, IllegalAgentMoveError])
def test_faults_travel_between_processes(kind: type[AgentFaultError]) -> None:
    error = pickle.loads(pickle.dumps(kind("x", 2, "observe", "no idea")))
    assert (type(error), error.agent, error.seat, error.phase, error.reason) == (kind, "x", 2, "observe", "no idea")


def test_in_an_auction_the_agent_at_fault_loses_whoever_sits_with_it() -> None:
    def late(view: View, rng: np.random.Generator) -> Move:
        return Move.parse("bid 3") if view.landlord is None else sys.exit(0)

    for does, fewest in ((fails(SystemExit(0)), 0), (late, 1)):
        records = match(lambda does=does: Faulty("act", does), "bidding")  # type: ignore[misc]
        assert len(records) == 6
        assert sum(record.landlord >= 0 for record in records) >= fewest
        for record in records:
            assert (win_share(record, "a"), win_share(record, "b")) == (0.0, 1.0)
            assert all((score < 0) == (seat == "a") for score, seat in zip(record.stake, record.seats, strict=True))
            assert sum(record.stake) == 0


def test_stakes_of_a_lost_game_are_those_of_the_moment() -> None:
    def bombs(view: View, rng: np.random.Generator) -> Move:
        return view.legal_moves()[-1] if view.landlord == view.seat and len(view.hand) == 5 else sys.exit(0)

    state = State.from_hands(["44445", "33399", "TJ"], check_sizes=False)
    agents = [Faulty("act", bombs), Faulty("act", bombs), Honest()]
    with pytest.raises(AgentFaultError) as fault:
        play_game(state, agents, make_seat_generators([0], 3))
    assert (fault.value.seat, str(state.history[0][1])) == (1, "4444")
    assert forfeit(state, "abb", "b").returns("stake") == (4.0, -2.0, -2.0)
    assert not state.is_over


class Quits(Honest):
    act = fails(SystemExit(0))


class FailsInClose(Honest):
    close = fails(SystemExit(0))


def arena(agent: str, *options: str) -> Result:
    agents = (f"{__name__}:{agent}", f"{__name__}:Honest")
    return CliRunner().invoke(app, ["arena", *agents, "--processes", "1", "--deals", "2", *options])


def test_the_arena_counts_faults_prints_its_table_and_has_an_exit_code_for_them(tmp_path: Path) -> None:
    for _ in "12":  # the second time from the file
        done = arena("Quits", "--out", str(tmp_path / "games.csv"))
        assert done.exit_code == 3
        assert "2 duplicate deals" in done.output
        assert f"{__name__}:Quits failed, and so lost, 4 of its 4 games" in done.output
    done = arena("FailsInClose")
    assert done.exit_code == 3
    assert "2 duplicate deals" in done.output
    assert "FailsInClose' failed in close: SystemExit" in done.output


def test_an_opponent_in_an_environment_is_named() -> None:
    for phase, does, kind in (
        ("act", fails(SystemExit(0)), AgentFaultError),
        ("act", answers(None), IllegalAgentMoveError),
        ("observe", fails(ValueError()), AgentFaultError),
    ):
        with pytest.raises(kind, match=f"'honest' on seat 0: failed in {phase}: "):
            gym.DouDizhuEnv(opponents=Faulty(phase, does), role="peasant_up").reset(seed=1)


class Stalls(Honest):
    """Waits, ends its process or is killed, as the rules say."""

    def reset(self, seat: int, rules: Rules) -> None:
        self.rules = rules.name

    def act(self, view: View, rng: np.random.Generator) -> Move:
        if self.rules == "rlcard":
            time.sleep(600)
        if self.rules == "mini":
            os._exit(7)
        if self.rules == "douzero":
            os.kill(os.getpid(), signal.SIGTERM)
        return super().act(view, rng)


def test_an_agent_in_a_process_of_its_own_that_waits_or_dies_has_lost() -> None:
    def play(preset: str, agent: Any) -> State:
        state = State.new(4, preset)
        return play_game(state, [agent] * state.rules.players, make_seat_generators([4, 0], state.rules.players))

    for preset, seconds, fault in (
        ("rlcard", 0.05, "no answer within"),
        ("mini", 600, r"ended \(exit code 7\)"),
        ("douzero", 600, "its process ended"),
    ):
        processes = AgentProcesses(seconds)
        try:
            with pytest.raises(AgentFaultError, match=f"failed in (act|reset): .*{fault}"):
                play(preset, processes.make(f"{__name__}:Stalls"))
        finally:
            processes.close()


class Stopped:
    """A pipe whose reader stood still for longer than the limit; half a second later there is an answer."""

    waited = 0.0

    def poll(self, seconds: float) -> bool:
        self.waited += seconds if self.waited else 30.0
        return self.waited > 30.5


def test_the_time_that_all_was_stopped_is_not_charged() -> None:
    assert wait_for_answer(Stopped(), 1.0)  # type: ignore[arg-type]
    assert not wait_for_answer(Stopped(), 0.4)  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2])
def test_a_time_limit_in_a_match(processes: int) -> None:
    agents = (f"{__name__}:Stalls", "random")
    free = run_arena(Arena(agents, timing=False), 2)
    assert run_arena(Arena(agents, timing=False, time_limit=30.0), 2, processes=processes) == free
    lost = run_arena(Arena(agents, Rules.preset("rlcard"), timing=False, time_limit=1.0), 1, processes=processes)
    assert ["no answer within" in record.fault for record in lost] == [True, True]


def test_nothing_that_a_view_gives_is_the_games() -> None:
    state = State.new(5, "bidding")
    state.step("bid 3")
    state.step(state.legal_moves()[0])
    before, words = state.copy(), state.rule_words.copy()
    for seat in range(3):
        view = state.view(seat)
        for array in (view.row, view.ring, view.rule_words):
            array[:] = 1
        assert isinstance(view.history, tuple)
    assert state == before
    assert (state.rule_words == words).all()
    assert (state.ring == before.ring).all()


def _entropies(rng: np.random.Generator) -> list[Any]:
    return [one.bit_generator.seed_seq.entropy for one in [rng, *rng.spawn(2)]]  # type: ignore[attr-defined]


def test_generators_tell_nothing_of_the_deal() -> None:
    entropies: list[Any] = []

    class Curious(Honest):
        def act(self, view: View, rng: np.random.Generator) -> Move:
            entropies.extend(_entropies(rng))
            return super().act(view, rng)

    DealPlayer(Rules(), 1234, timing=False, maker=lambda spec: Curious()).play(Match(77, ("one", "two")))
    gym.DouDizhuEnv(opponents=Curious(), role="peasant_up").reset(seed=1234)
    assert len(entropies) > 30
    assert all(entropy > 2**200 for entropy in entropies)


def test_generators_follow_from_their_key_and_the_published_ones_are_as_they_were() -> None:
    assert make_agent_generator([1, 2, 3]).integers(2**62) == make_agent_generator([1, 2, np.uint64(3)]).integers(2**62)
    assert make_agent_generator([1, 2, 3]).integers(2**62) == 1306001504346281689
    assert len({int(make_agent_generator(key).integers(2**62)) for key in ([1, 2], [12], [2, 1], [1, 2, 0], [1])}) == 5
    key = [7, (5 << 64) | 3, 2]
    assert (make_published_generator(key).random(5) == np.random.default_rng(key).random(5)).all()
    assert all(entropy > 2**200 for entropy in _entropies(make_published_generator(key)))
