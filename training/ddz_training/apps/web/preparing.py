"""What a fresh machine compiles, in the order in which a person needs it, while the page is served.

A thread does one step after the other.  Nothing depends on it: a request whose step is still to come does it itself.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ddz_agents.open_cards.solver.puzzles import shipped_puzzles
from ddz_env import Rules
from ddz_env.support.errors import DouDizhuError
from ddz_env.table.session import PERSON, Deal, Record, Session

_log = logging.getLogger(__name__)


class Step(NamedTuple):
    """Something to prepare.

    Attributes:
        what: What the page shows: ``table``, ``opponents``, ``hints``, ``search`` or ``puzzles``.
        name: What waits for it: an agent's specification, or its own.
        work: Does once what requests will need.
    """

    what: str
    name: str
    work: Callable[[], object]


class Preparation:
    """Does one step after the other in a thread; a request that waits for a step does it, unless it is being done.

    Args:
        steps: In the order in which they are needed.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = tuple(steps)
        self._left: dict[str, Step] = {}
        self._locks = {step.name: threading.Lock() for step in steps}

    def start(self) -> None:
        """Begin; until then there is nothing to wait for."""
        self._left = {step.name: step for step in self._steps}
        threading.Thread(target=self._prepare, daemon=True).start()

    def status(self) -> dict[str, Any]:
        """The steps that are left, and how many there are in all; none are left where nothing was begun."""
        left = self._left.copy().values()
        return {"ready": not left, "left": [step.what for step in left], "steps": len(self._steps)}

    def is_ready(self, name: str) -> bool:
        """Whether there is nothing to wait for."""
        return name not in self._left

    def wait(self, name: str) -> None:
        """Wait until a step is done; at once where there is nothing to wait for."""
        if self.is_ready(name):
            return
        with self._locks[name]:
            step = self._left.get(name)
            if step is None:
                return
            try:
                step.work()
            except Exception as fault:  # an answer that needs it says so
                _log.debug("preparing %s: %s", name, fault)
            del self._left[name]

    def _prepare(self) -> None:
        for step in self._steps:
            self.wait(step.name)


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
    in_order = [
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
    return [step for at, step in enumerate(in_order) if step.name not in {before.name for before in in_order[:at]}]


def deal() -> Session:
    """Deal a game and show it to a seat."""
    session = Session(Record(Deal(Rules()), (PERSON,) * 3))
    session.sight(1)
    return session


def move() -> None:
    """Play a move and show the game to the next seat."""
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
