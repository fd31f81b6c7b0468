"""Same seeds, same games: what every agent without a network plays is what the golden file says."""

from __future__ import annotations

import json

import pytest

from tests.make_fingerprints import GAMES, games
from tests.packages import ROOT

GOLDEN = ROOT / "tests" / "data" / "fingerprints.json"


def test_the_golden_file_has_every_match() -> None:
    assert sorted(json.loads(GOLDEN.read_text(encoding="utf-8"))["games"]) == sorted(GAMES)


@pytest.mark.long
@pytest.mark.parametrize("name", GAMES)
def test_the_games_are_those_of_the_golden_file(name: str) -> None:
    assert games(name) == json.loads(GOLDEN.read_text(encoding="utf-8"))["games"][name]
