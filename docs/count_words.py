"""Count the words of the pages by section: ``python docs/count_words.py [COMMIT]``, beside those of a commit.

A word is what stands between blanks, as ``wc -w`` has it; Chinese pages therefore have few.  Words between the marks of
a generated part (``docs/generate.py``) are counted apart: tables, programs and signatures.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from ddz_training.measure.markdown import format_markdown_table

ROOT = Path(__file__).resolve().parent.parent
_GENERATED = re.compile(r"<!-- table: [\w-]+ -->\n(.*?)<!-- end -->", re.DOTALL)


def pages_of_tree() -> Iterator[tuple[str, str]]:
    """The pages of the working tree: path and text."""
    names = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.split():
        if (ROOT / name).is_file():
            yield name, (ROOT / name).read_text(encoding="utf-8")


def pages_of_commit(commit: str) -> Iterator[tuple[str, str]]:
    """The pages of a commit: path and text."""
    command = ["git", "archive", "--format=tar", commit, "--", "*.md"]
    packed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            if (file := archive.extractfile(member)) is not None:
                yield member.name, file.read().decode()


def count_words(pages: Iterator[tuple[str, str]]) -> dict[str, tuple[int, int, int]]:
    r"""The pages, the written words and the generated words of each section.

    Example:
        >>> count_words(iter([("docs/guides/a.md", "one two\n<!-- table: x -->\nthree\n<!-- end -->\n")]))
        {'all': (1, 2, 1), 'docs/guides': (1, 2, 1)}
    """
    counts: dict[str, Counter[str]] = {}
    for path, text in pages:
        generated = len(" ".join(_GENERATED.findall(text)).split())
        written = len(_GENERATED.sub(" ", text).split())
        for section in (section_of(path), "all"):
            counts.setdefault(section, Counter()).update(pages=1, written=written, generated=generated)
    return {name: (count["pages"], count["written"], count["generated"]) for name, count in sorted(counts.items())}


def section_of(path: str) -> str:
    """The section of a page: its folder in ``docs``, or everything else together.

    Example:
        >>> section_of("docs/guides/extend/loss.md"), section_of("docs/index.md"), section_of("README.md")
        ('docs/guides', 'docs', 'others')
    """
    top, *below = path.split("/")[:-1] or [""]
    return "/".join((top, *below[:1])) if top == "docs" else "others"


def table(columns: Mapping[str, dict[str, tuple[int, int, int]]]) -> str:
    """The counts of one or more versions, side by side."""
    header = ["section", *(f"{name}: {what}" for name in columns for what in ("pages", "words", "generated"))]
    sections = sorted({section for counts in columns.values() for section in counts} - {"all"})
    cells = (
        (section, *(f"{number:,}" for counts in columns.values() for number in counts.get(section, (0, 0, 0))))
        for section in (*sections, "all")
    )
    return format_markdown_table(header, cells)


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description="Count the words of the pages by section.")
    parser.add_argument("commit", nargs="?", help="a commit whose pages are counted, too")
    commit = parser.parse_args().commit
    columns = {commit: count_words(pages_of_commit(commit))} if commit else {}
    print(table({**columns, "now": count_words(pages_of_tree())}))


if __name__ == "__main__":
    main()
