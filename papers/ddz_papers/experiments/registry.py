"""All experiments by name, each imported on its first use so that commands start at once."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ddz_papers.experiments.experiment import Experiment

EXPERIMENTS = {
    "mini-census": "determinization_2011.mini_experiments:MINI_CENSUS",
    "mini-agents": "determinization_2011.mini_experiments:MINI_AGENTS",
    "mini-inference": "determinization_2011.mini_experiments:MINI_INFERENCE",
    "mini-uct": "determinization_2011.mini_uct:MINI_UCT",
    "cheating": "determinization_2011.full_games:CHEATING_UCT",
    "landlord": "determinization_2011.full_games:LANDLORD_UCT",
    "thresholds": "determinization_2011.full_thresholds:THRESHOLDS_2011",
    "iterations": "determinization_2011.full_games:ITERATIONS_SWEEP",
    "exploration": "determinization_2011.full_games:EXPLORATION_SWEEP",
    "trees": "determinization_2011.full_games:TREES_SWEEP",
    "branching": "determinization_2011.full_branching:BRANCHING",
    "information-sets": "determinization_2011.information_sets:INFORMATION_SETS",
    "search-depth": "strengths.agent_strengths:SEARCH_DEPTH",
    "tuning": "textbook_search.tuning_experiment:TUNING",
    "policy-strength": "strengths.agent_strengths:POLICY_STRENGTH",
    "points-strength": "strengths.agent_strengths:POINTS_STRENGTH",
    "search-parts": "strengths.agent_strengths:SEARCH_PARTS",
    "levels": "strengths.agent_strengths:LEVELS_OF_PLAY",
    "agent-strength": "strengths.agent_strengths:AGENT_STRENGTH",
    "chances": "strengths.chances:CHANCES",
    "table-chances": "strengths.table_chances:TABLE_CHANCES",
    "equivalents": "thesis_2020.equivalents:EQUIVALENTS",
    "equivalent-knowledge": "thesis_2020.equivalents:EQUIVALENT_KNOWLEDGE",
    "equivalent-known": "thesis_2020.known_equivalents:EQUIVALENT_KNOWN",
    "equivalent-simulated": "thesis_2020.known_equivalents:EQUIVALENT_SIMULATED",
    "holdem": "payoff_policy.holdem_experiments:HOLDEM",
    "streets": "payoff_policy.holdem_experiments:STREETS",
    "win-rate": "payoff_policy.bidders:WIN_RATE",
    "bidders": "payoff_policy.bidders:BIDDERS",
    "solver-curve": "double_dummy_solver.solver_experiments:SOLVER_CURVE",
    "solver-techniques": "double_dummy_solver.solver_experiments:SOLVER_TECHNIQUES",
    "tendency": "thesis_2020.tendency_experiment:TENDENCY",
    "tendency-savings": "thesis_2020.tendency_savings:TENDENCY_SAVINGS",
    "tree-size": "thesis_2020.complexity_experiment:TREE_SIZE",
    "complexity": "thesis_2020.complexity_experiment:COMPLEXITY",
}
"""The module and the object of every experiment by its name, in the order of the help."""


def load_experiment(name: str) -> Experiment[Any, Any]:
    """Import and return the experiment with a given name.

    Raises:
        KeyError: If there is none.
    """
    module, _, constant = EXPERIMENTS[name].partition(":")
    experiment: Experiment[Any, Any] = getattr(importlib.import_module(f"ddz_papers.{module}"), constant)
    return experiment


def load_experiments() -> Iterator[Experiment[Any, Any]]:
    """Import all experiments one after another, in the order of ``EXPERIMENTS``."""
    return map(load_experiment, EXPERIMENTS)
