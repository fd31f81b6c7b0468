"""What the page will ask for, done once: it compiles, or loads, what the answers need.

The functions are done by helper processes too (:mod:`ddz_training.apps.web.preparing`), so they share nothing with the
server.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np

from ddz_agents.open_cards.solver.puzzles import shipped_puzzles
from ddz_env import Rules
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.errors import DouDizhuError
from ddz_env.core.observation import CONCEALED, OBSERVATION_SIZE
from ddz_env.playing.registry import spelled_out
from ddz_env.table.session import PERSON, Deal, Record, Session
from ddz_training.apps.web.preparing import Step

SOLVER = "solver"
"""Who plays the other hand of a puzzle."""
_TRIED = 20
"""First moves that an agent is asked for, until it compares several: a search may be sure of one."""


def steps(agents: Sequence[str], adviser: str, quick: str) -> list[Step]:
    """What a server prepares, in the order in which a person needs it.

    Args:
        agents: Who may play, the first by default.
        adviser: Who gives hints.
        quick: Who gives them until the adviser is prepared.
    """
    first, *others = dict.fromkeys(agents)
    # What compiles the same as the adviser comes last: two helpers would both compile it.
    others.sort(key=lambda name: _kind(name) == _kind(adviser))
    found = [
        # One helper prepares the opponents; in the same time the other does the next two.
        Step("opponents", first, answer, (first,)),
        Step("hints", "networks", evaluate),
        Step("table", "table", deal),
        Step("hints", "hints", advise, (quick,)),
        Step("search", adviser, answer, (adviser,)),
        Step("puzzles", SOLVER, solve),
        *(Step("opponents", name, answer, (name,)) for name in others),
    ]
    first_of: dict[str, Step] = {}  # the adviser may play, too
    for step in found:
        first_of.setdefault(step.name, step)
    return list(first_of.values())


def _kind(agent: str) -> str:
    """An agent's name without its options."""
    return spelled_out(agent).partition(":")[0]


def deal() -> None:
    """Deal, look, play and look again."""
    session = Session(Record(Deal(Rules()), (PERSON,) * 3))
    session.sight(1)
    session.play(session.view(0).legal_moves()[0])
    session.sight(1)


def evaluate() -> None:
    """Ask the shipped networks; what they are asked about does not matter."""
    from ddz_agents.neural.compiled_policy import CompiledPolicy
    from ddz_agents.neural.loading import load_policy

    model = load_policy()
    assert isinstance(model, CompiledPolicy)
    seen, masks = np.zeros((1, OBSERVATION_SIZE), np.int8), np.ones((1, NUM_ACTIONS), np.int8)
    model.evaluate(seen, masks)
    model.value_of_games(seen, masks, np.zeros((1, CONCEALED.size), np.int8))


def advise(adviser: str) -> None:
    """Give a hint with its chances."""
    from ddz_training.apps.web.chances import Chances

    session = Session(Record(Deal(Rules()), (PERSON,) * 3))
    Chances().judged(session.view(0), session.hint(adviser, 0))
    session.belief(adviser, 0)


def answer(agent: str) -> None:
    """Have an agent move, until it has compared several moves, if it ever does."""
    for seed in range(_TRIED):
        session = Session(Record(Deal(Rules(), seed), (PERSON,) * 3))
        with contextlib.closing(session), contextlib.suppress(DouDizhuError):
            advice = session.hint(agent, 0)
            session.belief(agent, 0)
            if len(advice.options) > 1 or all(option.visits is None for option in advice.options):
                return


def solve() -> None:
    """Solve the first puzzle."""
    deal = shipped_puzzles()[0].deal()
    session = Session(Record(deal, (PERSON,) * deal.rules.players), shown=True)
    with contextlib.closing(session):
        session.hint(SOLVER, 0)
