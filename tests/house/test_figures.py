"""Figures in sentences come from results, or say which commit brought them; a stale or bare one is found."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path

import pytest

import figures
import generate
from tests.house.test_docs import PAGES, name
from tests.packages import ROOT

NEXT_DIGIT = str.maketrans("0123456789", "1234567890")


def prose_of(page: Path) -> str:
    """The text of a page; of a notebook, its cells of text."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
    return "\n\n".join("".join(cell["source"]) for cell in cells)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_figure_in_a_sentence_is_generated_or_says_which_commit_brought_it(page: Path) -> None:
    assert figures.unsourced(prose_of(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_line_of_a_paragraph_begins_with_a_mark(page: Path) -> None:
    """Markdown takes a line that begins with a comment for HTML: its code and links would not be shown as such."""
    assert re.findall(r"(?m)^ *<!-- (?:figure|measured|quoted).*-->.+$", prose_of(page)) == []


MARKED = ("README.md", "README.zh.md", "docs/guides/questions.md", "docs/measurements/policy-results.md")


@pytest.mark.parametrize("page", [*(ROOT / page for page in MARKED), ROOT / generate.MODEL_CARD], ids=name)
def test_a_stale_figure_is_found(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for number, mark in enumerate(figures.MARK.finditer(text)):
        start, end = mark.span("text")
        stale = tmp_path / f"{number}.md"
        stale.write_text(text[:start] + mark["text"].translate(NEXT_DIGIT) + text[end:], encoding="utf-8")
        assert generate.stale([stale]) == {stale: text}
    assert generate.stale([page]) == {}


@pytest.mark.parametrize(
    "sentence", ["It wins 61.2 % of its games.", "12,345 decisions per second", "+33 Elo", "40 (38–42)"]
)
def test_a_figure_that_says_nothing_of_its_source_is_found(sentence: str) -> None:
    for page in (ROOT / "README.md", ROOT / generate.MODEL_CARD, ROOT / "notebooks" / "3_train_and_search.ipynb"):
        assert figures.unsourced(f"{prose_of(page)}\n\n{sentence}\n") == [sentence]


def test_examples_run() -> None:
    assert doctest.testmod(figures) == (0, 4)
