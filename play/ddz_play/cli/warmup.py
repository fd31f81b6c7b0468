"""The command ``ddz warmup``, which compiles agents, environments, training and the web page in advance."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ddz_env.support.errors import pluralize
from ddz_play.cli.web import ADVISER, DEFAULT_AGENTS
from ddz_training.cli.console import print_error, print_prose, progress_bar

if TYPE_CHECKING:
    from ddz_env import Rules


@click.command()
def warmup() -> None:
    """Compile everything for this machine in advance: environments, agents, searches, training and the page.

    Each program otherwise compiles what it needs when it first runs.  What is compiled is kept, also when this is
    interrupted, and running it again takes seconds.

    \b
    Example:
      ddz warmup
    """
    os.environ["DDZ_QUIET"] = "1"  # the bar says it
    start = time.perf_counter()
    with progress_bar("programs") as on_progress:
        for done, (name, work) in enumerate(PROGRAMS):
            on_progress(done, len(PROGRAMS))
            try:
                work()
            except Exception as fault:  # of an extra that is not installed, for instance
                print_error(f"left out: {name}: {fault}")
    print_prose(f"{pluralize(len(PROGRAMS), 'program')} prepared in {time.perf_counter() - start:.0f} s")


# --- the programs, each in its shortest form ---

AGENTS = (
    *("policy", "rules", "random", "random-staged", "rollout:iterations=20", "isuct:iterations=100"),
    *("duct:iterations=100", "neural-ismcts:iterations=20"),
)


def _first_legal(mask: Any) -> Any:
    return np.asarray(mask).argmax(axis=-1)


def play_game() -> None:
    """Play a game in PettingZoo's loop and make decisions in a batch of games, so that both are compiled."""
    from ddz_env import batch, dou_dizhu_v0

    env: Any = dou_dizhu_v0.env()
    env.reset(seed=0)
    for _ in env.agent_iter():
        observation, _, termination, truncation, _ = env.last()
        env.step(None if termination or truncation else int(_first_legal(observation["action_mask"])))
    games = batch.SelfPlayBatch(num_games=2, seed=0)
    for _ in range(60):
        games.step(games.sample_actions())


def step_environments(opponents: str) -> None:
    """Step the single and the vectorized Gymnasium environment, so that both are compiled."""
    from ddz_env import gym

    env = gym.DouDizhuEnv(opponents=opponents)
    env.reset(seed=0)
    over = False
    while not over:
        *_, over, _, _ = env.step(int(_first_legal(env.action_masks())))
    envs = gym.DouDizhuVectorEnv(num_envs=2, opponents=opponents)
    _, infos = envs.reset(seed=0)
    for _ in range(60):
        *_, infos = envs.step(_first_legal(infos["action_mask"]))


def compile_agent(agent: str, rules: str | Rules = "standard") -> None:
    """Compile an agent for the given rules by making it once."""
    from ddz_env import Rules
    from ddz_env.playing.agent import close_agent
    from ddz_env.playing.registry import make_agent

    close_agent(make_agent(agent, Rules.preset(rules)))


def play_every_pair() -> None:
    """Play one deal between every pair of agents, from both sides, so that the arena is compiled."""
    from ddz_training.measure import contest

    contest.run_arena(contest.Arena(AGENTS, on_fault="stop"), 1)


def train_once() -> None:
    """Run one small self-play training update, so that training is compiled."""
    from ddz_training.learn.ppo.config import SelfPlayConfig
    from ddz_training.learn.ppo.selfplay import SelfPlay

    config = SelfPlayConfig()
    with closing(SelfPlay(config.with_changes({"num_envs": config.groups, "num_steps": 4}))) as small:
        small.step()


def prepare_page() -> None:
    """Compile the programs that the web page uses, and ask for a hint with its winning chances."""
    from ddz_env import Rules
    from ddz_env.saved_games import PERSON, Deal, SavedGame
    from ddz_play.session import Session
    from ddz_play.web import preparing
    from ddz_play.winning_chances import ChanceEstimator

    for step in preparing.list_compile_steps(DEFAULT_AGENTS, ADVISER):
        compile_agent(step.agent, step.rules)
    session = Session(SavedGame(Deal(Rules()), (PERSON,) * 3))
    ChanceEstimator().add_chances(session.view(session.seat), session.hint("policy"), players=(PERSON, "hard", "hard"))


PROGRAMS: Sequence[tuple[str, Callable[[], object]]] = (
    ("a game", play_game),
    *((f"an environment against {name}", partial(step_environments, name)) for name in ("random", "rules", "policy")),
    *((name, partial(compile_agent, name)) for name in AGENTS),
    ("a comparison of agents", play_every_pair),
    ("the page", prepare_page),
    ("training by self-play", train_once),
)
"""What a newcomer runs: its name, and what runs a short form of it."""
