"""How many kernels three common programs need: each is compiled on the first run, for a tenth of a second and more."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.packages import ROOT

GAME = """
from ddz_env import dou_dizhu_v0
env = dou_dizhu_v0.env()
env.reset(seed=0)
for agent in env.agent_iter():
    observation, _, over, cut, _ = env.last()
    env.step(None if over or cut else env.action_space(agent).sample(observation["action_mask"]))
"""
LEARNER = """
import gymnasium
import ddz_env
env = gymnasium.make("ddz_env/DouDizhu-v0", opponents="rules")
env.reset(seed=0)
over = False
while not over:
    *_, over, _, _ = env.step(int(env.unwrapped.action_masks().argmax()))
"""
SEARCH = """
from ddz_env import dou_dizhu_v0
env = dou_dizhu_v0.env()
env.reset(seed=0)
player = dou_dizhu_v0.AECPlayer("isuct:iterations=100")
for agent in env.agent_iter():
    _, _, over, cut, _ = env.last()
    env.step(None if over or cut else player.next_action(env))
"""

# What a loaded kernel calls is inside its file, so the kernels that a run has met are followed to those that they name.
COUNT = """
import sys
from types import ModuleType

def named_by(kernel):
    names, known = kernel.py_func.__code__.co_names, kernel.py_func.__globals__
    for value in [known[name] for name in names if name in known]:
        for found in [getattr(value, name, None) for name in names] if isinstance(value, ModuleType) else [value]:
            if hasattr(found, "py_func"):
                yield found

places = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] in ("ddz_env", "ddz_agents")]
kernels = {id(value): value for module in places for value in vars(module).values() if hasattr(value, "py_func")}
met = [kernel for kernel in kernels.values() if kernel.signatures]
needed = {}
while met:
    kernel = met.pop()
    if id(kernel) not in needed:
        needed[id(kernel)] = kernel
        met.extend(named_by(kernel))
print(sum(kernel.targetoptions.get("inline") != "always" for kernel in needed.values()))
"""


@pytest.mark.parametrize(
    ("program", "most"), [(GAME, 72), (LEARNER, 120), (SEARCH, 87)], ids=["aec", "gymnasium", "isuct"]
)
def test_a_program_needs_no_more_kernels_than_it_did(program: str, most: int) -> None:
    """A function that has one caller is a ``part_kernel``; raise a number only for code that does more."""
    answer = subprocess.check_output([sys.executable, "-c", program + COUNT], text=True, cwd=ROOT)
    assert int(answer.split()[-1]) <= most
