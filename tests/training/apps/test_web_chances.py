"""Chances of winning on the web page: given with every hint, with an alternative and a reason."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ddz_env import Move, Rules, State
from ddz_env.table.session import PERSON, Advice, Deal, RankedMove, Record, Session
from ddz_env.table.texts import Texts
from ddz_training.apps.web.chances import Chances

pytest.importorskip("torch")

RNG = np.random.default_rng


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
    options = tuple(RankedMove(place, Move(place), chance, **more) for place, chance in enumerate(chances, 1))  # type: ignore[arg-type]
    advice = Advice("policy", 0, Move(1), options, source="critic")
    assert said in advice.why(Texts())
