"""A category that is appended to the action table of a copy of the package is played without further edits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import ddz_env
from tests.packages import ROOT

LAST = '    Category("shuttle+pairs"'
ADDED = """
    Category("trio+2 solos", 3, kicker_size=1, kickers_per_link=2, weight=4),
    Category("quad chain+solos", 4, _chain_lengths(4, 4, 1), kicker_size=1, kickers_per_link=1, weight=8),
"""
"""22 ids: no multiple of 8, and the main groups need one mask word more than before."""
SCRIPT = """
import numpy as np
import ddz_env
from ddz_env import Move, Rules, State
from ddz_env.core.actions import CATEGORIES, MAIN_GROUPS, NUM_ACTIONS, NUM_MAIN
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.core.observation import action_mask
from ddz_env.core.rules import PRESETS, STANDARD_CATEGORIES
from tests.oracles.positions import rare_positions
from tests.env.core.test_rules_reference import check_position

ADDED = ("trio+2 solos", "quad chain+solos")
assert ddz_env.__file__.startswith({root!r}), ddz_env.__file__
assert [category.name for category in CATEGORIES[-2:]] == list(ADDED)
assert NUM_MAIN > 384 and NUM_ACTIONS % 8
assert not any(name in rules.categories for rules in PRESETS.values() for name in ADDED)
for preset in ("standard", "rlcard"):
    rules = Rules.preset(preset, categories=(*STANDARD_CATEGORIES, *ADDED))
    rng = np.random.default_rng(5)
    for position in rare_positions(rules, 3, 5):
        check_position(position, rng)

rules = Rules("added", categories=(*STANDARD_CATEGORIES, *ADDED))
for text, name in (("333+45", ADDED[0]), ("3333444455556666+789T", ADDED[1])):
    move = Move.parse(text, rules)
    assert (move.category, str(move)) == (name, text)
    state = State.from_hands([text.replace("+", ""), "JJ", "QQ"], rules=rules, check_sizes=False)
    assert move in state.legal_moves()
    mask = action_mask(state)
    assert mask.shape == (NUM_ACTIONS,) and np.flatnonzero(mask).tolist() == state.legal_actions()
    state.step(move)
    assert state.is_over and state.winner == 0
batch = SelfPlayBatch(2, rules, seed=1, threads=1)
for _ in range(40):
    assert batch.mask.shape == (2, NUM_ACTIONS)
    batch.step(batch.sample_actions())
print("played")
"""


def test_an_appended_category_is_played(tmp_path: Path) -> None:
    """Legal moves equal the reference's; notation, masks and batches know the new ids.  Nothing is compiled here."""
    shutil.copytree(Path(ddz_env.__file__).parent, tmp_path / "ddz_env", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    table = tmp_path / "ddz_env" / "core" / "actions.py"
    lines = table.read_text().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if line.startswith(LAST))
    table.write_text("".join([*lines[: place + 1], ADDED, *lines[place + 1 :]]))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT.format(root=str(tmp_path))],
        cwd=tmp_path,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "played\n"
