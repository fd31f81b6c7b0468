"""Our agents at RLCard's table see what RLCard shows, and play what its rules allow."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import rlcard

from ddz_agents.external.rlcard_player import RLCardPlayer, state_from_rlcard
from ddz_agents.external.rlcard_rule import card_string
from ddz_env import Move, View
from ddz_env.support.errors import IllegalMoveError, InvalidOptionError


class Recorder:
    name = "recorder"

    def __init__(self) -> None:
        self.views: list[View] = []

    def act(self, view: View, rng: np.random.Generator) -> Move:
        self.views.append(view)
        return view.legal_moves()[int(rng.integers(len(view.legal_moves())))]


def _game(agents: list[Any], seed: int) -> Any:
    env = rlcard.make("doudizhu", config={"seed": seed})
    env.set_agents(agents)
    return env


def test_the_view_is_that_of_the_true_game_and_the_moves_are_rlcards() -> None:
    players = [RLCardPlayer(Recorder(), seat) for seat in range(3)]
    decisions = 0
    env = _game(players, 0)
    state, seat = env.reset()
    while not env.is_over():
        raw = state["raw_obs"]
        view = state_from_rlcard(raw).view(seat)
        assert str(view.hand) == raw["current_hand"]
        assert str(view.unseen) == raw["others_hand"]
        assert list(view.hand_sizes) == raw["num_cards_left"]
        assert not Counter(raw["seen_cards"]) - Counter(str(view.landlord_cards))
        assert [(other, card_string(move)) for other, move in view.history] == raw["trace"]
        assert sorted(card_string(move) for move in view.legal_moves()) == sorted(raw["actions"])
        decisions += 1
        state, seat = env.step(players[seat].step(state), raw_action=True)
    assert decisions > 30
    assert all(view.acting_seat == view.seat for player in players for view in player.agent.views)  # type: ignore[attr-defined]


def test_struck_landlord_cards_are_filled_up() -> None:
    """RLCard's list is empty after one 4 is played of a landlord's 444: two of them are still held."""
    raw = {
        "self": 1,
        "current_hand": "33335555666677778",
        "others_hand": "4448889999TTTTJJJJQQQQKKKKAAAA2222BR",
        "seen_cards": "",
        "trace": [(0, "4")],
        "num_cards_left": [19, 17, 17],
    }
    view = state_from_rlcard(raw).view(1)
    assert str(view.landlord_cards) == "444"
    assert str(view.known_cards) == "44"


def test_who_cheats_and_a_move_that_is_none_of_rlcards_are_refused() -> None:
    class Stubborn(Recorder):
        name = "stubborn"

        def act(self, view: View, rng: np.random.Generator) -> Move:
            return Move.parse("BR")

    with pytest.raises(InvalidOptionError, match="hidden cards"):
        RLCardPlayer("cheating-uct")
    state, _ = _game([], 2).reset()
    raw = state["raw_obs"] | {"actions": ["pass"]}
    with pytest.raises(IllegalMoveError, match="stubborn plays BR"):
        RLCardPlayer(Stubborn()).step({"raw_obs": raw})
