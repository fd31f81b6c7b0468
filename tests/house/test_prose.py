"""Docstrings, comments, messages and pages are plain English: turns of phrase that crept in are counted, and go.

A budget only falls: a change that removes some lowers the number, and no change adds one.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rooms import ROOT

TICS = {
    "asked": r"asked",  # say what is called, requested or given
    "stand": r"stands?(?! (?:for|out|up))",  # is, lies, is written
    "nobody": r"nobody",  # no one; often the passive reads better
    "tell": r"(?:told|tells?)",  # says, shows, describes
    "whoever": r"(?:who|what|which|whom|where)ever",
    "so many": r"so (?:many|much)(?! (?:as|that))",  # name the number
    "is no X": r"(?<!there )(?:is|are|was|were) no (?!better|fewer|less|longer|matter|more|one|worse)",  # is not a
    "goes on with": r"(?:go|goes|gone|going) on with",  # continues, resumes
    "anew": r"anew",  # again, from the start
    "but for": r"but for",  # except
    "in vain": r"in vain",  # without effect
    "as it were": r"as it were|which see|so to speak",
}
PATTERN = re.compile("|".join(rf"(?P<t{i}>\b(?:{tic})\b)" for i, tic in enumerate(TICS.values())), re.IGNORECASE)

BUDGET: dict[str, dict[str, int]] = json.loads((ROOT / "tests" / "data" / "prose.json").read_text(encoding="utf-8"))
"""How often the files of each folder still have each."""
CLEAN = (
    *("README.md", "CONTRIBUTING.md", "docs", "benchmarks"),
    *("tests/house", "tests/sabotage", "tests/anywhere", "tests/integrations", "tests/power"),
)


def _texts(file: Path) -> Iterator[tuple[int, str]]:
    """Of a page, what is not generated; of code, its comments, and every text of three words or more."""
    source = file.read_text(encoding="utf-8")
    if not PATTERN.search(source):
        return  # most files, which need not be parsed
    if file.suffix != ".py":
        source = re.sub(r"(?s)<!-- (?:table|site): .*?<!-- end -->", lambda block: "\n" * block[0].count("\n"), source)
        yield from enumerate(source.splitlines(), start=1)
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > 2:
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def tics(place: Path) -> dict[str, int]:
    """How often the files of a folder have each; a failing test shows where."""
    found: Counter[str] = Counter()
    for file in [place] if place.is_file() else sorted(place.rglob("*.*")):
        if file.suffix not in (".py", ".md", ".html", ".js") or file == Path(__file__):
            continue
        for line, text in _texts(file):
            for match in PATTERN.finditer(text):
                name = list(TICS)[int((match.lastgroup or "t0")[1:])]
                around = " ".join(text[max(0, match.start() - 40) : match.end() + 30].split())
                print(f"{file.relative_to(ROOT).as_posix()}:{line}: {name}: {around}")
                found[name] += 1
    return dict(sorted(found.items()))


@pytest.mark.parametrize("folder", BUDGET)
def test_a_folder_has_as_many_as_its_budget_says(folder: str) -> None:
    found, budget = tics(ROOT / folder), BUDGET[folder]
    above = {name: (count, budget.get(name, 0)) for name, count in found.items() if count > budget.get(name, 0)}
    assert not above, f"more than the budget of {folder}: {above}; reword some of the lines above"
    assert found == budget, f"fewer: lower the budget of {folder} in tests/data/prose.json to {json.dumps(found)}"


@pytest.mark.parametrize("place", CLEAN)
def test_these_have_none(place: str) -> None:
    assert tics(ROOT / place) == {}


def test_what_is_counted_is_what_reads_badly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    code, page = tmp_path / "code.py", tmp_path / "page.md"
    code.write_text('"""It is no State."""\nasked = "asked"  # so many\nraise ValueError("nobody was there")\n')
    assert tics(code) == {"is no X": 1, "nobody": 1, "so many": 1}
    page.write_text("There is no state; it is no longer so many that it stands for\nwhatever STANDS.\n")
    assert tics(page) == {"stand": 1, "whoever": 1}
