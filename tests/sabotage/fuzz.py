"""Wrong values at every public entry: a named error comes out, or the value was right after all; nothing changes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from ddz_env import Hand, Move, Rules, State, dou_dizhu_v0
from ddz_env.core.actions import action_name, segments_of
from ddz_env.core.cards import card_name, card_rank, cards_to_counts
from ddz_env.core.errors import DouDizhuError
from ddz_env.core.flat import openspiel_action
from ddz_env.core.notation import readings_of
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.envs.gym import DouDizhuEnv, DouDizhuVectorEnv
from ddz_env.playing.registry import agent_options, make_agent, parse_options
from tests.sabotage.outcome import Outcome
from tests.sabotage.values import value

Entry = Callable[[Any], Any]
_LARGEST = 2_000
"""Valid counts are drawn no larger: a batch of a billion games would be refused by the memory, not by us."""


def _unchanged(call: Entry, look: Callable[[], Any], renew: Callable[[], object]) -> Entry:
    """A call that must leave what one sees as it was when it refuses a value, and that begins anew after a success."""

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


def _rules() -> dict[str, Entry]:
    found: dict[str, Entry] = {
        f"Rules({field.name}=)": lambda wrong, name=field.name: Rules(**{name: wrong}) for field in fields(Rules)
    }
    for field in fields(Rules)[1:]:
        found[f"Rules.preset({field.name}=)"] = lambda wrong, name=field.name: Rules.preset("rlcard", **{name: wrong})
    return found | {"Rules.preset": Rules.preset, "Rules.replace": lambda wrong: Rules().replace(bottom=wrong)}


def _notation() -> dict[str, Entry]:
    rules = Rules()
    return {
        "Hand": Hand,
        "Hand.parse": Hand.parse,
        "Hand.from_ids": Hand.from_ids,
        "Hand.from_word": Hand.from_word,
        "Move(main)": lambda wrong: Move(wrong),
        "Move(kickers)": lambda wrong: Move(60, wrong),
        "Move.parse": Move.parse,
        "Move.parse(rules=)": lambda wrong: Move.parse("333444+56", wrong),
        "Move.from_ids": Move.from_ids,
        "Move.from_words": lambda wrong: Move.from_words(wrong, 0),
        "readings_of": lambda wrong: readings_of(wrong, rules),
        "action_name": action_name,
        "segments_of": segments_of,
        "card_rank": card_rank,
        "card_name": card_name,
        "cards_to_counts": cards_to_counts,
        "openspiel_action": openspiel_action,
    }


def _state() -> dict[str, Entry]:
    state = State.new(seed=7)
    game = state.copy()

    def renew() -> None:
        game.__setstate__(state.copy().__getstate__())

    def unchanged(call: Entry) -> Entry:
        return _unchanged(call, lambda: game.row.copy(), renew)

    return {
        "State.new(seed=)": lambda wrong: State.new(seed=wrong),
        "State.new(rules=)": lambda wrong: State.new(rules=wrong),
        "State.new(game=)": lambda wrong: State.new(game=wrong),
        "State.from_hands": lambda wrong: State.from_hands(wrong, check_sizes=False),
        "State.from_hands(hand)": lambda wrong: State.from_hands([wrong, "33", "44"], check_sizes=False),
        "State.from_hands(bottom=)": lambda wrong: State.from_hands(["55", "33", "44"], wrong, check_sizes=False),
        "State.from_hands(seed=)": lambda wrong: State.from_hands(
            ["55", "33", "44"], check_sizes=False, rules="bidding", seed=wrong
        ),
        "State.step": unchanged(game.step),
        "State.step_action": unchanged(game.step_action),
        "State.returns": lambda wrong: _over().returns(wrong),
        "State.view": state.view,
        "State.hand": state.hand,
        "State.role": state.role,
        "View.played": state.view().played,
    }


_ENDED: list[State] = []


def _over() -> State:
    if not _ENDED:
        state = State.from_hands(["3", "4", "5"], check_sizes=False)
        state.step("3")
        _ENDED.append(state)
    return _ENDED[0]


def _aec() -> dict[str, Entry]:
    game = dou_dizhu_v0.raw_env()
    game.reset(seed=3)
    step = _unchanged(game.step, lambda: game.row.copy(), lambda: game.reset(seed=3))

    return {
        **{
            f"raw_env({name}=)": lambda wrong, name=name: dou_dizhu_v0.raw_env(**{name: wrong})
            for name in ("rules", "render_mode", "scoring", "dtype", "observation_key", "mask_key", "infos")
        },
        "raw_env.reset(seed=)": lambda wrong: dou_dizhu_v0.raw_env().reset(seed=wrong),
        "raw_env.reset(options=)": lambda wrong: dou_dizhu_v0.raw_env().reset(seed=1, options=wrong),
        "raw_env.reset(hands)": lambda wrong: dou_dizhu_v0.raw_env().reset(seed=1, options={"hands": wrong}),
        "raw_env.step": step,
        "raw_env.observe": game.observe,
        "raw_env.action_space": game.action_space,
    }


def _gym() -> dict[str, Entry]:
    single = DouDizhuEnv(illegal_action="raise")
    single.reset(seed=3)

    def step(wrong: Any) -> None:
        single.step(wrong)
        single.reset(seed=3)

    return {
        **{
            f"DouDizhuEnv({name}=)": lambda wrong, name=name: DouDizhuEnv(**{name: wrong})
            for name in ("rules", "opponents", "role", "scoring", "illegal_action", "render_mode", "observation")
        },
        "DouDizhuEnv.reset(seed=)": lambda wrong: single.reset(seed=wrong),
        "DouDizhuEnv.reset(options=)": lambda wrong: single.reset(seed=3, options=wrong),
        "DouDizhuEnv.step": step,
    }


def _vector() -> dict[str, Entry]:
    games = DouDizhuVectorEnv(2, illegal_action="raise")
    games.reset(seed=3)

    def step(wrong: Any) -> None:
        games.step(wrong)
        games.reset(seed=3)

    return {
        **{
            f"DouDizhuVectorEnv({name}=)": lambda wrong, name=name: DouDizhuVectorEnv(2, **{name: wrong})
            for name in ("rules", "opponents", "role", "scoring", "autoreset_mode", "threads")
        },
        "DouDizhuVectorEnv(num_envs=)": lambda wrong: DouDizhuVectorEnv(wrong),
        "DouDizhuVectorEnv.reset(seed=)": lambda wrong: games.reset(seed=wrong),
        "DouDizhuVectorEnv.reset(options=)": lambda wrong: games.reset(seed=3, options=wrong),
        "DouDizhuVectorEnv.reset(mask)": lambda wrong: games.reset(seed=3, options={"reset_mask": wrong}),
        "DouDizhuVectorEnv.step": step,
    }


def _batch() -> dict[str, Entry]:
    batch = SelfPlayBatch(3, seed=1)
    step = _unchanged(batch.step, batch.rows.copy, lambda: batch.reset(1))

    def load(wrong: Any) -> None:
        batch.load_state_dict(wrong)
        batch.reset(1)

    def load_field(wrong: Any) -> None:
        load(batch.state_dict() | {"rows": wrong})

    return {
        "SelfPlayBatch": lambda wrong: SelfPlayBatch(wrong),
        "SelfPlayBatch(rules=)": lambda wrong: SelfPlayBatch(2, rules=wrong),
        "SelfPlayBatch(seed=)": lambda wrong: SelfPlayBatch(2, seed=wrong),
        "SelfPlayBatch(threads=)": lambda wrong: SelfPlayBatch(2, threads=wrong),
        "SelfPlayBatch(scoring=)": lambda wrong: SelfPlayBatch(2, scoring=wrong),
        "SelfPlayBatch.reset": lambda wrong: SelfPlayBatch(2).reset(wrong),
        "SelfPlayBatch.step": step,
        "SelfPlayBatch.state": batch.state,
        "SelfPlayBatch.load_state_dict": load,
        "SelfPlayBatch.load_state_dict(rows)": load_field,
    }


def _agents() -> dict[str, Entry]:
    return {
        "make_agent": make_agent,
        "make_agent(option)": lambda wrong: make_agent(f"isuct:{wrong}"),
        "make_agent(value)": lambda wrong: make_agent(f"isuct:exploration={wrong}"),
        "agent_options": agent_options,
        "parse_options": parse_options,
    }


def entries() -> Iterator[tuple[str, Entry]]:
    """Every public entry by name, as a function of the value under test."""
    for group in (_rules, _notation, _state, _aec, _gym, _vector, _batch, _agents):
        yield from group().items()


def _is_too_large(wrong: Any) -> bool:
    return isinstance(wrong, (int, np.integer)) and not isinstance(wrong, bool) and _LARGEST < wrong < 2**62


def fuzz(count: int, seed: int) -> Outcome:
    """Try values of every kind at every entry.

    Args:
        count: How many values in all, shared out evenly.
        seed: Seed of the values.
    """
    outcome = Outcome("fuzzed values", "a named error that changes nothing, or a right value", count)
    found = list(entries())
    each = -(-count // len(found))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, entry in found:
            rng = np.random.default_rng([seed, *name.encode()])
            for _ in range(each):
                _try(outcome, name, entry, value(rng))
    return outcome


def _try(outcome: Outcome, name: str, entry: Entry, wrong: Any) -> None:
    if _is_too_large(wrong):
        wrong = -wrong
    try:
        entry(wrong)
    except DouDizhuError as error:
        outcome.check(bool(str(error)), f"{name}: {type(error).__name__} says nothing")
    except Exception as error:
        outcome.fault(f"{name} with {repr(wrong)[:80]}: {type(error).__name__}: {str(error)[:120]}")
    else:
        outcome.held()
