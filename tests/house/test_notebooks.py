"""The notebooks are thin, have pictures, run from top to bottom, and print what is committed."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

import notebook_badges
from tests.packages import ROOT
from tests.release import pyproject

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def _code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _printed(cells: list[Any]) -> list[str]:
    """What the cells print, without what compiling says."""
    return ["".join(output.text for output in cell.outputs if output.get("name") == "stdout") for cell in cells]


def _steady(notebook: Any) -> list[Any]:
    """Cells that print the same everywhere; those that train or think for a time are marked as varying."""
    return [cell for cell in _code(notebook) if "varies" not in cell.metadata.get("tags", ())]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_thin_and_show_what_they_print(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert path.stat().st_size <= 300_000  # figures are most of it
    assert notebook.cells[0].source.startswith("# ")
    assert "-OWNER-" not in notebook.cells[0].source  # a badge only where it leads somewhere
    [extras] = re.findall(r'%pip install --quiet "\./ddz-env\[([\w,]+)\]"', notebook.cells[1].source)
    assert set(extras.split(",")) <= set(pyproject()["project"]["optional-dependencies"])
    for cell in _code(notebook):
        assert len(cell.source.splitlines()) <= 25
        assert not any(output.output_type == "error" for output in cell.outputs)
    assert sum(bool(cell.outputs) for cell in _code(notebook)) > len(_code(notebook)) / 2
    assert any(_printed(_steady(notebook)))
    assert any("image/png" in output.get("data", {}) for cell in _code(notebook) for output in cell.outputs)
    assert "## What we saw" in notebook.cells[-1].source
    lessons = (ROOT / "docs" / "tutorials" / "index.md").read_text(encoding="utf-8")
    assert f"(../../notebooks/{path.name})" in lessons


def test_a_notebook_has_a_badge_once_the_repository_has_an_address() -> None:
    assert doctest.testmod(notebook_badges) == (0, 2)


def test_a_learner_is_seen_to_learn() -> None:
    """The win rate that the third notebook prints after every eight updates rises, beyond luck."""
    assert [int(path.stem[0]) for path in NOTEBOOKS] == [1, 2, 3, 4, 5]
    printed = "".join(_printed(_code(nbformat.read(FOLDER / "3_train_and_search.ipynb", as_version=4))))
    rates = [int(rate) for rate in re.findall(r"decisions it wins +(\d+) % v random", printed)]
    assert len(rates) > 5
    assert rates[-1] > rates[0] + 25


SHORT = {"3_train_and_search": "evaluations, updates, lessons, deals = 2, 1, 2_000, 4"}
"""What the cell tagged ``parameters`` of a notebook that trains assigns in the default suite."""


def _execute(path: Path, parameters: str | None = None) -> Any:
    """Run a notebook from top to bottom, perhaps with other parameters than its own."""
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    if path.stem.startswith("3"):
        pytest.importorskip("torch")
    notebook = nbformat.read(path, as_version=4)
    if parameters is not None:
        [cell] = [cell for cell in _code(notebook) if "parameters" in cell.metadata.get("tags", ())]
        names, _, _ = parameters.partition(" = ")
        assert f"\n{names} = " in cell.source
        cell.source = parameters
    client.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(FOLDER)}}).execute()
    return notebook


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_and_print_what_is_saved(path: Path) -> None:
    """``make notebooks`` keeps what they print today; cells that vary are run, and not compared."""
    saved = nbformat.read(path, as_version=4)
    assert _printed(_steady(_execute(path, SHORT.get(path.stem)))) == _printed(_steady(saved))


@pytest.mark.long
@pytest.mark.parametrize("name", SHORT)
def test_notebooks_run_with_their_own_parameters(name: str) -> None:
    _execute(FOLDER / f"{name}.ipynb")
