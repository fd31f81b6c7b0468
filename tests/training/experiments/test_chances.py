"""Chances of winning: borne out by games, blind to hidden cards, and given with every hint."""

from __future__ import annotations

import itertools
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from ddz_agents.neural_search.judge import SHIPPED, Calibration, Judge, LogOddsCurve
from ddz_env import Move, Rules, State
from ddz_env.core.errors import IllegalMoveError
from ddz_env.table.session import PERSON, Advice, Deal, Option, Record, Session
from ddz_env.table.texts import Texts
from ddz_training.apps.web.chances import Chances
from ddz_training.experiments.chances import CHANCES, TENTHS, ChanceOptions, ChanceResult, fit, told_and_won
from ddz_training.experiments.experiment import Saved, read_saved
from tests.hidden import permuted
from tests.rooms import ROOT

RESULTS = ROOT / "docs" / "results" / "chances.csv"
RNG = np.random.default_rng
AS_TOLD = Calibration(LogOddsCurve(0.0, 1.0, 0.0), LogOddsCurve(0.0, 1.0, 0.0))
"""Leaves the critic's means alone."""


@pytest.fixture(scope="module")
def saved() -> Saved[ChanceResult]:
    return read_saved(ChanceResult, RESULTS)


def test_what_was_told_is_borne_out_in_every_tenth(saved: Saved[ChanceResult]) -> None:
    assert fit(saved.results) == SHIPPED  # new weights: `ddz reproduce chances`, then the constants of the judge
    tenths = told_and_won(saved.results, SHIPPED)
    assert sum(map(len, tenths)) > 1000
    for place, part in enumerate(tenths):
        told, won = map(fmean, zip(*part, strict=True))
        assert abs(told - won) < 0.05, (place, len(part), told, won)
    raw = told_and_won(saved.results, AS_TOLD)
    assert any(abs(fmean(t for t, _ in part) - fmean(w for _, w in part)) > 0.05 for part in raw)  # no map: far off


def test_a_slice_of_the_positions_comes_out_again(saved: Saved[ChanceResult]) -> None:
    again = CHANCES.run(ChanceOptions(games=2, processes=1)).results
    kept = [one for one in saved.results if one.deal in {one.deal for one in again}]
    assert [replace(one, mean=0.0) for one in again] == [replace(one, mean=0.0) for one in kept]
    assert [one.mean for one in again] == pytest.approx([one.mean for one in kept], abs=0.002)
    assert len(again) > TENTHS // 2


def test_no_chance_depends_on_hidden_cards() -> None:
    judge, rng = Judge(worlds=4), RNG(1)
    state = State.new(seed=8)
    for _ in range(6):
        twin, moves = permuted(state, state.seat, rng), state.legal_moves()
        assert judge.chances(state.view(), moves[:4], RNG(3)) == judge.chances(twin.view(), moves[:4], RNG(3))
        state.step(moves[-1])


def test_what_is_forced_is_played_before_the_critic_is_asked() -> None:
    class Strict:
        """Says nothing of a seat that has no choice, as the critic has learned nothing of it."""

        def value_of_games(self, observations: Any, masks: Any, concealed: Any) -> Any:
            assert (masks.sum(axis=1) > 1).all()
            return np.full(len(masks), 0.5, np.float32)

    # The landlord leads its last card but one, and cannot beat the joker with the last.
    state = State.from_hands(["46", "3T8", "789R"], check_sizes=False)
    state.step("4")
    state.step("pass")
    judge = Judge(Strict(), AS_TOLD, worlds=3)  # type: ignore[arg-type]
    assert judge.means(state.view(), [Move.parse("R")], RNG(0)).tolist() == [0.75]


def test_chances_are_asked_of_the_seat_to_act_while_cards_are_played() -> None:
    judge, auction = Judge(worlds=1), State.new(1, Rules.preset("bidding"))
    with pytest.raises(IllegalMoveError, match="plays no cards now"):
        judge.chances(auction.view(), auction.legal_moves(), RNG(0))


@pytest.mark.parametrize("count", [4, pytest.param(50, marks=pytest.mark.long)])
def test_every_hint_gives_chances_an_alternative_and_a_reason(count: int) -> None:
    chances, rng, states = Chances(), RNG(12), []
    while len(states) < count:
        seed, moves = int(rng.integers(2**32)), int(rng.integers(0, 30))
        state = State.new(seed)
        for _ in range(moves):
            if not state.is_over:
                state.step(state.legal_moves()[int(rng.integers(len(state.legal_moves())))])
        if not state.is_over and len(state.legal_moves()) > 1:
            states.append((seed, state))
    for (seed, state), adviser in zip(states, itertools.cycle(["policy", "neural-ismcts:milliseconds=20", "rules"])):
        session = Session(Record(Deal(Rules(), seed), (PERSON,) * 3, tuple(state.history)))
        advice = chances.judged(state.view(), session.hint(adviser))
        assert len({str(one.move) for one in advice.options}) == len(advice.options) > 1
        assert all(one.chance is not None and 0 <= one.chance <= 1 for one in advice.options)
        assert advice.source == "critic"
        assert all(advice.why(Texts(language)) for language in ("en", "zh"))


@pytest.mark.parametrize(
    ("chances", "more", "said"),
    [
        ((0.62, 0.55), {}, "about 7 more games in 100"),
        ((0.62, 0.61), {}, "about as good"),
        ((0.5, 0.6), {}, "mostly play it here"),
        ((0.5, 0.6), {"visits": 9}, "looked further ahead"),
        ((0.4,), {}, "no other move"),
        ((1.0, 0.3), {}, "goes out"),
        ((None, None), {}, "does not say why"),
    ],
)
def test_one_sentence_says_why(chances: tuple[float | None, ...], more: dict[str, int], said: str) -> None:
    options = tuple(Option(place, Move(place), chance, **more) for place, chance in enumerate(chances, 1))  # type: ignore[arg-type]
    advice = Advice("policy", 0, Move(1), options, source="critic")
    assert said in advice.why(Texts())
