"""Whoever describes the rules anew knows every field of them: the language models' prompt and OpenSpiel's bound.

A new field of :class:`~ddz_env.Rules` fails here until its row says who has to know it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ddz_env import Rules
from ddz_play.dialogue.prompt import rules_text

pytest.importorskip("pyspiel")
from ddz_env.peers.openspiel.game import return_bounds

STAKE = Rules.preset("bidding")
SMALL_PACK = {"deck": (0,) * 3 + (4,) * 9 + (0, 1, 1), "hand_size": 12, "bottom": 2}
NO_BOMBS = tuple(name for name in STAKE.categories if name not in ("bomb", "rocket"))

FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "name": ({"name": "other"}, "prompt"),
    "players": ({"players": 2, "bidding": "fixed"}, "prompt bound"),
    "deck": (SMALL_PACK, "prompt bound"),
    "hand_size": (SMALL_PACK, "prompt bound"),
    "bottom": (SMALL_PACK, "prompt bound"),
    "half_deck": ({"half_deck": True, "bidding": "fixed"}, "prompt bound"),
    "left_out_open": ({"half_deck": True, "left_out_open": True, "bidding": "fixed"}, "prompt bound"),
    "unshuffled": ({"unshuffled": True}, ""),
    "categories": ({"categories": NO_BOMBS}, "prompt bound"),
    "kicker_repeat": ({"kicker_repeat": 3}, "prompt"),
    "two_jokers": ({"two_jokers": True}, "prompt"),
    "kicker_trios": ({"kicker_trios": "merge"}, ""),  # a rule about few moves, all of which are listed
    "chain_from_quad": ({"chain_from_quad": False}, ""),  # likewise
    "bombs": ({"bombs": False}, "prompt bound"),
    "bombs_beat_rocket": ({"bombs_beat_rocket": True}, ""),  # likewise
    "bidding": ({"bidding": "robbing"}, "prompt bound"),
    "all_decline": ({"all_decline": "end"}, ""),
    "doubling": ({"doubling": True}, "prompt bound"),
    "showing": ({"showing": True}, "prompt bound"),
    "open_hands": ({"open_hands": True}, ""),  # the position shows the hands
    "ambiguous_cards": ({"ambiguous_cards": "longest"}, ""),
    "scoring": ({"scoring": "win"}, "prompt bound"),
    "spring": ({"spring": False}, "prompt bound"),
    "peasant_reward": ({"peasant_reward": 1.0, "scoring": "win"}, "prompt bound"),
}
"""A change of each field from a game for points with an auction, and who says another thing then."""


def test_every_field_has_a_row() -> None:
    assert list(FIELDS) == [field.name for field in dataclasses.fields(Rules)]


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_known_to_whoever_describes_the_rules(field: str) -> None:
    changes, known = FIELDS[field]
    rules = dataclasses.replace(STAKE, **changes)  # under the same name
    said = {"prompt": rules_text(rules) != rules_text(STAKE), "bound": return_bounds(rules) != return_bounds(STAKE)}
    assert " ".join(name for name, differs in said.items() if differs) == known
