"""Options as data: what a field may be, what it becomes, and what is said of a wrong one."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pytest

from ddz_env import PRESETS, Rules
from ddz_env.support.errors import (
    DouDizhuError,
    InvalidAgentOptionError,
    InvalidOptionError,
    InvalidRulesError,
    suggest_name,
)
from ddz_env.support.options import Option, Options, Range, find_options_type, parse_option_value, takes_options

HUGE = 10**400


@dataclasses.dataclass(frozen=True)
class Everything(Options):
    """One option of every kind.

    Attributes:
        count: A whole number,
            on two lines.
    """

    count: Annotated[int, Range(1, 1_000_000)] = 5
    share: Annotated[float, Range(0, 1, above=True)] = 0.5
    free: float = 0.0
    switch: bool = False
    form: Literal["tree", "flat", 3] = "tree"
    name: str = "x"
    path: str | Path | None = None
    names: tuple[str, ...] = ()
    make: Callable[[], int] | None = None
    mixed: Literal["auto"] | Annotated[int, Range(0)] = "auto"
    anything: Any = None


def test_values_become_what_the_option_is() -> None:
    for name, given, becomes in (
        *(("count", 1e4, 10_000), ("count", np.uint64(7), 7), ("share", 1, 1.0), ("share", np.float32(0.5), 0.5)),
        *(("free", -3, -3.0), ("switch", True, True), ("switch", np.bool_(True), True), ("form", 3, 3)),
        *(("path", None, None), ("path", Path("a"), Path("a")), ("path", 2021, "2021"), ("make", dict, dict)),
        *(("names", ["a", "b"], ("a", "b")), ("mixed", "auto", "auto"), ("mixed", 4.0, 4), ("mixed", HUGE, HUGE)),
    ):
        found = getattr(Everything(**{name: given}), name)  # type: ignore[arg-type]
        assert (found, type(found)) == (becomes, type(becomes)), name


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("count", [0, 1.5, True, "3", float("nan"), HUGE]),
        *(("share", [0, False]), ("free", [float("inf"), HUGE]), ("switch", [1]), ("form", ["tre", True])),
        *(("name", [None]), ("names", ["a"]), ("make", [3]), ("mixed", [-1])),
    ],
)
def test_what_an_option_may_not_be_has_a_named_error(name: str, wrong: list[Any]) -> None:
    for given in wrong:
        with pytest.raises(InvalidAgentOptionError, match=f"^{name}=.* must be "):
            Everything(**{name: given})


def test_texts_are_read_as_the_option_is() -> None:
    texts = ["count=1e4", "share=.5", "switch=true", "name=none-such", "path=none", "names=a, b", "mixed=3", "form=3"]
    numbers = {"count": 10_000, "share": 0.5, "mixed": 3, "form": 3}
    others = {"switch": True, "name": "none-such", "path": None, "names": ("a", "b")}
    assert Everything.read(texts) == numbers | others
    assert Everything.read(["path=12"]) == {"path": "12"}
    for wrong in (["count"], ["=3"], ["count="], ["count=many"], ["cuont=3"], ["count=1", "count=2"]):
        with pytest.raises(InvalidAgentOptionError):
            Everything.read(wrong)
    assert [parse_option_value(text) for text in ("1", "1e3", "True", "none", "a")] == [1, 1000.0, True, None, "a"]


def test_values_are_given_in_order_and_by_name_and_stay() -> None:
    first = Everything.from_values(7, share=0.25)
    assert (first.count, first.share) == (7, 0.25)
    for named in ({"cuont": 8}, {"count": 0}):
        with pytest.raises(InvalidAgentOptionError, match="count"):
            Everything.from_values(**named)
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.count = 3  # type: ignore[misc]


class OfATestError(DouDizhuError):
    """Another error."""


@dataclasses.dataclass(frozen=True)
class Base(Options):
    """Options that all agents have.

    Attributes:
        first: Of the base.
        second: Of the base, too.
    """

    error: ClassVar[type[DouDizhuError]] = OfATestError

    first: int
    second: int = 2


@dataclasses.dataclass(frozen=True)
class Derived(Base):
    """Options that some agents have besides.

    Attributes:
        second: Described again.
        third: Of its own.

    Raises:
        OfATestError: If third is second.
    """

    third: int = 3

    def check(self) -> None:
        if self.third == self.second:
            raise self.error("third is second")


def test_a_derived_class_has_all_options_with_their_meanings_and_its_error() -> None:
    meanings = {option.name: option.meaning for option in Derived.options()}
    assert meanings == {"first": "Of the base.", "second": "Described again.", "third": "Of its own."}
    assert Everything.options()[0].meaning == "A whole number, on two lines."
    for make in (
        lambda: Derived.from_values(),
        lambda: Derived.from_values(1, forth=2),
        lambda: Derived(1, 3),
        lambda: Derived("1"),
    ):  # type: ignore[arg-type]
        with pytest.raises(OfATestError):
            make()
    assert Derived.from_values(1, third=4) == Derived(1, 2, 4)
    with pytest.raises(OfATestError, match="'first' has no default: it must be a whole number"):
        Derived.from_values(second=3)
    assert issubclass(InvalidAgentOptionError, InvalidOptionError)


def test_the_signature_of_a_constructor_follows_its_options() -> None:
    class Agent:
        @takes_options(Derived)
        def __init__(self, options: Derived) -> None:
            self.options = options

    class Own(Agent):
        def __init__(self) -> None:
            super().__init__(7)

    assert list(inspect.signature(Agent).parameters) == ["first", "second", "third"]
    assert Agent(1, third=5).options == Derived(1, 2, 5)
    assert Own().options == Derived(7)
    assert (find_options_type(Agent), find_options_type(Own), find_options_type(len)) == (Derived, None, None)
    for wrong in ({"forth": 2}, {"first": "many"}, {}):
        with pytest.raises(OfATestError):
            Agent(**wrong)


def test_ranges_in_words_and_the_nearest_name() -> None:
    for bounds, words in (
        (Range(1, 1000), "from 1 to 1,000"),
        (Range(0, 1, above=True), "above 0, at most 1"),
        (Range(0.5), "of at least 0.5"),
        (Range(0, above=True), "above 0"),
        (Range(most=3), "of at most 3"),
        (Range(), ""),
    ):
        assert str(bounds) == words
    assert HUGE not in Range(0, 1e300)
    assert -HUGE not in Range(0)
    assert suggest_name("iteration", ["iterations", "trees"]) == " (did you mean 'iterations'?)"
    assert suggest_name("zzz", ["iterations"]) == ""
    assert Option("a", 1, (int, float), (), Range(), False, "").allowed_values == "a number"


@pytest.mark.parametrize(
    ("text", "preset", "changes"),
    [
        ("bidding,doubling=true", "bidding", {"doubling": True}),
        (" mini , open_hands = true", "mini", {"open_hands": True}),
        ("standard,kicker_repeat=3,kicker_trios=merge", "standard", {"kicker_repeat": 3, "kicker_trios": "merge"}),
        ("standard,peasant_reward=1", "standard", {"peasant_reward": 1.0}),
    ],
)
def test_rules_are_read_with_options(text: str, preset: str, changes: dict[str, Any]) -> None:
    rules = Rules.preset(text)
    assert rules == PRESETS[preset].replace(**changes)
    assert Rules.preset(rules.name) == rules
    assert (rules.name == preset) == (not changes)


@pytest.mark.parametrize(
    "text",
    [
        *("bidding,doubeling=true", "biding,doubling=true", "doubling=true", "standard,doubling"),
        *("standard,doubling=yes", "standard,bidding=twice", "standard,doubling=true,doubling=true"),
        *("standard,name=other", "standard,players=4", "mini,bidding=once", "standard,scoring=money"),
    ],
)
def test_wrong_rules_are_refused(text: str) -> None:
    with pytest.raises(InvalidRulesError):
        Rules.preset(text)
