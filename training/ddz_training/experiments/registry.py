"""All experiments.  A module is imported when its first experiment is used, so that the command line starts at once."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ddz_training.experiments.experiment import Experiment

_MODULES = (
    ("mini", "mini-census mini-agents mini-inference"),
    ("mini_uct", "mini-uct"),
    ("full_games", "cheating landlord"),
    ("full_thresholds", "thresholds"),
    ("full_games", "iterations exploration trees"),
    ("full_branching", "branching information-sets"),
    ("hidden_hands", "hand-inference belief"),
    ("search_options", "search-options search-depth"),
    ("policy_games", "search-gains"),
    ("solver_curve", "solver-curve"),
    ("tuning", "tuning"),
    ("strengths", "policy-strength points-strength levels agent-strength"),
    ("policy_games", "chances"),
    ("openspiel", "exploitability mini-mccfr"),
    ("bidders", "win-rate bidders"),
    ("equivalents", "equivalents"),
    ("known_equivalents", "equivalent-known equivalent-simulated"),
    ("holdem", "holdem streets"),
    ("growth", "growth"),
    ("tendency", "tendency tendency-savings"),
    ("complexity", "tree-size complexity"),
)

EXPERIMENTS = {name: module for module, names in _MODULES for name in names.split()}
"""The module of every experiment by its name, in the order of the help."""


def load_experiment(name: str) -> Experiment[Any, Any]:
    """An experiment by its name.

    Raises:
        KeyError: If there is none.
    """
    module = importlib.import_module(f"ddz_training.experiments.{EXPERIMENTS[name]}")
    return next(one for one in vars(module).values() if getattr(one, "name", None) == name)


def load_experiments() -> Iterator[Experiment[Any, Any]]:
    """All of them, in order."""
    return map(load_experiment, EXPERIMENTS)
