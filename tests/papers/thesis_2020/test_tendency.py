"""Deal tendency: algorithm 1 on games, files of deals in the arena, and what the tables count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ddz_env import Rules, State
from ddz_papers.experiments.experiment import SavedResults
from ddz_papers.thesis_2020 import tendency_experiment
from ddz_papers.thesis_2020.tendency import (
    TendencyAgents,
    count_tendencies,
    cumulative_shares,
    find_tendency,
    measure_tendencies,
)
from ddz_training.measure.duplicate import DealPlayer, Match
from ddz_training.measure.errors import InvalidArenaError
from ddz_training.measure.store import read_results
from ddz_training.measure.tendency_file import deals_of_file
from tests.training.cli.terminal import done, refused
from tests.training.measure.test_arena import record

RULES_V_RULES = TendencyAgents(("rules",), ("rules",))
"""The rule agent has no randomness, so both games of a deal are the same and every deal has a tendency."""


def test_a_deal_leans_to_the_side_that_wins_both_games() -> None:
    for first, second, leaning in (
        (True, True, "landlord"),
        (False, False, "peasants"),
        (True, False, "none"),  # one agent won both
        (False, True, "none"),  # the other did
    ):
        assert find_tendency([record(0, 0, "abb", first), record(0, 1, "baa", second)]) == leaning
    with pytest.raises(InvalidArenaError, match="two games"):
        find_tendency([record(0, 0, "abb", True)])


def test_an_agent_against_itself_finds_a_tendency_in_every_deal() -> None:
    judged = measure_tendencies(RULES_V_RULES, 12, first_deal=40)
    assert count_tendencies(judged)["none"] == 0
    assert {one.top_wins for one in judged} == {1}
    state = State.new(0, "standard", judged[3].deal)
    assert judged[3].hands == " ".join(str(state.hand(seat)) for seat in range(3))


def test_agents_are_drawn_for_each_deal_whatever_was_judged_before() -> None:
    judges = TendencyAgents(("rules", "random"), ("random", "random-staged"), seed=3)
    pairs = [judges.pair(deal) for deal in range(40)]
    assert set(pairs) == {(top, bottom) for top in judges.top for bottom in judges.bottom}
    assert [judges.pair(deal) for deal in (7, 5)] == [pairs[7], pairs[5]]
    for wrong in ({"top": ()}, {"rules": Rules.preset("bidding")}):
        with pytest.raises(InvalidArenaError):
            replace(judges, **wrong)  # type: ignore[arg-type]


def test_shares_are_those_so_far() -> None:
    leanings = ["none", "landlord", "peasants", "none"]
    assert cumulative_shares(leanings).tolist() == [[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3, [0.5, 0.25, 0.25]]


def test_the_arena_plays_the_deals_of_a_file_that_lean_as_asked(tmp_path: Path) -> None:
    path, played = tmp_path / "deals.csv", tmp_path / "games.csv"
    judges = ("--top", "rules", "--bottom", "rules", "--deals", 12)
    shown = done("study", "tendency", *judges, "--processes", 1, "--out", path)
    assert "landlord" in shown.output
    numbers = {lean: deals_of_file(path, lean, Rules(), 0) for lean in ("peasants", None)}
    assert numbers[None] == list(range(12))
    assert 3 < len(numbers["peasants"]) < 12
    assert numbers["peasants"] == [
        one.deal for one in measure_tendencies(RULES_V_RULES, 12) if one.tendency == "peasants"
    ]
    arena = ("arena", "random", "random-staged", "--deals", 3, "--processes", 1, "--no-timing")
    from_there = ("--first-deal", numbers["peasants"][0])  # that deal is played, too
    done(*arena, "--deal-file", path, "--tendency", "peasants", "--out", played, *from_there)
    _, rows = read_results(played)
    assert [int(row["deal"]) for row in rows[::2]] == numbers["peasants"][:3] != [0, 1, 2]
    plain = DealPlayer(Rules(), 0, timing=False).play(Match(numbers["peasants"][2], ("random", "random-staged")))
    assert rows[4]["winner"] == plain[0].winner


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--tendency none", "--deal-file"),
        ("--deal-file deals.csv --seed 1", "--seed 0"),
        ("--deal-file deals.csv --first-deal 3", "but none from number 3 on"),
    ],
)
def test_a_deal_file_that_does_not_fit_is_refused(
    arguments: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    measure_tendencies(RULES_V_RULES, 2, Path("deals.csv"))
    assert message in refused("arena", "random", "rules", *arguments.split())


def test_the_experiment_judges_the_same_deals_by_all_and_its_table_counts_them(tmp_path: Path) -> None:
    path = tmp_path / "tendency.csv"
    options = tendency_experiment.TendencyOptions(only=("rules v random",), deals=6, processes=1)
    saved = tendency_experiment.TENDENCY.run(options, path)
    alone = measure_tendencies(TendencyAgents(("rules",), ("random",)), 6)
    assert [one.tendency for one in saved.results] == [one.tendency for one in alone]
    leanings = ["none"] * 5 + ["landlord"] * 3 + ["peasants"] * 2
    results = [
        tendency_experiment.TendencyResult("policy v rules", deal, lean, 2) for deal, lean in enumerate(leanings)
    ]
    line = tendency_experiment.tendency_table(SavedResults(results, {}, path)).lines[1]
    assert [cell.split()[0] for cell in line[1:5]] == ["50.0", "30.0", "20.0", "40.0"]
