"""Values are checked where they enter: for anything wrong, a named error says what would be right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from ddz_env import PRESETS, Hand, Move, Rules, State, dou_dizhu_v0
from ddz_env.core.rules import STANDARD_CATEGORIES
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.envs.gym import DouDizhuEnv
from ddz_env.support.checks import check_flag, check_number
from ddz_env.support.errors import (
    DouDizhuError,
    InvalidDealError,
    InvalidOptionError,
    InvalidRulesError,
    short_repr,
)
from tests.env.core.entries import entries

VALUES: list[Any] = [
    *(None, True, False, "", "abc", "standard", "0", "\x00", "x" * 10_000, b"x", 1.5, 2.0, 1j),
    *(float("nan"), float("inf"), -1, 2**63, 2**64 - 1, 2**70, -(2**70), 10**5000),
    *([], [1], ["a"], [None, None], [[1], [2, 3]], (), (1, 2), {}, {"a": 1}, {1, 2}, range(3), object()),
    *(np.array([5]), np.array(5), np.array([]), np.array(["a"]), np.array([None], object), np.zeros((3, 3))),
    *(np.float32(2), np.int8(-3), np.bool_(True), np.str_("win"), lambda: 0, int, ...),
]


STATE = State.new(1)
RAW = dou_dizhu_v0.raw_env
ENTRIES = entries()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", ENTRIES)
def test_nothing_but_named_errors_comes_out(entry: str) -> None:
    messages = []
    for value in VALUES:
        try:
            ENTRIES[entry](value)
        except DouDizhuError as error:
            messages.append(str(error))
    assert messages
    assert not [message for message in messages if "\n" in message or len(message) > 2000]


@pytest.mark.parametrize(
    "options",
    [
        *({"categories": names} for names in (("pass",), ("pas", "solo"))),
        *({"hand_size": size} for size in (16, 18)),
        *({"deck": deck} for deck in ("all", (5, *(4,) * 12, 1, 1), (4,) * 14)),
        {"players": 2, "hand_size": 2, "bottom": 1, "half_deck": True},
        {"peasant_reward": 0.7},
        {"left_out_open": True},
        *({"half_deck": True, name: value} for name, value in (("unshuffled", True), ("bidding", "once"))),
        {"showing": True, "open_hands": True},
    ],
)
def test_rules_that_cannot_be_played_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidRulesError):
        Rules(**options)


@pytest.mark.parametrize("action", [np.int64, np.uint8, np.array, int])
def test_integers_of_every_kind_are_actions(action: Callable[[int], Any]) -> None:
    legal = STATE.legal_actions()[1]
    for make in (RAW, dou_dizhu_v0.env, DouDizhuEnv):
        env = make()
        env.reset(seed=1) if make is DouDizhuEnv else env.reset(1)
        env.step(action(legal if make is not DouDizhuEnv else int(env.action_masks().argmax())))
    game = STATE.copy()
    game.step_action(action(legal))
    assert game.history[0][1] == Move(legal)


def test_a_failed_reset_changes_nothing() -> None:
    env, again = RAW(), RAW()
    for game in (env, again):
        game.reset(seed=3)
    with pytest.raises(InvalidDealError):
        env.reset(seed="4")
    with pytest.raises(InvalidOptionError):
        env.reset(seed=4, options={"deal": None})
    for game in (env, again):
        game.reset()
    assert env.game_state() == again.game_state()


def test_numbers_and_lists_of_other_types_become_plain_ones() -> None:
    rules = Rules(players=np.int64(3), deck=[4] * 13 + [1, 1], open_hands=np.bool_(True), peasant_reward=1)  # type: ignore[arg-type]
    assert rules == Rules(open_hands=True, peasant_reward=1.0)
    assert hash(rules) == hash(Rules(open_hands=True, peasant_reward=1.0))
    assert [type(rules.players), type(rules.deck), type(rules.open_hands)] == [int, tuple, bool]
    move, hand = Move(np.uint64(42), [np.int8(7)]), Hand(np.ones(15, int))  # type: ignore[arg-type]
    assert (move, type(move.main), [type(rank) for rank in move.kickers]) == (Move(42, (7,)), int, [int])
    assert (hand, type(hand.counts)) == (Hand((1,) * 15), tuple)
    assert SelfPlayBatch(np.int32(2), seed=np.uint64(2**63)).seed == 2**63
    assert all(Rules.from_dict(preset.as_dict()) == preset for preset in PRESETS.values())


def test_every_rules_object_that_is_accepted_can_be_played_to_the_end() -> None:
    rng = np.random.default_rng(5)
    flags = [field.name for field in fields(Rules) if isinstance(field.default, bool)]
    tried = played = 0
    while played < 40:
        tried += 1
        players, hand = int(rng.integers(2, 4)), int(rng.integers(1, 18))
        extra = [name for name in STANDARD_CATEGORIES if rng.random() < 0.3]
        options: dict[str, Any] = {
            "players": players,
            "hand_size": 17 if players == 3 else hand,
            "bottom": 3 if players == 3 else int(rng.integers(0, 4)),
            "categories": tuple(dict.fromkeys(["pass", "solo", *extra])),
            "kicker_repeat": int(rng.integers(1, 5)),
            "kicker_trios": str(rng.choice(["any", "not-adjacent", "merge"])),
            "bidding": str(rng.choice(["fixed", "once", "until-passed", "robbing"])),
            "all_decline": str(rng.choice(["redeal", "first-seat", "end"])),
        }
        options |= {name: bool(rng.integers(2)) for name in flags}
        try:
            batch = SelfPlayBatch(4, Rules(**options), seed=tried, threads=1)
        except InvalidRulesError:
            continue
        ended, steps = np.zeros(4, bool), 0
        while not ended.all():
            batch.step(batch.sample_actions())
            ended |= batch.done
            steps += 1
            assert steps <= 3000, options
        played += 1


def test_checks_and_what_a_message_shows() -> None:
    assert check_number("x", np.float32(0.5)) == 0.5
    for wrong in (True, "1", 10**400, float("nan"), None):
        with pytest.raises(InvalidOptionError, match="x="):
            check_number("x", wrong)
    assert check_flag("x", np.bool_(True)) is True
    assert short_repr(10**5000) == "a value of type int"
    assert short_repr(np.zeros((2, 2))) == "array([[0., 0.], [0., 0.]])"
    assert len(short_repr("x" * 1000)) == 120
