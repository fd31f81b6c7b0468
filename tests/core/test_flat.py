"""The flat action spaces are the peers' own, id by id."""

from __future__ import annotations

from collections import Counter

import pytest

from ddz_env.core.actions import CATEGORIES, MAIN_GROUPS
from ddz_env.core.cards import RANK_NAMES
from ddz_env.core.flat import (
    OPENSPIEL_BIDS,
    FlatAction,
    openspiel_actions,
    openspiel_ids,
    rlcard_actions,
)
from ddz_env.core.notation import Move
from tests.oracles.reference import cards_of


def sorted_cards(action: FlatAction) -> str:
    """All cards of an action as RLCard writes them: sorted by rank."""
    return "".join(RANK_NAMES[rank] * count for rank, count in enumerate(cards_of(action))) or "pass"


def openspiel_text(action: FlatAction) -> str:
    """An action as OpenSpiel writes it: the kickers of planes behind a dash, other cards sorted, jokers in words."""
    move = Move(*action)
    if move.is_pass:
        return "Pass"
    plane = move.category.startswith("plane+")
    text = str(move).replace("+", "-") if plane else sorted_cards(action)
    return text.replace("B", "(BWJ)").replace("R", "(CJ)")


def category(action: FlatAction) -> str:
    return CATEGORIES[MAIN_GROUPS[action[0]].category].name


def test_rlcard_has_as_many_actions_as_the_design_counts() -> None:
    counts = [15, 13, 13, 182, 156, 36, 52, 45, 21_822, 2_939, 1_326, 858, 13, 1, 1]
    assert list(Counter(map(category, rlcard_actions())).values()) == counts
    assert len(set(rlcard_actions())) == 27_472


def test_rlcard_table_is_the_same() -> None:
    table = pytest.importorskip("rlcard.games.doudizhu.utils").ID_2_ACTION
    assert [sorted_cards(action) for action in rlcard_actions()] == table


def test_openspiel_strings_are_the_same() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game("dou_dizhu")
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    assert game.num_distinct_actions() == len(openspiel_actions()) + OPENSPIEL_BIDS
    theirs = [state.action_to_string(0, action_id) for action_id in openspiel_ids().values()]
    assert [openspiel_text(action) for action in openspiel_actions()] == theirs
