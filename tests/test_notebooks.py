"""The notebooks are thin and run from top to bottom."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert not any(cell.get("outputs") for cell in cells), "notebooks are committed without outputs"
    names: dict[str, object] = {}
    for cell in code:
        exec(compile(cell, str(path), "exec"), names)


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS
