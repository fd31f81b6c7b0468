"""Searches at equal time, and what their decisions gain: pairs, values and columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.rules.agent import RulesAgent
from ddz_env import Move, State, View
from ddz_env.core.actions import MAIN_GROUPS
from ddz_env.playing.registry import make_agent
from ddz_training.experiments import policy_games as sg
from ddz_training.experiments import search_options as so
from ddz_training.experiments.experiment import Saved, grouped
from ddz_training.experiments.matches import win_gain, win_interval
from ddz_training.experiments.policy_games import SEARCH_GAINS, GainOptions, GainResult
from ddz_training.experiments.search_options import SEARCH_OPTIONS, DealResult
from tests.agents.neural.test_networks import small_networks
from tests.oracles.network_policy import NetworkPolicy
from tests.training.experiments import committed

TINY = so.SearchOptions(only=("plain", "4 trees"), against=("isuct", "rules"), iterations=4, deals=2, processes=1)
GAINS = GainOptions(agent=("policy", "random"), games=3, playouts=8, processes=1)


class RulesAsLandlord:
    """Plays well as landlord; as a peasant it passes whenever it may."""

    name = "rules as landlord"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return RulesAgent().act(view, rng) if view.role == "landlord" else view.legal_moves()[0]


def test_every_pair_plays_every_deal_once_but_plain_never_itself(tmp_path: Path) -> None:
    pairs = [("4 trees", "isuct"), ("plain", "rules"), ("4 trees", "rules")]
    played = SEARCH_OPTIONS.run(replace(TINY, first_deal=10), tmp_path / "x.csv").results
    assert [(one.variant, one.opponent, one.deal) for one in played] == [(*p, deal) for p in pairs for deal in (10, 11)]
    specs = so.equal_time_specs(so.SearchOptions(iterations=10_000))
    assert {*specs} == {*so.VARIANTS, "isuct"}
    given = [make_agent(spec).options.iterations for spec in specs.values()]  # type: ignore[attr-defined]
    assert given == [10_000, 2600, 6300, 600, 580, 570, 370, 10_000]
    names = ("plain", "4 trees", "duplicate rollouts (rules)")  # the least budget there is
    least = SEARCH_OPTIONS.run(replace(TINY, only=names, against=("rules",), iterations=1, deals=1)).results
    assert [result.variant for result in least] == list(names)


def test_the_columns_are_the_sides_of_the_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that gives up as a peasant wins as landlord only; the rule agent beats random play on both sides."""
    mine = {"plain": so.VARIANTS["plain"], "one-sided": f"{__name__}:RulesAsLandlord", "rules": "rules"}
    monkeypatch.setattr(so, "DEPTHS", mine)
    options = so.DepthOptions(only=("one-sided", "rules"), deals=12, processes=1)
    depth = replace(so.SEARCH_DEPTH, tasks=lambda given: so.matches.matches(so.depth_pairs(given), 20_000, mine))
    sides = grouped(depth.run(options).results, "variant")
    assert sum(result.peasants for result in sides["one-sided"]) == 0
    assert sum(result.landlord for result in sides["one-sided"]) >= 3
    assert all(result.landlord + result.peasants == 1 for result in sides["rules"]), "the rule agent against itself"


def test_rates_and_gains_are_means_over_deals_of_both_sides() -> None:
    def half_width(shares: list[float]) -> Any:
        return pytest.approx(1.96 * np.std(shares, ddof=1) / len(shares) ** 0.5, rel=0.01)

    wins = ((1, 1), (1, 0), (0, 0), (1, 0))
    four = [DealResult("4 trees", "rules", deal, *won) for deal, won in enumerate(wins, 1)]
    cut = [DealResult("inference", "rules", deal, 0, landed) for deal, landed in ((1, 0), (2, 1), (3, 1), (9, 1))]
    rate, gain = win_interval(four), win_gain(four, cut)  # over the deals that both have played
    assert (rate.mean, rate.half_width) == (0.5, half_width([1, 0.5, 0, 0.5]))
    assert (gain.count, gain.mean, gain.half_width) == (3, pytest.approx(1 / 6), half_width([1, 0, -0.5]))
    assert so.option_cells(four)[0][:6] == ("4 trees", "rules", "4", "75.0", "25.0", "50.0")


def test_a_table_says_what_inference_gains_where_both_rows_are_there() -> None:
    name, base = "cautious rollouts with inference", "cautious rollouts (rules)"
    rows = [DealResult(name, "isuct", deal, 1, deal % 2) for deal in (70, 71)]
    others = [DealResult(base, "isuct", deal, 1, 1) for deal in (70, 71)]
    for results, said in ((rows, ""), ([*rows, *others], f"{name} over {base}: -25.0 points (-74.0 to +24.0)")):
        table = so.option_table(Saved(results, {"base": 10_000, "seed": 3}))
        assert table.lines[0] == (name, "isuct", "2", "100.0", "50.0", "75.0", "26.0 to 124.0")
        assert table.note.startswith("Duplicate deals from number 70 on under seed 3, no file. `plain` has 10,000 iter")
        assert said in table.note


def test_the_committed_inference_gains_in_the_tree_and_loses_in_the_rollouts() -> None:
    """What the page on the search says of it, beyond the luck of its 1,000 deals."""
    by_pair = grouped(committed(DealResult, "search_options_inference"), "variant", "opponent")
    assert win_interval(by_pair["inference", "isuct"]).low > 0.5
    variant, base = next(iter(so.WITHOUT_INFERENCE.items()))
    assert win_gain(by_pair[variant, "isuct"], by_pair[base, "isuct"]).high < 0


def test_a_move_that_surely_wins_is_worth_one_and_one_that_surely_loses_nothing() -> None:
    """44 leaves one card and the lead.  After 3 and a pass the last peasant wins with 6, or the landlord with 4."""
    model, rng = NetworkPolicy(*small_networks()), np.random.default_rng(0)
    for hands, moves, action, worth in (
        (["344", "7", "9"], "", "44", 1.0),
        (["34", "5", "6"], "3 pass", "6", 1.0),
        (["34", "5", "6"], "3 pass", "pass", 0.0),
    ):
        state = State.from_hands(hands, check_sizes=False)
        for move in moves.split():
            state.step(move)
        assert sg.worth(model, state, Move.parse(action).main, 20, rng) == worth


def test_worth_is_the_share_of_games_that_the_policy_wins() -> None:
    """Of games played move by move by the agent that draws from the policy, up to the luck of 400 of either."""
    model, state = NetworkPolicy(*small_networks()), State.new(3)
    for _ in range(24):
        state.step(state.legal_moves()[-1])
    seat, rng = state.seat, np.random.default_rng(1)
    action = next(action for action in state.legal_actions() if not MAIN_GROUPS[action].kicker_count)
    agent, won = ModelAgent(model, temperature=1.0), []
    for _ in range(400):
        game = state.copy()
        game.step_action(action)
        while not game.is_over:
            game.step(agent.act(game.view(), rng))
        won.append(game.returns("win")[seat] > 0)
    found = sg.worth(model, state, action, 400, rng)
    assert found == pytest.approx(np.mean(won), abs=4 * np.sqrt(0.5 / 400))
    assert 0 < found < 1


def test_the_policy_gains_nothing_over_itself_and_chance_loses() -> None:
    same, chance = grouped(SEARCH_GAINS.run(GAINS).results, "agent").values()
    assert [(result.changed, result.landlord, result.peasants) for result in same] == [(0, 0.0, 0.0)] * 3
    assert [result.decisions for result in same] == [result.decisions for result in chance]
    assert sum(result.changed for result in chance) > 5
    assert sum(map(sg.predicted, chance)) < 0
    gauge = SEARCH_GAINS.run(replace(GAINS, agent=("cheating-uct:iterations=50",), games=1)).results
    assert gauge[0].decisions == same[0].decisions, "an agent that sees every hand is shown it"


def test_gains_are_in_points_of_both_sides_and_against_the_first() -> None:
    one = [GainResult("a", game, 10, 2, 0.1 * game, 0.2, 30.0) for game in range(3)]
    other = [GainResult("b", game, 10, 4, 0.1 * game, 0.4, 60.0) for game in (1, 2)]
    saved = Saved([*one, *other], {"seed": 0, "playouts": 8, "weights": ""})
    first, second = sg.gain_table(saved).lines
    assert first[:7] == ("`a`", "3", "30", "20.0", "3", "+10.0", "+20.0")
    assert (first[7][:7], first[8]) == ("+15.0 (", "")
    assert second[1:7] == ("2", "20", "40.0", "6", "+15.0", "+40.0")
    assert second[8] == "+10.0 (+10.0 to +10.0)"
    slow = [replace(one[0], ms=ms) for ms in (20.0, 30.0, 9000.0)]  # a game slowed down by others does not count
    assert sg.milliseconds([*slow, replace(one[0], decisions=0)]) == 3.0
