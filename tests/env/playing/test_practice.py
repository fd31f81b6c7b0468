"""Agents of this package are compiled before they are handed over; nobody else is asked to decide for practice."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from importlib import metadata
from typing import Any

import numpy as np
import pytest

from ddz_env import Move, Rules, View
from ddz_env.playing import practice
from ddz_env.playing.registry import GROUP, estimate_compile_seconds, make_agent

AUCTION_RULES = Rules.preset("bidding,doubling=true,showing=true")
asked = Counter[str]()


class Mine:
    """A user's agent, which counts how often it is asked."""

    name = "mine"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        asked["act"] += 1
        return view.legal_moves()[0]


MINE = f"{__name__}:Mine"


@pytest.mark.parametrize(
    "agent", [MINE, f"payoff:rollout_player={MINE}", f"payoff:card_player={MINE}", f"rules:bidder={MINE}", Mine()]
)
def test_a_users_agent_is_never_asked_for_practice(agent: Any) -> None:
    asked.clear()
    make_agent(agent, AUCTION_RULES)
    assert not asked


def test_all_agents_of_ours_practise_but_programs_and_endpoints() -> None:
    elsewhere = ("ddz_agents.external.", "ddz_play.language_models.")
    ours = metadata.distribution("ddz-env").entry_points.select(group=GROUP)
    inside = {point.name for point in ours if not point.value.startswith(elsewhere)}
    assert inside == set(practice.COMPILE_SECONDS)
    assert all(estimate_compile_seconds(name) is not None for name in inside)


@pytest.mark.parametrize(("rules", "others"), [("mini", set()), (AUCTION_RULES, {"bid", "show", "double", "kickers"})])
def test_there_are_positions_of_each_kind_that_rules_have(rules: str | Rules, others: set[str]) -> None:
    positions = practice.list_practice_positions(Rules.preset(rules))
    assert set(positions) == {"lead", "reply", "finish"} | others
    for kind, states in positions.items():
        for state in states:
            view = state.view()
            assert len(view.legal_moves()) > 1
            assert (
                kind == view.stage
                or (view.stage == "play" and view.on_lead == (kind == "lead"))
                or kind in others | {"finish"}
            )


def test_who_needs_the_same_agent_meanwhile_waits_and_practice_is_had_once(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, practised = threading.Event(), list[str]()

    def practise(agent: Any, rules: Rules) -> None:
        gate.wait(60)
        practised.append(agent.name)

    monkeypatch.setattr(practice, "decide_for_practice", practise)
    monkeypatch.setattr(practice, "_compiled", set())
    made = list[Any]()
    threads = [threading.Thread(target=lambda: made.append(make_agent("random", Rules()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert not made
    gate.set()
    for thread in threads:
        thread.join(60)
    assert (len(made), practised) == (3, ["random"])


def test_an_agent_that_fails_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(practice, "_compiled", set())
    assert make_agent("payoff", Rules.preset("half-deck")).name == "PayoffAgent(500)"  # which refuses these rules


AFTERWARDS = """
from numba.core import event
from ddz_env import Rules, State
from ddz_env.playing.game import play_game, make_seat_generators
from ddz_env.playing.registry import make_agent

class Counting(event.Listener):
    def on_start(self, event):
        raise SystemExit(f"needed in a game: {event}")
    def on_end(self, event):
        pass

rules = Rules.preset("bidding,doubling=true")
agents = [make_agent(name, rules) for name in ("rules", "policy", "isuct:iterations=50")]
event.register("numba:compiler_lock", Counting())
for seed in range(2):
    assert play_game(State.new(seed, rules), agents, make_seat_generators([seed, 0], 3)).is_over
"""


def test_after_practice_games_neither_compile_nor_load_a_kernel() -> None:
    done = subprocess.run([sys.executable, "-c", AFTERWARDS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
