"""The programs that use other libraries have pages, pinned versions and results; what is installed here runs."""

from __future__ import annotations

import re
import runpy

import pytest

from tests.integrations.evaluation import SEEDS
from tests.integrations.programs import CONSTRAINTS, PROGRAMS, results
from tests.packages import ROOT

PAGES = ROOT / "docs" / "guides" / "integrations"


def test_every_library_has_a_page_that_shows_a_program_and_every_program_learns() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    shown = set(re.findall(r"<!-- table: code-([\w-]+) -->", text)) & PROGRAMS.keys()
    assert {PROGRAMS[name].parent for name in shown} == {path.parent for path in PROGRAMS.values()}
    assert results().keys() == PROGRAMS.keys()
    for name, row in results().items():
        assert min(seed["wins"] for seed in row["seeds"].values()) > row.get("random", 0.5) + 0.02, name


@pytest.mark.parametrize("library", sorted({path.parent for path in PROGRAMS.values()}), ids=lambda path: path.name)
def test_a_library_is_pinned(library: object) -> None:
    lines = (library / CONSTRAINTS).read_text(encoding="utf-8").splitlines()  # type: ignore[operator]
    pins = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+(\[[\w,-]+\])?==[\w.]+", pin) for pin in pins)
    assert any(pin.startswith("torch==") for pin in pins)


def test_runs_with_different_seeds_play_different_deals_from_each_other_and_from_their_evaluation() -> None:
    """Game i of a seed has the seed plus i; no program has more than a hundred games, nor has the evaluation."""
    runs = [range(seed, seed + 100) for seed in (0, *SEEDS)]
    assert len({seed for run in runs for seed in run}) == 100 * len(runs)


LONG = [pytest.param(name, marks=pytest.mark.long) for name in ("pettingzoo", "sb3", "rlcard", "rlcard-nfsp")]


@pytest.mark.parametrize("name", ["cleanrl", *LONG])
def test_a_program_runs(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """For a moment, where the library is installed; ``make test-integrations`` runs every program in full."""
    for module in ("torch", {"sb3": "sb3_contrib", "rlcard": "rlcard", "rlcard-nfsp": "rlcard"}.get(name, "torch")):
        pytest.importorskip(module)
    monkeypatch.setenv("STEPS", "2048")
    monkeypatch.setattr("sys.argv", [name, "5"])
    runpy.run_path(str(PROGRAMS[name]), run_name="__main__")
    assert re.search(r"^seed 5: [\d.]+% of 4,000 games won", capsys.readouterr().out, re.MULTILINE)
