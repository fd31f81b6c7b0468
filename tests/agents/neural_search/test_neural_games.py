"""What the critic reads: every hand and the table, and nothing of how the game came there."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ddz_agents.neural.decisions import describe_games
from ddz_agents.neural.feature_table import GAME_COLUMNS
from ddz_agents.neural.features import PLANES, PROSPECTS, price_against_pool, value_hand
from ddz_agents.rules.workspace import new_rule_workspace
from ddz_env import Rules, State
from ddz_env.core.engine.layout import CHOSEN, HANDS, PENDING
from ddz_env.core.engine.step import body_cards
from ddz_env.core.engine.words import add_hand, remove_hand
from ddz_env.core.notation import word_to_counts
from ddz_env.core.observation import CONCEALED, OBSERVATION, observe
from ddz_env.envs.batch import SelfPlayBatch
from tests.agents.neural.test_networks import concealed_of
from tests.oracles.columns_reference import prospects

SIZES = ("cards_left_self", "cards_left_next", "cards_left_previous")
TABLE = ("bombs", "highest_bid", "passes", "target_key", "target", *SIZES)
"""What the table in the module's docstring names, besides the fields of the half-built move and of the tail."""
HALF_BUILT = ("pending_body", "kickers_left", "kickers", "kicker_size")
TAIL = ("role", "stage", "to_act", "doubles", "over")
READ = {"hand", *TABLE, *HALF_BUILT, *TAIL}

FIRST_HAND = 3 + 2 * 16 + 16 + 16
"""Columns before the hands: bombs, highest bid, passes, the half-built move, the tail and the undealt cards."""


def played(rules: str = "bidding", steps: int = 40, games: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Observations and concealed cards of random games at many stages."""
    batch = SelfPlayBatch(games, rules, seed=4, threads=1, concealed=True)
    seen, hidden = [], []
    for _ in range(steps):
        batch.step(batch.sample_actions())
        seen.append(batch.observation.copy())
        hidden.append(batch.concealed.copy())
    return np.concatenate(seen), np.concatenate(hidden)


def scrambled(observations: np.ndarray, names: set[str]) -> np.ndarray:
    rng, found = np.random.default_rng(0), observations.copy()
    for feature in OBSERVATION.features:
        if feature.name in names:
            first = OBSERVATION.offsets[feature.name]
            highs = np.array(feature.highs)
            field = found[:, first : first + feature.size]
            field[:] = (field + rng.integers(1, highs + 1, field.shape)) % (highs + 1)  # never the value that it had
    return found


def test_neither_history_nor_anything_else_that_the_table_does_not_show_is_read() -> None:
    observations, hidden = played()
    others = {feature.name for feature in OBSERVATION.features} - READ
    assert {"move_1", "actor_15", "last_self", "played_next", "unseen"} <= others
    columns = describe_games(observations, hidden)
    assert columns.shape == (len(observations), GAME_COLUMNS)
    assert (describe_games(scrambled(observations, others), hidden) == columns).all()


@pytest.mark.parametrize("name", sorted(READ - {"hand", "pending_body", "kickers"}))  # hands must stay hands
def test_every_field_of_the_table_is_read(name: str) -> None:
    observations, hidden = played(steps=3)
    changed = describe_games(scrambled(observations, {name}), hidden) != describe_games(observations, hidden)
    assert changed.any(axis=1).all()


def test_the_cards_that_nobody_holds_are_read_and_the_last_column_says_whether_the_rule_agent_plays() -> None:
    observations, hidden = played(steps=3)
    other, flags = hidden.copy(), np.arange(len(observations)) % 3 == 0
    other[:, CONCEALED.offsets["undealt"]] += 1
    plain, told = describe_games(observations, hidden), describe_games(observations, hidden, flags)
    assert (describe_games(observations, other) != plain).any(axis=1).all()
    assert (told[:, :-1] == plain[:, :-1]).all()
    assert (plain[:, -1] == 0).all()
    assert (told[:, -1] == flags).all()


def prospects_among(hand: np.uint64, one: np.uint64, other: np.uint64) -> np.ndarray:
    workspace = new_rule_workspace()
    most = max(int(one).bit_count(), int(other).bit_count())
    price_against_pool(np.uint64(add_hand(one, other)), np.uint64(most), Rules().words(), workspace)
    return prospects(np.array(value_hand(hand, workspace)))


@pytest.mark.parametrize("rules", ["standard", "mini"])
def test_hands_are_shown_from_the_seat_to_act_on_with_their_prospects_among_the_others(rules: str) -> None:
    rng, kickers, auction = np.random.default_rng(1), 0, dataclasses.replace(Rules.preset("bidding"), doubling=True)
    for game in range(6):
        state = State.new(3, auction if rules == "standard" else rules, game)
        while not state.is_over:
            hands = [np.uint64(0)] * 3
            for turns in range(state.rules.players):
                hands[turns] = state.row[HANDS + (state.seat + turns) % state.rules.players]
            if state.stage == "kicker":  # what the move has taken is on the table
                kickers += 1
                taken = add_hand(np.uint64(body_cards(state.row[PENDING])), state.row[CHOSEN])
                hands[0] = np.uint64(remove_hand(hands[0], np.uint64(taken)))
            columns = describe_games(observe(state)[None], concealed_of(state)[None])[0, FIRST_HAND:]
            for place, hand in enumerate(hands):
                shown = columns[place * (PLANES + PROSPECTS) :][: PLANES + PROSPECTS]
                assert shown[:PLANES].reshape(15, 4).sum(1).tolist() == list(word_to_counts(int(hand)))
                expected = prospects_among(hand, *(other for turn, other in enumerate(hands) if turn != place))
                assert shown[PLANES:].tolist() == expected.tolist()
            state.step_action(int(rng.choice(state.legal_actions())))
    assert kickers > 0 or rules == "mini"
