"""Docstrings, comments, messages and pages are plain English: they have none of the phrases listed here."""

from __future__ import annotations

import ast
import io
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
    "is no X": r"(?<!there )(?:is|are|was|were) no (?!better|bid|fewer|less|longer|matter|more|one|worse)",  # is not a
    "goes on with": r"(?:go|goes|gone|going) on with",  # continues, resumes
    "anew": r"anew",  # again, from the start
    "but for": r"but for",  # except
    "in vain": r"in vain",  # without effect
    "as it were": r"as it were|which see|so to speak",
}
PATTERN = re.compile("|".join(rf"(?P<t{i}>\b(?:{tic})\b)" for i, tic in enumerate(TICS.values())), re.IGNORECASE)

PLACES = ("README.md", "CONTRIBUTING.md", "docs", "benchmarks", "ddz_env", "agents", "training", "tests")
EXEMPT = {
    ROOT / "ddz_env/core/observation/layout.py",  # weights carry a hash of its texts and would no longer load
    Path(__file__),
}
CODE = re.compile(r"`+[^`\n]*`+")


def _texts(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of a page that are not generated; the comments of code, and its texts of three words or more."""
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
    """How often the files of a folder have each outside quoted code; a failing test shows where."""
    found: Counter[str] = Counter()
    for file in [place] if place.is_file() else sorted(place.rglob("*.*")):
        if file.suffix not in (".py", ".md", ".html", ".js") or file in EXEMPT:
            continue
        for line, text in _texts(file):
            text = " ".join(CODE.sub("", text).split())
            for match in PATTERN.finditer(text):
                name = list(TICS)[int((match.lastgroup or "t0")[1:])]
                around = text[max(0, match.start() - 40) : match.end() + 30]
                print(f"{file.relative_to(ROOT).as_posix()}:{line}: {name}: {around}")
                found[name] += 1
    return dict(sorted(found.items()))


@pytest.mark.parametrize("place", PLACES)
def test_no_place_has_any(place: str) -> None:
    assert tics(ROOT / place) == {}


def test_what_is_counted_is_what_reads_badly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    code, page = tmp_path / "code.py", tmp_path / "page.md"
    code.write_text('"""It is no State."""\nasked = "asked"  # so many\nraise ValueError("nobody was ``asked``")\n')
    assert tics(code) == {"is no X": 1, "nobody": 1, "so many": 1}
    page.write_text("There is no state; it is no longer so many that it stands for\nwhatever STANDS.\n")
    assert tics(page) == {"stand": 1, "whoever": 1}
