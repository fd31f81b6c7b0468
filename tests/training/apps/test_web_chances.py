"""Hints on the web page: one ranking, and no sentence that the cards or its own numbers contradict."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import numpy as np
import pytest

from ddz_agents.worlds.determinize import determinize
from ddz_env import Move, Rules, State, View
from ddz_env.core.engine.layout import ROW_WORDS
from ddz_env.playing.registry import make_agent
from ddz_env.table.session import PERSON, Advice, Deal, RankedMove, Record, Session
from ddz_env.table.session.reasons import explain, is_searched
from ddz_env.table.texts import Texts
from ddz_training.apps.chances import Chances

pytest.importorskip("torch")

RNG = np.random.default_rng
ADVISERS = ("policy", "neural-ismcts:milliseconds=20", "rules", "neural-ismcts:iterations=64")


def positions(count: int, rules: Rules, most: int) -> Iterator[tuple[State, Session]]:
    """Decisions between several moves, from games of the policy with some random moves among its own."""
    rng, policy = RNG(12), make_agent("policy")
    while count:
        seed, moves = int(rng.integers(2**32)), int(rng.integers(0, most))
        state, made = State.new(seed, rules), []
        for _ in range(moves):
            if not state.is_over:
                legal = state.legal_moves()
                chosen = policy.act(state.view(), rng) if rng.random() < 0.8 else legal[int(rng.integers(len(legal)))]
                made.append((state.seat, chosen))
                state.step(chosen)
        if not state.is_over and len(state.legal_moves()) > 1:
            count -= 1
            yield state, Session(Record(Deal(rules, seed), (PERSON,) * 3, tuple(made)))


def worlds(view: View, rng: np.random.Generator) -> Iterator[State]:
    """Games that look to the seat like the one that is played."""
    for _ in range(20):
        row = np.empty(ROW_WORDS, np.uint64)
        determinize(view.row, np.uint64(view.seat), view.rule_words, np.uint64(rng.integers(2**63)), row)
        yield State(row, view.rules)


def wins(view: View, move: Move, rng: np.random.Generator) -> bool:
    """Whether the seat's side wins after a move, however the others play by chance."""
    for state in worlds(view, rng):
        state.step(move)
        while not state.is_over:
            legal = state.legal_moves()
            state.step(legal[int(rng.integers(len(legal)))])
        if (state.winner == view.landlord) != (view.seat == view.landlord):
            return False
    return True


@pytest.mark.parametrize("count", [12, pytest.param(1000, marks=pytest.mark.long)])
def test_hints_are_ranked_once_and_true_by_their_own_numbers(count: int) -> None:
    chances, rng = Chances(), RNG(5)
    for (state, session), adviser in zip(positions(count, Rules(), 60), itertools.cycle(ADVISERS)):
        view = state.view()
        advice = chances.judged(view, session.hint(adviser))
        own, *others = advice.options
        assert len({str(one.move) for one in advice.options}) == len(advice.options) > 1
        assert all(one.chance is not None and 0 <= one.chance <= 1 for one in advice.options)
        assert (advice.move, advice.source) == (own.move, "critic")
        assert [one.chance for one in others] == sorted((one.chance for one in others), reverse=True)
        best = others[0]
        assert own.chance + own.noise >= best.chance  # type: ignore[operator]  # checked above
        said, points = explain(advice, Texts(), view), round(100 * own.chance) - round(100 * best.chance)  # type: ignore[operator]
        if "goes out" in said:
            assert view.hand == advice.move.cards
        if "by force" in said:
            assert wins(view, advice.move, rng)
        elif own.chance == 1:
            assert "goes out" in said
        if number := re.search(r"(about|seems to win) (\d+) more", said):
            assert abs(points) == int(number[2]) >= 2
            assert ("Another" in said) == (points < 0)
            assert (number[1] == "about") == (own.chance - best.chance > best.noise)  # type: ignore[operator]
        if "search" in said:
            assert is_searched(own)
            assert own.visits == max(one.visits or 0 for one in advice.options)
        for role, left in re.findall(r"The ([a-z ]+) has (\d) cards? left", said):
            seat = next(seat for seat in range(3) if session.role(seat) == role)
            assert view.hand_sizes[seat] == int(left) <= 2
        assert explain(advice, Texts("zh"), view)


@pytest.mark.parametrize(
    ("chances", "more", "said"),
    [
        ((0.62, 0.55), {}, "It wins about 7 more games in 100"),
        ((0.62, 0.55), {"noise": 0.1}, "It seems to win 7 more games in 100"),
        ((0.62, 0.61), {}, "about as good"),
        ((0.6, 0.5), {"visits": 9}, "The search tried it most: 9 times of 18"),
        ((0.6, 0.5), {"visits": 1, "prior": 0.987}, "The policy is sure: it plays this 98 times in 100"),
        ((1.0, 0.3), {"forced": True}, "by force"),
        ((None, None), {}, "does not say why"),
    ],
)
def test_sentences_say_why(chances: tuple[float | None, ...], more: dict[str, float], said: str) -> None:
    options = tuple(RankedMove(place, Move(place), chance, **more) for place, chance in enumerate(chances, 1))  # type: ignore[arg-type]
    advice = Advice("policy", 0, Move(1), options, source="critic")
    text = explain(advice, Texts(), State.new(1).view())
    assert said in text
    assert ("search" in said) == ("search" in text)


@pytest.mark.parametrize(
    ("hands", "move", "other", "said"),
    [
        (["333355", "77778", "4"], "3333", "55", "Only a bomb or the rocket can beat it. The peasant up has 1"),
        (["AAA5566", "KKK", "QQ8"], "AAA", "55", "Only 222 or the rocket can beat it."),
        (["44BR2", "999", "KK"], "BR", "44", "No opponent can beat it."),
        (["TT55", "KK", "Q"], "TT", "55", "about as good. The peasant down has 2 cards left. The peasant up has 1"),
    ],
)
def test_reasons_are_in_cards(hands: list[str], move: str, other: str, said: str) -> None:
    view = State.from_hands(hands, check_sizes=False).view(0)
    moves = [Move.parse(text) for text in (move, other)]
    options = tuple(RankedMove(one.main, one, 0.5) for one in moves)
    assert said in explain(Advice("policy", 0, moves[0], options, source="critic"), Texts(), view)
