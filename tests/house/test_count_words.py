"""The words of the pages are counted by section, those that are generated apart."""

from __future__ import annotations

import doctest

import count_words


def test_words_are_counted_by_section_and_versions_stand_side_by_side() -> None:
    assert doctest.testmod(count_words) == (0, 2)
    old = count_words.count_words(iter([("docs/guides/a.md", "one two three"), ("README.md", "four")]))
    new = count_words.count_words(iter([("docs/zh/a.md", "one")]))
    assert count_words.table({"old": old, "now": new}).splitlines()[2:] == [
        "| docs/guides | 1 | 3 | 0 | 0 | 0 | 0 |",
        "| docs/zh | 0 | 0 | 0 | 1 | 1 | 0 |",
        "| others | 1 | 1 | 0 | 0 | 0 | 0 |",
        "| all | 2 | 4 | 0 | 1 | 1 | 0 |",
    ]


def test_the_pages_of_the_tree_are_found() -> None:
    counts = count_words.count_words(count_words.pages_of_tree())
    assert counts["docs/reference"][0] > 10
    assert counts["all"][1] > counts["docs/reference"][1] > 1000
