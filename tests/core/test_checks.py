"""Values are checked where they enter: whatever a caller passes, a named error says what would be right."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ddz_agents.bidding.hand import hand_view
from ddz_env import PRESETS, Hand, Move, Rules, State, dou_dizhu_v0
from ddz_env.core.checks import as_integer, check_flag, check_number
from ddz_env.core.errors import (
    DouDizhuError,
    InvalidDealError,
    InvalidHandError,
    InvalidMoveError,
    InvalidOptionError,
    InvalidRulesError,
    UnknownAgentError,
    shown,
)
from ddz_env.core.flat import openspiel_action
from ddz_env.core.observation import observe
from ddz_env.core.options import Options
from ddz_env.core.rules import STANDARD_CATEGORIES
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.envs.gym import DouDizhuEnv, DouDizhuVectorEnv
from ddz_env.peers import flat_action
from ddz_env.playing.registry import agent_options, make_agent, parse_options
from ddz_env.table.session import PERSON, Deal, Record, Replay, Session
from ddz_env.table.texts import Texts


class Hostile:
    """Neither to be shown nor to be counted."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __index__ = __array__ = __repr__  # type: ignore[assignment]


def nested(depth: int = 3000) -> list[Any]:
    whole: list[Any] = []
    for _ in range(depth):
        whole = [whole]
    return whole


VALUES: list[Any] = [
    *(None, True, False, "", "abc", "standard", "0", "\x00", "x" * 10_000, b"x", 1.5, 2.0, 1j),
    *(float("nan"), float("inf"), -1, 2**63, 2**64 - 1, 2**70, -(2**70), 10**5000),
    *([], [1], ["a"], [None, None], [[1], [2, 3]], (), (1, 2), {}, {"a": 1}, {1, 2}, range(3), nested(), object()),
    *(np.array([5]), np.array(5), np.array([]), np.array(["a"]), np.array([None], object), np.zeros((3, 3))),
    *(np.float32(2), np.int8(-3), np.bool_(True), np.str_("win"), Hostile(), lambda: 0, int, ...),
]


def at_reset(make: Callable[[], Any], call: Callable[[Any, Any], object]) -> Callable[[Any], object]:
    """A call on an environment in its first position."""

    def run(value: object) -> None:
        env = make()
        env.reset(seed=1)
        call(env, value)

    return run


def with_option(make: Callable[..., object], name: str, **others: Any) -> Callable[[Any], object]:
    return lambda value: make(**others, **{name: value})


STATE = State.new(1)
OWN = Hand.parse("3344567TJQQKA22BR")


def session() -> Session:
    return Session(Record(Deal(Rules(), 1), (PERSON,) * 3))


SESSION = session()
RAW, VECTOR = dou_dizhu_v0.raw_env, functools.partial(DouDizhuVectorEnv, 2)
ENTRIES: dict[str, Callable[[Any], object]] = {
    **{f"Rules({option.name}=)": with_option(Rules, option.name) for option in Rules.options()},
    **{
        f"SelfPlayBatch({name}=)": with_option(SelfPlayBatch, name, num_games=2)
        for name in ("rules", "seed", "threads", "scoring", "observation", "mask", "concealed")
    },
    **{f"raw_env({name}=)": with_option(RAW, name) for name in ("rules", "render_mode", "scoring", "dtype", "infos")},
    **{
        f"DouDizhuEnv({name}=)": with_option(DouDizhuEnv, name)
        for name in ("rules", "opponents", "role", "scoring", "illegal_action", "render_mode", "observation", "infos")
    },
    **{f"vector({name}=)": with_option(VECTOR, name) for name in ("autoreset_mode", "threads", "copy")},
    "preset": Rules.preset,
    "Rules.from_dict": Rules.from_dict,
    "num_games": lambda value: SelfPlayBatch(value) if not isinstance(value, int) or not 0 < value < 2**24 else None,
    "num_envs": lambda value: DouDizhuVectorEnv(value) if not isinstance(value, int) or value < 1 else None,
    "illegal_reward": lambda value: dou_dizhu_v0.env(illegal_reward=value),
    "Hand": Hand,
    "Hand.parse": Hand.parse,
    "Hand.from_ids": Hand.from_ids,
    "Hand.from_word": Hand.from_word,
    "Move": Move,
    "kickers": lambda value: Move(42, value),
    "Move.parse": Move.parse,
    "parse rules": lambda value: Move.parse("3", value),
    "Move.from_ids": Move.from_ids,
    "Move.from_words": lambda value: Move.from_words(value, value),
    "State": lambda value: State(value, Rules()),
    "State rules": lambda value: State(STATE.row, value),
    "seed": State.new,
    "rules": lambda value: State.new(1, value),
    "game": lambda value: State.new(1, game=value),
    "hands": lambda value: State.from_hands(value, check_sizes=False),
    "hand": lambda value: State.from_hands([value] * 3, check_sizes=False),
    "bottom": lambda value: State.from_hands(["3", "4", "5"], value, check_sizes=False),
    "check_sizes": lambda value: State.from_hands(["3", "4", "5"], check_sizes=value),
    "hand_view": hand_view,
    "hand_view rules": lambda value: hand_view("33456789TJQKA22BR", value),
    "hand_view bottom": lambda value: hand_view("33456789TJQKA22BR", bottom=value),
    "hand_view role": lambda value: hand_view("33456789TJQKA22BR", bottom="345", role=value),
    "hand_view bid": lambda value: hand_view("33456789TJQKA22BR", bid=value),
    "step": lambda value: STATE.copy().step(value),
    "step_action": lambda value: STATE.copy().step_action(value),
    "returns": STATE.returns,
    "state seat": STATE.hand,
    "played": lambda value: STATE.view().played(value),
    "observe": lambda value: observe(STATE, value),
    "batch step": lambda value: SelfPlayBatch(2).step(value),
    "batch actions": lambda value: SelfPlayBatch(2).step([value, value]),
    "batch reset": lambda value: SelfPlayBatch(2).reset(value),
    "batch state": lambda value: SelfPlayBatch(2).state(value),
    "batch load": lambda value: SelfPlayBatch(2).load_state_dict(value),
    "batch rows": lambda value: SelfPlayBatch(2).load_state_dict(SelfPlayBatch(2).state_dict() | {"rows": value}),
    "raw step": at_reset(RAW, lambda env, value: env.step(value)),
    "raw reset": lambda value: RAW().reset(value),
    "raw options": lambda value: RAW().reset(1, value),
    "raw deal": lambda value: RAW().reset(1, {"deal": value}),
    "raw observe": at_reset(RAW, lambda env, value: env.observe(value)),
    "raw space": lambda value: RAW().action_space(value),
    "env step": at_reset(dou_dizhu_v0.env, lambda env, value: env.step(value)),
    "flat env": lambda value: flat_action.FlatActionWrapper(value),
    "gym step": at_reset(DouDizhuEnv, lambda env, value: env.step(value)),
    "gym reset": lambda value: DouDizhuEnv().reset(seed=value),
    "gym options": lambda value: DouDizhuEnv().reset(options=value),
    "vector step": at_reset(VECTOR, lambda env, value: env.step(value)),
    "vector reset": lambda value: VECTOR().reset(seed=value),
    "vector seeds": lambda value: VECTOR().reset(seed=[value, value]),
    "vector options": lambda value: VECTOR().reset(options=value),
    "vector mask": lambda value: VECTOR().reset(options={"reset_mask": value}),
    "make_agent": make_agent,
    "parse_options": parse_options,
    "openspiel_action": openspiel_action,
    "Deal rules": Deal,
    "Deal seed": lambda value: Deal(Rules(), value),
    "Deal hands": lambda value: Deal(Rules(), hands=value),
    "Deal hand": lambda value: Deal(Rules(), hands=(value, None, None)),
    "Deal bottom": lambda value: Deal(Rules(), hands=(OWN, None, None), bottom=value),
    "observed seat": lambda value: Deal.observed(Rules(), value, OWN),
    "observed opener": lambda value: Deal.observed(Rules.preset("bidding"), 0, OWN, opener=value),
    "Record": lambda value: Record(value, (PERSON,) * 3),
    "Record players": lambda value: Record(Deal(Rules(), 1), value),
    "Record player": lambda value: str(Record(Deal(Rules(), 1), (value,) * 3)),
    "Record remarks": lambda value: Record(Deal(Rules(), 1), (PERSON,) * 3, (), value),
    "Record.parse": Record.parse,
    "session view": SESSION.view,
    "session sight": SESSION.sight,
    "session worded": SESSION.worded,
    "session worded number": lambda value: SESSION.worded(Move(0), value),
    "session thought": lambda value: SESSION.thought(value, None),
    "session record": SESSION.record,
    "session play": lambda value: session().play(value),
    "session seat": lambda value: session().play("3", value),
    "session undo": lambda value: SESSION.undo(value),
    "session hint": lambda value: SESSION.hint(value),
    "session hint seat": lambda value: SESSION.hint("random", value),
    "session belief": lambda value: SESSION.belief("random", value),
    "replay": lambda value: Replay(SESSION.record()).go(value),
    "replay hint": lambda value: Replay(SESSION.record()).hint(value, 0),
    "replay viewer": lambda value: Replay(SESSION.record()).hint("random", value),
    "Texts": Texts,
}


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
    ("call", "error", "words"),
    [
        (lambda: Rules(bombs="no"), InvalidRulesError, "bombs='no' must be true or false"),  # type: ignore[arg-type]
        (lambda: Rules(open_hands=2), InvalidRulesError, "open_hands=2 must be true or false"),  # type: ignore[arg-type]
        (lambda: Rules(two_jokers=7), InvalidRulesError, "two_jokers=7 must be true or false"),  # type: ignore[arg-type]
        (lambda: Rules(categories=("pass",)), InvalidRulesError, "categories must have solo"),
        (lambda: Rules(categories=("pas", "solo")), InvalidRulesError, "did you mean 'pass'"),
        (lambda: Rules(categories=None), InvalidRulesError, "must be a list"),  # type: ignore[arg-type]
        (lambda: Rules(deck="all"), InvalidRulesError, "deck='all' must be a list"),  # type: ignore[arg-type]
        (lambda: Rules(deck=(5, *(4,) * 12, 1, 1)), InvalidRulesError, r"deck\[0\]=5 must be a whole number"),
        (lambda: Rules(hand_size=None), InvalidRulesError, "hand_size=None must be"),  # type: ignore[arg-type]
        (lambda: Rules(showing=True, open_hands=True), InvalidRulesError, "nothing to show"),
        (lambda: Rules(bidding="onc"), InvalidRulesError, "did you mean 'once'"),  # type: ignore[arg-type]
        (lambda: Rules(players=2, hand_size=2, bottom=1, half_deck=True), InvalidRulesError, "more than 3 cards"),
        (lambda: State.new(rules=None), InvalidRulesError, "choose from standard"),  # type: ignore[arg-type]
        (lambda: State.new(True), InvalidDealError, r"seed=True must be an integer in 0\.\.2\*\*64-1"),
        (lambda: State.from_hands("345"), InvalidDealError, "one hand a seat"),
        (lambda: SelfPlayBatch(4, seed=None), InvalidDealError, "seed=None"),  # type: ignore[arg-type]
        (lambda: SelfPlayBatch(2**60), InvalidOptionError, "num_games="),
        (lambda: SelfPlayBatch(4, mask=1), InvalidOptionError, "mask=1 must be True or False"),  # type: ignore[arg-type]
        (lambda: SelfPlayBatch(4).step([[1], [2, 3]]), InvalidMoveError, r"integers of shape \[4\]"),
        (lambda: SelfPlayBatch(4).state(4), InvalidOptionError, r"game=4 must be an integer in 0\.\.3"),
        (lambda: Hand(None), InvalidHandError, "15 counts"),  # type: ignore[arg-type]
        (lambda: Move(5.0), InvalidMoveError, "main id and kicker ranks"),  # type: ignore[arg-type]
        (lambda: Move.from_words(42, 0), InvalidMoveError, "takes 1 kickers"),
        (lambda: agent_options(["rules"]), UnknownAgentError, "no agent is called"),  # type: ignore[arg-type]
        (lambda: observe(STATE, 3), InvalidDealError, r"0\.\.2"),
    ],
)
def test_the_message_says_what_would_be_right(call: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("action", [np.array([5]), [5], True, 5.0, "5", None])
def test_an_action_that_is_no_integer_leaves_the_game_unchanged(action: Any) -> None:
    env = RAW()
    env.reset(seed=1)
    before = env.game_state()
    with pytest.raises(InvalidMoveError, match="ids run from 0 to 399"):
        env.step(action)
    assert env.game_state() == before
    wrapped = dou_dizhu_v0.env()
    wrapped.reset(seed=1)
    with pytest.raises(InvalidMoveError, match="ids run from 0 to 399"):
        wrapped.step(action)
    assert wrapped.unwrapped.game_state() == before
    gym = DouDizhuEnv()
    gym.reset(seed=1)
    with pytest.raises(InvalidMoveError, match="an action is one integer"):
        gym.step(action)


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


def test_every_rules_object_that_is_accepted_can_be_played_to_the_end() -> None:
    rng = np.random.default_rng(5)
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
        flags = (
            "half_deck",
            "two_jokers",
            "chain_from_quad",
            "bombs",
            "bombs_beat_rocket",
            "doubling",
            "open_hands",
            "showing",
        )
        options |= {name: bool(rng.integers(2)) for name in flags}
        try:
            batch = SelfPlayBatch(4, Rules(**options), seed=tried, threads=1)
        except InvalidRulesError:
            continue
        ended = np.zeros(4, bool)
        for _ in range(3000):
            batch.step(batch.sample_actions())
            ended |= batch.done
            if ended.all():
                break
        assert ended.all(), options
        played += 1


def test_presets_survive_as_plain_values() -> None:
    assert issubclass(Rules, Options)
    for rules in PRESETS.values():
        assert Rules.from_dict(rules.as_dict()) == rules


def test_checks_and_what_a_message_shows() -> None:
    assert [as_integer(value) for value in (7, np.uint64(7), np.array(7), True, np.bool_(1), 7.0, "7")] == [7] * 3 + [
        None
    ] * 4
    assert check_number("x", np.float32(0.5)) == 0.5
    for wrong in (True, "1", 10**400, float("nan"), None):
        with pytest.raises(InvalidOptionError, match="x="):
            check_number("x", wrong)
    assert check_flag("x", np.bool_(True)) is True
    assert shown(10**5000) == "a value of type int"
    assert shown(Hostile()) == "a value of type Hostile"
    assert shown(np.zeros((2, 2))) == "array([[0., 0.], [0., 0.]])"
    assert len(shown("x" * 1000)) == 120
