"""The games behind an equivalent: duplicate deals between an agent and a search with some number of iterations."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from ddz_env import Rules
from ddz_env.core.errors import InvalidAgentOptionError
from ddz_env.playing.game import MakeGenerator
from ddz_env.playing.generators import agent_generator
from ddz_training.measure.equivalent.search import Play
from ddz_training.measure.match.duplicate import DealPlayer, check_agents
from ddz_training.measure.match.ordered_map import workers
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress, rules_settings
from ddz_training.measure.match.statistics import balance, wins_by_deal

SEARCH = "isuct"
"""The search that iterations are counted of unless told otherwise."""

_AGENT, _OTHER = "agent", "search"


@dataclass(frozen=True)
class Duel:
    """A duplicate deal of an agent against a search.

    Attributes:
        deal: Number of the deal.
        iterations: Iterations of the search.
        share: The agent's share of the games, one half where both did equally well.
    """

    deal: int
    iterations: int
    share: Annotated[float, "g"]

    @property
    def sign(self) -> int:
        """1 where the agent did better, -1 where it did worse, 0 where the deal says nothing."""
        return (self.share > 0.5) - (self.share < 0.5)


class Ladder(NamedTuple):
    """An agent, and the search that it is measured by.

    Attributes:
        agent: The agent's specification.
        search: The search's, without ``iterations``.
        rules: The rules.
        seed: Seed of deals and agents.
        make_generator: Makes the generator of a seat from its key.
    """

    agent: str
    search: str = SEARCH
    rules: Rules = Rules.preset("half-deck")
    seed: int = 0
    make_generator: MakeGenerator = agent_generator

    def rung(self, iterations: int) -> str:
        """The search with so many iterations.

        Example:
            >>> Ladder("rules", "isuct:exploration=0.5").rung(800)
            'isuct:exploration=0.5,iterations=800'
        """
        return f"{self.search}{',' if ':' in self.search else ':'}iterations={iterations}"

    def check(self) -> None:
        """Refuse agents that do not exist, and searches that do not count iterations.

        Raises:
            UnknownAgentError: If one of them does not exist.
            InvalidAgentOptionError: If the search names its iterations already, or has none.
        """
        if "iterations=" in self.search:
            raise InvalidAgentOptionError(f"{self.search!r} must not name its iterations: these are what is looked for")
        check_agents([self.agent, self.rung(1)])

    def settings(self) -> dict[str, object]:
        """What the outcome of a deal depends on."""
        return {"agent": self.agent, "search": self.search, "rules": rules_settings(self.rules), "seed": self.seed}


class DuelWorker:
    """Plays deals of a ladder in one process.

    Args:
        ladder: Who plays.
    """

    def __init__(self, ladder: Ladder) -> None:
        self._ladder, self._rung = ladder, ""
        self._player = DealPlayer(ladder.rules, ladder.seed, False, make_generator=ladder.make_generator)

    def play(self, task: tuple[int, int]) -> Duel:
        """Play a deal, by its number, against so many iterations."""
        deal, iterations = task
        rung = self._ladder.rung(iterations)
        if rung != self._rung:
            self._player.drop(self._rung)  # a tree of a million nodes is not kept
            self._rung = rung
        games = self._player.play(deal, (self._ladder.agent, rung), (_AGENT, _OTHER))
        return Duel(deal, iterations, wins_by_deal(games, _AGENT, value=balance)[deal])

    def close(self) -> None:
        """Release the agents."""
        self._player.close()


@contextmanager
def here(ladder: Ladder) -> Iterator[Play]:
    """What plays the deals of a ladder in this process, and keeps none of them."""
    asked = itertools.count()
    with closing(DuelWorker(ladder)) as worker:
        yield lambda budgets: [worker.play((next(asked), many)).sign for many in budgets]


@contextmanager
def playing(
    ladder: Ladder, store: ResultStore[Duel], processes: int = 1, on_progress: OnProgress = no_progress
) -> Iterator[Play]:
    """What plays the deals of a ladder, each deal once, in the order of their numbers.

    Args:
        ladder: Who plays.
        store: Has the deals played before, and gets the others as they come.
        processes: Worker processes; the results do not depend on them.
        on_progress: Told how many deals are played, of how many that are known to be wanted.

    Yields:
        Plays deals for a search of an equivalent.

    Raises:
        WorkerDiedError: If a worker process died.
    """
    asked = 0
    make: Callable[[], DuelWorker] = functools.partial(DuelWorker, ladder)
    with workers(make, processes) as share:

        def play(budgets: Sequence[int]) -> list[int]:
            nonlocal asked
            tasks = list(enumerate(budgets, asked))
            missing = [task for task in tasks if task not in store.found]
            asked += len(budgets)
            for number, duel in enumerate(share(missing), asked - len(missing) + 1):
                store.add([duel])
                on_progress(number, asked)
            return [store.found[task][0].sign for task in tasks]

        yield play


def duel_store(ladder: Ladder, path: Path | None = None) -> ResultStore[Duel]:
    """A store for the deals of a ladder.

    Args:
        ladder: Who plays.
        path: Its file, resumed where it exists; None keeps the deals in memory.

    Raises:
        SettingsMismatchError: If the file is of another ladder.
    """
    return ResultStore(Duel, path, ladder.settings(), ("deal", "iterations"), agents=[ladder.agent, ladder.rung(1)])
