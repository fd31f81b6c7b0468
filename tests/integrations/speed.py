"""What a library's wrapper costs: random play through it beside the same environment in a plain loop.

``python -m tests.integrations`` runs this in the library's virtual environment, so only the core installation is
imported here.  Every library has a ``speed.py`` whose ``PLAYS`` say how its programs play at random, and what of ours
to compare with.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import runpy
import statistics
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np

from ddz_env import dou_dizhu_v0

Play = Callable[[int], int]
"""Plays about so many decisions with random legal actions, and returns how many."""
Form = dict[str, str]
"""Options of the program's games, so that ours are compared in the same form: int8 beside int8."""

VECTOR = "ddz_env/DouDizhu-v0"
DECISIONS, SECONDS, ROUNDS = 1000, 0.2, 7
"""A round is so many decisions at least, and as many as take the seconds."""


def rows(program: Any, *, seats: int = 1) -> Play:
    """Random play in the program's ``make_games()``, whose masks its ``read`` gives, if it has one."""
    games, rng = program.make_games(), np.random.default_rng(0)

    def some(decisions: int) -> int:
        observations, infos = games.reset(seed=0)
        done = 0
        while done < decisions:
            masks = program.read(observations, infos)[1] if hasattr(program, "read") else infos["action_mask"]
            masks = np.asarray(masks)
            observations, *_, infos = games.step((rng.random(masks.shape, np.float32) * masks).argmax(1))
            done += len(masks) // seats
        return done

    return some


def aec(form: Form) -> Play:
    """Our AEC environment without a library around it."""
    games, rng = dou_dizhu_v0.env(**form), np.random.default_rng(0)

    def some(decisions: int) -> int:
        done = 0
        while done < decisions:
            games.reset()
            for _ in games.agent_iter():
                observation, _, over, _, _ = games.last()
                games.step(None if over else rng.choice(np.flatnonzero(observation["action_mask"])))
                done += not over
        return done

    return some


def single(form: Form) -> Play:
    """Our Gymnasium environment without a library around it."""
    game, rng = gymnasium.make(VECTOR, **form), np.random.default_rng(0)

    def some(decisions: int) -> int:
        over = True
        for _ in range(decisions):
            info = game.reset()[1] if over else info  # noqa: F821
            *_, over, _, info = game.step(rng.choice(np.flatnonzero(info["action_mask"])))
        return decisions

    return some


def vector(num_envs: int) -> Callable[[Form], Play]:
    """So many of our games in one vector environment, without a library around it."""

    def make(form: Form) -> Play:
        games = gymnasium.make_vec(VECTOR, num_envs, **form)
        return rows(SimpleNamespace(make_games=lambda: games))

    return make


def rates(through: Play, ours: Play, clock: Callable[[], float]) -> tuple[list[float], list[float]]:
    """Decisions a second of both, measured in alternation in rounds of about ``SECONDS``."""

    def rate(play: Play, decisions: int) -> float:
        start = clock()
        return play(decisions) / (clock() - start)

    plays = [(play, [rate(play, DECISIONS) for _ in range(2)][-1]) for play in (through, ours)]  # the first compiles
    sizes = [(play, max(DECISIONS, round(SECONDS * first))) for play, first in plays]
    found = [[rate(play, decisions) for play, decisions in sizes] for _ in range(ROUNDS)]
    return [there for there, _ in found], [here for _, here in found]


def chance(program: Any, options: dict[str, Any]) -> float:
    """What random play wins in the games that the program judges itself by."""
    rng = np.random.default_rng(1)
    return float(program.evaluate(lambda _, masks: (rng.random(masks.shape, np.float32) * masks).argmax(1), **options))


def facts(program: Any, options: dict[str, Any]) -> dict[str, Any]:
    """What random play wins, and the versions at hand."""
    return {
        "random": round(chance(program, options), 4),
        "python": platform.python_version(),
        "versions": {one.name: one.version for one in importlib.metadata.distributions()},
    }


def speeds(program: Any, name: str, library: str, form: Form) -> dict[str, Any]:
    """How fast the program's games are played at random, and what share of the speed of ours that is."""
    table = importlib.import_module(f"tests.integrations.{library}.speed")
    through, ours = table.PLAYS[name]
    there, here = rates(through(program), ours(form), time.process_time)
    return {
        "through": round(statistics.median(there)),
        "of_ours": round(statistics.median(a / b for a, b in zip(there, here, strict=True)), 3),
        "cores": os.cpu_count(),
    }


def main(what: str, name: str, file: str, library: str, options: str) -> None:
    """Print the facts or the speeds as a line of JSON; options are how the games are judged, or their form."""
    program, given = SimpleNamespace(**runpy.run_path(file)), json.loads(options)
    measured = facts(program, given) if what == "facts" else speeds(program, name, library, given)
    print(json.dumps({"measured": measured}), flush=True)
    os._exit(0)  # libraries leave processes and threads behind that are not waited for


if __name__ == "__main__":
    main(*sys.argv[1:])
