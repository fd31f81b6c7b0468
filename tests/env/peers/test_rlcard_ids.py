"""The flat action space of RLCard is its own, id by id."""

from __future__ import annotations

from collections import Counter

import pytest

from ddz_env.core.actions import CATEGORIES, MAIN_GROUPS
from ddz_env.core.cards import RANK_NAMES
from ddz_env.peers.rlcard_ids import FlatAction, rlcard_actions
from tests.oracles.reference import cards_of


def category(action: FlatAction) -> str:
    return CATEGORIES[MAIN_GROUPS[action[0]].category].name


def test_there_are_as_many_actions_as_the_design_counts() -> None:
    counts = [15, 13, 13, 182, 156, 36, 52, 45, 21_822, 2_939, 1_326, 858, 13, 1, 1]
    assert list(Counter(map(category, rlcard_actions())).values()) == counts
    assert len(set(rlcard_actions())) == 27_472


def test_the_table_is_the_same() -> None:
    def sorted_cards(action: FlatAction) -> str:
        return "".join(RANK_NAMES[rank] * count for rank, count in enumerate(cards_of(action))) or "pass"

    table = pytest.importorskip("rlcard.games.doudizhu.utils").ID_2_ACTION
    assert [sorted_cards(action) for action in rlcard_actions()] == table
