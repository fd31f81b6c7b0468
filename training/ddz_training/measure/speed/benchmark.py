"""Measuring side by side: interleaved repeats, medians and ratios.

Machines are noisy, and noisier than the differences that matter.  Contenders of one part therefore take turns, each
repeat gives a ratio of its own (ours over the peer's, in the same second), and medians are reported with the range.

A contender that is a rate is a generator that says how much work it has just done (:func:`rate`): what it does before
its first ``yield`` prepares it, and the clock is no business of it.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any, ParamSpec

from ddz_env.core.errors import DouDizhuError

_Options = ParamSpec("_Options")

Repeat = Callable[[], float]
"""One repeat; returns the measured value."""

Prepare = Callable[[float], Repeat]
"""Imports, compiles and warms up, given the seconds that a repeat may take; raises ``ImportError`` if not installed."""


class InvalidBenchmarkError(DouDizhuError):
    """A benchmark was asked for a part that does not exist."""


@dataclass(frozen=True)
class Contender:
    """Something that is measured.

    Attributes:
        name: Its name in the table.
        prepare: See :data:`Prepare`.
        target: What ours must reach; the smallest ratio (ours over the peer's) for a peer.
        is_peer: Whether it is measured for comparison.
        peer_of: Name of the contender of ours that a peer is compared with; the first by default.
    """

    name: str
    prepare: Prepare
    target: float | None = None
    is_peer: bool = False
    peer_of: str | None = None


def target_text(target: float | None, unit: str, *, is_peer: bool) -> str:
    """A target as tables write it: at least so many units, at most so many seconds or megabytes, so many times a peer.

    Example:
        >>> target_text(400_000, "games/s", is_peer=False), target_text(15, "s", is_peer=False)
        ('≥ 400,000', '≤ 15.0')
        >>> target_text(80, "games/s", is_peer=True), target_text(None, "games/s", is_peer=True)
        ('≥ 80 ×', '')
    """
    if not target:
        return ""
    return f"≥ {target:g} ×" if is_peer else f"{'≤' if unit in ('s', 'ms', 'kB', 'MB') else '≥'} {short_number(target)}"


@dataclass(frozen=True)
class Part:
    """One line of the table of speeds: ours beside the peers.

    Attributes:
        key: What ``--only`` calls it.
        title: What is measured.
        unit: Its unit.
        contenders: Ours first.
        less_is_better: True for seconds and memory.
        repeats: An upper bound on the repeats, where they are long.
        seconds: How long one repeat of a rate takes.
        on_request: Whether it is measured only if it is named: it takes minutes, or stands on a page of its own.
    """

    key: str
    title: str
    unit: str
    contenders: tuple[Contender, ...]
    less_is_better: bool = False
    repeats: int = 99
    seconds: float = 0.5
    on_request: bool = False


@dataclass(frozen=True)
class Measurement:
    """A contender's result.

    Attributes:
        part: The part's key.
        title: The part's title.
        name: The contender's name.
        unit: Unit of the values.
        is_peer: Whether it is a peer.
        values: The repeats; empty if it is not installed.
        median: Their median, None if it is not installed.
        target: Target of ours, or the ratio to reach against a peer.
        ratio: Median over the repeats of ours over the peer's, None for ours.
        reached: Whether the target is reached, None if there is none.
        note: Why there is no value.
    """

    part: str
    title: str
    name: str
    unit: str
    is_peer: bool
    values: tuple[float, ...]
    median: float | None
    target: float | None
    ratio: float | None
    reached: bool | None
    note: str = ""


Work = Iterator[int | tuple[int, float]]
"""How many units a piece of work was, and the seconds that count, where these are not all of its time."""


def rate(work: Callable[_Options, Work]) -> Callable[_Options, Prepare]:
    """Make contenders, which count units a second, of a generator that works for ever.

    Args:
        work: Prepares, does a piece of work and yields, again and again; the first piece warms up.
    """

    @functools.wraps(work)
    def contender(*arguments: _Options.args, **options: _Options.kwargs) -> Prepare:
        def prepare(seconds: float) -> Repeat:
            pieces = work(*arguments, **options)
            next(pieces)

            def repeat() -> float:
                units, spent = 0, 0.0
                while spent < seconds:
                    start = time.perf_counter()
                    done = next(pieces)
                    count, counted = done if isinstance(done, tuple) else (done, time.perf_counter() - start)
                    units, spent = units + count, spent + counted
                return units / spent

            return repeat

        return prepare

    return contender


def measure(
    part: Part, repeats: int, seconds: float | None = None, on_repeat: Callable[[str], None] = lambda name: None
) -> list[Measurement]:
    """Measure the contenders of a part in turns.

    Args:
        part: The part.
        repeats: How many turns (at most ``part.repeats``).
        seconds: Seconds a repeat instead of the part's own.
        on_repeat: Called with the contender's name before each repeat.
    """
    ready: dict[str, Repeat] = {}
    notes: dict[str, str] = {}
    for one in part.contenders:
        on_repeat(f"{one.name} (preparing)")
        try:
            ready[one.name] = one.prepare(seconds or part.seconds)
        except ImportError as error:
            if not one.is_peer:
                raise
            notes[one.name] = f"not installed ({error.name or error})"
    values: dict[str, list[float]] = {one.name: [] for one in part.contenders}
    for _ in range(min(repeats, part.repeats)):
        for name, repeat in ready.items():
            on_repeat(name)
            values[name].append(repeat())
    return [_measurement(part, one, values, notes.get(one.name, "")) for one in part.contenders]


def _measurement(part: Part, one: Contender, values: dict[str, list[float]], note: str) -> Measurement:
    own, ratio, reached = values[one.name], None, None
    if one.is_peer and own:
        ours = values[one.peer_of or part.contenders[0].name]
        ratio = median(a / b for a, b in zip(ours, own, strict=True))
    value = median(own) if own else None
    judged = ratio if one.is_peer else value
    if judged is not None and one.target is not None:
        smaller = part.less_is_better and not one.is_peer
        reached = judged <= one.target if smaller else judged >= one.target
    about = part.key, part.title, one.name, part.unit, one.is_peer
    return Measurement(*about, tuple(own), value, one.target, ratio, reached, note)


def machine() -> dict[str, Any]:
    """Cores, processor, load and versions, to stand beside the figures.  Ask before measuring: measuring is a load."""
    import importlib.metadata

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = {}
    for name in ("ddz-env", "numpy", "numba", "pettingzoo", "gymnasium", "open_spiel", "rlcard", "douzero"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "cores": usable,
        "cpu": _cpu_model(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "versions": versions,
    }


def machine_lines(facts: dict[str, Any]) -> tuple[str, str]:
    """What :func:`machine` found, as a line on the machine and one of versions."""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return f"{facts['cores']} cores, {facts['cpu']}, {facts['system']}, Python {facts['python']}", versions


def _cpu_model() -> str:
    """The processor's name, as Linux knows it."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def short_number(value: float) -> str:
    """Three digits, with thousands separated.

    Example:
        >>> short_number(446_071.3), short_number(7.4774), short_number(0.3849)
        ('446,000', '7.48', '0.385')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    magnitude = math.floor(math.log10(abs(value)))
    return f"{round(value, 2 - magnitude):,.{max(0, 2 - magnitude)}f}"
