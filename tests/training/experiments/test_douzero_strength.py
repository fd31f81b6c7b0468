"""The policy for DouZero's rules: the file by its name, and the experiment that says what it wins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ddz_agents.neural.shipped import policy_path, shipped_douzero_path
from ddz_agents.neural.stored_policy import read_policy
from ddz_env import Rules
from ddz_env.core.errors import UnknownAgentError
from ddz_training.experiments.strengths import (
    DOUZERO_HEADER,
    DOUZERO_OPPONENTS,
    DOUZERO_STRENGTH,
    DouzeroOptions,
    douzero_table,
)
from ddz_training.measure.match.duplicate import DealPlayer
from ddz_training.measure.match.errors import SettingsMismatchError

TINY = DouzeroOptions(opponent=("rules",), deals=2, processes=1)


def test_the_policy_for_douzero_was_trained_under_its_rules() -> None:
    assert policy_path("douzero") == shipped_douzero_path()
    stored = read_policy(shipped_douzero_path())
    assert (stored.rules, stored.objective) == ("douzero", "win")


def test_both_policies_play_the_same_deals_under_douzeros_rules() -> None:
    """And by hand on the same deals: who won, and what was at stake."""
    results = DOUZERO_STRENGTH.run(TINY).results
    agents = "policy:path=douzero", "policy"
    assert [(result.agent, result.deal) for result in results] == [
        (agent, 8_000_000 + deal) for agent in agents for deal in (0, 1)
    ]
    player = DealPlayer(Rules.preset("douzero"), 0)
    for result in results:
        landlord, peasants = player.play(result.deal, (result.agent, "rules"))
        assert (result.landlord, result.peasants) == (landlord.winner == "landlord", peasants.winner == "peasants")
        assert (result.landlord_score, result.peasants_score) == (landlord.stake[0], -peasants.stake[0])


def test_a_policy_does_not_play_itself() -> None:
    played = {
        (result.agent, result.opponent)
        for result in DOUZERO_STRENGTH.run(replace(TINY, opponent=None, deals=1)).results
    }
    agents = "policy:path=douzero", "policy"
    assert played == {(agent, opponent) for opponent in DOUZERO_OPPONENTS for agent in agents} - {("policy", "policy")}


def test_a_run_is_saved_resumed_and_told(tmp_path: Path) -> None:
    path = tmp_path / "douzero.csv"
    whole = DOUZERO_STRENGTH.run(TINY, path)
    assert DOUZERO_STRENGTH.run(replace(TINY, deals=1), path).results == whole.results[::2]
    with pytest.raises(SettingsMismatchError):
        DOUZERO_STRENGTH.run(replace(TINY, seed=1), path)
    table = douzero_table(whole)
    assert [len(line) for line in table.lines] == 2 * [len(DOUZERO_HEADER)]
    by_agent = {line[0]: dict(zip(DOUZERO_HEADER, line, strict=True)) for line in table.lines}
    assert by_agent["`policy`"]["over the policy"] == ""
    assert "to" in by_agent["`policy:path=douzero`"]["over the policy"]
    assert "rules `douzero`" in table.note


def test_an_unknown_opponent_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    with pytest.raises(UnknownAgentError):
        DOUZERO_STRENGTH.run(replace(TINY, opponent=("nobody",)), tmp_path / "douzero.csv")
    assert not list(tmp_path.iterdir())
