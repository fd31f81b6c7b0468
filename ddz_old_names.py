"""Module names of 0.2.0, which go on to work for one release where nobody else's are found.

A ``.pth`` file of the installation imports this when Python starts, so it imports nothing that is not there already.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # that of typing, whose import would take every start of Python 30 ms
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_ROOMS = {
    "ddz_env.core": "actions cards checks docstrings engine errors flat folders notation observation options owned "
    "rules state view whole_file",
    "ddz_env.playing": "agent generators provenance registry thoughts",
    "ddz_env.envs": "cuda_batch opponents stepping threads",
    "ddz_env.table": "complaints render session texts",
    "ddz_env.peers": "botzone flat_action openspiel",
    "ddz_training.learn": "belief dmc expert ppo sb3 tuning",
    "ddz_training.measure": "benchmark complexity equivalent league markdown",
    "ddz_training.apps": "botzone cli demo documentation integrations strengths web",
}
_MERGED = {
    "ddz_agents.belief.model": "belief.stored",
    "ddz_agents.neural.afterstates": "neural.leavings",
    "ddz_agents.neural.compiled_policy": "neural.compiled_network",
    "ddz_agents.neural.network": "neural.descriptions",
    "ddz_agents.neural.sb3_policy": "neural.saved_space",
    "ddz_agents.neural.tensor_file": "neural.heading",
    "ddz_agents.neural_search.forest": "neural_search.halving",
    "ddz_agents.neural_search.opponent_model": "neural_search.others",
    "ddz_agents.tree_search.agent": "mcts.reuse",
    "ddz_agents.tree_search.choice": "mcts.candidates",
    "ddz_agents.tree_search.search": "mcts.select",
    "ddz_agents.tree_search.simulate": "mcts.simulate_rules",
    "ddz_agents.worlds.determinize": "worlds.belief",
    "ddz_agents.worlds.rules_player": "worlds.likelihood",
    "ddz_env.envs.outputs": "forms infos screen",
    "ddz_env.peers.botzone.games": "botzone.combinations botzone.deals",
    "ddz_env.peers.botzone.judges": "botzone.bidding_judge botzone.fixed_judge botzone.judge",
    "ddz_env.peers.botzone.player": "botzone.position botzone.serving",
    "ddz_env.peers.openspiel.dealing": "openspiel.resampling",
    "ddz_env.peers.openspiel.observers": "openspiel.bounds",
    "ddz_env.playing.registry": "bidder levels",
    "ddz_env.table.session.advice": "session.advisers",
    "ddz_env.table.session.deal": "session.errors",
    "ddz_env.table.session.session": "session.sight",
}
_LEARNING = "board curves distillation errors imitation recorded run settings strength threads widening"


def _top(room: str) -> str:
    return {"ddz_agents": "agents", "ddz_training": "training"}.get(room.partition(".")[0], "ddz_env")


MOVED = {
    **{f"{_top(room)}.{name}": f"{room}.{name}" for room in _ROOMS for name in _ROOMS[room].split()},
    **{f"{_top(file)}.{name}": file for file in _MERGED for name in _MERGED[file].split()},
    **{f"training.ppo.{name}": f"ddz_training.learn.{name}" for name in _LEARNING.split()},
    "agents": "ddz_agents",
    "agents.exact": "ddz_agents.mini",
    "agents.exact.minimax": "ddz_agents.open_cards.minimax",
    "agents.holdem": "ddz_agents.bidding.holdem",
    "agents.mcts": "ddz_agents.tree_search",
    "agents.rule_agent": "ddz_agents.rules",
    **{f"agents.rule_agent.{name}": "ddz_agents.rules.agent" for name in ("knowledge", "stages", "tuned")},
    "agents.solver": "ddz_agents.open_cards.solver",
    "agents.solver.options": "ddz_agents.open_cards.solver.solver",
    "agents.stakes": "ddz_agents.bidding",
    "agents.stakes.convergence": "ddz_agents.bidding.worlds",
    "agents.stakes.search": "ddz_agents.bidding.policy",
    "agents.textbook": "ddz_agents.open_cards.textbook",
    "ddz_env.learner": "ddz_env.envs.learner_games",
    "training": "ddz_training",
    "training.arena": "ddz_training.measure.match",
    "training.arena.sequential": "ddz_training.measure.match.statistics",
    "training.arena.tendency": "ddz_training.measure.tendency",
    "training.bench": "ddz_training.measure.speed",
    "training.benchmark.deals": "ddz_training.measure.benchmark.field",
    "training.experiments.plotting": "ddz_training.measure.plotting",
    "training.exploit": "ddz_training.measure.response",
    "training.hand": "ddz_training.apps.hand_odds",
}
"""Old name to new, of modules and of packages with all that is below them; the longest that fits counts."""


def new_name(name: str) -> str | None:
    """What a module of 0.2.0 is called now; ``None`` if it has not moved.

    Example:
        >>> new_name("agents.mcts.agent")
        'ddz_agents.tree_search.agent'
    """
    for start in _starts(name):
        if start in MOVED:
            return MOVED[start] + name[len(start) :]
    return None


def new_agent(text: str) -> str:
    """An agent's text with its module's new name, as those in files of results are read.

    Example:
        >>> new_agent("agents.neural.frozen:FrozenPolicyAgent:weights=last")
        'ddz_agents.neural.frozen:FrozenPolicyAgent:weights=last'
    """
    module, colon, rest = text.partition(":")
    return (new_name(module) or module) + colon + rest


def _starts(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]


class OldNames:
    """A finder of modules under their old names, and the loader of what stands in for them."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """The stand-in for a module that has moved; ``None`` for any other."""
        new = new_name(name) if name.startswith(("agents", "training", "ddz_env")) else None
        if new is None:
            return None
        from importlib.machinery import ModuleSpec
        from importlib.util import find_spec

        found = find_spec(new)
        if found is None:
            return None
        loader: Any = self
        return ModuleSpec(name, loader, origin=found.origin, is_package=found.submodule_search_locations is not None)

    def create_module(self, spec: Any) -> None:
        """Python's own kind of module will do."""

    def exec_module(self, module: Any) -> None:
        """Let a module of the old name pass on what it is asked for; it has nothing of its own.

        A package among them lists no folders, so that what is below it is found here too, and never loaded twice.
        """
        from importlib import import_module

        old, new = module.__name__, new_name(module.__name__)
        real = import_module(str(new))
        told: list[str] = []

        def passed_on(name: str) -> Any:
            if not told and not name.startswith("__"):
                from warnings import warn

                told.append(name)
                warn(f"{old!r} is {new!r} now; the old name will go with the next release", FutureWarning, stacklevel=2)
            return getattr(real, name)

        module.__doc__ = real.__doc__
        module.__getattr__, module.__dir__ = passed_on, lambda: dir(real)
        if hasattr(real, "__all__"):
            module.__all__ = real.__all__

    def get_code(self, name: str) -> Any:
        """What ``python -m`` runs under the old name."""
        from importlib.util import find_spec

        loader: Any = getattr(find_spec(str(new_name(name))), "loader", None)
        return loader.get_code(new_name(name))


if not any(type(finder).__name__ == OldNames.__name__ for finder in sys.meta_path):
    sys.meta_path.append(OldNames())
