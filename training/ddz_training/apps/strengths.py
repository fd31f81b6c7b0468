"""How strong the named agents are against the rule agent, and how long they think: what ``ddz agents`` shows.

``docs/generate.py`` computes the figures from committed results and writes them into the package, which is installed
without ``docs/``.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import NamedTuple

from ddz_training.measure.statistics import Interval

FILE = Path(__file__).with_name("strengths.json")


class Strength(NamedTuple):
    """What an agent with its default options reached against the rule agent.

    Attributes:
        wins: The share of games that it won, over both roles, with its 95 % interval.
        ms: Milliseconds of a processor per decision.
        source: The file that the share is from, below ``docs/results``.
    """

    wins: Interval
    ms: float
    source: str


@functools.cache
def strengths() -> dict[str, Strength]:
    """The strengths that the package comes with, the strongest agent first."""
    document = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: Strength(Interval(*line[:4]), *line[4:]) for name, line in document.items()}
