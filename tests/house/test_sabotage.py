"""The saboteur finds nothing: a part of it here, all of it in the long suite."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ddz_env.core.errors import DouDizhuError
from tests.rooms import ROOT
from tests.sabotage import MOST_FAULTS, Outcome
from tests.sabotage import fuzz as fuzzing
from tests.sabotage.fuzz import value
from tests.sabotage.hostile import play_hostile_agents

pytest.importorskip("torch")


def test_wrong_values_at_every_entry_and_agents_that_fail_or_cheat_within_this_process() -> None:
    for outcome in (fuzzing.fuzz(2_000, seed=1), play_hostile_agents(stalling=False)):
        assert outcome.is_kept, outcome.faults


def test_values_are_of_many_kinds_and_repeatable() -> None:
    values = [value(np.random.default_rng([3, number])) for number in range(2_000)]
    assert len({type(found) for found in values}) > 40
    again = [value(np.random.default_rng([3, number])) for number in range(2_000)]
    assert [type(found).__name__ for found in values] == [type(found).__name__ for found in again]


def test_what_does_not_hold_is_counted_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(wrong: object) -> None:
        if isinstance(wrong, str):
            raise TypeError("not ours")
        if isinstance(wrong, int):
            raise DouDizhuError

    monkeypatch.setattr(fuzzing, "entries", lambda: {"careless": careless})
    outcome = fuzzing.fuzz(500, seed=1)
    assert (outcome.is_kept, outcome.tried) == (False, 500)
    assert outcome.failed > MOST_FAULTS == len(outcome.faults)
    for told in ("TypeError: not ours", "says nothing"):
        assert any(told in fault for fault in outcome.faults)
    few = Outcome("kind", "promise", needed=2)
    kept = []
    for event in (few.held, few.held, lambda: few.fault("no")):
        event()
        kept.append(few.is_kept)
    assert kept == [False, True, False]


def test_the_page_tells_of_a_run_in_which_everything_held() -> None:
    outcomes = json.loads((ROOT / "docs" / "results" / "sabotage.json").read_text())["outcomes"]
    tried = {outcome["kind"]: outcome["tried"] for outcome in outcomes}
    assert not any(outcome["failed"] or outcome["left_out"] for outcome in outcomes)
    least = {"kills (SIGKILL)": 60, "fuzzed values": 300_000, "hostile files": 100, "hostile agents": 30}
    assert all(tried[kind] >= number for kind, number in least.items())
    assert {"full disk", "read-only installation", "another user's files"} <= tried.keys()


@pytest.mark.long
def test_everything_holds(tmp_path: Path) -> None:
    import typer

    from tests.sabotage.__main__ import main

    app = typer.Typer()
    app.command()(main)
    done = CliRunner().invoke(app, ["--out", str(tmp_path / "counts.json")])
    assert done.exit_code == 0, done.output
