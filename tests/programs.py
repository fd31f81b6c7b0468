"""The programs in ``docs/programs``, as tests load them."""

from __future__ import annotations

import runpy
from typing import Any

from tests.packages import ROOT

PROGRAMS = ROOT / "docs" / "programs"


def program(name: str) -> dict[str, Any]:
    """The names of a program, which is not run."""
    return runpy.run_path(str(PROGRAMS / f"{name}.py"), run_name=name)
