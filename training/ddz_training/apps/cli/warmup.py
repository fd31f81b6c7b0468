"""``ddz warmup``: compile in advance what a newcomer would wait for, program by program."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click
import numpy as np

from ddz_env.core.errors import plural
from ddz_training.apps.cli.console import bar, remark, tell
from ddz_training.apps.cli.options import processes_option
from ddz_training.apps.cli.web import ADVISER, OFFERED

Program = tuple[str, Callable[[], object]]
"""Something that a newcomer runs: its name, and what runs a short form of it in any process."""


class Preparer:
    """Runs programs, so that what they compile is kept."""

    def work(self, program: Program) -> str:
        """Run one; what was wrong, which no other program suffers from."""
        name, run = program
        try:
            run()
        except Exception as fault:  # of an extra that is not installed, for instance
            return f"{name}: {fault}"
        return ""

    def close(self) -> None:
        """Nothing is held."""


@click.command()
@processes_option
def warmup(processes: int) -> None:
    """Compile everything for this machine in advance: environments, agents, searches and the page.

    Each program otherwise compiles what it needs when it first runs.  What is compiled is kept, also when this is
    interrupted, and running it again takes seconds.

    \b
    Example:
      ddz warmup
    """
    os.environ["DDZ_QUIET"] = "1"  # the bar says it, and not once per worker
    start, faults = time.perf_counter(), prepare(PROGRAMS, processes)
    remark(f"{plural(len(PROGRAMS), 'program')} prepared in {time.perf_counter() - start:.0f} s")
    for fault in faults:
        tell(f"left out: {fault}", err=True)


def prepare(programs: Sequence[Program], processes: int) -> list[str]:
    """Run programs under a bar.

    Args:
        programs: Those that need the most first.
        processes: How many run at once.

    Returns:
        What was wrong with some of them.
    """
    from ddz_training.measure import workers

    faults = []
    with bar("programs") as on_progress, workers.workers(Preparer, processes) as share:
        on_progress(0, len(programs))
        for done, fault in enumerate(share(programs), start=1):
            faults += [fault] if fault else []
            on_progress(done, len(programs))
    return faults


# --- the programs, each in its shortest form ---


def _chosen(mask: Any) -> Any:
    return np.asarray(mask).argmax(axis=-1)


def play_game() -> None:
    """A game by PettingZoo's loop."""
    from ddz_env import dou_dizhu_v0

    env: Any = dou_dizhu_v0.env()
    env.reset(seed=0)
    for _ in env.agent_iter():
        observation, _, termination, truncation, _ = env.last()
        env.step(None if termination or truncation else int(_chosen(observation["action_mask"])))


def learn_one(opponents: str) -> None:
    """A learner's decisions in the environment for Gymnasium."""
    from ddz_env import gym

    env = gym.DouDizhuEnv(opponents=opponents)
    env.reset(seed=0)
    over = False
    while not over:
        *_, over, _, _ = env.step(int(_chosen(env.action_masks())))


def learn_many(opponents: str) -> None:
    """A learner's decisions in a vector environment."""
    from ddz_env import gym

    env = gym.DouDizhuVectorEnv(num_envs=2, opponents=opponents)
    _, infos = env.reset(seed=0)
    for _ in range(60):
        *_, infos = env.step(_chosen(infos["action_mask"]))


def step_batch() -> None:
    """Games in which one plays all seats."""
    from ddz_env import batch

    games = batch.SelfPlayBatch(num_games=2, seed=0)
    for _ in range(60):
        games.step(games.sample_actions())


def compare(*agents: str) -> None:
    """A deal from both sides."""
    from ddz_training.measure import contest

    contest.run_arena(contest.Arena(agents, on_fault="stop"), 1)


def open_page() -> None:
    """What the page prepares."""
    from ddz_training.apps.web import preparing

    for step in preparing.steps(OFFERED, ADVISER, "policy"):
        step.work()


PROGRAMS: Sequence[Program] = (
    ("an environment", play_game),
    ("policy v rules", partial(compare, "policy", "rules")),
    ("a batch", step_batch),
    ("rollout v rules", partial(compare, "rollout:iterations=20", "rules")),
    ("a learner's environment", partial(learn_one, "rules")),
    ("isuct v rules", partial(compare, "isuct:iterations=100", "rules")),
    ("neural-ismcts v policy", partial(compare, "neural-ismcts:iterations=20", "policy")),
    *((f"a vector environment against {name}", partial(learn_many, name)) for name in ("random", "rules", "policy")),
    ("rules v random", partial(compare, "rules", "random")),
    ("duct v random-staged", partial(compare, "duct:iterations=100", "random-staged")),
    ("the page", open_page),
)
"""Two at a time share little, and later ones find most of what they need."""
