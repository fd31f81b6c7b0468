"""All experiments.  A module is imported when its experiment is asked for, so that the command line starts at once."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from ddz_training.experiments.experiment import Experiment

EXPERIMENTS = {
    "mini-census": "mini_census:CENSUS",
    "mini-agents": "mini_agents:AGENTS",
    "mini-inference": "mini_inference:INFERENCE",
    "mini-uct": "mini_uct:UCT",
    "cheating": "full_cheating:CHEATING_UCT",
    "landlord": "full_landlord:LANDLORD",
    "thresholds": "full_thresholds:THRESHOLDS_2011",
    "iterations": "full_sweeps:ITERATIONS_SWEEP",
    "exploration": "full_sweeps:EXPLORATION_SWEEP",
    "branching": "full_branching:BRANCHING",
    "hand-inference": "hand_inference:HAND_INFERENCE",
    "belief": "belief:BELIEF",
    "search-options": "search_options:SEARCH_OPTIONS",
    "search-gains": "search_gains:SEARCH_GAINS",
    "search-depth": "search_depth:SEARCH_DEPTH",
    "solver-curve": "solver_curve:SOLVER_CURVE",
    "tuning": "tuning:TUNING",
    "policy-strength": "policy_strength:POLICY_STRENGTH",
    "levels": "levels:LEVELS_OF_PLAY",
    "chances": "chances:CHANCES",
    "agent-strength": "agent_strength:AGENT_STRENGTH",
    "points-strength": "points_strength:POINTS_STRENGTH",
    "douzero-strength": "douzero_strength:DOUZERO_STRENGTH",
    "exploitability": "exploitability:EXPLOITABILITY",
    "mini-mccfr": "mini_mccfr:MINI_MCCFR",
    "training-recipes": "training_recipes:TRAINING_RECIPES",
    "training-seeds": "training_seeds:TRAINING_SEEDS",
    "win-rate": "win_rate:WIN_RATE",
    "bidders": "bidders:BIDDERS",
    "equivalents": "equivalents:EQUIVALENTS",
    "equivalent-known": "equivalent_known:KNOWN",
    "equivalent-simulated": "equivalent_simulated:SIMULATED",
    "holdem": "holdem:HOLDEM",
    "parallel-forms": "parallel_forms:PARALLEL_FORMS",
    "tendency": "tendency:TENDENCY",
    "tendency-savings": "tendency_savings:TENDENCY_SAVINGS",
    "tree-size": "tree_size:TREE_SIZE",
    "complexity": "complexity:COMPLEXITY",
}
"""Module and object by the experiment's name, in the order of the help."""


def load_experiment(name: str) -> Experiment[Any, Any]:
    """An experiment by its name.

    Raises:
        KeyError: If there is none.
    """
    module, _, attribute = EXPERIMENTS[name].partition(":")
    experiment: Experiment[Any, Any] = getattr(importlib.import_module(f"ddz_training.experiments.{module}"), attribute)
    return experiment


def load_experiments() -> Iterator[Experiment[Any, Any]]:
    """All of them, in order."""
    return map(load_experiment, EXPERIMENTS)
