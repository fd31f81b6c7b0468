"""Background compilation on a fresh machine, one agent after another, while the page is already served.

Nothing depends on it: a request for an agent that is still to come compiles it itself.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from ddz_env import Rules
from ddz_env.playing.agent import close_agent
from ddz_env.playing.practice import ENGINE_SECONDS
from ddz_env.playing.registry import estimate_compile_seconds, make_agent, parse_agent
from ddz_play.puzzles import PUZZLE_RULES

_log = logging.getLogger(__name__)

SOLVER = "solver"
"""Who plays the other hand of a puzzle."""
BIDDER = "payoff"
"""Who bids in the place of a level."""
QUICK_ADVISERS = ("policy", "rules")
"""Who gives hints until the adviser is compiled, the better one first."""
CHANCE_AGENT = "neural-ismcts"
"""Whose kernels say how likely a move wins."""


class CompileStep(NamedTuple):
    """An agent to compile, with its rules and the estimated compile time.

    Attributes:
        what: What the page calls it: ``opponents``, ``hints``, ``search`` or ``puzzles``.
        agent: Its specification.
        rules: What it plays.
        seconds: About how long a fresh machine compiles; agents of one module share what the first of them compiles.
    """

    what: str
    agent: str
    rules: Rules
    seconds: int


class Preparation:
    """A background thread that compiles agents and estimates when each will be ready.

    Args:
        steps: In the order in which they are compiled.
    """

    def __init__(self, steps: Sequence[CompileStep]) -> None:
        self._steps = tuple(steps)
        self._left: dict[str, CompileStep] = {}
        self._began = 0.0
        self._taken, self._expected = 0.0, 0

    def start(self) -> None:
        """Start compiling in the background; before this call, every agent counts as ready."""
        self._left, self._began = {step.agent: step for step in self._steps}, time.monotonic()
        threading.Thread(target=self._compile, daemon=True).start()

    def status(self) -> dict[str, Any]:
        """Return the parts of the page that are still to be compiled, with the seconds until each is ready."""
        left = list(self._left.copy().values())
        return {"ready": not left, "left": [step.what for step in left], "seconds": self._estimate_seconds(left)}

    def is_ready(self, agent: str) -> bool:
        """Return whether an agent is compiled or was never scheduled for compilation."""
        return agent not in self._left

    def seconds_until_ready(self, agent: str) -> int | None:
        """Estimate in how many seconds an agent will be ready; return None if it is ready now."""
        left = list(self._left.copy().values())
        return dict(zip((step.agent for step in left), self._estimate_seconds(left), strict=True)).get(agent)

    def wait_for(self, agent: str) -> None:
        """Wait until an agent is compiled; return at once if no compilation is pending."""
        step = self._left.get(agent)
        if step is not None:
            try:
                close_agent(make_agent(step.agent, step.rules))
            except Exception as fault:  # an answer that needs it says so, too
                _log.warning("%s cannot play: %s", agent, fault)
            self._left.pop(agent, None)

    def _compile(self) -> None:
        for step in self._steps:
            self.wait_for(step.agent)
            self._expected += step.seconds
            self._taken = time.monotonic() - self._began

    def _estimate_seconds(self, left: Sequence[CompileStep]) -> list[int]:
        """Estimate the seconds until each remaining step is done, at the pace of the finished steps."""
        pace = self._taken / self._expected if self._expected else 1.0
        until, seconds = self._began + self._taken - time.monotonic(), list[int]()
        for step in left:
            until += pace * step.seconds
            seconds.append(max(1, round(until)))
        return seconds


def list_compile_steps(agents: Sequence[str], adviser: str) -> list[CompileStep]:
    """List a server's compile steps: the default player and bidder first, the puzzle solver last.

    Agents that compile nothing of ours are left out: they are never asked for practice.

    Args:
        agents: Who may play, the first by default.
        adviser: Who gives hints.
    """
    first, *others = agents
    advisers = [("hints", name) for name in reversed(QUICK_ADVISERS)] + [("search", CHANCE_AGENT), ("search", adviser)]
    weakest_first = sorted(
        [*(("opponents", name) for name in others), *advisers], key=lambda pair: _compile_seconds(pair[1])
    )
    named = [("opponents", first, Rules()), ("opponents", BIDDER, Rules.preset("bidding"))]
    named += [*((what, name, Rules()) for what, name in weakest_first), ("puzzles", SOLVER, Rules.preset(PUZZLE_RULES))]
    found, modules = dict[str, CompileStep](), set[str]()
    for what, name, rules in named:
        if estimate_compile_seconds(name) is not None and name not in found:
            module = parse_agent(name)[0].__module__
            seconds = 0 if module in modules else _compile_seconds(name)
            found[name] = CompileStep(what, name, rules, seconds + (0 if found else ENGINE_SECONDS))
            modules.add(module)
    return list(found.values())


def _compile_seconds(agent: str) -> int:
    return estimate_compile_seconds(agent) or 0
