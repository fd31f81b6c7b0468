"""Contests between agents on duplicate deals: a schedule chooses the deals, and a loop plays them.

An :class:`Arena` has the agents by their labels, the rules, and what deals are dealt from.  A schedule is a pure
function of what a store holds: it says which deals are wanted so far.  Round robin and field want the same from the
beginning, a league (:mod:`ddz_training.measure.league`) wants more when a round is complete.  :func:`play_schedule`
plays what is missing until nothing is.  So results depend neither on the number of processes nor on where a run was
cut off.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from ddz_env import Rules
from ddz_env.support.checks import LARGEST_WORD
from ddz_env.support.options import Options, Range
from ddz_training.measure.agent_pool import check_agents
from ddz_training.measure.duplicate import (
    BLOCK,
    KEY,
    DealPlayer,
    GameResult,
    Match,
    describe_given_hands,
    list_seatings,
    make_matches,
)
from ddz_training.measure.errors import InvalidArenaError
from ddz_training.measure.provenance import rules_to_settings
from ddz_training.measure.store import Key, OnProgress, ResultStore, ignore_progress

FORMAT = "ddz-arena-2"


@dataclass(frozen=True)
class Arena(Options):
    """The agents, rules and deals of a contest, which determine its results.

    Attributes:
        agents: Specifications as for :func:`ddz_env.playing.registry.make_agent`.
        rules: The rules.
        seed: Seed of the deals and the agents.
        timing: Whether to record milliseconds; without them equal runs write equal files.
        time_limit: Seconds that an agent may take to answer, which it then does in a process of its own; None for no
            limit.
        on_fault: What a fault of an agent does: ``lose`` that game, or ``stop`` the match.
        names: What tables and files call the agents, one name per agent; their specifications if empty.
        hands: The hands of the deals (:mod:`ddz_training.measure.deal_file`); dealt from the seed if empty.
        partner: The specification of an agent that plays the second peasant beside every agent; None if each agent
            plays both.

    Raises:
        InvalidArenaError: If there are fewer than two agents, a value is out of range, there is not one name per
            agent, all different, or the rules have no place for a partner.
    """

    error = InvalidArenaError

    agents: tuple[str, ...]
    rules: Rules = Rules()  # noqa: RUF009  # frozen
    seed: Annotated[int, Range(0, LARGEST_WORD)] = 0
    timing: bool = True
    time_limit: Annotated[float, Range(0, above=True)] | None = None
    on_fault: Literal["lose", "stop"] = "lose"
    names: tuple[str, ...] = ()
    hands: tuple[str, ...] = ()
    partner: str | None = None

    def check(self) -> None:
        """Refuse fewer than two agents, missing or duplicated names, and a partner for whom there is no seat."""
        if len(self.agents) < 2:
            raise InvalidArenaError(f"an arena needs two agents, got {len(self.agents)}")
        if self.names and len(self.names) != len(self.agents):
            raise InvalidArenaError(f"{len(self.names)} names for {len(self.agents)} agents: give each one, in order")
        for name, times in Counter(self.names).items():
            if not name.strip():
                raise InvalidArenaError(f"the name {name!r} is empty: name each agent, or none")
            if times > 1:
                raise InvalidArenaError(f"the name {name!r} is given twice: give each agent another one")
        if self.partner is not None and (self.rules.players != 3 or self.rules.bidding != "fixed"):
            raise InvalidArenaError(f"a partner needs three players and a fixed landlord, not {self.rules.name!r}")

    @property
    def labels(self) -> tuple[str, ...]:
        """The agents' labels in the results: given names, or specifications, numbered if an agent meets itself.

        Example:
            >>> Arena(("rules", "random", "rules")).labels
            ('rules', 'random', 'rules #2')
        """
        if self.names:
            return self.names
        before = [self.agents[:index].count(agent) for index, agent in enumerate(self.agents)]
        return tuple(
            f"{agent} #{times + 1}" if times else agent for agent, times in zip(self.agents, before, strict=True)
        )

    @property
    def specs(self) -> dict[str, str]:
        """The specification of each agent, keyed by its label."""
        return dict(zip(self.labels, self.agents, strict=True))

    @property
    def players(self) -> tuple[str, ...]:
        """The specifications of all agents that play, including the common partner."""
        return self.agents if self.partner is None else (*self.agents, self.partner)

    @property
    def num_pairs(self) -> int:
        """The number of pairs that the agents can form."""
        return math.comb(len(self.agents), 2)

    def make_worker(self) -> DealPlayer:
        """Make a deal player with this arena's rules, seed and limits, for use in one process."""
        limit, on_fault = self.time_limit, self.on_fault
        return DealPlayer(self.rules, self.seed, self.timing, time_limit=limit, on_fault=on_fault, hands=self.hands)

    def settings(self) -> dict[str, Any]:
        """Return the settings that must match to resume a file, with rules as differences from the default."""
        return {
            "format": FORMAT,
            "agents": list(self.agents),
            **({"names": list(self.names)} if self.names else {}),
            "rules": rules_to_settings(self.rules),
            "seed": self.seed,
            "timing": self.timing,
            "time_limit": self.time_limit,
            **describe_given_hands(self.hands),
            **({} if self.partner is None else {"partner": self.partner}),
        }

    def store(
        self, path: str | Path | None = None, resume: bool = False, settings: Mapping[str, Any] | None = None
    ) -> ResultStore[GameResult]:
        """Create a store for this arena's games, starting with the complete deals of an existing file.

        Args:
            path: The file, ``.csv`` or ``.sqlite``; None keeps the games in memory only.
            resume: Whether to resume an existing file.
            settings: Other settings than :meth:`settings`.

        Raises:
            ResultsFileError: If the file cannot be used.
            SettingsMismatchError: If it was written under other settings.
            InUseError: If another process has the file.
            UnknownAgentError: If an agent does not exist.
        """
        games = len(list_seatings(self.rules, partner=self.partner is not None))
        settings = settings or self.settings()
        return ResultStore(GameResult, path, settings, KEY, per_key=games, agents=self.players, resume=resume)


# --- What is played, and playing it -----------------------------------------------------------------------------------


class DueMatches(NamedTuple):
    """The matches that a schedule has requested so far, played or not, and the expected total.

    Attributes:
        matches: All deals that are wanted so far, by their key (:data:`~ddz_training.measure.duplicate.KEY`), whether
            they have been played or not.
        total: How many will be wanted in all, as far as is known.
        notes: Settings of the store that say what has been scheduled, if not all follows from the games.
    """

    matches: Mapping[Key, Match]
    total: int
    notes: Mapping[str, Any] = {}


Schedule = Callable[[ResultStore[GameResult]], DueMatches]
"""What is wanted: a function of what a store holds, and of nothing else."""


def schedule_pairs(arena: Arena, deals: Iterable[int], pairs: Iterable[tuple[str, str]] = ()) -> Schedule:
    """Make a schedule in which all pairs of agents play the same deals.

    Args:
        arena: Who plays.
        deals: Numbers of the deals.
        pairs: Labels of who meets whom; by default every pair, a round robin.

    Example:
        >>> arena = Arena(("rules", "random", "isuct"))
        >>> list(schedule_pairs(arena, [7])(arena.store()).matches)
        [(7, 'rules', 'random'), (7, 'rules', 'isuct'), (7, 'random', 'isuct')]
    """
    pairs = list(pairs or itertools.combinations(arena.labels, 2))
    wanted = make_matches(arena.specs, pairs, deals, arena.partner)
    return lambda store: DueMatches(wanted, len(wanted))


def play_schedule(
    arena: Arena,
    schedule: Schedule,
    store: ResultStore[GameResult] | None = None,
    *,
    block: int = BLOCK,
    processes: int = 1,
    on_progress: OnProgress = ignore_progress,
) -> list[GameResult]:
    """Play the matches that a schedule requests until it requests no more, and return their games.

    Args:
        arena: Who plays.
        schedule: What is wanted.
        store: Where each deal is kept as soon as it and all before it are done (:meth:`Arena.store`); deals that it
            holds are not played again.
        block: The most deals that are played side by side, if all agents may
            (:func:`~ddz_training.measure.agent_pool.can_play_many_games`); their decisions are timed together.
        processes: Worker processes; 1 plays in this process.
        on_progress: Called with how many deals (times pairs) are done.

    Returns:
        The records of all that was wanted, in its order.

    Raises:
        InvalidArenaError: If a number is out of range, or an agent cannot play under these rules.
        WorkerDiedError: If a worker process died.
        UnknownAgentError: If an agent does not exist.
        AgentFailedError: If an agent fails and ``on_fault`` is ``stop``, or if it cannot be made at all.
        KeyboardInterrupt: If the user interrupts; what has been saved stays valid.
    """
    store = store or arena.store()
    due = schedule(store)
    done = sum(key in store.units for key in due.matches)
    left = len(due.matches) - done
    together = bool(left) and check_agents(arena.players, arena.time_limit, arena.rules)
    on_progress(done, due.total)
    if left:
        at_most = min(processes, due.total - done)
        with store.open_with_workers(arena.make_worker, at_most, block if together else 1) as share:
            while not store.has_units((due := schedule(store)).matches):
                if due.notes:
                    store.update_settings(**due.notes)
                store.run_missing(due.matches, share, on_progress, due.total)
    store.finish_export()
    return store.results_of(due.matches)


def run_arena(
    arena: Arena,
    deals: int | Iterable[int],
    *,
    first_deal: int = 0,
    processes: int = 1,
    store: ResultStore[GameResult] | None = None,
    on_progress: OnProgress = ignore_progress,
) -> list[GameResult]:
    """Play duplicate deals between every pair of agents, and return the games.

    Args:
        arena: Who plays.
        deals: Deals per pair, from ``first_deal`` on, or their numbers.
        first_deal: Number of the first deal.  Defaults are chosen on one range and reported on another.
        processes: As for :func:`play_schedule`, whose errors are raised.
        store: Likewise.
        on_progress: Likewise.

    Returns:
        The records of all these deals, in the order (deal, pair).
    """
    numbers = range(first_deal, first_deal + deals) if isinstance(deals, int) else list(deals)
    check_at_least(1, deals=len(numbers), processes=processes)
    check_at_least(0, first_deal=first_deal)
    return play_schedule(arena, schedule_pairs(arena, numbers), store, processes=processes, on_progress=on_progress)


def check_at_least(least: int, **numbers: int) -> None:
    """Raise an error if any contest parameter is below a minimum.

    Raises:
        InvalidArenaError: If one is below ``least``.
    """
    for name, value in numbers.items():
        if value < least:
            raise InvalidArenaError(f"{name}={value} must be at least {least}")
