"""RLCard's rule model behind our interface picks what it picks in RLCard's own environment."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from ddz_agents.external.rlcard_rule import MissingPeerError, RLCardRuleAgent, card_string
from ddz_env import Hand, State
from ddz_env.playing.game import make_seat_generators, play_game
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import InvalidRulesError


def _same_deal(game: Any) -> State:
    hands = ["".join(card.rank or card.suit[0] for card in player.current_hand) for player in game.players]
    bottom = Hand.parse(game.round.seen_cards)
    landlord = Hand(tuple(a - b for a, b in zip(Hand.parse(hands[0]).counts, bottom.counts, strict=True)))
    return State.from_hands([landlord, hands[1], hands[2]], bottom, "rlcard")


def test_it_answers_as_in_rlcards_own_games() -> None:
    rlcard = pytest.importorskip("rlcard")
    theirs = pytest.importorskip("rlcard.models.doudizhu_rule_models").DouDizhuRuleAgentV1()
    env = rlcard.make("doudizhu", config={"seed": 3})
    ours = RLCardRuleAgent()
    positions = 0
    while positions < 400:
        observation, _ = env.reset()
        state = _same_deal(env.game)
        while not env.is_over():
            positions += 1
            np.random.seed(int(np.random.default_rng(positions).integers(0, 2**32)))  # noqa: NPY002
            action = theirs.step(observation)
            move = ours.act(state.view(), np.random.default_rng(positions))
            assert card_string(move) == action
            raw = ours.raw_state(state.view())
            for key in ("current_hand", "trace", "landlord", "self"):
                assert raw[key] == observation["raw_obs"][key]
            state.step(move)
            observation, _ = env.step(action, raw_action=True)
        assert state.is_over


def test_a_seed_gives_the_game_and_numpys_global_generator_is_left_as_it_was() -> None:
    pytest.importorskip("rlcard")
    np.random.seed(17)  # noqa: NPY002
    games = [play_game(State.new(4), [RLCardRuleAgent()] * 3, make_seat_generators([9, 0], 3)) for _ in range(2)]
    assert games[0] == games[1]
    after = np.random.random()  # noqa: NPY002
    np.random.seed(17)  # noqa: NPY002
    assert np.random.random() == after  # noqa: NPY002


@pytest.mark.parametrize("preset", ["standard", "bidding", "botzone", "douzero", "openspiel", "perfect", "half-deck"])
def test_it_plays_every_game_of_three_and_refuses_those_of_two(preset: str) -> None:
    pytest.importorskip("rlcard")
    agent = RLCardRuleAgent()
    for game in range(4):
        assert play_game(State.new(5, preset, game), [agent] * 3, make_seat_generators([5, game], 3)).is_over
    with pytest.raises(InvalidRulesError, match="mini"):
        agent.act(State.new(1, "mini").view(), np.random.default_rng(0))


def test_without_rlcard_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rlcard.models.doudizhu_rule_models", None)
    with pytest.raises(MissingPeerError, match=r"\[rlcard\]"):
        make_agent("rlcard-rule")
