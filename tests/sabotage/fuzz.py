"""Wrong values at every public entry: a named error comes out, or the value was right after all; nothing changes."""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
import pathlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddz_env import PRESETS, Hand, Move, Rules
from ddz_env.core.errors import DouDizhuError
from tests.sabotage import Outcome
from tests.sabotage.entries import Entry, entries

HUGE = [2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30, -(2**63), -(10**30)]
_SMALL = [0, 1, -1, 2, 3, 4, 5, 13, 14, 15, 16, 17, 20, 53, 54, 378, 379, 393, 394, 399, 400, -2, -54]
_FLOATS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, 1.0, 3.0, 1e300, -1e-300]
_TEXTS = [
    *PRESETS,
    *("33", "333444+56", "3333+KK", "rocket", "pass", "KK5543", "BR", "10", "3-7", "landlord", "stake", "kicker 3"),
    *("call", "rob", "show", "抢地主", "robbing,doubling=true,showing=true"),
    *("", " ", "\0", "\n", "斗地主", "٣٣٣", "３３", "🂡", "None", "True", "0", "-1", "1e400", "nan", "a" * 5_000),
    *("../../etc/passwd", "'; DROP TABLE games; --", "%s%n", "{0.__class__}", "$(true)", "random:", "rules:=", ":a=b"),
]
_ALPHABET = "3456789TJQKA2BRXDWSHC10+-* ,:=/()[]{}.\t\"'\\\0éß斗x_"

Make = Callable[[np.random.Generator], Any]


def _text(rng: np.random.Generator) -> str:
    """A text from the list, often with some characters changed, dropped, doubled or added."""
    text = list(_TEXTS[rng.integers(len(_TEXTS))])
    for _ in range(int(rng.integers(0, 4))):
        place = int(rng.integers(len(text) + 1))
        what = rng.integers(3)
        letter = _ALPHABET[rng.integers(len(_ALPHABET))]
        text[place : place + int(what > 0)] = [] if what == 2 else [letter]
    return "".join(text) * int(rng.choice([1, 1, 1, 2]))


def _number(rng: np.random.Generator) -> Any:
    value = [*_SMALL, *HUGE][rng.integers(len(_SMALL) + len(HUGE))]
    return value if rng.random() < 0.7 else int(rng.integers(-500, 500))


def _scalar(rng: np.random.Generator) -> Any:
    kinds = [np.int8, np.uint8, np.int64, np.uint64, np.float32, np.float64, np.bool_, np.str_, np.bytes_, np.complex64]
    return kinds[rng.integers(len(kinds))](int(rng.integers(0, 100)))


def _array(rng: np.random.Generator) -> Any:
    shape = tuple(rng.integers(0, 5, rng.integers(0, 3)))
    dtypes = [np.int8, np.int64, np.uint64, np.float64, np.bool_, object, "U3", "S3", "M8[s]", np.complex128]
    dtype: Any = dtypes[rng.integers(len(dtypes))]
    return np.full(shape, None) if dtype is object else np.zeros(shape, dtype)


def _collection(rng: np.random.Generator) -> Any:
    items = [value(rng, depth=1) for _ in range(int(rng.integers(0, 5)))]
    named = {f"k{i}": item for i, item in enumerate(items)}
    return (items, tuple(items), iter(items), named, set(map(repr, items)))[rng.integers(5)]


_STRANGERS: list[Any] = [
    *(None, True, False, 3 + 1j, b"", b"33\xff", bytearray(b"33"), memoryview(b"abc"), frozenset({3}), slice(1, 2)),
    *(range(0), range(17), Ellipsis, NotImplemented, object(), object, len, lambda *ignored: None),
    *(decimal.Decimal("NaN"), fractions.Fraction(3, 2), datetime.date(2024, 2, 29), pathlib.Path("nothing")),
    *(ValueError("an error as a value"), type("Rules", (), {})(), np.ma.masked, np.zeros(2, [("a", "i4")])),
    *(Hand.parse("33"), Move.parse("33"), Rules()),
]


def value(rng: np.random.Generator, depth: int = 0) -> Any:
    """Draw a value of any kind; inside a collection, of depth 1, there are no further ones."""
    kinds: Sequence[Make] = (_scalar, _array, _collection)
    kind = rng.random()
    if kind < 0.3:
        return _text(rng)
    if kind < 0.5:
        return _number(rng)
    if kind < 0.6:
        return _FLOATS[rng.integers(len(_FLOATS))]
    if kind < 0.85 and depth == 0:
        return kinds[rng.integers(len(kinds))](rng)
    return _STRANGERS[rng.integers(len(_STRANGERS))]


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
