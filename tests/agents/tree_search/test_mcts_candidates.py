"""What searches tell of whole moves and of hidden cards is what their decisions say."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ddz_agents.tree_search.choice import whole_moves_of
from ddz_env import Move, State
from ddz_env.core.actions import KICKER_BASE, MAIN_GROUPS
from ddz_env.playing.registry import make_agent
from ddz_env.playing.thoughts import Belief, Candidate

RNG = np.random.default_rng


@pytest.mark.parametrize("name", ["isuct:iterations=400", "rollout:iterations=60"])
def test_whole_moves_are_those_of_the_decision(name: str) -> None:
    state = State.new(3)
    agent = make_agent(name)
    decision = agent.decide(state.view(), RNG(0))  # type: ignore[attr-defined]
    found = agent.candidates(state.view())  # type: ignore[attr-defined]
    legal = state.legal_moves()
    assert {one.move for one in found} <= set(legal)
    assert len({one.move for one in found}) == len(found) > 5
    assert all(0 <= one.chance <= 1 for one in found)
    visits: Counter[int] = Counter()
    for one in found:
        visits[one.move.main] += one.visits
    if name.startswith("isuct"):
        plain = {main for main in decision.visits if main in visits and not _has_kickers(main)}
        assert plain
        assert all(visits[main] == decision.visits[main] for main in plain)
        assert any(one.move.kickers for one in found)
        longest = max(found, key=lambda one: len(one.line))
        assert len(longest.line) >= 2
    else:
        assert found[0].move == decision.move
        assert all(found_first(found, main) == count for main, count in decision.visits.items())


def _has_kickers(main: int) -> bool:
    return main < KICKER_BASE and MAIN_GROUPS[main].kicker_count > 0


def found_first(found: list[Candidate], main: int) -> int:
    return next(one.visits for one in found if one.move.main == main)


def test_actions_are_whole_moves_and_a_move_without_its_kickers_is_none() -> None:
    moves = [Move.parse(text) for text in ("333444+57", "pass", "BR", "5555+6677")]
    actions = [action for move in moves for action in move.actions]
    assert whole_moves_of(actions) == moves
    assert whole_moves_of(actions[:-1]) == moves[:-1]


def test_what_a_search_believes_adds_up_and_knows_the_landlords_cards() -> None:
    state = State.new(3)
    state.step("5")
    view = state.view()
    for name in ("isuct", "isuct:particles=50"):
        expected = make_agent(name).believe(view, RNG(1)).expected()  # type: ignore[attr-defined]
        assert expected.sum(axis=1) == pytest.approx([19, 17, 17, 0])
        assert (expected[0] >= np.array(view.known_cards.counts) - 1e-9).all()
        assert expected[1].tolist() == pytest.approx(list(view.hand.counts))
    assert make_agent("isuct").believe(view, RNG(1)).as_dict() == Belief.uniform(view).as_dict()  # type: ignore[attr-defined]
