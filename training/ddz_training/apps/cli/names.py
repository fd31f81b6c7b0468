"""Names of agents that fit a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_SPECIFICATION = re.compile(r"[A-Za-z][\w./-]*:\S.*")
_LONG = 32
_GAIN = 4
"""A name is shortened only where that saves more characters."""
_LONGEST = {120: 32, 100: 24, 0: 14}
"""Characters of a name, by the width of the screen from which on it holds."""


def may_be_shortened(text: str) -> bool:
    """Whether a cell is one long word, or what an agent is called by: a name with options, or a module's class.

    Example:
        >>> [may_be_shortened(text) for text in ("isuct:iterations=20", "rules", "at 12:30 or later")]
        [True, False, False]
    """
    return _SPECIFICATION.fullmatch(text) is not None or (len(text) > _LONG and " " not in text)


def short_names(labels: Sequence[str], width: int) -> dict[str, str]:
    """Names that fit the tables of a screen: long specifications lose their options, and stay different.

    Args:
        labels: What the results call the agents.
        width: Characters of a line.

    Example:
        >>> short_names(["rules", "isuct:iterations=20,trees=2", "isuct:iterations=20,trees=4"], 80)
        {'rules': 'rules', 'isuct:iterations=20,trees=2': 'isuct:…', 'isuct:iterations=20,trees=4': 'isuct:… 2'}
    """
    longest = next(most for least, most in _LONGEST.items() if width >= least)
    short: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for label in labels:
        short[label] = label
        if len(label) > longest:
            before, equals, _ = label.partition("=")
            cut = f"{before.rpartition(':')[0] if equals else before[:longest]}:…"
            if len(cut) + _GAIN < len(label):
                seen[cut] += 1
                short[label] = cut if seen[cut] == 1 else f"{cut} {seen[cut]}"
    return short
