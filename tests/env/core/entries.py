"""Every public entry by name, as a function of the one value that is wrong or right."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from ddz_agents.bidding.hand import hand_view
from ddz_env import Hand, Move, Rules, State, dou_dizhu_v0
from ddz_env.core.actions import action_name, segments_of
from ddz_env.core.cards import card_name, card_rank, cards_to_counts
from ddz_env.core.notation import list_readings
from ddz_env.core.observation import observe
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.envs.gym import DouDizhuEnv, DouDizhuVectorEnv
from ddz_env.peers import flat_action
from ddz_env.playing.registry import list_agent_options, make_agent
from ddz_env.saved_games import PERSON, Deal, SavedGame
from ddz_env.support.errors import DouDizhuError, short_repr
from ddz_play.session import Replay, Session
from ddz_play.texts import Texts

Entry = Callable[[Any], Any]


def _options(what: str, make: Callable[..., object], names: str, **others: Any) -> dict[str, Entry]:
    """An entry for each option of a function."""
    return {f"{what}({name}=)": lambda wrong, name=name: make(**others, **{name: wrong}) for name in names.split()}


def _unchanged(call: Entry, look: Callable[[], Any], renew: Callable[[], object]) -> Entry:
    """A call that must leave what one sees as it was when it refuses a value, and that starts over after a success."""

    def entry(wrong: Any) -> None:
        before = look()
        try:
            call(wrong)
        except DouDizhuError:
            if not np.array_equal(before, look()):
                raise AssertionError("a refused value changed the game") from None
            raise
        renew()

    return entry


def _seen_after(make: Callable[[], Any], look: Callable[[Any], Any]) -> Entry:
    """The step of an environment in its first position, which a refused value leaves as it was."""
    env = make()
    env.reset(seed=3)
    return _unchanged(lambda wrong: env.step(wrong), lambda: look(env), lambda: env.reset(seed=3))


def _notation() -> dict[str, Entry]:
    rules = Rules()
    names = " ".join(field.name for field in fields(Rules))
    return {
        **_options("Rules", Rules, names),
        **_options("Rules.preset", Rules.preset, names.partition(" ")[2], name="rlcard"),
        "Rules.preset": Rules.preset,
        "Rules.from_dict": Rules.from_dict,
        "Rules.replace": lambda wrong: rules.replace(bottom=wrong),
        "Hand": Hand,
        "Hand.parse": Hand.parse,
        "Hand.from_ids": Hand.from_ids,
        "Hand.from_word": Hand.from_word,
        "Move(main)": Move,
        "Move(kickers)": lambda wrong: Move(60, wrong),
        "Move.parse": Move.parse,
        "Move.parse(rules=)": lambda wrong: Move.parse("333444+56", wrong),
        "Move.from_ids": Move.from_ids,
        "Move.from_words(main)": lambda wrong: Move.from_words(wrong, 0),
        "Move.from_words": lambda wrong: Move.from_words(wrong, wrong),
        "list_readings": lambda wrong: list_readings(wrong, rules),
        "action_name": action_name,
        "segments_of": segments_of,
        "card_rank": card_rank,
        "card_name": card_name,
        "cards_to_counts": cards_to_counts,
    }


def _state() -> dict[str, Entry]:
    state, ended = State.new(seed=7), State.from_hands(["3", "4", "5"], check_sizes=False)
    ended.step("3")
    game = state.copy()

    def unchanged(call: Entry) -> Entry:
        return _unchanged(call, game.row.copy, lambda: game.__setstate__(state.copy().__getstate__()))

    def dealt(hands: Any, bottom: Any = "", **options: Any) -> State:
        return State.from_hands(hands, bottom, **{"check_sizes": False, **options})

    hand = "33456789TJQKA22BR"
    return {
        **_options("State.new", State.new, "seed rules game"),
        "State": lambda wrong: State(wrong, Rules()),
        "State(rules=)": lambda wrong: State(state.row, wrong),
        "State.from_hands": dealt,
        "State.from_hands(hand)": lambda wrong: dealt([wrong, "33", "44"]),
        **_options("State.from_hands", dealt, "bottom check_sizes", hands=["55", "33", "44"]),
        "State.from_hands(seed=)": lambda wrong: dealt(["55", "33", "44"], rules="bidding", seed=wrong),
        "State.step": unchanged(game.step),
        "State.step_action": unchanged(game.step_action),
        "State.returns": ended.returns,
        "State.view": state.view,
        "State.hand": state.hand,
        "State.role": state.role,
        "View.played": state.view().played,
        "observe": lambda wrong: observe(state, wrong),
        "hand_view": hand_view,
        **_options("hand_view", hand_view, "rules bottom bid", hand=hand),
        "hand_view(role=)": lambda wrong: hand_view(hand, bottom="345", role=wrong),
    }


def _environments() -> dict[str, Entry]:
    raw, single, games = dou_dizhu_v0.raw_env, functools.partial(DouDizhuEnv, illegal_action="raise"), _two_games
    many = raw()
    many.reset(seed=3)
    return {
        **_options("raw_env", raw, "rules render_mode scoring dtype observation_key mask_key infos"),
        "env(illegal_reward=)": lambda wrong: dou_dizhu_v0.env(illegal_reward=wrong),
        "raw_env.reset(seed=)": lambda wrong: raw().reset(seed=wrong),
        "raw_env.reset(options=)": lambda wrong: raw().reset(seed=1, options=wrong),
        "raw_env.reset(hands)": lambda wrong: raw().reset(seed=1, options={"hands": wrong}),
        "raw_env.reset(deal)": lambda wrong: raw().reset(seed=1, options={"deal": wrong}),
        "raw_env.step": _seen_after(raw, lambda env: env.row.copy()),
        "env.step": _seen_after(dou_dizhu_v0.env, lambda env: env.unwrapped.row.copy()),
        "raw_env.observe": many.observe,
        "raw_env.action_space": many.action_space,
        "FlatActionWrapper": flat_action.FlatActionWrapper,
        **_options("DouDizhuEnv", DouDizhuEnv, "rules opponents role scoring illegal_action render_mode"),
        **_options("DouDizhuEnv", DouDizhuEnv, "observation infos"),
        "DouDizhuEnv.reset(seed=)": lambda wrong: single().reset(seed=wrong),
        "DouDizhuEnv.reset(options=)": lambda wrong: single().reset(seed=3, options=wrong),
        "DouDizhuEnv.step": _seen_after(single, lambda env: env.action_masks()),
        **_options("DouDizhuVectorEnv", games, "rules opponents role scoring autoreset_mode threads copy"),
        "DouDizhuVectorEnv(num_envs=)": lambda wrong: DouDizhuVectorEnv(wrong),
        "DouDizhuVectorEnv.reset(seed=)": lambda wrong: games().reset(seed=wrong),
        "DouDizhuVectorEnv.reset(seeds)": lambda wrong: games().reset(seed=[wrong, wrong]),
        "DouDizhuVectorEnv.reset(options=)": lambda wrong: games().reset(seed=3, options=wrong),
        "DouDizhuVectorEnv.reset(mask)": lambda wrong: games().reset(seed=3, options={"reset_mask": wrong}),
        "DouDizhuVectorEnv.step": _seen_after(games, lambda env: env.action_masks().copy()),
    }


def _two_games(**options: Any) -> DouDizhuVectorEnv:
    return DouDizhuVectorEnv(2, **{"illegal_action": "raise", **options})


def _batch() -> dict[str, Entry]:
    batch, batches = SelfPlayBatch(3, seed=1), functools.partial(SelfPlayBatch, num_games=2)

    def load(wrong: Any) -> None:
        batch.load_state_dict(wrong)
        batch.reset(1)

    return {
        "SelfPlayBatch": lambda wrong: SelfPlayBatch(wrong),
        **_options("SelfPlayBatch", batches, "rules seed threads scoring observation mask concealed"),
        "SelfPlayBatch.reset": lambda wrong: SelfPlayBatch(2).reset(wrong),
        "SelfPlayBatch.step": _unchanged(batch.step, batch.rows.copy, lambda: batch.reset(1)),
        "SelfPlayBatch.step(actions)": lambda wrong: SelfPlayBatch(2).step([wrong, wrong]),
        "SelfPlayBatch.state": batch.state,
        "SelfPlayBatch.load_state_dict": load,
        "SelfPlayBatch.load_state_dict(rows)": lambda wrong: load(batch.state_dict() | {"rows": wrong}),
    }


def _agents() -> dict[str, Entry]:
    def written(wrong: Any) -> str:
        return wrong[:1000] if isinstance(wrong, str) else short_repr(wrong)

    return {
        "make_agent": make_agent,
        "make_agent(option)": lambda wrong: make_agent(f"isuct:{written(wrong)}"),
        "make_agent(value)": lambda wrong: make_agent(f"isuct:exploration={written(wrong)}"),
        "list_agent_options": list_agent_options,
    }


def session() -> Session:
    """A game of three people that has just been dealt."""
    return Session(SavedGame(Deal(Rules(), 1), (PERSON,) * 3))


def _table() -> dict[str, Entry]:
    own, seen = Hand.parse("3344567TJQQKA22BR"), session()
    return {
        "Deal(seed=)": lambda wrong: Deal(Rules(), wrong),
        "Deal.from_one_hand(seat)": lambda wrong: Deal.from_one_hand(Rules(), wrong, own, Hand.parse("359")),
        "SavedGame.parse": SavedGame.parse,
        "Session.view": seen.view,
        "Session.seat_view": seen.seat_view,
        "Session.play": lambda wrong: session().play(wrong),
        "Session.play(seat)": lambda wrong: session().play("3", wrong),
        "Session.undo": seen.undo,
        "Session.hint": seen.hint,
        "Session.hint(seat)": lambda wrong: seen.hint("random", wrong),
        "Session.next_deal": seen.next_deal,
        "Session.infer_belief": lambda wrong: seen.infer_belief("random", wrong),
        "Replay.go_to": lambda wrong: Replay(seen.to_saved_game()).go_to(wrong),
        "Replay.hint": lambda wrong: Replay(seen.to_saved_game()).hint(wrong),
        "Texts": Texts,
    }


def entries() -> dict[str, Entry]:
    """All entries; what some of them act on is made for this call."""
    return {**_notation(), **_state(), **_environments(), **_batch(), **_agents(), **_table()}
