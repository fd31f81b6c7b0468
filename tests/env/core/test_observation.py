"""The layout tables, and what the vectors hold: against the facade, and against permuted hidden cards."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ddz_env import PRESETS, State, View, dou_dizhu_v0
from ddz_env.core.actions import BID_BASE, MAIN_GROUPS
from ddz_env.core.engine.layout import BOMBS_ONLY, CHOSEN, KEY, LEFT, PENDING, TARGET
from ddz_env.core.notation import word_to_counts
from ddz_env.core.observation import (
    CONCEALED,
    CONCEALED_WORDS,
    HISTORY,
    OBSERVATION,
    STATE,
    Layout,
    action_mask,
    full_state,
    observe,
    write_concealed,
)
from ddz_env.core.view import ROLES
from ddz_env.envs.gym import DouDizhuEnv, DouDizhuVectorEnv
from ddz_env.envs.stepping import INFO_WIDTH, write_info
from ddz_env.saved_games import SavedGame
from tests.hidden import Scripted, permuted, twin_games

LAYOUTS = {"observation": OBSERVATION, "state": STATE, "concealed": CONCEALED}
RULES = [
    *PRESETS.values(),
    PRESETS["bidding"].replace(name="doubling", doubling=True),
    PRESETS["robbing"].replace(name="showing", doubling=True, showing=True),
]


def positions(rules: object, games: int, seed: int = 11) -> Iterator[State]:
    """Every position of some random games, the finished ones included."""
    for game in range(games):
        state = State.new(seed, rules, game)  # type: ignore[arg-type]
        rng = np.random.default_rng(game)
        yield state
        while not state.is_over:
            state.step_action(int(rng.choice(state.legal_actions())))
            yield state


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_layout_is_contiguous_and_documented(layout: Layout) -> None:
    names = [feature.name for feature in layout.features]
    assert len(set(names)) == len(names)
    place = 0
    for feature in layout.features:
        assert layout.offsets[feature.name] == place
        place += feature.size
        assert len(feature.highs) == feature.size
        assert feature.low < min(feature.highs)
        assert max(feature.highs) <= 127
        assert feature.description
    assert place == layout.size == len(layout.low) == len(layout.high) <= 1024
    assert list(layout.split(np.zeros((2, layout.size), np.int8))) == names
    assert [row[1] for row in layout.table_rows()] == names


def expected(view: View, state: State) -> dict[str, list[int]]:
    """The observation, slowly, from the facade."""
    players, seat = view.rules.players, view.seat
    relative = [(seat + turns) % players if turns < players else None for turns in range(3)]
    zero = [0] * 15
    fields: dict[str, list[int]] = {
        "hand": list(view.hand.counts),
        "unseen": list(view.unseen.counts),
        "unseen_cards": [len(view.unseen)],
        "landlord_cards": list(view.landlord_cards.counts),
        "landlord_cards_held": list(view.known_cards.counts),
        "highest_bid": [min(view.highest_bid + view.robs, 3)],
        "passes": [view.passes],
        "over": [int(view.stage == "over")],
    }
    names = ("self", "next", "previous")
    bids, doubles = int(view.row[20]), int(view.row[21])
    in_play = [(s, m) for s, m in view.history if m.main < BID_BASE]
    fields["doubles"] = [0 if s is None else (doubles >> (2 * s)) & 3 for s in relative]
    fields["to_act"] = [int(s == view.acting_seat and view.stage != "over") for s in relative]
    for name, s in zip(names, relative, strict=True):
        own = [m for t, m in in_play if t == s]
        fields[f"bid_{name}"] = [0 if s is None else (bids >> (4 * s)) & 15]
        fields[f"played_{name}"] = zero if s is None else list(view.played(s).counts)
        fields[f"cards_left_{name}"] = [0 if s is None else view.hand_sizes[s]]
        fields[f"last_{name}"] = list(own[-1].cards.counts) if own else zero
        fields[f"last_kind_{name}"] = [(1 if own[-1].is_pass else 2) if own else 0]
        if name != "self":
            opened = view.rules.open_hands and s is not None
            fields[f"hand_{name}"] = list(state.hand(s).counts) if opened else zero
    fields["target"] = list(view.target[1].cards.counts) if view.target else zero
    target = int(view.row[TARGET])
    body = target not in (0, BOMBS_ONLY)
    fields["target_body"] = list(MAIN_GROUPS[target].need) if body else zero
    fields["target_key"] = [int(view.row[KEY]) + 1 if target else 0]
    pending = int(view.row[PENDING])
    fields["pending_body"] = list(MAIN_GROUPS[pending].need) if pending else zero
    fields["kickers_left"] = [int(view.row[LEFT]) if pending else 0]
    fields["kickers"] = list(word_to_counts(int(view.row[CHOSEN]))) if pending else zero
    fields["kicker_size"] = [MAIN_GROUPS[pending].kicker_size if pending else 0]
    fields["role"] = [int(view.role == role) for role in ROLES] + [int(view.role is None)]
    stage = {"play": "lead" if view.on_lead else "follow"}.get(view.stage, view.stage)
    fields["stage"] = [int(stage == name) for name in ("lead", "follow", "kicker", "bid", "double")]
    for ago in range(1, HISTORY + 1):
        known = ago <= len(view.history)
        actor, move = view.history[-ago] if known else (0, None)
        turns = relative.index(actor) if known else 0
        fields[f"move_{ago}"] = list(move.cards.counts) if move else zero
        fields[f"actor_{ago}"] = [0 if move is None else 1 + turns + (3 if move.main >= BID_BASE else 0)]
    return fields


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: rules.name)
def test_observation_equals_the_facade(rules: object) -> None:
    for number, state in enumerate(positions(rules, games=6)):
        for seat in range(state.rules.players) if number % 5 == 0 or state.is_over else (state.seat,):
            view = state.view(seat)
            vector = observe(state, seat)
            parts = {name: part.tolist() for name, part in OBSERVATION.split(vector).items()}
            wanted = expected(view, state)
            wanted["bombs"] = parts["bombs"]  # checked below: the view has only the stake
            assert parts == wanted
            assert view.stake == max(view.highest_bid, 1) << (parts["bombs"][0] + view.robs + view.is_shown)
            said = [parts[f"bid_{name}"][0] for name in ("self", "next", "previous")]
            if view.rules.bidding == "robbing":  # the answers of the seats show how often the place was robbed
                assert view.robs == sum(code >= 3 for code in said)
            if view.is_shown and view.landlord != seat:
                assert view.known_cards == state.hand(view.landlord)
            assert (vector == observe(view)).all()
            assert vector.dtype == np.int8
            assert (vector >= OBSERVATION.low).all()
            assert (vector <= OBSERVATION.high).all()


def test_a_view_is_observed_by_its_own_seat() -> None:
    with pytest.raises(ValueError, match="view of seat 0"):
        observe(State.new(1).view(0), 1)


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: rules.name)
def test_mask_state_and_concealed(rules: object) -> None:
    for state in positions(rules, games=3):
        mask = action_mask(state)
        assert np.flatnonzero(mask).tolist() == state.legal_actions()
        assert set(np.unique(mask)) <= {0, 1}
        vector = full_state(state)
        assert (vector >= STATE.low).all()
        assert (vector <= STATE.high).all()
        parts = STATE.split(vector)
        for seat in range(state.rules.players):
            assert parts[f"hand_{seat}"].tolist() == list(state.hand(seat).counts)
            assert parts[f"cards_left_{seat}"][0] == len(state.hand(seat))
        assert parts["seat"].tolist() == [int(not state.is_over and s == state.seat) for s in range(3)]
        # Observation and concealed cards are the whole pack.
        out = np.zeros(CONCEALED_WORDS, np.uint64)
        write_concealed(state.row, state.rule_words, np.uint64(state.seat), out)
        concealed = CONCEALED.split(out.view(np.int8))
        hidden = sum(concealed[name].astype(int) for name in ("hand_next", "hand_previous", "undealt"))
        if not state.rules.open_hands:
            assert hidden.tolist() == OBSERVATION.split(observe(state))["unseen"].tolist()
        cards = [v for name, v in OBSERVATION.split(observe(state)).items() if name.startswith("played_")]
        everything = hidden + sum(card.astype(int) for card in cards) + np.array(state.hand().counts)
        assert (everything + state.view().left_out.counts).tolist() == list(state.rules.deck)


def told(state: State, seat: int) -> list[int]:
    out = np.zeros(INFO_WIDTH, np.int64)
    write_info(state.row, state.ring, state.rule_words, np.uint64(seat), out)
    return out.tolist()


@pytest.mark.parametrize("rules", [r for r in RULES if not r.open_hands], ids=lambda rules: rules.name)
def test_hidden_cards_change_nothing_that_a_seat_sees(rules: object) -> None:
    rng = np.random.default_rng(3)
    changed = 0
    for state in positions(rules, games=4):
        if state.is_over:
            continue
        for seat in range(state.rules.players):
            twin = permuted(state, seat, rng)
            changed += int((full_state(twin) != full_state(state)).any())
            assert (observe(twin, seat) == observe(state, seat)).all()
            assert (twin.view(seat).row == state.view(seat).row).all()
            assert told(twin, seat) == told(state, seat)
            if seat == state.seat:
                assert (action_mask(twin) == action_mask(state)).all()
    assert changed > 20


def told_by_aec(record: SavedGame, seat: int, infos: str) -> list[Any]:
    """What a seat gets from the environment of many agents, before each half of each move, and at the end."""
    env = dou_dizhu_v0.raw_env(rules=record.deal.rules, infos=infos)
    env.reset(seed=0, options={"deal": record.deal.state()})
    agent = env.possible_agents[seat]
    told = []
    for action in [*(action for _, move in record.moves for action in move.actions), None]:
        told.append(copy.deepcopy((env.observe(agent), env.infos[agent], env.agent_selection, env.rewards)))
        if action is not None:
            env.step(action)
    return told


def told_by_gymnasium(record: SavedGame, seat: int, infos: str, games: int) -> list[Any]:
    """What a learner gets from the environment of one, or of several, when it is to decide, and at the end."""
    Scripted.moves = [move for _, move in record.moves]
    options: dict[str, Any] = {"opponents": Scripted(), "role": ROLES[seat], "infos": infos}
    rules = record.deal.rules
    env: Any = DouDizhuVectorEnv(games, rules, **options) if games else DouDizhuEnv(rules, **options)
    told = [env.reset(seed=0, options={"deal": record.deal.state()})]
    for action in (action for mover, move in record.moves if mover == seat for action in move.actions):
        told.append(copy.deepcopy(env.step([action] * games if games else action)))
    return told


@pytest.mark.parametrize("infos", ["numbers", "text"])
@pytest.mark.parametrize("rules", ["standard", "bidding,doubling=true", "half-deck", "half-deck-open", "mini"])
def test_hidden_cards_change_nothing_that_an_environment_tells(rules: str, infos: str) -> None:
    for seat in range(PRESETS[rules.partition(",")[0]].players):
        one, other = twin_games(rules, seat)
        assert one.deal.hands != other.deal.hands
        told = told_by_aec(one, seat, infos)
        assert len(told) > len(one.moves)
        np.testing.assert_equal(told, told_by_aec(other, seat, infos))
        for games in (0, 2) if one.deal.rules.bidding == "fixed" else ():
            told = told_by_gymnasium(one, seat, infos, games)
            assert len(told) > 3
            np.testing.assert_equal(told, told_by_gymnasium(other, seat, infos, games))
