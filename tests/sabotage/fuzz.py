"""Wrong values at every public entry: a named error comes out, or the value was right after all; nothing changes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ddz_env.core.errors import DouDizhuError
from tests.sabotage.entries import Entry, entries
from tests.sabotage.outcome import Outcome
from tests.sabotage.values import value

_LARGEST = 2_000
"""Valid counts are drawn no larger: a batch of a billion games would be refused by the memory, not by us."""


def fuzz(count: int, seed: int) -> Outcome:
    """Try values of every kind, shared out evenly among the entries."""
    outcome = Outcome("fuzzed values", "a named error that changes nothing, or a right value", count)
    found = entries()
    each = -(-count // len(found))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, entry in found.items():
            rng = np.random.default_rng([seed, *name.encode()])
            for _ in range(each):
                _try(outcome, name, entry, value(rng))
    return outcome


def _try(outcome: Outcome, name: str, entry: Entry, wrong: Any) -> None:
    if isinstance(wrong, (int, np.integer)) and not isinstance(wrong, bool) and _LARGEST < wrong < 2**62:
        wrong = -wrong
    try:
        entry(wrong)
    except DouDizhuError as error:
        outcome.check(bool(str(error)), f"{name}: {type(error).__name__} says nothing")
    except Exception as error:
        outcome.fault(f"{name} with {repr(wrong)[:80]}: {type(error).__name__}: {str(error)[:120]}")
    else:
        outcome.held()
