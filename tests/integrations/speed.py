"""What a library's wrapper costs: random play through it beside the same environment in a plain loop.

``python -m tests.integrations`` runs this in the library's virtual environment, so only the core installation is
imported at the top; :data:`PLAYS` says how the programs of each library play at random, and what of ours to compare.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np

from ddz_env import dou_dizhu_v0
from tests.integrations.evaluation import evaluate

Play = Callable[[int], int]
"""Plays about as many decisions as it is given with random legal actions, and returns how many it played."""
Form = dict[str, str]
"""Options of the program's games, so that ours are compared in the same form: int8 beside int8."""

VECTOR = "ddz_env/DouDizhu-v0"
RNG = np.random.default_rng(0)
DECISIONS, SECONDS, ROUNDS = 1000, 0.2, 7
"""A round is at least this many decisions, and at least this long."""


def drawn(masks: Any) -> Any:
    """Random actions that masks ``[games, actions]`` allow."""
    return (RNG.random(masks.shape, np.float32) * masks).argmax(1)


def until(step: Callable[[], int]) -> Play:
    """Repeat something that plays a few decisions."""

    def play(decisions: int) -> int:
        done = 0
        while done < decisions:
            done += step()
        return done

    return play


def rows(program: Any, *, seats: int = 1) -> Play:
    """The program's ``make_games()``, whose masks its ``read`` gives, if it has one."""
    games = program.make_games()
    read = getattr(program, "read", lambda observations, infos: (observations, infos["action_mask"]))

    def play(decisions: int) -> int:
        observations, infos = games.reset(seed=0)
        done = 0
        while done < decisions:
            masks = np.asarray(read(observations, infos)[1])
            observations, *_, infos = games.step(drawn(masks))
            done += len(masks) // seats
        return done

    return play


def _legal(observation: Any) -> Any:
    return np.flatnonzero(observation["action_mask"])


def turns(games: Any, legal: Callable[[Any], Any] = _legal) -> Play:
    """An AEC environment, game by game."""

    def game() -> int:
        games.reset()
        done = 0
        for _ in games.agent_iter():
            observation, _, over, _, _ = games.last()
            games.step(None if over else RNG.choice(legal(observation)))
            done += not over
        return done

    return until(game)


def episodes(game: Any, choose: Callable[[Any, Any], Any]) -> Play:
    """A Gymnasium environment, step by step."""
    seen = None

    def step() -> int:
        nonlocal seen
        observation, info = seen or game.reset()
        observation, _, over, _, info = game.step(choose(observation, info))
        seen = None if over else (observation, info)
        return 1

    return until(step)


def aec(form: Form) -> Play:
    """Our AEC environment without a library around it."""
    return turns(dou_dizhu_v0.env(**form))


def single(form: Form) -> Play:
    """Our Gymnasium environment without a library around it."""
    return episodes(gymnasium.make(VECTOR, **form), lambda _, info: RNG.choice(_legal(info)))


def vector(form: Form) -> Play:
    """Sixteen of our games in one vector environment, without a library around it."""
    return rows(SimpleNamespace(make_games=lambda: gymnasium.make_vec(VECTOR, 16, **form)))


def _parallel(program: Any) -> Play:
    """PettingZoo's parallel API, game by game."""
    game = program.make_game()

    def play() -> int:
        seen, _ = game.reset()
        done = 0
        while game.agents:
            actions = {seat: int((RNG.random(400) * view["action_mask"]).argmax()) for seat, view in seen.items()}
            seen, *_ = game.step(actions)
            done += 1
        return done

    return until(play)


def _wrapped_by_sb3(program: Any) -> Play:
    """Steps of eight games behind SB3's wrappers."""
    games = program.make_games(0)

    def play(decisions: int) -> int:
        games.reset()
        for _ in range(steps := -(-decisions // games.num_envs)):
            games.step(drawn(np.stack(games.env_method("action_masks"))))
        return steps * games.num_envs

    return play


def _rlcards_random(program: Any) -> Play:
    from rlcard.agents import RandomAgent

    player = RandomAgent(400)
    return episodes(program.make_game(), lambda observation, _: player.step(program.rlcards(observation)))


def _rlcards_turns(program: Any) -> Play:
    return turns(program.make_game(), lambda observation: program.rlcards(observation)["raw_legal_actions"])


def _rllibs_runner(program: Any) -> Play:
    """Episodes of RLlib's runner, which calls its untrained module for every decision."""
    ppo = program.make_ppo(0)
    return lambda decisions: sum(len(episode) for episode in ppo.env_runner.sample(num_timesteps=decisions))


def _tianshous_collector(program: Any, *, seats: int = 1) -> Play:
    """Collecting by Tianshou, which calls its untrained policies for every decision and always explores."""
    from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
    from tianshou.data import Collector
    from tianshou.env import DummyVectorEnv

    learners = [program.make_learner() for _ in range(seats)]
    for learner in learners:
        learner.policy.set_eps_inference(1.0)
    many = seats > 1
    player = MultiAgentOffPolicyAlgorithm(algorithms=learners, env=program.make_env()) if many else learners[0]
    collector = Collector(player, DummyVectorEnv([program.make_env] * 16), exploration_noise=True)
    collector.reset()
    return lambda decisions: collector.collect(n_step=decisions).n_collected_steps


def _torchrls_game(program: Any) -> Play:
    game = program.make_game()
    return lambda decisions: game.rollout(decisions, break_when_any_done=False).numel()


def _torchrls_vector(program: Any) -> Play:
    """Sixteen games at once, one learner each."""
    from torchrl.envs import ActionMask, TransformedEnv

    env = TransformedEnv(program.make_games(), ActionMask())
    return lambda decisions: env.rollout(-(-decisions // 16), break_when_any_done=False).numel()


PLAYS: dict[str, tuple[Callable[[Any], Play], Callable[[Form], Play]]] = {
    "agilerl": (rows, vector),
    "cleanrl": (rows, vector),
    "pettingzoo": (_parallel, aec),
    "pufferlib": (rows, single),
    "pufferlib-aec": (partial(rows, seats=2), aec),
    "rlcard": (_rlcards_random, single),
    "rlcard-nfsp": (_rlcards_turns, aec),
    "rllib": (_rllibs_runner, single),
    "rllib-aec": (_rllibs_runner, aec),
    "sb3": (_wrapped_by_sb3, single),
    "supersuit-aec": (partial(rows, seats=2), aec),
    "tianshou": (_tianshous_collector, single),
    "tianshou-aec": (partial(_tianshous_collector, seats=2), aec),
    "torchrl-aec": (_torchrls_game, aec),
    "torchrl-vector": (_torchrls_vector, vector),
}
"""How the games of each program are played at random, and the same of ours."""


def rates(through: Play, ours: Play, clock: Callable[[], float]) -> tuple[list[float], list[float]]:
    """Decisions a second of both, measured in alternation in rounds of about ``SECONDS``."""

    def rate(play: Play, decisions: int) -> float:
        start = clock()
        return play(decisions) / (clock() - start)

    plays = [(play, [rate(play, DECISIONS) for _ in range(2)][-1]) for play in (through, ours)]  # the first compiles
    sizes = [(play, max(DECISIONS, round(SECONDS * first))) for play, first in plays]
    found = [[rate(play, decisions) for play, decisions in sizes] for _ in range(ROUNDS)]
    return [there for there, _ in found], [here for _, here in found]


def facts(options: dict[str, Any]) -> dict[str, Any]:
    """What random play wins in the games that a program is judged by, and the versions at hand."""
    return {
        "random": round(float(evaluate(lambda _, masks: drawn(masks), **options)), 4),
        "python": platform.python_version(),
        "versions": {one.name: one.version for one in importlib.metadata.distributions()},
    }


def speeds(name: str, program: Any, form: Form) -> dict[str, Any]:
    """How fast the program's games are played at random, and what share of the speed of ours that is."""
    through, ours = PLAYS[name]
    there, here = rates(through(program), ours(form), time.process_time)
    return {
        "through": round(statistics.median(there)),
        "of_ours": round(statistics.median(a / b for a, b in zip(there, here, strict=True)), 3),
        "cores": os.cpu_count(),
    }


def main(what: str, name: str, module: str, options: str) -> None:
    """Print the facts or the speeds as a line of JSON; options are how the games are judged, or their form."""
    given = json.loads(options)
    measured = facts(given) if what == "facts" else speeds(name, importlib.import_module(module), given)
    print(json.dumps({"measured": measured}), flush=True)
    os._exit(0)  # libraries leave processes and threads behind that are not waited for


if __name__ == "__main__":
    main(*sys.argv[1:])
