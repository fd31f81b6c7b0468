"""All experiments by name.  A module is imported when its first experiment is used, so that commands start at once."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ddz_training.experiments.experiment import Experiment

EXPERIMENTS = {
    "mini-census": "mini:MINI_CENSUS",
    "mini-agents": "mini:MINI_AGENTS",
    "mini-inference": "mini:MINI_INFERENCE",
    "mini-uct": "mini_uct:MINI_UCT",
    "cheating": "full_games:CHEATING_UCT",
    "landlord": "full_games:LANDLORD_UCT",
    "thresholds": "full_thresholds:THRESHOLDS_2011",
    "iterations": "full_games:ITERATIONS_SWEEP",
    "exploration": "full_games:EXPLORATION_SWEEP",
    "trees": "full_games:TREES_SWEEP",
    "branching": "full_branching:BRANCHING",
    "search-depth": "strengths:SEARCH_DEPTH",
    "tuning": "tuning:TUNING",
    "policy-strength": "strengths:POLICY_STRENGTH",
    "points-strength": "strengths:POINTS_STRENGTH",
    "search-parts": "strengths:SEARCH_PARTS",
    "levels": "strengths:LEVELS_OF_PLAY",
    "agent-strength": "strengths:AGENT_STRENGTH",
    "chances": "chances:CHANCES",
    "table-chances": "table_chances:TABLE_CHANCES",
    "equivalents": "equivalents:EQUIVALENTS",
    "equivalent-known": "known_equivalents:EQUIVALENT_KNOWN",
    "equivalent-simulated": "known_equivalents:EQUIVALENT_SIMULATED",
    "holdem": "holdem:HOLDEM",
    "streets": "holdem:STREETS",
    "tendency": "tendency:TENDENCY",
    "tree-size": "complexity:TREE_SIZE",
    "complexity": "complexity:COMPLEXITY",
}
"""The module and the object of every experiment by its name, in the order of the help."""


def load_experiment(name: str) -> Experiment[Any, Any]:
    """An experiment by its name.

    Raises:
        KeyError: If there is none.
    """
    module, _, constant = EXPERIMENTS[name].partition(":")
    experiment: Experiment[Any, Any] = getattr(importlib.import_module(f"ddz_training.experiments.{module}"), constant)
    return experiment


def load_experiments() -> Iterator[Experiment[Any, Any]]:
    """All experiments, in the order of ``EXPERIMENTS``."""
    return map(load_experiment, EXPERIMENTS)
