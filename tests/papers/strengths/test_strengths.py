"""How strong agents are: what is played, and what the columns mean."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ddz_agents.rules.agent import RulesAgent
from ddz_env import Move, Rules, View
from ddz_env.playing.registry import LEVELS
from ddz_papers.experiments import matches
from ddz_papers.experiments.experiment import SavedResults, group_by
from ddz_papers.experiments.matches import DealResult, TimedDealResult, win_gain, win_interval
from ddz_papers.strengths import agent_strengths as st
from ddz_papers.strengths.agent_strengths import POLICY_STRENGTH
from ddz_training.learn.strength import FIRST_DEAL as FIRST_DEAL_OF_TRAINING
from ddz_training.measure.duplicate import DealPlayer, Match
from ddz_training.measure.errors import SettingsMismatchError
from ddz_training.measure.statistics import wilson_interval
from tests.papers.experiments import committed

pytest.importorskip("torch")

SEARCH = "neural-ismcts:iterations=4,trees=1,batch=2"
TINY = st.StrengthOptions(only=("policy-rules", "search-policy"), deals=2, neural=SEARCH, processes=1)


def test_every_pairing_plays_the_same_deals_which_training_never_saw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No games of other weights are mixed in."""
    path, first = tmp_path / "strength.csv", st.FIRST_DEAL
    assert first > FIRST_DEAL_OF_TRAINING + 1_000_000
    results = POLICY_STRENGTH.run(TINY, path).results
    pairs = ("policy", "rules"), (SEARCH, "policy")
    assert [(one.agent, one.opponent, one.deal) for one in results] == [(*p, first + n) for p in pairs for n in (0, 1)]
    other = replace(TINY, only=("search-policy",), neural="neural-ismcts:iterations=2,trees=1,batch=2")
    assert {one.agent for one in POLICY_STRENGTH.run(other, path).results} == {other.neural}
    every = {(st.NEURAL if name.startswith("search") else "policy", *deals) for name, deals in st.PAIRINGS.items()}
    assert {(*pair, deals) for pair, deals in st.policy_pairs(st.StrengthOptions()).items()} == every
    monkeypatch.setattr(matches, "digest_file", lambda path: "0123456789abcdef")
    with pytest.raises(SettingsMismatchError):
        POLICY_STRENGTH.run(TINY, path)


ONE = TimedDealResult("policy", "random", 1, 1, 1, 4.0, 2.0, 0.5, 0.01)
RESULTS = [ONE, replace(ONE, deal=2, peasants=0, peasants_score=-2.0, ms=90.0), replace(ONE, deal=3, ms=0.7)]


def cells(results: list[TimedDealResult]) -> list[dict[str, str]]:
    """The lines of the table by the heads of its columns."""
    return [dict(zip(st.STRENGTH_HEADER, line, strict=True)) for line in st.strength_cells(results)]


def test_a_line_by_hand_and_lines_in_the_order_of_the_pairings() -> None:
    assert win_interval(RESULTS).mean == pytest.approx((1 + 0.5 + 1) / 3)
    [line] = cells(RESULTS)
    assert line["win %"] == f"83.3 ({wilson_interval(25 / 6, 5).range_text(to='–')})", "they vary as five games do"
    assert (line["landlord %"], line["peasants %"], line["score"]) == ("100.0", "66.7", "+2.33 ±1.31")
    assert (line["ms"], line["its ms"]) == ("0.70", "0.01"), "the median deal: compilation in one does not count"
    shuffled = [replace(ONE, agent=SEARCH, opponent="policy"), replace(ONE, opponent="rlcard-rule"), ONE]
    assert [line["against"] for line in cells(shuffled)] == ["`rlcard-rule`", "`random`", "`policy`"]


class RulesAsLandlord:
    """Plays well as landlord; as a peasant it passes whenever it may."""

    name = "rules as landlord"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return RulesAgent().act(view, rng) if view.role == "landlord" else view.legal_moves()[0]


def test_the_columns_are_the_sides_of_the_agent() -> None:
    """An agent that gives up as a peasant wins as landlord only; the rule agent beats random play on both sides."""
    specs = {"one-sided": f"{__name__}:RulesAsLandlord", "rules": "rules"}
    cast = matches.Pairings(lambda options: {(name, "rules"): options.deals for name in specs}, 20_000, specs)
    experiment = matches.make_deal_experiment("sides", "", matches.DealOptions, cast, {})
    sides = group_by(experiment.run(matches.DealOptions(deals=12, processes=1)).results, "agent")
    assert sum(result.peasants for result in sides["one-sided"]) == 0
    assert sum(result.landlord for result in sides["one-sided"]) >= 3
    assert all(result.landlord + result.peasants == 1 for result in sides["rules"]), "the rule agent against itself"


def test_rates_and_gains_are_means_over_deals_of_both_sides() -> None:
    def half_width(shares: list[float]) -> Any:
        return pytest.approx(1.96 * np.std(shares, ddof=1) / len(shares) ** 0.5, rel=0.01)

    wins = ((1, 1), (1, 0), (0, 0), (1, 0))
    four = [DealResult("a", "rules", deal, *won) for deal, won in enumerate(wins, 1)]
    cut = [DealResult("b", "rules", deal, 0, landed) for deal, landed in ((1, 0), (2, 1), (3, 1), (9, 1))]
    rate, gain = win_interval(four), win_gain(four, cut)  # over the deals that both have played
    assert rate.ends == pytest.approx(wilson_interval(3, 6).ends), "their shares vary as those of six games"
    assert (gain.count, gain.mean, gain.half_width) == (3, pytest.approx(1 / 6), half_width([1, 0, -0.5]))
    assert matches.side_rates(four) == ["75.0", "25.0"]


def test_a_deal_with_an_auction_is_added_up_from_its_six_games() -> None:
    player = DealPlayer(Rules.preset(st.POINTS_RULES), 0, timing=False)
    records = player.play(Match(11, ("rules", "random-staged")))
    result = st.PointsResult.from_games(records)
    own = [sum(r.stake[seat] for seat, letter in enumerate(r.seats) if letter == "a") for r in records]
    assert result.score == pytest.approx(sum(own) / 6, abs=1e-4)
    assert result.landlord + sum(record.landlord_agent == "random-staged" for record in records) == 6 - result.declined
    assert 0 <= result.won <= result.landlord
    assert result.declined == sum(not record.winner for record in records) > 0
    twice = [st.PointsResult("rules", "random-staged", deal, 1.0, 3, 2, 1, 0.0, 0.0) for deal in range(2)]
    (line,) = st.points_table(SavedResults(twice, {"seed": 0, "rules": st.POINTS_RULES, "weights": "0"})).lines
    assert (line[:2], line[3:6]) == (("`random-staged` (`rules`)", "2"), ("50.0", "66.7", "16.7"))


def test_the_levels_are_as_far_apart_as_their_committed_games_say() -> None:
    saved = committed(DealResult, "levels")
    assert {level.name: level.elo for level in LEVELS} == {n: round(elo) for n, elo in st.rate_levels(saved).items()}
    assert all(60 <= stronger.elo - weaker.elo <= 250 for weaker, stronger in pairwise(LEVELS))
    assert st.level_rates(saved)[LEVELS[0].agent, "random"].mean >= 0.85
