"""Write the generated parts of pages: ``python docs/generate.py``; with ``--check``, name those that are out of date.

A table is written between ``<!-- table: NAME -->`` and ``<!-- end -->``; ``TABLES`` has the function that makes it.
A program that a page shows is one of them.  A figure in a sentence is a cell of such a table (``docs/figures.py``).
The pages are those of ``docs/``, the README, CONTRIBUTING and the model card, which lies beside the shipped weights.
The notebooks' install lines get the repository's address, which only ``pyproject.toml`` has, and a badge once there is
one (``docs/notebook_badges.py``); the package gets the strengths of the agents that ``ddz agents`` shows.
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # tests.integrations, whose programs pages show

import agent_strengths
import api_pages
import benchmark_tables
import code_tables
import figures
import integration_pages
import notebook_badges
import record_tables
import result_tables

TABLES: dict[str, Callable[[], str]] = {
    **code_tables.TABLES,
    **result_tables.TABLES,
    **benchmark_tables.TABLES,
    **record_tables.TABLES,
    **integration_pages.TABLES,
    **api_pages.TABLES,
}
"""What pages show, by the names in their markers."""

MODEL_CARD = Path("agents/ddz_agents/neural/shipped/MODEL_CARD.md")
_TABLE = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n).*?((?:# )?<!-- end -->)", re.DOTALL)
"""In the head of a model card, which is YAML, the markers come after ``# ``."""
_REPOSITORY = re.compile(r'(?m)^Repository = "https://github\.com/([^"]+)"$')
_ADDRESSED = re.compile(r"(clone --depth 1 https://github\.com/)[^/\s]+/[\w.-]+")
"""What names the repository: the install lines of the notebooks."""


def generated_pages() -> list[Path]:
    """All pages and notebooks that may have generated parts."""
    above = [ROOT / name for name in ("README.md", "README.zh.md", "CONTRIBUTING.md", MODEL_CARD)]
    return [*above, *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "notebooks").glob("*.ipynb"))]


@functools.cache
def table(name: str) -> str:
    """A table by its name.

    Raises:
        SystemExit: If there is none.
    """
    if name not in TABLES:
        raise SystemExit(f"no table is called {name!r}; there are {', '.join(TABLES)}")
    return TABLES[name]()


def refreshed(text: str) -> str:
    """A page with its tables, its figures and the repository's address written again."""
    text = _TABLE.sub(lambda match: f"{match[1]}{table(match['name'])}\n{match[3]}", text)
    text = figures.with_figures(text, table)
    return _ADDRESSED.sub(rf"\g<1>{repository()}", text)


@functools.cache
def repository() -> str:
    """Owner and name of the repository.

    Raises:
        SystemExit: If ``pyproject.toml`` has no address in this form.
    """
    address = _REPOSITORY.search((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if address is None:
        raise SystemExit('pyproject.toml has no line Repository = "https://github.com/OWNER/NAME"')
    return address[1]


def refreshed_page(page: Path, text: str) -> str:
    """A page or a notebook as it should be."""
    new = refreshed(text)
    return notebook_badges.with_badge(new, page.name, repository()) if page.suffix == ".ipynb" else new


def stale(pages: Iterable[Path]) -> dict[Path, str]:
    """The pages that are out of date, with the text that they should have."""
    old = {page: page.read_text(encoding="utf-8") for page in pages}
    new = {page: refreshed_page(page, text) for page, text in old.items()}
    return {page: text for page, text in new.items() if text != old[page]}


def stale_strengths() -> Mapping[Path, str]:
    """The same of the strengths that ``ddz agents`` shows."""
    text, file = agent_strengths.document(), agent_strengths.STRENGTHS_FILE
    return {file: text} if not file.is_file() or file.read_text(encoding="utf-8") != text else {}


def main() -> None:
    """Write what is out of date, or say what is."""
    parser = argparse.ArgumentParser(description="Write the generated tables of the pages.")
    parser.add_argument("pages", nargs="*", type=Path, help="pages; all by default")
    parser.add_argument("--check", action="store_true", help="fail if a page is out of date; write nothing")
    given = parser.parse_args()
    changed = {**stale(given.pages or generated_pages()), **({} if given.pages else stale_strengths())}
    names = ", ".join(str(page) for page in changed)
    if given.check and changed:
        raise SystemExit(f"out of date: {names}; run `make docs`")
    for page, text in changed.items():
        page.write_text(text, encoding="utf-8")
    print(f"written: {names}" if changed else "nothing was out of date")


if __name__ == "__main__":
    main()
