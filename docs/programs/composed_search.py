"""What parts of one's own cost in a search: ``python docs/programs/composed_search.py``."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from ddz_agents.neural.agent import PolicyOptions
from ddz_agents.neural.model import Floats
from ddz_agents.neural_search.leaf_games import LeafBatch
from ddz_agents.neural_search.model_cache import CachedModel
from ddz_agents.neural_search.priors import PolicyPrior, uniform_prior
from ddz_agents.neural_search.search import Prior, Search, Value
from ddz_agents.neural_search.values import PolicyValue, random_playouts
from ddz_agents.worlds.determinize import WorldPool
from ddz_env import State, View
from ddz_env.playing.agent import Agent
from ddz_env.playing.registry import make_agent

WEIGHTS = np.random.default_rng(0).normal(0, 0.02, (512, 400)).astype(np.float32)


def worlds(view: View, rng: np.random.Generator) -> WorldPool:
    """Uniform worlds, drawn once per decision."""
    return WorldPool.of(view.sample_worlds(256, rng))


def linear_prior(leaves: LeafBatch) -> Floats:
    """A prior in NumPy: one product of matrices for all leaves."""
    logits = np.where(leaves.action_masks, leaves.observations @ WEIGHTS, -np.inf)
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)), np.float32)


def python_prior(leaves: LeafBatch) -> Floats:
    """A prior in plain Python: one state after the other."""
    logs = np.full((len(leaves), 400), -np.inf, np.float32)
    for index, state in enumerate(leaves.states()):
        legal = state.legal_actions()
        logs[index, legal] = -np.log(len(legal))
    return logs


def python_value(leaves: LeafBatch, rng: np.random.Generator) -> Floats:
    """A value in plain Python: a playout of one state after the other."""
    return np.array([np.sign(state.playout(rng)[state.seat]) for state in leaves.states()], np.float32)


def microseconds(
    prior: Prior, value: Value, players: Mapping[int, Agent], model: CachedModel, iterations: int = 2000
) -> float:
    """Processor time per iteration, the median of six opening leads."""
    search, rng, spent = Search(worlds, prior, value, players), np.random.default_rng(0), []
    for game in range(7):
        view = State.new(seed=game).view()
        model.forget()
        began = time.process_time()
        search.decide(view, rng, iterations)
        spent.append(time.process_time() - began)
    return float(np.median(spent[1:])) / iterations * 1e6  # the first may have compiled


def main(iterations: int = 2000) -> None:
    """Print a row for each composition."""
    model = CachedModel(PolicyOptions().load())
    policy, critic = PolicyPrior(model), PolicyValue(model, "critic")
    rules = dict.fromkeys((1, 2), make_agent("rules"))
    cases: tuple[tuple[str, Prior, Value, Mapping[int, Agent]], ...] = (
        ("uniform, random playouts", uniform_prior, random_playouts, {}),
        ("a product of matrices in NumPy, random playouts", linear_prior, random_playouts, {}),
        ("states in plain Python, `state.playout`", python_prior, python_value, {}),
        ("the shipped policy, random playouts", policy, random_playouts, {}),
        ("the shipped policy, its critic four decisions on", policy, critic, {}),
        ("the same, with `rules` as both other players", policy, critic, rules),
    )
    for name, prior, value, players in cases:
        print(f"| {name} | {microseconds(prior, value, players, model, iterations):.0f} |", flush=True)


if __name__ == "__main__":
    main()
