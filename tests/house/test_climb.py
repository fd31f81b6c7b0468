"""The loop in which the shipped policy climbs: what is judged, what ships, and what is written of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.weights import load_weights
from ddz_training.measure.provenance import digest_file
from ddz_training.measure.statistics import Interval
from tools import climb
from tools.climb import Judgement, Rival, judge

RIVALS = (Rival("policy", 4), Rival("rules", 2, binding=False), Rival("random", 2))


def judged(agent: str, low: float, high: float, *, binding: bool = True) -> Judgement:
    gain = Interval((low + high) / 2, low, high, 10)
    return Judgement(Rival(agent, 10, binding), Interval(0.5 + gain.mean, 0.5 + low, 0.5 + high, 10), gain)


@pytest.mark.parametrize(
    ("judgement", "passes"),
    [
        (judged("policy", 0.001, 0.02), True),
        (judged("policy", -0.001, 0.02), False),
        (judged("rlcard-rule", -0.02, 0.001), True),
        (judged("rlcard-rule", -0.02, -0.001), False),
        (judged("rules", -0.02, -0.01, binding=False), True),
    ],
)
def test_who_is_better_and_nowhere_worse_ships(judgement: Judgement, passes: bool) -> None:
    assert judgement.passed is passes


def test_the_shipped_policy_is_its_own_equal_and_games_are_not_played_twice(tmp_path: Path) -> None:
    shipped, told = shipped_policy_path(), list[tuple[int, int]]()
    found = judge(shipped, tmp_path, RIVALS, on_progress=lambda *done: told.append(done))
    assert [one.gain.mean for one in found] == [0.0, 0.0, 0.0]
    assert found[0].wins.mean == 0.5
    assert not found[0].passed
    assert told[-1] == (12, 12)
    before = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert judge(shipped, tmp_path, RIVALS) == found
    assert {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == before


def test_shipping_adds_a_policy_with_the_next_number_and_cuts_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, shipped = tmp_path / "policy-v7.safetensors", shipped_policy_path()
    place.write_bytes(shipped.read_bytes())
    monkeypatch.setattr(climb, "shipped_policy_path", lambda: place)
    monkeypatch.setattr(climb, "NEWEST", "policy-v7")
    assert digest_file(shipped) in climb.ship(shipped)
    whole, before, after = map(load_weights, (shipped, place, tmp_path / "policy-v8.safetensors"))
    assert before.critic is None
    assert after.critic is not None
    for weights in (before, after):
        assert climb.same_choices(whole, weights) >= climb.SAME_CHOICES
    other = replace(whole, policy={name: -array for name, array in whole.policy.items()})
    assert climb.same_choices(whole, other) < climb.SAME_CHOICES
