"""Candidate moves and duplicate rollouts: what they promise, against obvious oracles."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ddz_agents.rules.agent import RulesAgent
from ddz_agents.rules.candidates import list_candidates
from ddz_agents.rules.playouts import play_out
from ddz_agents.rules.workspace import new_rule_workspace
from ddz_agents.search_agent import Position
from ddz_agents.tree_search import rollout
from ddz_agents.tree_search.rollout import Arms, RolloutAgent, new_arms, play_worlds
from ddz_agents.worlds.determinize import uniform_pool
from ddz_env import PRESETS, Move, State
from ddz_env.core.engine.layout import BOMBS, HANDS, WINNER

SEED = np.uint64(2011)


RNG = np.random.default_rng


def positions(preset: str, number: int) -> Iterator[State]:
    """Games at the first lead and later, after random moves and after the rule agent's."""
    for seed in range(number):
        rng, state = RNG(seed), State.new(seed, preset)
        while state.stage not in ("play", "over"):
            moves = state.legal_moves()
            state.step(moves[int(rng.integers(len(moves)))])
        if state.is_over:  # all declined
            continue
        for _ in range(3 * (seed % 5)):
            twin = state.copy()
            moves = twin.legal_moves()
            twin.step(RulesAgent().act(twin.view(), rng) if seed % 2 else moves[int(rng.integers(len(moves)))])
            if twin.is_over:
                break
            state = twin
        yield state


def ended(row: np.ndarray) -> list[int]:
    """The winner's number, the hands and the bombs."""
    return row[[WINNER, HANDS, HANDS + 1, HANDS + 2, BOMBS]].tolist()


@pytest.mark.parametrize("preset", PRESETS)
def test_a_rollout_ends_as_the_rule_agent_plays(preset: str) -> None:
    for state in positions(preset, 10):
        row = state.row.copy()
        play_out(row, state.rule_words, new_rule_workspace())
        while not state.is_over:
            state.step(RulesAgent().act(state.view(), RNG(0)))
        assert int(row[WINNER]) - 1 == state.winner
        assert ended(row) == ended(state.row)


def candidates(state: State, most: int) -> tuple[list[Move], list[int]]:
    mains, kickers, scores = np.zeros(most, np.uint64), np.zeros(most, np.uint64), np.zeros(most, np.int64)
    view = state.view()
    count = list_candidates(view.row, view.rule_words, new_rule_workspace(), mains, kickers, scores)
    moves = [Move.from_words(int(main), int(riders)) for main, riders in zip(mains, kickers, strict=True)][:count]
    return moves, scores[:count].tolist()


@pytest.mark.parametrize("preset", PRESETS)
def test_candidates_are_distinct_legal_moves_the_rule_agents_first(preset: str) -> None:
    with_pass = 0
    for state in positions(preset, 24):
        legal, own = state.legal_moves(), RulesAgent().act(state.view(), RNG(0))
        mains = {move.main for move in legal} | {own.main}
        moves, scores = candidates(state, 512)
        assert len(moves) == len(set(moves)) <= 512
        assert set(moves) <= set(legal)
        assert moves[0] == own
        assert scores == sorted(scores, reverse=True)
        assert {move.main for move in moves} == mains, "every main group is ranked"
        for most in (2, 5, 12):
            assert candidates(state, most) == (moves[:most], scores[:most]), "fewer are the best of more"
        if Move.parse("pass") in legal:
            with_pass += 1
            assert Move.parse("pass") in moves[:2]
    assert with_pass > 1


def arms_of(moves: list[Move], caution: float = 0.0) -> Arms:
    mains, kickers = np.array([move.words for move in moves], np.uint64).T
    return new_arms(mains.copy(), kickers.copy(), caution)


def rolled_out(state: State, arms: Arms, worlds: int) -> None:
    position, alive = Position.of(state.view()), len(arms.order)
    play_worlds(position, arms, alive, worlds, uniform_pool(), new_rule_workspace(), SEED)


def test_candidates_meet_the_same_worlds_and_are_ordered_by_their_wins() -> None:
    """The rule agent leaves nothing else to chance: the same candidate wins the same games, and ties keep places."""
    won = 0
    for state in positions("standard", 10):
        move = RulesAgent().act(state.view(), RNG(0))
        arms = arms_of([move, state.legal_moves()[-1], move, move, *candidates(state, 8)[0]])
        rolled_out(state, arms, 25)
        wins, places = arms.wins.tolist(), arms.order.tolist()
        assert wins[0] == wins[2] == wins[3] == wins[4]
        assert arms.runs.tolist() == [25] * len(wins)
        assert places == sorted(range(len(wins)), key=lambda arm: (-wins[arm], arm))
        won += 0 < wins[0] < 25
    assert won > 3, "games that are not decided already"


@pytest.mark.parametrize("iterations", [1, 100, 240, 1000])
def test_budgets_are_halved_and_kept(iterations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget too small for a world a round still gets one."""

    def spy(position: Position, arms: Arms, alive: int, worlds: int, *rest: Any) -> Any:
        state = play_worlds(position, arms, alive, worlds, *rest)
        rounds.append((arms, alive, worlds, arms.order.tolist()))
        return state

    seen, rounds = 0, list[tuple[Arms, int, int, list[int]]]()
    monkeypatch.setattr(rollout, "play_worlds", spy)
    for state in positions("standard", 8):
        rounds.clear()
        decision = RolloutAgent(iterations).decide(state.view(), RNG(0))
        if not rounds:
            continue
        seen += 1
        arms, (_, alive, worlds, orders) = rounds[0][0], zip(*rounds, strict=True)
        runs, best = arms.runs, int(arms.order[0])
        assert alive[0] == len(runs) <= 12
        assert all(later == (earlier + 1) // 2 for earlier, later in itertools.pairwise(alive))
        assert alive[-1] == 2
        assert runs.sum() == np.dot(alive, worlds) <= max(iterations, sum(alive))
        for order, survivors in zip(orders, [*alive[1:], 1], strict=True):
            assert runs[order[:survivors]].min() >= runs[order[survivors:]].max()
        assert decision.move == Move.from_words(int(arms.mains[best]), int(arms.kickers[best]))
        assert decision.visits[decision.move.main] == runs[best] == runs.max()
        assert decision.values[decision.move.main] == arms.wins[best] / runs[best]
    assert seen > 4


def test_caution_asks_others_to_beat_the_first_candidate_by_more_than_luck() -> None:
    dropped = 0
    for seed in range(6):
        moves = candidates(State.new(seed), 4)[0]
        bold, careful = (arms_of(moves, caution) for caution in (0.0, 100.0))
        for arms in (bold, careful):
            rolled_out(State.new(seed), arms, 40)
        assert bold.wins[bold.order[0]] == max(bold.wins)
        assert careful.order[0] == 0
        assert (bold.wins == careful.wins).all()
        dropped += bold.order[0] != 0
    assert dropped > 0
