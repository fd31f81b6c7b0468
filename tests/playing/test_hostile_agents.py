"""Agents that fail, by mistake or on purpose: every fault is named with its agent, loses the game, stops nothing."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ddz_env import Move, Rules, State, View, gym
from ddz_env.core.errors import InvalidMoveError
from ddz_env.playing.game import AgentFaultError, IllegalAgentMoveError, play_game, seat_generators
from ddz_env.playing.generators import agent_generator, published_generator
from ddz_env.playing.registry import make_agent
from ddz_training.apps.cli import app
from ddz_training.measure.agent_process import AgentProcesses
from ddz_training.measure.contest import Arena, run_arena
from ddz_training.measure.duplicate import DealPlayer, GameRecord, forfeited
from ddz_training.measure.errors import AgentFailedError, AgentFaultWarning
from ddz_training.measure.statistics import side_score, summarize, win_share
from tests.sabotage.hostile import Endless, Leaving, unread


class Honest:
    name = "honest"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return view.legal_moves()[0]


class Nasty(BaseException):
    """An error that is not an ``Exception``."""


class Speechless(Exception):
    """An error that ends the program when it is read."""

    def __str__(self) -> str:
        sys.exit(0)


class Actor:
    @property
    def __class__(self) -> Any:
        return Move

    @__class__.setter
    def __class__(self, value: object) -> None:
        raise TypeError


def _raise(error: BaseException) -> Any:
    raise error


FAULTS: dict[str, tuple[str, str, Any]] = {
    "quits": ("act", "SystemExit: 0", lambda view: sys.exit(0)),
    "quits without a code": ("act", "SystemExit", lambda view: sys.exit()),
    "raises": ("act", "ZeroDivisionError (test_hostile_agents.py, line ", lambda view: 1 // 0),
    "raises no Exception": ("act", "Nasty: so there", lambda view: _raise(Nasty("so there"))),
    "leaves a generator": ("act", "GeneratorExit", lambda view: _raise(GeneratorExit())),
    "runs out of memory": ("act", "MemoryError", lambda view: _raise(MemoryError())),
    "raises what cannot be read": ("act", "Speechless: its text", lambda view: _raise(Speechless())),
    "raises lines": ("act", "ValueError: a b", lambda view: _raise(ValueError("a\r\n\x00\ud800b"))),
    "blames another": ("act", "'y' on seat 2", lambda view: _raise(AgentFaultError("y", 2, "act", "not me"))),
    "answers nothing": ("act", "act must return a Move, not None", lambda view: None),
    "answers text": ("act", "act must return a Move, not 'pass'", lambda view: "pass"),
    "answers what is not legal": ("act", "not legal", lambda view: Move.parse("BR")),
    "answers an unfinished move": ("act", "AttributeError", lambda view: unread(Move)),
    "answers endless kickers": ("act", "kickers", lambda view: unread(Endless, main=1)),
    "answers a move that quits": ("act", "SystemExit: 0", lambda view: unread(Leaving)),
    "answers what seems a move": ("act", "AttributeError", lambda view: Actor()),
    "fails in reset": ("reset", "SystemExit: 0", lambda seat, rules: sys.exit(0)),
    "fails in observe": ("observe", "KeyError: 'who'", lambda seat, move: {}["who"]),
}
"""Phase, part of the reason, and what the agent does then."""


class Bad(Honest):
    def __init__(self, phase: str, does: Any) -> None:
        setattr(self, phase, (lambda view, rng: does(view)) if phase == "act" else does)


def match(bad: Any, preset: str = "standard", on_fault: str = "lose") -> list[GameRecord]:
    maker = lambda spec: bad() if spec == "bad" else Honest()  # noqa: E731
    player = DealPlayer(Rules.preset(preset), 1, timing=False, maker=maker, on_fault=on_fault)
    return player.play(0, ("bad", "good"), ("x", "y"))


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_named_and_loses_the_game(kind: str) -> None:
    phase, reason, does = FAULTS[kind]
    records = match(lambda: Bad(phase, does))
    assert [record.fault_by for record in records] == ["a", "a"]
    for record in records:
        assert f", {phase}: " in record.fault
        assert reason in record.fault or reason in re.sub(r" \(\w+\.py, line \d+\)", "", record.fault)
        assert record.fault.isprintable()
        assert record.seats[int(record.fault.removeprefix("seat ")[0])] == "a"
        assert (win_share(record, "a"), win_share(record, "b")) == (0.0, 1.0)
        assert record.side(record.seats.index("b")) == record.winner
        for scoring in ("win", "stake"):
            assert side_score(record, "a", scoring) < 0 < side_score(record, "b", scoring)
            assert sum(getattr(record, scoring)) == 0
    bad, good = summarize(records)
    assert (bad.wins.mean, bad.landlord_wins.mean, bad.peasant_wins.mean, bad.faults) == (0.0, 0.0, 0.0, 2)
    assert (good.wins.mean, good.landlord_wins.mean, good.peasant_wins.mean, good.faults) == (1.0, 1.0, 1.0, 0)
    with pytest.raises(AgentFailedError, match=rf"agent 'x' failed in seat \d of deal 0, game 0 .*, in {phase}: "):
        match(lambda: Bad(phase, does), on_fault="stop")


class NoName(Bad):
    """Fails wherever it may, and in its name."""

    def __init__(self) -> None:
        super().__init__("act", lambda view: 1 // 0)

    @property
    def name(self) -> str:  # type: ignore[override]
        sys.exit(0)


class NoCheats(Honest):
    @property
    def cheats(self) -> bool:
        raise OSError("gone")


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        (NoName, "act: ZeroDivisionError"),
        (NoCheats, "act: OSError (test_hostile_agents.py, line "),
        (sys.exit, "construction: SystemExit"),
    ],
)
def test_what_is_no_method_can_fail_too(kind: Any, fault: str) -> None:
    records = match(kind)
    assert [record.fault_by for record in records] == ["a", "a"]
    assert all(fault in record.fault for record in records)
    with pytest.raises(KeyboardInterrupt):  # the user's
        match(lambda: Bad("act", lambda view: _raise(KeyboardInterrupt())))


@pytest.mark.parametrize("kind", [AgentFaultError, IllegalAgentMoveError])
def test_faults_travel_between_processes(kind: type[AgentFaultError]) -> None:
    error = pickle.loads(pickle.dumps(kind("x", 2, "observe", "no idea")))
    assert (type(error), error.agent, error.seat, error.phase, error.reason) == (kind, "x", 2, "observe", "no idea")
    assert str(error) == "agent 'x' on seat 2: failed in observe: no idea"


def test_in_an_auction_the_agent_at_fault_loses_whoever_sits_with_it() -> None:
    late = lambda view: sys.exit(0) if view.landlord is not None else Move.parse("bid 3")  # noqa: E731
    for does, fewest in ((lambda view: sys.exit(0), 0), (late, 1)):
        records = match(lambda does=does: Bad("act", does), "bidding")
        assert len(records) == 6
        assert sum(record.landlord >= 0 for record in records) >= fewest
        for record in records:
            assert record.fault_by == "a"
            assert (win_share(record, "a"), win_share(record, "b")) == (0.0, 1.0)
            assert all((score < 0) == (seat == "a") for score, seat in zip(record.stake, record.seats, strict=True))
            assert sum(record.stake) == 0
        assert summarize(records)[0].wins.mean == 0.0


def test_stakes_of_a_lost_game_are_those_of_the_moment() -> None:
    state = State.from_hands(["44445", "33399", "TJ"], check_sizes=False)
    bombing = lambda view: view.legal_moves()[-1] if view.landlord == view.seat and len(view.hand) == 5 else 1 // 0  # noqa: E731
    agents = [Bad("act", bombing), Bad("act", bombing), Honest()]
    with pytest.raises(AgentFaultError) as fault:
        play_game(state, agents, seat_generators([0], 3))
    assert (fault.value.seat, str(state.history[0][1])) == (1, "4444")
    assert forfeited(state, "abb", "b").returns("stake") == (4.0, -2.0, -2.0)
    assert not state.is_over


@dataclass(frozen=True)
class Changing(Move):
    """A move that says something else each time it is read."""

    answers: list[int] = field(default_factory=list)

    def __getattribute__(self, name: str) -> Any:
        if name == "main":
            answers = object.__getattribute__(self, "answers")
            return answers.pop() if len(answers) > 1 else answers[0]
        return super().__getattribute__(name)


def test_a_move_that_changes_is_read_once() -> None:
    state = State.from_hands(["345", "9", "T"], check_sizes=False)
    first = state.legal_moves()[0]
    state.step(unread(Changing, kickers=(), answers=[Move.parse("BR").main, first.main]))
    assert state.history == [(0, first)]
    assert type(state.history[0][1]) is Move
    heard: list[Any] = []
    listening = Honest()
    listening.observe = lambda seat, move: heard.append(move)  # type: ignore[attr-defined]
    own = Bad("act", lambda view: Shy(view.legal_moves()[0].main))
    short = State.from_hands(["3", "9", "T"], check_sizes=False)
    play_game(short, [own, listening, listening], seat_generators([0], 3))
    assert {type(move) for move in heard} == {Move}
    with pytest.raises(InvalidMoveError, match="integers"):
        State.new(1).step(unread(Move, main="3"))


class Shy(Move):
    """A subclass."""


class Quits(Honest):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        sys.exit(0)


class Late(Honest):
    games = 0

    def reset(self, seat: int, rules: Rules) -> None:
        Late.games += seat == 0
        if Late.games > 3:
            sys.exit(0)


class Rude(Honest):
    def close(self) -> None:
        sys.exit(0)


class Unmade(Honest):
    def __init__(self) -> None:
        sys.exit(0)


TOY = """
import os, time

class Toy:
    def reset(self, seat, rules):
        self.rules = rules.name

    def act(self, view, rng):
        if self.rules == "rlcard":
            time.sleep(600)
        if self.rules == "mini":
            os._exit(7)
        return view.legal_moves()[int(rng.integers(len(view.legal_moves())))]
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An agent in a file of its own, which processes load quickly; it waits, or ends its process, under some rules."""
    name = "hostile_toy"
    (tmp_path / f"{name}.py").write_text(TOY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield f"{name}:Toy"
    sys.modules.pop(name, None)


def arena(first: str, *options: str) -> Result:
    agents = (f"{__name__}:{first}", f"{__name__}:Honest")
    return CliRunner().invoke(app, ["arena", *agents, "--processes", "1", *options])


def test_the_command_counts_faults_prints_the_table_and_says_so_in_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = arena("Quits", "--deals", "2", "--out", "games.csv", "--table", "table.csv")
    assert done.exit_code == 3
    assert "2 duplicate deals" in done.output
    told = f"{__name__}:Quits failed, and so lost, 4 of its 4 games; first in deal 0, game 0, seat 0, act: S"
    assert told in done.output
    assert "Next, to halve the intervals" not in done.output
    assert ",4\n" in (tmp_path / "table.csv").read_text()
    again = arena("Quits", "--deals", "2", "--out", "games.csv")
    assert (again.exit_code, "lost, 4 of its 4 games" in again.output) == (3, True)
    monkeypatch.setenv("DDZ_DEBUG", "1")
    stopped = arena("Late", "--deals", "9")
    assert isinstance(stopped.exception, AgentFailedError)
    for part in ("Late' failed in seat", r"in reset: SystemExit \(test_hostile_agents.py, line \d+\): 0"):
        assert re.search(part, str(stopped.exception))


def test_a_fault_in_close_keeps_the_table_and_one_in_construction_comes_first() -> None:
    done = arena("Rude", "--deals", "1")
    assert done.exit_code == 3
    assert "1 duplicate deal" in done.output
    assert done.output.count(f"agent '{__name__}:Rude' failed in close: SystemExit (test_hostile_agents.py, ") == 1
    honest, rude, unmade = (f"{__name__}:{name}" for name in ("Honest", "Rude", "Unmade"))
    with pytest.warns(AgentFaultWarning, match="Rude' failed in close"):
        run_arena(Arena((rude, honest), timing=False), 1)
    with pytest.raises(AgentFailedError, match=rf"'{unmade}' failed in construction: SystemExit \(.*, line \d+\): 0"):
        run_arena(Arena((honest, unmade)), 1)


def test_an_opponent_in_an_environment_is_named() -> None:
    for opponent, error, fault in (
        (Bad("act", lambda view: sys.exit(0)), AgentFaultError, "'honest' on seat 0: failed in act: "),
        (Bad("observe", lambda seat, move: 1 // 0), AgentFaultError, "'honest' on seat 0: failed in observe: "),
        (Bad("act", lambda view: None), IllegalAgentMoveError, "'honest' on seat 0"),
    ):
        with pytest.raises(error, match=fault):
            gym.DouDizhuEnv(opponents=opponent, role="peasant_up").reset(seed=1)


def test_what_does_not_answer_is_ended_and_made_anew(toy: str) -> None:
    def play(preset: str, agent: Any) -> State:
        state = State.new(4, preset)
        return play_game(state, [agent] * state.rules.players, seat_generators([4, 0], state.rules.players))

    processes = AgentProcesses(time_limit=30)
    try:
        agent = processes.make(toy)
        assert play("standard", agent).history == play("standard", make_agent(toy)).history
        agent._time_limit = 0.05  # type: ignore[attr-defined]
        for preset, fault in (
            ("rlcard", r"failed in act: no answer within 0.05 s"),
            ("standard", r"failed in reset: its process ended"),
        ):
            with pytest.raises(AgentFaultError, match=fault):
                play(preset, agent)
        with pytest.raises(AgentFaultError, match=r"failed in act: its process ended \(exit code 7\)"):
            play("mini", processes.make(toy))
    finally:
        processes.close()


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2])
def test_a_time_limit_in_a_match(toy: str, processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ddz_training.measure.agent_process.START_SECONDS", 20.0)
    agents = (toy, "random")
    free = run_arena(Arena(agents, timing=False), 2)
    assert run_arena(Arena(agents, timing=False, time_limit=30.0), 2, processes=processes) == free
    lost = run_arena(Arena(agents, Rules.preset("rlcard"), timing=False, time_limit=0.5), 1, processes=processes)
    faults = [f"seat {seat}, act: no answer within 0.5 s; its process was ended" for seat in (0, 1)]
    assert [record.fault for record in lost] == faults


def test_nothing_that_a_view_gives_is_the_games() -> None:
    state = State.new(5, "bidding")
    state.step("bid 3")
    state.step(state.legal_moves()[0])
    before, words = state.copy(), state.rule_words.copy()
    own = [getattr(state, name) for name in ("_row", "_ring", "_rule_words")]
    for seat in range(3):
        view = state.view(seat)
        arrays = [getattr(view, name) for name in dir(view) if isinstance(getattr(view, name, None), np.ndarray)]
        assert len(arrays) == 3
        for array in arrays:
            assert not any(np.shares_memory(array, other) for other in own)
            array[:] = 1
        assert isinstance(view.history, tuple)
    assert state == before
    assert (state.rule_words == words).all()
    assert (state.ring == before.ring).all()
    assert state.view().legal_moves() == before.view().legal_moves()


def _entropies(rng: np.random.Generator) -> list[Any]:
    children = [rng, *rng.spawn(2)]
    return [child.bit_generator.seed_seq.entropy for child in children]  # type: ignore[attr-defined]


def test_a_view_can_be_sent_whatever_was_done_to_one_before() -> None:
    """Python remembers the names of a class's slots at its first pickling, in a list that every view leads to."""
    view = State.new(seed=1).view()
    pickle.dumps(view)
    names = View.__dict__.get("__slotnames__", [])
    kept = list(names)
    names.clear()
    try:
        sent = pickle.loads(pickle.dumps(view))
    finally:
        names.extend(kept)
    assert (sent.hand, sent.seat, sent.rules) == (view.hand, view.seat, view.rules)
    assert all((getattr(sent, name) == getattr(view, name)).all() for name in ("row", "ring", "rule_words"))


def test_generators_tell_nothing_of_the_deal() -> None:
    told: list[Any] = []

    class Curious(Honest):
        def act(self, view: View, rng: np.random.Generator) -> Move:
            told.extend(_entropies(rng))
            return super().act(view, rng)

    DealPlayer(Rules(), 1234, timing=False, maker=lambda spec: Curious()).play(77, ("one", "two"))
    gym.DouDizhuEnv(opponents=Curious(), role="peasant_up").reset(seed=1234)
    assert len(told) > 30
    assert all(isinstance(entropy, int) and entropy > 2**200 for entropy in told)


def test_generators_follow_from_their_key_and_the_published_ones_are_as_they_were() -> None:
    assert agent_generator([1, 2, 3]).integers(2**62) == agent_generator([1, 2, np.uint64(3)]).integers(2**62)
    assert agent_generator([1, 2, 3]).integers(2**62) == 1306001504346281689
    drawn = {int(agent_generator(key).integers(2**62)) for key in ([1, 2], [12], [2, 1], [1, 2, 0], [1])}
    assert len(drawn) == 5
    assert drawn.isdisjoint({int(np.random.default_rng(key).integers(2**62)) for key in ([1, 2], [12], [2, 1], [1])})
    key = [7, (5 << 64) | 3, 2]
    assert (published_generator(key).random(5) == np.random.default_rng(key).random(5)).all()
    assert all(entropy > 2**200 for entropy in _entropies(published_generator(key)))
