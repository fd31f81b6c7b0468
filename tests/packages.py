"""Where the source of each package lies in a checkout."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = {
    "ddz_env": ROOT / "ddz_env",
    "ddz_agents": ROOT / "agents" / "ddz_agents",
    "ddz_training": ROOT / "training" / "ddz_training",
    "ddz_play": ROOT / "play" / "ddz_play",
    "ddz_papers": ROOT / "papers" / "ddz_papers",
}


def pythonpath(checkout: Path = ROOT) -> str:
    """``PYTHONPATH`` of a process that shall see this checkout before any installation."""
    return os.pathsep.join(str(checkout / folder.parent.relative_to(ROOT)) for folder in SOURCES.values())
