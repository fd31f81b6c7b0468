"""What the package's README promises: its example runs, what it names is there, and it needs no other package."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

from tests.packages import SOURCES
from tests.readmes import examples_run

README = SOURCES["ddz_env"] / "README.md"

A_GAME = """
import sys
from ddz_env import dou_dizhu_v0

env = dou_dizhu_v0.env()
env.reset(seed=1)
for agent in env.agent_iter():
    observation, _, termination, truncation, _ = env.last()
    over = termination or truncation
    env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))
print(*sorted({module.partition(".")[0] for module in sys.modules}))
"""


def test_the_example_of_the_readme_runs() -> None:
    assert examples_run(README) > 10


def test_what_the_readme_says_to_import_is_there() -> None:
    text = README.read_text(encoding="utf-8").replace("`from ddz_env import ", "`ddz_env.")
    rows = re.findall(r"(?m)^\| `(ddz_env[.\w]*)` \| (.*) \|$", text)
    assert [name for name, _ in rows] == [
        "ddz_env",
        "ddz_env.dou_dizhu_v0",
        "ddz_env.gym",
        "ddz_env.batch",
        "ddz_env.core.observation",
        "ddz_env.core.actions",
    ]
    for name, contents in rows:
        module = importlib.import_module(name)
        for member in re.findall(r"`(\w+)`", contents):
            assert member in getattr(module, "__all__", vars(module))


def test_a_whole_game_imports_no_command_line_and_no_other_package() -> None:
    """Only the text renderer needs rich; click and filelock are for commands and training."""
    command = (sys.executable, "-W", "ignore", "-c", A_GAME)
    imported = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "ddz_env" in imported
    assert {"click", "rich", "filelock", *SOURCES}.intersection(imported) == {"ddz_env"}
