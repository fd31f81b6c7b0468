"""Equivalents: agents without a part of what they know, and what the tables say."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from ddz_agents.neural.ablation import AblatedPolicyAgent, InputName, ablate_input, find_input_columns
from ddz_agents.neural.agent import PolicyAgent
from ddz_agents.neural.decisions import describe_observations
from ddz_agents.neural.feature_table import REST_INPUTS, policy_inputs
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.weights import load_weights
from ddz_agents.rules.agent import Rule, RulesAgent, RulesWithoutAgent, hide_few_cards
from ddz_env import State
from ddz_env.core.observation import observe
from ddz_env.support.errors import InvalidAgentOptionError
from ddz_papers.experiments.experiment import SavedResults
from ddz_papers.thesis_2020 import equivalents as eq
from ddz_papers.thesis_2020.equivalents import KNOWLEDGE, EquivalentResult
from ddz_papers.thesis_2020.known_equivalents import KnownResult, bounds_table, draw_bounds, known_table

RNG = np.random.default_rng(0)


def moves(state: State, *rules: Rule) -> list[str]:
    """What the whole agent plays, and what it plays without each of these rules."""
    agents = [RulesAgent(), *(RulesWithoutAgent(rule) for rule in rules)]
    return [str(agent.act(state.view(), RNG)) for agent in agents]


def test_each_rule_matters_where_it_should() -> None:
    solo = State.from_hands(["45TT", "J", "7788"], check_sizes=False)  # to an enemy with one card
    assert moves(solo, "control", "bombs", "pass") == ["TT", "4", "TT", "TT"]
    assert moves(State.new(3), "bombs", "control", "pass") == ["5", "KKKK+45", "5", "5"]
    follow = State.from_hands(["3KK9", "4445", "67"], check_sizes=False)
    follow.step("3")
    assert moves(follow, "pass", "control", "bombs") == ["5", "pass", "5", "5"]


def test_without_control_an_enemy_with_few_cards_seems_to_have_three() -> None:
    for hands, move, seen in ((["3377J", "9", "44"], "", [5, 3, 3]), (["33", "9", "4"], "3", [3, 1, 1])):
        state = State.from_hands(hands, check_sizes=False)
        if move:
            state.step(move)
        hidden = hide_few_cards(state.view().row, state.seat)
        assert [int(hidden[28]) >> 8 * seat & 255 for seat in range(3)] == seen


def test_each_rule_changes_some_moves_and_not_most() -> None:
    """Over the games that the whole agent plays with itself."""
    changed, decisions = dict.fromkeys(get_args(Rule), 0), 0
    for seed in range(40):
        state = State.new(seed)
        while state.winner is None:
            whole, *without = moves(state, *changed)
            for rule, move in zip(changed, without, strict=True):
                changed[rule] += move != whole
            decisions += 1
            state.step(whole)
    assert all(0 < count < decisions / 5 for count in changed.values())


def test_a_blind_policy_does_not_read_its_input() -> None:
    """With the input's columns at zero the whole policy computes the same first layer."""
    stored, seen = load_weights(shipped_policy_path()), 0
    history = stored.architecture.history
    columns = describe_observations(observe(State.new(3))[None], history)[0]
    for name in get_args(InputName):
        layer, where = find_input_columns(name, history)
        if layer == "trunk.0.weight":
            blank = columns.copy()
            blank[where] = 0
            whole, ablated = stored.policy[layer], ablate_input(stored, name).policy[layer]
            assert np.allclose(whole @ blank, ablated @ columns, atol=1e-4), name
            seen += where.stop - where.start
    assert seen == columns.size
    rest = ["rest-prospects" if entry.name == "prospects" else entry.name for entry in REST_INPUTS.inputs]
    assert [*get_args(InputName)] == [entry.name for entry in policy_inputs().inputs] + rest
    assert len(KNOWLEDGE) == len(get_args(Rule)) + len(get_args(InputName))


def test_a_blind_policy_plays_otherwise() -> None:
    state, differs = State.new(5), False
    whole, ablated = PolicyAgent(), AblatedPolicyAgent(input="hand")
    while state.winner is None and not differs:
        move = whole.act(state.view(), RNG)
        differs = ablated.act(state.view(), RNG) != move
        state.step(move)
    assert differs
    with pytest.raises(InvalidAgentOptionError, match="input='hands'"):
        AblatedPolicyAgent(input="hands")


def result(name: str, agent: str, iterations: float, *, wins: float = 0.5, beyond: int = 0) -> EquivalentResult:
    """An equivalent that is known within a factor of two."""
    known, against = (iterations, iterations / 2, iterations * 2), KNOWLEDGE.get(name, ("", "rules"))[1]
    return EquivalentResult(name, agent, "half-deck", "isuct", *known, beyond, ("100:6/2/2",), against, wins, 0.02)


def test_agents_are_ranked_by_wins_and_a_rule_is_worth_the_factor_of_the_equivalents() -> None:
    every = [
        result("rules", "rules", 1200.0),
        result("random", "random", 4.0, wins=0.1),
        result("policy", "policy", 5000.0, wins=0.6, beyond=1),
        result("rules without control", "rules-without:rule=control", 600.0, wins=0.46),
    ]
    saved = SavedResults(every, {"deals": 10})
    assert [line[1:5] for line in eq.equivalents_table(saved).lines] == [
        ("policy", "1", "60.0 ±2.0", "> 100 (wins 70.0 %)"),
        ("rules", "2", "–", "1,200 (600–2,400)"),
        ("random", "3", "10.0 ±2.0", "4.0 (2.0–8.0)"),
    ]
    (line,) = eq.knowledge_table(saved).lines
    factor = f"0.50 ({0.5 / 2**2**0.5:.2f} to {0.5 * 2**2**0.5:.2f})"
    assert line[2:6] == ("1,200 (600–2,400)", "600 (300–1,200)", factor, "46.0 ±2.0")


def test_an_agent_beyond_the_first_ladder_climbs_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    for beyond, ladders in ((0, eq.SEARCHES[:1]), (1, eq.SEARCHES)):
        found = replace(result("rules", "rules", 9.0, beyond=beyond), rules="half-deck")
        monkeypatch.setattr(eq, "_find_in_search", lambda *task, found=found: replace(found, search=task[-1]))
        climbed = eq.EQUIVALENTS.run(eq.EquivalentsOptions(only=("rules",), rules="half-deck", processes=1)).results
        assert [one.search for one in climbed] == [*ladders]


def test_bounds_are_drawn_on_both_sides_and_what_was_found_is_told() -> None:
    rng = np.random.default_rng(1)
    drawn = np.array([draw_bounds(800, rng) for _ in range(400)])
    assert drawn.min(axis=0).tolist() == pytest.approx([100, 800], abs=60)
    assert drawn.max(axis=0).tolist() == pytest.approx([800, 6400], abs=60)
    what = 500, "half-deck-open", "sequential", 60
    ones = [KnownResult(*what, n, 60, 4000, found, 300, 600, 60) for n, found in enumerate((250, 1000))]
    (line,) = known_table(SavedResults(ones, {})).lines
    assert line[4:9] == ("500 ± 490", "1.00 ± 0.98", "0.69", "2 of 2", "120")


def test_bounds_of_algorithm_5_stand_beside_the_thesis_and_those_that_miss_are_counted() -> None:
    what = 500, "half-deck-open", "doubling", 60
    ones = [KnownResult(*what, n, *bounds, 500, 300, 600, 60) for n, bounds in enumerate([(350, 450), (450, 950)])]
    other = replace(ones[0], method="binary")
    (line,) = bounds_table(SavedResults([*ones, other], {})).lines
    assert line == ("500", "398 ± 11", "400 ± 71", "861 ± 19", "700 ± 354", "all", "1 of 2")
