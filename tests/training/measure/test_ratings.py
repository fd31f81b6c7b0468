"""Ratings: the model's fit against a library's, its intervals and the schedule by simulation, and the tables."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from ddz_training.measure.duplicate import GameResult
from ddz_training.measure.league import (
    Pair,
    find_decided_pairs,
    list_pairs,
    make_cross_table,
    make_ratings_table,
    plan_next_round,
)
from ddz_training.measure.ratings import ELO, fisher_information, fit_logistic, rate_agents
from ddz_training.measure.statistics import Interval
from ddz_training.measure.summaries import balanced_win_share, group_by_pair
from tests.training.measure.test_arena import record


def played(pair: Pair, deal: int, game: int, landlord_won: bool) -> GameResult:
    seats = "abb" if game == 0 else "baa"
    found = record(deal, game, seats, landlord_won)
    return dataclasses.replace(found, a=pair[0], b=pair[1], landlord_agent=pair["ab".index(seats[0])])


def league(
    landlords: Mapping[str, float],
    peasants: Mapping[str, float],
    plan: Mapping[Pair, range],
    rng: np.random.Generator,
    advantage: float = 0.0,
) -> list[GameResult]:
    """Games of agents with known strengths (log odds)."""
    return [
        played(pair, deal, game, bool(rng.random() < 1 / (1 + np.exp(peasants[other] - landlords[own] - advantage))))
        for pair, deals in plan.items()
        for deal in deals
        for game, (own, other) in enumerate((pair, pair[::-1]))
    ]


def everybody(labels: Sequence[str], deals: int) -> dict[Pair, range]:
    return {pair: range(deals) for pair in list_pairs(labels)}


def differences(pairs: Sequence[Sequence[int]]) -> np.ndarray:
    """One line per pair of five agents: one for the first, minus one for the second."""
    one, other = np.transpose(pairs)
    return np.eye(5)[one] - np.eye(5)[other]


STRENGTHS = {"a": 0.6, "b": 0.0, "c": -0.6}


def test_the_fit_is_that_of_a_library() -> None:
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(0)
    pairs = list(itertools.combinations(range(5), 2))
    games = rng.integers(20, 60, len(pairs)).astype(float)
    won = rng.binomial(games.astype(int), 0.6).astype(float)
    (ours,) = fit_logistic(differences(pairs), games[None], won[None], np.ones((1, 5)))
    results = np.zeros((5, 5))
    for (one, other), count, wins in zip(pairs, games, won, strict=True):
        results[one, other], results[other, one] = wins, count - wins
    assert ours == pytest.approx(choix.ilsr_pairwise_dense(results), abs=1e-5)
    assert ours.sum() == pytest.approx(0, abs=1e-9)


def test_roles_are_found_apart_from_each_other() -> None:
    landlords, peasants = {"a": 0.8, "b": -0.4, "c": -0.4}, {"a": 0.0, "b": 0.5, "c": -0.5}
    games = league(landlords, peasants, everybody("abc", 2000), np.random.default_rng(1), advantage=-0.3)
    ratings, advantage = rate_agents(games, replicates=50)
    assert advantage.mean == pytest.approx(-0.3 * ELO, abs=15)
    for rating in ratings:
        assert rating.landlord.mean == pytest.approx(ELO * landlords[rating.agent], abs=20)
        assert rating.peasants.mean == pytest.approx(ELO * peasants[rating.agent], abs=20)
        assert (rating.deals, rating.games) == (2000, 8000)


def test_intervals_of_ratings_hold_the_truth_in_about_95_of_100_leagues() -> None:
    rng = np.random.default_rng(2)
    hits = []
    for _ in range(80):
        games = league(STRENGTHS, STRENGTHS, everybody("abc", 40), rng)
        for rating in rate_agents(games, replicates=100)[0]:
            true = ELO * STRENGTHS[rating.agent]
            hits += [low_high.low <= true <= low_high.high for low_high in (rating.landlord, rating.overall)]
    assert 0.91 <= np.mean(hits) <= 0.98


def test_who_never_lost_has_a_rating_and_an_anchor_is_zero() -> None:
    games = [played(("a", "b"), deal, game, game == 0) for deal in range(20) for game in (0, 1)]
    ratings, _ = rate_agents(games, anchor="b", replicates=20)
    assert [rating.agent for rating in ratings] == ["a", "b"]
    assert 500 < ratings[0].overall.mean < 1000
    assert ratings[1].overall == Interval(0, 0, 0, 20)
    assert ratings[0].wins == 1
    assert rate_agents(games, replicates=20) == rate_agents(games, replicates=20)
    assert np.isnan(rate_agents(games[:2])[0][0].overall.low)  # one deal gives no interval


def test_auctions_faults_and_games_without_a_landlord_are_rated() -> None:
    mixed = dataclasses.replace(record(0, 0, "aab", True), landlord_agent="x")  # x is a peasant, too
    nobody = dataclasses.replace(record(1, 0, "abb", True), landlord=-1, landlord_agent="", winner="")
    both_sides = dataclasses.replace(record(2, 0, "aab", True), winner="", fault_by="a")
    ratings, _ = rate_agents([mixed, nobody, both_sides], replicates=0)
    assert {rating.agent: rating.wins for rating in ratings} == {"x": 1 / 3, "y": 1 / 2}
    assert ratings[0].overall.mean == pytest.approx(-ratings[1].overall.mean)  # 0.75, 0.5 and 0 of three games


def test_first_everybody_meets_then_the_budget_is_used_up() -> None:
    pairs = list_pairs("abcd")
    assert plan_next_round(pairs, {}, 100, 10, 2) == dict.fromkeys(pairs, 10)
    even = dict.fromkeys(pairs, (20, 10.0))
    assert plan_next_round(pairs, even, 1000, 10, 2) == dict.fromkeys(pairs, 10)  # none says more than another
    assert sum(plan_next_round(pairs, even, 37, 10, 2).values()) == 37
    new = {pair: tally for pair, tally in even.items() if "d" not in pair}
    assert plan_next_round(pairs, new, 1000, 10, 2) == {pair: 10 for pair in pairs if "d" in pair}


def test_scheduled_games_narrow_the_ratings_more_than_equal_ones() -> None:
    strengths = {"a": 4.0, "b": 2.0, "c": 0.0, "d": -2.0, "e": -4.0}
    pairs, rng = list_pairs(strengths), np.random.default_rng(6)
    planned = dict.fromkeys(pairs, 0)
    games: list[GameResult] = []
    while (left := 2000 - sum(planned.values())) > 0:
        tally = {
            pair: (len(own), sum(balanced_win_share(game, "a") for game in own))
            for pair, own in group_by_pair(games).items()
        }
        blocks = plan_next_round(pairs, tally, left, 20, 2)
        plan = {pair: range(planned[pair], planned[pair] + more) for pair, more in blocks.items()}
        games += league(strengths, strengths, plan, rng)
        planned = {pair: planned[pair] + blocks.get(pair, 0) for pair in pairs}
    design = differences([["abcde".index(label) for label in pair] for pair in pairs])
    share = 1 / (1 + np.exp(-design @ list(strengths.values())))

    def variances(deals: Sequence[int]) -> float:
        (known,) = fisher_information(design, (2 * np.array(deals) * share * (1 - share))[None])
        return float(np.trace(np.linalg.pinv(known)))

    assert sum(planned.values()) == 2000
    assert variances(list(planned.values())) < 0.7 * variances([200] * len(pairs))


def test_pairs_are_decided_with_the_error_of_the_whole_league() -> None:
    rng = np.random.default_rng(7)
    even = dict.fromkeys("abc", 0.0)
    one_strong = even | {"a": 1.0}
    assert find_decided_pairs(league(one_strong, one_strong, everybody("abc", 150), rng)) == {("a", "b"), ("a", "c")}
    assert not any(find_decided_pairs(league(even, even, everybody("abc", 40), rng)) for _ in range(40))


def test_tables_are_in_the_order_of_the_ratings() -> None:
    games = league(STRENGTHS, STRENGTHS, everybody("abc", 200), np.random.default_rng(8))
    ratings, advantage = rate_agents(games, replicates=50)
    assert [line[1] for line in make_ratings_table(ratings, advantage, "title", None).lines] == ["a", "b", "c"]
    cross = make_cross_table(ratings, games)
    assert [line[2:][rank] for rank, line in enumerate(cross.lines)] == ["–"] * 3
    one, other = cross.lines[0][4], cross.lines[2][2]
    assert one.endswith("*")
    assert float(one.rstrip("*")) + float(other.rstrip("*")) == pytest.approx(100, abs=0.11)
