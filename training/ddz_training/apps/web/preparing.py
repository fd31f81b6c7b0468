"""What a fresh machine compiles, in the order in which a person needs it, while the page is served.

Compiling takes Python's lock and Numba's, so a server that compiles answers late.  On an empty cache a helper process
therefore compiles into the cache, one step after the other, and the server loads what it has made.  Meanwhile a second
helper compiles what a request waits for.  Nothing depends on them: what is missing is compiled where it is needed.  The
steps share nothing with the server: helpers do them too.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ddz_agents.open_cards.solver.puzzles import shipped_puzzles
from ddz_env import Rules, __version__
from ddz_env.core.engine.cache import cache_root
from ddz_env.core.errors import DouDizhuError
from ddz_env.table.session import PERSON, Deal, Record, Session
from ddz_training.measure.workers import serve_parent

_HELPERS = 2
"""One for the steps in their order, the first move before hints; one for what a request waits for."""
_NICER = 5
"""The helpers' place behind the server when both want a core."""
_log = logging.getLogger(__name__)


class Step(NamedTuple):
    """Something to prepare.

    Attributes:
        what: What the page shows: ``table``, ``opponents``, ``hints``, ``search`` or ``puzzles``.
        name: What waits for it: an agent's specification, or its own.
        work: Does once what requests will need, in any process.
    """

    what: str
    name: str
    work: Callable[[], object]


class Preparation:
    """Prepares one step after the other; a request that waits for a step does it, unless it is being done.

    Args:
        steps: In the order in which they are needed.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = {step.name: step for step in steps}
        self._locks = {name: threading.Lock() for name in self._steps}
        self._left: dict[str, Step] = {}
        self._helpers: Executor | None = None

    def start(self) -> None:
        """Begin, in a thread of this process; with helpers where the cache has nothing of this code yet."""
        mark = self._mark()
        if mark is not None and not mark.exists():
            self._helpers = new_helpers()
        self._left = self._steps.copy()
        threading.Thread(target=self._prepare, args=(mark,), daemon=True).start()

    def status(self) -> dict[str, Any]:
        """What is left, step by step; nothing where nothing was begun."""
        left = [step.what for step in self._left.copy().values()]
        return {"ready": not left, "left": left}

    def is_ready(self, name: str) -> bool:
        """Whether there is nothing to wait for; without helpers, a request itself compiles what it needs."""
        return self._helpers is None or name not in self._left

    def wait(self, name: str) -> None:
        """Wait until a step is done; at once where there is nothing to wait for."""
        if not self.is_ready(name):
            self._do(self._steps[name])

    def _prepare(self, mark: Path | None) -> None:
        """Do all steps."""
        for step in self._steps.values():
            self._do(step)
        if mark is not None:
            with contextlib.suppress(OSError):
                mark.touch()
            if self._helpers is not None:
                self._helpers.shutdown(wait=False)

    def _do(self, step: Step) -> None:
        """Do a step once, in a helper first, so that this process only loads what it compiled."""
        with self._locks[step.name]:
            if step.name not in self._left:
                return
            try:
                if self._helpers is not None:
                    with contextlib.suppress(Exception):  # no memory, no processes left: everything is compiled here
                        self._helpers.submit(step.work).result()
                step.work()
            except Exception as fault:  # an answer that needs it says so
                _log.debug("preparing %s: %s", step.name, fault)
            finally:
                del self._left[step.name]

    def _mark(self) -> Path | None:
        """The file that says that these steps are in the cache; None where there is no cache."""
        root = cache_root()
        names = "\n".join([__version__, *self._steps])
        return None if root is None else root / f"prepared-{hashlib.sha256(names.encode()).hexdigest()[:16]}"


def new_helpers() -> Executor:
    """Processes that do steps until this one ends."""
    return ProcessPoolExecutor(_HELPERS, multiprocessing.get_context("spawn"), _help)


def _help() -> None:
    serve_parent()
    if hasattr(os, "nice"):
        os.nice(_NICER)


# --- the steps: what the page will need, done once ---

SOLVER = "solver"
"""Who plays the other hand of a puzzle."""
_TRIED = 20
"""First moves that an agent chooses, until it compares several: a search may be sure of one."""


def steps(agents: Sequence[str], adviser: str, quick: str) -> list[Step]:
    """What a server prepares, in the order in which a person needs it.

    Args:
        agents: Who may play, the first by default.
        adviser: Who gives hints.
        quick: Who gives them until the adviser is prepared.
    """
    first, *others = dict.fromkeys(agents)
    found = [
        Step("table", "deal", deal),
        Step("table", "moves", move),
        Step("opponents", first, partial(answer, first)),
        Step("hints", "hints", partial(advise, quick)),
        Step("opponents", "auction", partial(answer, "payoff", "bidding")),
        Step("search", adviser, partial(answer, adviser)),
        Step("puzzles", SOLVER, solve),
        *(Step("opponents", name, partial(answer, name)) for name in others),
    ]
    # The adviser may play, too.
    return [step for at, step in enumerate(found) if step.name not in {before.name for before in found[:at]}]


def deal() -> Session:
    """Deal and look."""
    session = Session(Record(Deal(Rules()), (PERSON,) * 3))
    session.sight(1)
    return session


def move() -> None:
    """Move and look."""
    session = deal()
    session.play(session.view(0).legal_moves()[0])
    session.sight(1)
    session.view(1).legal_actions()


def advise(adviser: str) -> None:
    """Give a hint with its chances."""
    from ddz_training.apps.chances import Chances

    session = deal()
    Chances().judged(session.view(session.seat), session.hint(adviser))
    session.belief(adviser, session.seat)


def answer(agent: str, rules: str = "standard") -> None:
    """Have an agent move or bid, until it has compared several moves, if it ever does."""
    for seed in range(_TRIED):
        session = Session(Record(Deal(Rules.preset(rules), seed), (PERSON,) * 3))
        with contextlib.closing(session), contextlib.suppress(DouDizhuError):
            advice = session.hint(agent)
            session.belief(agent, session.seat)
            if len(advice.options) > 1 or all(option.visits is None for option in advice.options):
                return


def solve() -> None:
    """Solve the first puzzle."""
    deal = shipped_puzzles()[0].deal()
    Session(Record(deal, (PERSON,) * deal.rules.players), shown=True).hint(SOLVER, 0)
